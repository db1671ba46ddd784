"""Kernels for NVIDIA GPUs without one: run thread by thread on the CPU, and assembled where `ptxas` is there.

The IR is the same but for what only a GPU has: registers that number the threads, and shuffles, come from Python; the
lanes of a warp are threads that meet at a barrier.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np
import onnx_ir as ir
import pytest

from advisor.fuse.kernels.expression import Access, Constant, Expression, Input, Operation, Output
from advisor.fuse.kernels.library import ptx_kernels
from advisor.fuse.kernels.nvptx import WARP, gpu_module
from advisor.fuse.kernels.view import MOST_AXES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from advisor.fuse.kernels.expression import Value

F32, F16, F64, I64 = ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.INT64
PTXAS = shutil.which("ptxas")


class Writer:
    """Builds an expression operation by operation."""

    def __init__(self, *inputs: Access, dtype: ir.DataType = F32) -> None:
        self.dtype = dtype
        self.values: list[Value] = [Input(dtype, access) for access in inputs]

    def __call__(self, op_type: str, *operands: float) -> int:
        places = tuple(o if isinstance(o, int) else self._append(Constant(self.dtype, o)) for o in operands)
        return self._append(Operation(op_type, places, self.dtype))

    def _append(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def expression(self, *outputs: int, rows: tuple[int, ...] = (), reduced: int = 0) -> Expression:
        written = [Output(place, Access.COLUMNS) for place in outputs] + [Output(place, Access.ROW) for place in rows]
        return Expression(tuple(self.values), tuple(written), reduced)


def tanh_gelu() -> Expression:
    w = Writer(Access.COLUMNS)
    inner = w("Mul", w("Add", 0, w("Mul", w("Mul", w("Mul", 0, 0), 0), 0.044715)), 0.7978845608)
    return w.expression(w("Mul", w("Mul", 0, 0.5), w("Add", w("Tanh", inner), 1.0)))


def swiglu() -> Expression:
    w = Writer(Access.COLUMNS, Access.COLUMNS)
    return w.expression(w("Mul", w("Mul", 0, w("Sigmoid", 0)), 1))


def scaled_sum(dtype: ir.DataType = F32) -> Expression:
    w = Writer(Access.COLUMNS, Access.ROW, Access.COLUMNS, dtype=dtype)
    return w.expression(w("Add", w("Mul", 0, 1), 2))


def add_rms_norm() -> Expression:
    w = Writer(Access.COLUMNS, Access.COLUMNS, Access.COLUMNS)
    total = w("Add", 0, 1)
    mean = w("Div", w("ReduceSum", w("Mul", total, total)), w("RowLength"))
    return w.expression(
        w("Mul", w("Mul", total, w("Div", 1.0, w("Sqrt", w("Add", mean, 1e-5)))), 2), total, rows=(mean,), reduced=1
    )


def softmax(dtype: ir.DataType = F32) -> Expression:
    w = Writer(Access.COLUMNS, Access.COLUMNS, dtype=dtype)
    shifted = w("Add", w("Mul", 0, 0.125), 1)
    power = w("Exp", w("Sub", shifted, w("ReduceMax", shifted)))
    return w.expression(w("Div", power, w("ReduceSum", power)), reduced=1)


def elu_softplus() -> Expression:
    w = Writer(Access.COLUMNS)
    return w.expression(w("Mul", w("Elu", 0), w("Softplus", 0)))


SAMPLES = {
    "ELU, softplus": elu_softplus,
    "tanh-GELU": tanh_gelu,
    "SwiGLU": swiglu,
    "scaled sum": scaled_sum,
    "add + RMSNorm": add_rms_norm,
    "softmax + mask": softmax,
}


class Strides(ctypes.Structure):
    _fields_ = [("row", ctypes.c_int64 * MOST_AXES), ("column", ctypes.c_int64)]


class Layout(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("axes", ctypes.c_int64),
        ("extent", ctypes.c_int64 * MOST_AXES),
        ("stride", Strides * 16),
    ]


class Gpu:
    """One block of threads, on the CPU."""

    def __init__(self, threads: int, *, lanes_meet: bool) -> None:
        self.threads, self.lanes_meet = threads, lanes_meet
        self.here = threading.local()
        self.barrier = threading.Barrier(WARP)
        self.exchanged: list[int] = [0] * WARP
        word = ctypes.CFUNCTYPE(ctypes.c_int32)
        shuffle = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
        self.functions = {
            "test_tid": word(lambda: int(self.here.thread)),
            "test_ctaid": word(lambda: 0),
            "test_ntid": word(lambda: threads),
            "test_nctaid": word(lambda: 1),
            "test_shuffle": shuffle(self._shuffle),
        }
        for name, function in self.functions.items():
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)

    def _shuffle(self, bits: int, distance: int) -> int:
        lane = self.here.thread % WARP
        self.exchanged[lane] = bits
        self.barrier.wait()
        other = int(self.exchanged[lane ^ distance])
        self.barrier.wait()
        return other

    def launch(self, expression: Expression, arrays: list[NDArray[Any]], layout: Layout) -> None:
        engine = compiled(expression)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays), Layout)
        kernel = prototype(engine.get_function_address(expression.name))

        def run(thread: int) -> None:
            self.here.thread = thread
            kernel(*pointers, layout)

        if not self.lanes_meet:
            for thread in range(self.threads):
                run(thread)
            return
        lanes = [threading.Thread(target=run, args=(lane,), daemon=True) for lane in range(self.threads)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join(timeout=60)
            assert not lane.is_alive()


def compiled(expression: Expression) -> Any:
    """The kernel for this CPU."""
    text = gpu_module([expression]).replace("addrspace(1) ", "").replace("ptr addrspace(1)", "ptr")
    text = text.replace("define ptx_kernel", "define").replace(", !invariant.load !0", "")
    text = re.sub(r"@llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x", r"@test_\1", text)
    text = re.sub(r"(declare .*)@llvm\.nvvm\.shfl.*\n", "", text)
    text = re.sub(
        r"(%\w+) = call float @llvm\.nvvm\.shfl\.sync\.bfly\.f32\(i32 -1, float (%\w+), i32 (\d+), i32 31\)",
        r"\1.in = bitcast float \2 to i32\n  \1.out = call i32 @test_shuffle(i32 \1.in, i32 \3)\n"
        r"  \1 = bitcast i32 \1.out to float",
        text,
    )
    text = re.sub(
        r"call i32 @llvm\.nvvm\.shfl\.sync\.bfly\.i32\(i32 -1, i32 (%\w+), i32 (\d+), i32 31\)",
        r"call i32 @test_shuffle(i32 \1, i32 \2)",
        text,
    )
    text += "\ndeclare i32 @test_shuffle(i32, i32)\n"
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_default_triple(), str(machine.target_data)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    KEPT.append(engine)
    return engine


KEPT: list[Any] = []
"""Engines own the code that runs."""


def layout_of(shape: tuple[int, ...], columns_from: int, inputs: list[NDArray[Any]]) -> Layout:
    """Every axis before COLUMNS_FROM is an axis of the rows; those behind it are one, the columns."""
    layout = Layout(rows=int(np.prod(shape[:columns_from])), columns=int(np.prod(shape[columns_from:])))
    layout.axes = columns_from
    for axis in range(columns_from):
        layout.extent[axis] = shape[axis]
    for number, array in enumerate(inputs):
        padded = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
        steps = [
            stride // array.itemsize if extent > 1 else 0
            for stride, extent in zip(padded.strides, padded.shape, strict=True)
        ]
        for axis in range(columns_from):
            layout.stride[number].row[axis] = steps[axis]
        layout.stride[number].column = steps[-1] if columns_from < len(shape) else 0
    return layout


@pytest.mark.parametrize(
    ("shape", "columns_from", "scale", "shift"),
    [
        ((7,), 0, (1,), (7,)),
        ((1, 130), 1, (1, 1), (130,)),
        ((3, 5, 4), 2, (5, 1), (3, 1, 4)),
        ((2, 3, 2, 5), 3, (2, 1, 2, 1), (3, 1, 1)),
        ((2, 2, 2, 2, 2, 2, 2, 2), 7, (2, 1, 2, 1, 2, 1), (2, 2, 1, 1, 2, 2, 1, 1)),
    ],
)
def test_elements_are_where_broadcasting_puts_them(
    shape: tuple[int, ...], columns_from: int, scale: tuple[int, ...], shift: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(extents).astype(np.float32) for extents in (shape, scale, shift)]
    result = np.full(shape, np.nan, np.float32)
    Gpu(8, lanes_meet=False).launch(scaled_sum(), [*inputs, result], layout_of(shape, columns_from, inputs))
    expected = inputs[0] * inputs[1] + inputs[2]
    np.testing.assert_allclose(result, np.broadcast_to(expected, shape), rtol=1e-6, atol=1e-6)


def test_functions_are_as_exact_as_on_a_cpu() -> None:
    x = np.concatenate([-np.geomspace(1e-30, 80, 40), np.geomspace(1e-30, 80, 40)]).astype(np.float32)
    result = np.zeros_like(x)
    Gpu(8, lanes_meet=False).launch(elu_softplus(), [x, result], layout_of(x.shape, 0, [x]))
    wide = x.astype(np.float64)
    expected = np.where(x < 0, np.expm1(wide), wide) * np.logaddexp(0, wide)
    np.testing.assert_allclose(result, expected, rtol=4e-7)


def test_an_input_meant_for_rows_may_have_columns_at_run_time() -> None:
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal((4, 6)).astype(np.float32) for _ in range(3)]
    result = np.zeros((4, 6), np.float32)
    Gpu(4, lanes_meet=False).launch(scaled_sum(), [*inputs, result], layout_of((4, 6), 1, inputs))
    np.testing.assert_allclose(result, inputs[0] * inputs[1] + inputs[2], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("columns", [1, 31, 32, 100])
def test_a_warp_reduces_a_row(columns: int) -> None:
    rng = np.random.default_rng(3)
    x, residual = (rng.standard_normal((2, 3, columns)).astype(np.float32) for _ in range(2))
    weight = rng.standard_normal(columns).astype(np.float32)
    normed, total, mean = np.zeros_like(x), np.zeros_like(x), np.zeros((2, 3, 1), np.float32)
    arrays = [x, residual, weight, normed, total, mean]
    Gpu(WARP, lanes_meet=True).launch(add_rms_norm(), arrays, layout_of(x.shape, 2, arrays[:3]))
    expected = (x + residual).astype(np.float64)
    expected_mean = (expected**2).mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(total, x + residual)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5)
    np.testing.assert_allclose(normed, expected / np.sqrt(expected_mean + 1e-5) * weight, rtol=1e-5, atol=1e-6)


def test_doubles_travel_between_lanes_in_halves() -> None:
    rng = np.random.default_rng(4)
    x, mask = rng.standard_normal((2, 40)), rng.standard_normal((1, 40))
    result = np.zeros_like(x)
    Gpu(WARP, lanes_meet=True).launch(softmax(F64), [x, mask, result], layout_of(x.shape, 1, [x, mask]))
    power = np.exp(x * 0.125 + mask)
    np.testing.assert_allclose(result, power / power.sum(axis=-1, keepdims=True), rtol=1e-13)


@pytest.mark.skipif(PTXAS is None, reason="ptxas of the CUDA toolkit is not on this machine")
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_ptxas_takes_every_sample_without_spills(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expressions = [sample() for sample in SAMPLES.values()] + [scaled_sum(F16), scaled_sum(I64), softmax(F64)]
    source = tmp_path / "kernels.ptx"
    source.write_text(_as_one(ptx_kernels(expressions, gpu=target)))
    assert ".local" not in source.read_text()  # the layout is read where parameters lie
    command = [str(PTXAS), "-v", f"-arch={target}", "-O3", str(source), "-o", str(tmp_path / "kernels.cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    kernels = re.findall(r"Compiling entry function '(\w+)'", result.stderr)
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", result.stderr)
    registers = re.findall(r"Used (\d+) registers", result.stderr)
    assert set(kernels) == {expression.name for expression in expressions}
    assert spills == [("0", "0")] * len(expressions)
    with capsys.disabled():
        print(f" {target}: {', '.join(sorted(registers, key=int))} registers", end="")


def _as_one(kernels: dict[str, str]) -> str:
    """Several modules as one: all begin alike."""
    header = next(iter(kernels.values())).split(".visible")[0]
    return header + "".join(text[text.index(".visible") :] for text in kernels.values())
