"""A chain of kernels in few words, from names as libraries write them."""

from __future__ import annotations

import pytest

from advisor.report.chain_names import chain_name, kernel_word
from advisor.trace.candidates import Candidate
from advisor.words import duration_range


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
        ("a\x1b[31m_very_long_name_of_a_kernel_that_never_ends", "a\N{REPLACEMENT CHARACTER}[31m_very_long_name_o…"),
    ],
)
def test_a_kernel_is_named_by_what_it_computes(name: str, word: str) -> None:
    assert kernel_word(name) == word


def test_equal_neighbours_are_counted_and_products_are_named_by_their_class() -> None:
    kernels = ("ampere_sgemm_128x64_nn", "relu_kernel", "relu_kernel", "ns::tanh_kernel<float>(int)")
    chain = Candidate("run", 0, kernels, ("gemm", "elementwise", "elementwise", "elementwise"), 1, (1, 2))
    assert chain_name(chain) == "gemm → 2 relu → tanh"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (310_000, 420_000, "310 to 420 µs"),
        (9_990, 10_049, "9.99 to 10.0 µs"),
        (144_313, 3_715_795, "144 µs to 3.72 ms"),
        (12_301, 12_302, "12.3 µs"),
        (0, 26_815, "at most 26.8 µs"),
        (0, 0, "0 ns"),
    ],
)
def test_a_range_of_times_has_its_unit_once(low: int, high: int, words: str) -> None:
    assert duration_range(low, high) == words
