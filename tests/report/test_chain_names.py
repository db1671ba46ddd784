"""A chain of kernels in few words, from names as libraries write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.report.chain_names import chain_names, kernel_word
from advisor.trace.candidates import Candidate
from advisor.words import duration_range, percent, short_names, shortened, told_apart


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (
            "void onnxruntime::cuda::_UnaryElementWise<__half, __half, onnxruntime::cuda::OP_Sqrt<__half>, 256, 4>"
            "(const __half *, __half *, onnxruntime::cuda::OP_Sqrt<__half>, int)",
            "Sqrt",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
            "std::array<char *, (unsigned long)3>>(int, T2, T3)",
            "add",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, float, float, "
            "at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
            "Mul",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<(int)4, at::native::rsqrt_kernel_cuda("
            "at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const>(int, T2, T3)",
            "rsqrt",
        ),
        (
            "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, "
            "float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)",
            "Mean",
        ),
        ("triton_poi_fused_mul_silu_1", "mul_silu"),
        (
            "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
            "vectorized_layer_norm",
        ),
        ("softmax_warp_forward", "softmax_warp_forward"),
        ("check_Rk(const int *, const int *)", "check_Rk"),
        ("void (*)(int)", "void (*)(int)"),
        ("kernel", "kernel"),
        (
            "a\x1b[31m_very_long_name_of_a_kernel_that_never_ends",
            "a\N{REPLACEMENT CHARACTER}[31m_very_long_name_of_a_kernel_that_never_ends",
        ),
    ],
)
def test_a_kernel_is_named_by_what_it_computes(name: str, word: str) -> None:
    assert kernel_word(name) == word


def test_equal_neighbours_are_counted_and_products_are_named_by_their_class() -> None:
    kernels = ("ampere_sgemm_128x64_nn", "relu_kernel", "relu_kernel", "ns::tanh_kernel<float>(int)")
    chain = Candidate("run", 0, kernels, ("gemm", "elementwise", "elementwise", "elementwise"), 1, (1, 2))
    assert chain_names([chain]) == ["gemm → 2 relu → tanh"]


def test_chains_of_other_kernels_are_never_the_same_text() -> None:
    def chain(*kernels: str) -> Candidate:
        return Candidate("run", 0, kernels, ("elementwise",) * len(kernels), 1, (1, 2))

    long = "the_one_and_only_kernel_of_this_very_program"
    chains = [
        chain("f<MulFunctor<float>>", "relu"),
        chain("f<MulFunctor<half>>", "relu"),
        chain(f"{long}_a", f"{long}_b"),
    ]
    assert chain_names([*chains, chains[1]]) == [
        "Mul → relu",
        "Mul → relu (sequence 2)",
        f"{long}_a → {long}_b",
        "Mul → relu (sequence 2)",
    ]
    *_, last = chain_names(chains, short=True)
    one, other = last.split(" → ")
    assert one != other
    assert max(len(one), len(other)) <= 24


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (310_000, 420_000, "310 to 420 µs"),
        (9_990, 10_049, "9.99 to 10.0 µs"),
        (144_313, 3_715_795, "144 µs to 3.72 ms"),
        (12_301, 12_302, "12.3 µs"),
        (0, 26_815, "at most 26.8 µs"),
        (1, 66_900, "at most 66.9 µs"),
        (0, 0, "0 ns"),
    ],
)
def test_a_range_of_times_has_its_unit_once(low: int, high: int, words: str) -> None:
    assert duration_range(low, high) == words


def test_what_is_not_all_is_not_said_to_be() -> None:
    assert (percent(0.994), percent(0.9985), percent(1.0)) == ("99 %", ">99 %", "100 %")


@pytest.mark.parametrize("longest", [13, 20, 31, 70])
def test_names_with_a_long_part_in_common_differ_in_few_letters(longest: int) -> None:
    names = [f"clover::par_ranged1d_kernel<update_halo(lambda (instance {number}))>" for number in range(1, 40)]
    names += ["clover::par_ranged2d_kernel<ideal_gas>", "[CUDA memset]", "[CUDA memset]"]
    shown = told_apart(names, longest)
    assert len({shown[name][: longest - 1] for name in names}) == len(set(names))
    assert shown["[CUDA memset]"] == "[CUDA memset]"


def test_names_of_which_one_is_the_beginning_of_another_stand_as_they_are() -> None:
    assert told_apart(["gemm", "gemm_tn", "x" * 90], 20) == {name: name for name in ("gemm", "gemm_tn", "x" * 90)}


LIKE = st.lists(
    st.builds(
        "".join, st.lists(st.sampled_from(("a", "bb", "void ", "(anonymous namespace)::", "<float, 4>", "\x1b")))
    ),
    min_size=1,
    max_size=12,
)


@given(LIKE, st.integers(10, 40))
def test_no_two_names_are_ever_the_same_text(names: list[str], longest: int) -> None:
    whole = short_names(names)
    assert len(set(whole.values())) == len(set(names))
    short = shortened(whole.values(), longest)
    assert len(set(short.values())) == len(set(names))
    assert max(map(len, short.values())) <= longest
