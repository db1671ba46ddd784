"""What users rely on: the right class for the names that libraries really write, and never a wrong promise."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.trace.kernel_classes import OP_CLASSES, ROWS, op_class, op_classes

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"
NAMES = [
    tuple(line.split(maxsplit=1))
    for line in Path(__file__).with_name("kernel_names.txt").read_text().splitlines()
    if line and not line.startswith("#")
]

# Why each of these traces is deep learning: the time that its classes leave in `other` must stay under 5 %.
DEEP_LEARNING = {
    "abacus_titanrtx_a": "serves networks with PyTorch and cuDNN",
    "cudagraph_window_rtx3070": "trains a neural radiance field (tiny-cuda-nn)",
    "darknet19_infer_gtx1650": "cuDNN inference from Julia",
    "darknet19_train_gtx1650": "cuDNN training from TensorFlow",
    "dlprof_dnn_rtx2070": "a small PyTorch network",
    "fuser_h200_2025_1": "nvFuser and cuBLAS",
    "healthy_1pct": "generated, with names of CUTLASS and PyTorch",
    "hvd_v100_fusion": "nvFuser, before its kernels had names",
    "llama3_sim_2024_6": "a decode loop in PyTorch",
    "mfu_2gpu_after": "trains a transformer in PyTorch",
    "mfu_2gpu_before": "trains a transformer in PyTorch",
    "mock_rtx3080": "two PyTorch kernels",
    "ngp_streams_rtx3070": "renders a neural radiance field (tiny-cuda-nn)",
}
# Programs of other fields that use no library's kernels: nothing may be claimed about their own.
OWN_KERNELS = {
    "beast_v100_a": "phylogenetics, OpenMP offload",
    "clue_t4_2streams": "clustering in particle physics",
    "gomory_rtx3090_2025_5": "cutting planes",
    "kmeans_rtx3080": "OpenACC",
    "mordred_rtx6000": "a database",
    "openacc_rtx3080": "OpenACC",
    "pipit_saxpy_mpi": "an MPI example",
    "rodinia_gaussian": "Gaussian elimination",
    "uvm_a100": "a unified memory example",
    "vecadd_2025_5": "a vector addition",
}


def shares(trace: str) -> dict[str, float]:
    """The share of kernel time per class."""
    path = TRACES / f"{trace}.sqlite"
    if not path.exists():
        pytest.skip(f"no {path.name} beside this checkout")
    query = """SELECT s.value, SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
               JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value"""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        names, times = zip(*database.execute(query), strict=True)
    found: Counter[str] = Counter()
    for kernel_class, duration in zip(op_classes(names), times, strict=True):
        found[kernel_class] += duration
    return {kernel_class: duration / found.total() for kernel_class, duration in found.most_common()}


@pytest.mark.parametrize(("expected", "name"), NAMES, ids=[name[:60] for _, name in NAMES])
def test_class_of_a_real_name(expected: str, name: str) -> None:
    assert op_class(name) == expected


def test_every_class_has_real_names() -> None:
    assert {expected for expected, _ in NAMES} == set(OP_CLASSES)
    assert {row.op_class for row in ROWS} <= set(OP_CLASSES)


@pytest.mark.parametrize("name", [name for _, name in NAMES if "anonymous namespace" in name][:30])
def test_both_spellings_of_unnamed_namespaces(name: str) -> None:
    assert op_class(name.replace("(anonymous namespace)", "<unnamed>")) == op_class(name)


@pytest.mark.parametrize("name", [name for _, name in NAMES if name.startswith("void ") and "<" in name][::4])
def test_both_spellings_of_numbers(name: str) -> None:
    assert op_class(re.sub(r"(?<=[<, ])(\d+)(?=[,>])", r"(int)\1", name)) == op_class(name)


def test_parameters_say_nothing() -> None:
    assert op_class("fetch(softmax::Params, at::native::vectorized_elementwise_kernel<4> *)") == "other"
    assert op_class("void fetch<int>(Eigen::TensorCwiseBinaryOp<int>, gemm::Params)") == "other"


def test_neither_does_the_return_type() -> None:
    assert op_class("std::enable_if<is_softmax<T1>, void>::type fetch<float>(float *)") == "other"
    assert op_class("std::enable_if<(T1>(int)0), void>::type gemv2T_kernel_val<float>(float *)") == "gemm"


def test_equal_names_have_equal_classes_in_order() -> None:
    names = ["Fan1(float *)", "ampere_sgemm_128x64_nn", "Fan1(float *)"]
    assert op_classes(names) == ["other", "gemm", "other"]
    assert op_classes([]) == []


@given(st.text(alphabet="<>()[]{}:, _aTkernel0copy", max_size=80))
def test_any_text_has_a_class(name: str) -> None:
    assert op_class(name) in OP_CLASSES


@pytest.mark.parametrize(
    "name",
    [
        "a" * 100_000,
        " " * 100_000,
        "f" + "<" * 100_000,
        "()" * 50_000,
        "f" + "<>" * 50_000,
        "f" + "<a" * 33_000 + ">" * 33_000 + "(int)",
        "f<" + "(" * 50_000 + ")" * 50_000 + ">(int)",
        "f<" + ">(" * 50_000,
        "onnxruntime::" + "Zero" * 25_000,
        "dynamic_" * 12_500,
        "triton_tem_" + "m" * 100_000,
        "x" + "_1" * 50_000 + "!",
        "void at::native::unrolled_elementwise_kernel<" + "copy_kernel TrivialOffsetCalculator<" * 2_700,
        "void Eigen::internal::EigenMetaKernel<" + "TensorCwise" * 9_000,
    ],
    ids=lambda name: name[:20],
)
def test_a_strangers_name_of_100_kb_takes_no_time(name: str) -> None:
    begin = time.process_time()  # other programs' time is not in it
    op_class(name)
    assert time.process_time() - begin < 1.0, "milliseconds are normal"


@pytest.mark.parametrize("trace", DEEP_LEARNING)
def test_little_time_is_left_in_other(trace: str) -> None:
    found = shares(trace)
    print(f"\n{trace} ({DEEP_LEARNING[trace]}):", ", ".join(f"{name} {share:.2%}" for name, share in found.items()))
    assert found.get("other", 0.0) < 0.05


@pytest.mark.parametrize("trace", OWN_KERNELS)
def test_nothing_is_claimed_about_a_programs_own_kernels(trace: str) -> None:
    assert shares(trace) == {"other": 1.0}, OWN_KERNELS[trace]
