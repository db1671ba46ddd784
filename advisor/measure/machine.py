"""What this machine can do: each fact is tried, not assumed."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.kernels.expression import Expression

__all__ = ["Fact", "driver", "examine", "nsys"]

PATIENCE_S = 20
"""How long another program may take to answer."""

OPTIMIZERS = ("onnxscript", "onnxslim")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked for."""

    subject: str
    works: bool
    detail: str
    """What was found, or why it does not work."""
    advice: str = ""
    """What to do about it where it does not work; empty where nothing needs it."""


def examine() -> Iterator[Fact]:
    """Look at the machine, one fact after the other."""
    yield Fact("advisor", True, f"{_version('fusion-advisor')}, Python {platform.python_version()}")
    yield Fact("system", True, f"{platform.system()} {platform.release()}, {platform.machine()}")
    gpu = driver()
    yield gpu
    yield from _providers(gpu.works)
    yield compiler()
    yield nsys()
    yield from (_package(name) for name in OPTIMIZERS)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def driver() -> Fact:
    """The NVIDIA driver, asked through the library that every CUDA program loads."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1" if platform.system() != "Windows" else "nvcuda.dll")
    except OSError:
        return Fact(
            "NVIDIA driver", False, "not installed", "without a GPU everything runs on the CPU; traces need none"
        )
    number, count = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDriverGetVersion(ctypes.byref(number)) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return Fact("NVIDIA driver", False, "does not start", "look at nvidia-smi")
    names = []
    for device in range(count.value):
        text = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(text, len(text), device)
        names.append(text.value.decode(errors="replace"))
    api = f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"
    return Fact("NVIDIA driver", bool(names), f"{api}, {', '.join(names) or 'no GPU'}")


def _providers(gpu: bool) -> Iterator[Fact]:
    """Every provider of this ONNX Runtime, and whether a session on it really runs there."""
    try:
        import onnxruntime as ort  # type: ignore[import-untyped]
    except ImportError as error:
        yield Fact("ONNX Runtime", False, str(error), "pip install onnxruntime-gpu, or onnxruntime without a GPU")
        return
    yield Fact("ONNX Runtime", True, str(ort.__version__))
    from advisor.measure.session import Level, NotRunnable, open_session, provider_of

    model = _smallest_model()
    for provider in ort.get_available_providers():
        short = provider.removesuffix("ExecutionProvider")
        try:
            got = provider_of(open_session(model, level=Level.OFF, provider=provider))
        except NotRunnable as error:
            yield Fact(f"provider {short}", False, str(error))
            continue
        if got == provider:
            yield Fact(f"provider {short}", True, "loads")
        else:
            advice = "install the CUDA and cuDNN versions that this ONNX Runtime was built for" if gpu else ""
            yield Fact(f"provider {short}", False, f"is in this build, but a session falls back to {got}", advice)


def _smallest_model() -> bytes:
    from onnx import TensorProto, helper

    source, target = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "smallest", [source], [target])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def nsys() -> Fact:
    """Nsight Systems' command, asked for its version."""
    path = shutil.which("nsys")
    advice = "install Nsight Systems to record traces here; reading exported ones needs none"
    if path is None:
        return Fact("nsys", False, "not on PATH", advice)
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own nsys
            [path, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Fact("nsys", False, f"{path} does not run: {error}", advice)
    return Fact("nsys", True, answer.stdout.strip().removeprefix("NVIDIA Nsight Systems version "))


def compiler() -> Fact:
    """What compiles generated kernels, tried with the smallest library."""
    from advisor.errors import AdvisorError
    from advisor.fuse.kernels.library import NotCompiled, build_library, here

    try:
        build_library([_smallest_kernel()])
    except (AdvisorError, NotCompiled) as error:
        return Fact("generated kernels", False, str(error), "fusions that need no library still work")
    return Fact("generated kernels", True, f"compile for {here()}, LLVM of llvmlite {_version('llvmlite')}")


def _smallest_kernel() -> Expression:
    import onnx_ir as ir

    from advisor.fuse.kernels.expression import Access, Expression, Input, Operation, Output

    values = (Input(ir.DataType.FLOAT, Access.COLUMNS), Operation("Neg", (0,), ir.DataType.FLOAT))
    return Expression(values, (Output(1, Access.COLUMNS),))


def _package(name: str) -> Fact:
    found = _version(name)
    if found is not None:
        return Fact(name, True, found)
    return Fact(name, False, "not installed", "optional: pip install 'fusion-advisor[optimizers]'")
