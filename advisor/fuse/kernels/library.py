"""Generated kernels as one custom-operator library for ONNX Runtime, made without a compiler or linker of the system.

expressions → IR text of the kernels (cpu), of the tables (descriptors) and of the glue → object (compile, in a
child process) → shared library (elf)
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.fuse.kernels.compile import MOST_BYTES
from advisor.fuse.kernels.cpu import kernel_module
from advisor.fuse.kernels.descriptors import Operator, tables
from advisor.fuse.kernels.elf import Malformed, shared_library
from advisor.fuse.kernels.nvptx import TARGETS, TRIPLE, gpu_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from advisor.fuse.kernels.expression import Expression

__all__ = ["ARCHITECTURES", "NotCompiled", "Unsupported", "build_library", "compiled", "here", "ptx_kernels"]

HERE = Path(__file__).parent
GLUE = HERE / "glue" / "glue.ll"
CUDA = "CUDAExecutionProvider"
EXPORTS = ("RegisterCustomOps",)
OLDEST_GPU = "sm_70"
SECONDS_AT_LEAST = 30
SECONDS_EACH = 0.5
"""Processor time for a library, and more for each kernel, of which one takes about a tenth of a second."""
SECONDS_AT_MOST = 120


class Architecture:
    """What kernels are compiled for.

    Attributes:
        triple: LLVM's name of it.
        cpu: The oldest CPU: what is not a kernel is compiled for it.
        levels: Suffixes of the kernels' functions for each level of CPUs, and the number `cpu_level` gives it.
    """

    def __init__(self, triple: str, cpu: str, levels: Mapping[str, int]) -> None:
        self.triple = triple
        self.cpu = cpu
        self.levels = dict(levels)

    def cpu_level(self) -> str:
        """IR of the function that tells the level of the CPU it runs on."""
        if self.triple.startswith("x86_64"):
            return (HERE / "glue" / "x86_64.ll").read_text(encoding="utf-8")
        return "define hidden i32 @cpu_level() { ret i32 0 }\n"


ARCHITECTURES = {
    "x86_64": Architecture("x86_64-unknown-linux-gnu", "x86-64", {"v2": 0, "v3": 1, "v4": 2}),
    "aarch64": Architecture("aarch64-unknown-linux-gnu", "generic", {"v8": 0}),
}


class Unsupported(BadInput):
    """Generated kernels can not be made for this system; fusions without a library still can."""


class NotCompiled(Exception):  # noqa: N818 - reads as what it is at every raise
    """A library was not compiled: too large, too slow, or a fault of the generator; one line says which."""


def here() -> str:
    """The architecture of this system.

    Raises:
        Unsupported: Libraries can not be made for it.
    """
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if platform.system() != "Linux" or machine not in ARCHITECTURES:
        raise Unsupported(
            f"generated kernels are for Linux on x86-64 or aarch64, and this is {platform.system()} on "
            f"{platform.machine()}; all other fusions work here"
        )
    return machine


def build_library(
    expressions: Sequence[Expression],
    *,
    architecture: str | None = None,
    ptx: Mapping[str, str] | None = None,
    levels: Sequence[str] | None = None,
) -> bytes:
    """A shared library that registers one operator for each expression; the same bytes for the same expressions.

    Args:
        expressions: What the operators compute; their names are the operators' names, in `expression.DOMAIN`.
        architecture: Of ARCHITECTURES; None is this system's.
        ptx: For expressions that shall run on NVIDIA GPUs too, the kernel by the expression's name.
        levels: Of the architecture's levels of CPUs; None is all. At run time the highest that the CPU has is taken.

    Raises:
        Unsupported: There is no such architecture.
        BadInput: An expression that no kernel can be made for.
        NotCompiled: LLVM refuses, or a limit of time, memory or size was reached.
    """
    target = ARCHITECTURES.get(architecture or here())
    if target is None:
        raise Unsupported(f"no architecture {architecture!r}: there are {', '.join(ARCHITECTURES)}")
    chosen = {name: target.levels[name] for name in levels or target.levels}
    unique = {expression.name: expression for expression in expressions}
    operators = [Operator(expression) for expression in unique.values()]
    operators += [Operator(unique[name], CUDA, text) for name, text in (ptx or {}).items()]
    described = tables(operators, chosen)  # refuses what no kernel can be made for
    modules = [kernel_module(list(unique.values()), list(chosen)), described]
    return linked(modules, target, seconds=_patience(len(unique)))


def linked(modules: Sequence[str], target: Architecture, seconds: int = SECONDS_AT_LEAST) -> bytes:
    """The library of kernels and tables, given as IR text.

    Raises:
        NotCompiled: As `build_library`.
    """
    whole = (*modules, target.cpu_level(), GLUE.read_text(encoding="utf-8"))
    try:
        return shared_library(compiled(whole, target.triple, target.cpu, seconds=seconds, exports=EXPORTS), EXPORTS)
    except Malformed as error:
        raise NotCompiled(f"generated kernels do not become a library: {error}") from None


def ptx_kernels(expressions: Sequence[Expression], *, gpu: str = OLDEST_GPU) -> dict[str, str]:
    """The kernels for NVIDIA GPUs as PTX, by the expressions' names.

    Args:
        expressions: What to compute.
        gpu: Of `nvptx.TARGETS`. The driver translates PTX for its own GPU, so that of the oldest serves all newer ones.

    Raises:
        NotCompiled: As `build_library`.
    """
    unique = {expression.name: expression for expression in expressions}
    seconds = _patience(len(unique))
    return {
        name: compiled(
            (gpu_module([expression]),), TRIPLE, gpu, TARGETS[gpu], seconds=seconds, exports=(name,), is_text=True
        ).decode()
        for name, expression in unique.items()
    }


def _patience(kernels: int) -> int:
    return min(int(SECONDS_AT_LEAST + SECONDS_EACH * kernels), SECONDS_AT_MOST)


@lru_cache(maxsize=64)
def compiled(
    modules: tuple[str, ...],
    triple: str,
    cpu: str,
    features: str = "",
    *,
    seconds: int,
    exports: tuple[str, ...],
    is_text: bool = False,
) -> bytes:
    """The object file of IR modules linked together, or the assembly as text, compiled in a child process with limits.

    Raises:
        NotCompiled: LLVM refuses or ends the child, or a limit was reached.
    """
    job = {
        "triple": triple,
        "cpu": cpu,
        "features": features,
        "modules": modules,
        "exports": exports,
        "is_text": is_text,
    }
    # -P: the current folder, which may be a stranger's, is not where modules are looked for.
    command = [sys.executable, "-P", str(HERE / "compile.py"), str(seconds)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        try:
            child = subprocess.run(  # noqa: S603 - our own program
                command,
                input=json.dumps(job).encode(),
                stdout=output,
                stderr=complaints,
                timeout=2 * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotCompiled(f"generated kernels were not compiled within {2 * seconds} s") from None
        except OSError as error:
            raise NotCompiled(f"the compiler of generated kernels does not start: {error}") from None
        if child.returncode:
            complaints.seek(0)
            raise NotCompiled(_why(child.returncode, complaints.read(1 << 16).decode(errors="replace")))
        if output.seek(0, 2) >= MOST_BYTES:  # cut off at the limit
            raise NotCompiled(f"generated kernels take more than {MOST_BYTES >> 20} MiB")
        output.seek(0)
        return output.read()


def _why(code: int, complaints: str) -> str:
    lines = complaints.strip().splitlines()
    last = lines[-1][:1000] if lines else "no message"
    if code < 0:
        import signal

        return f"LLVM ended while it compiled generated kernels ({signal.Signals(-code).name}): {last}"
    return f"generated kernels were not compiled: {last}"
