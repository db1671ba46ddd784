"""Compiles kernels in this process, so that tests call them on NumPy arrays, and measures them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np

from advisor.fuse.kernels.cpu import LEVELS, function_name, kernel_module
from advisor.fuse.kernels.expression import Access, Expression

if TYPE_CHECKING:
    from numpy.typing import NDArray


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def host_level() -> str:
    """The highest level that this machine runs."""
    features = llvm.get_host_cpu_features()
    if llvm.get_process_triple().startswith("aarch64"):
        return "v8"
    return "v4" if features.get("avx512vl") else "v3" if features.get("avx2") else "v2"


def machine(level: str) -> llvm.TargetMachine:
    """LLVM's code generator for a level, for this operating system."""
    _initialise()
    triple = "aarch64-unknown-linux-gnu" if level == "v8" else "x86_64-unknown-linux-gnu"
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=LEVELS[level].cpu, opt=3, reloc="pic", codemodel="small")


def optimised(text: str, target: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module after LLVM's O3."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module


def assembly(expressions: list[Expression], level: str) -> str:
    """What the processor gets."""
    target = machine(level)
    return str(target.emit_assembly(optimised(kernel_module(expressions, [level]), target)))


@dataclass(frozen=True)
class Compiled:
    """Kernels in memory, by address."""

    engine: Any
    level: str

    def address(self, expression: Expression, *, general: bool = False) -> int:
        """Of a kernel's function."""
        return int(self.engine.get_function_address(function_name(expression, self.level, general=general)))


def compiled(expressions: list[Expression], level: str | None = None) -> Compiled:
    """Compile expressions for this machine; what is vectorised for a higher level is cut to what this machine has."""
    host = host_level()
    level = level or host
    text = kernel_module(expressions, [level]).replace("define hidden", "define")
    module = optimised(text, machine(level))
    if level > host:
        module = llvm.parse_assembly(str(module).replace(LEVELS[level].cpu, LEVELS[host].cpu))
    engine = llvm.create_mcjit_compiler(module, machine(min(level, host)))
    engine.finalize_object()
    return Compiled(engine, level)


_FUNCTION = ctypes.CFUNCTYPE(None, *([ctypes.c_void_p] * 4), ctypes.c_int64, ctypes.c_int64)


def run(
    kernels: Compiled, expression: Expression, *inputs: NDArray[Any], rows: int, columns: int, general: bool = False
) -> list[NDArray[Any]]:
    """Call a kernel on arrays of [rows, columns], [rows, 1], [1, columns] or [1, 1], or views with any strides."""
    call, outputs = prepared(kernels, expression, *inputs, rows=rows, columns=columns, general=general)
    call()
    return outputs


def prepared(
    kernels: Compiled, expression: Expression, *inputs: NDArray[Any], rows: int, columns: int, general: bool = False
) -> tuple[Any, list[NDArray[Any]]]:
    """A function that runs the kernel once, and the arrays that it writes."""
    outputs: list[NDArray[Any]] = []
    for output in expression.outputs:
        dtype = expression.dtype(output.value).numpy()
        shape = (rows, columns if output.access is Access.COLUMNS else 1)
        outputs.append(np.full(shape, 77, dtype))
    ins = (ctypes.c_void_p * max(1, len(inputs)))(*[array.ctypes.data for array in inputs])
    outs = (ctypes.c_void_p * len(outputs))(*[array.ctypes.data for array in outputs])

    def strides(axis: int) -> ctypes.Array[ctypes.c_int64]:
        found = [0 if array.shape[axis] == 1 else array.strides[axis] // array.itemsize for array in inputs]
        return (ctypes.c_int64 * max(1, len(found)))(*found)

    row_strides, column_strides = strides(0), strides(1)
    function = _FUNCTION(kernels.address(expression, general=general))
    keep = (kernels, inputs)

    def call() -> None:
        assert keep
        function(ins, outs, row_strides, column_strides, rows, columns)

    return call, outputs
