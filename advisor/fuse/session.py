"""A fused model opened with the library that its generated kernels are in."""

from __future__ import annotations

import hashlib
import mmap
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput
from advisor.fuse.kernel_support import starts
from advisor.fuse.kernels.elf import Malformed, architecture_of
from advisor.fuse.model import read
from advisor.measure.session import CPU, CUDA
from advisor.output import staged

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir
    import onnxruntime as ort  # type: ignore[import-untyped]

__all__ = ["libraries_of", "library_of", "remove_library", "replaced_library", "session", "write_library"]

LIBRARY = "advisor.library"
"""Key of a model's metadata: the name of the library's file, which lies beside the model."""
DIGITS = 16
"""Of the library's SHA-256, in hexadecimal, in its name."""
_OWN = re.compile(rf".+\.[0-9a-f]{{{DIGITS}}}\.so")
"""Names that `write_library` gives."""


def session(
    path_or_bytes: str | Path,
    sess_options: ort.SessionOptions | None = None,
    providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
    *args: Any,
    **kwargs: Any,
) -> ort.InferenceSession:
    """Open a model as `onnxruntime.InferenceSession` does, with the library of generated kernels that it names.

    It takes the same arguments by the same names.

    A library is code, and runs with the rights of this process: open models from people that you trust. It is looked
    for beside the model and nowhere else, and only loaded if it has the bytes that its name says.

    Args:
        path_or_bytes: ONNX file, such as `advisor fuse` wrote it; bytes do not say where the library lies.
        sess_options: The library is registered in them, so that they open one model with kernels only; None takes new
            ones.
        providers: Execution providers; None takes CUDA where it starts, and the CPU.
        args: What else `InferenceSession` takes.
        kwargs: The same.

    Raises:
        BadInput: The model is no file; its library is missing, is another one than the model was written with, or is
            for another machine; the options hold a library already.
    """
    import onnxruntime as ort

    if not isinstance(path_or_bytes, str | os.PathLike):
        raise BadInput("the library of a model lies beside its file: give the file's name, not its bytes")
    path = Path(path_or_bytes)
    library = library_of(path)
    options = sess_options or ort.SessionOptions()
    if library is not None:
        options.register_custom_ops_library(str(library))
    if providers is None:
        providers = [provider for provider in (CUDA, CPU) if starts(provider)]
    try:
        return ort.InferenceSession(str(path), options, providers, *args, **kwargs)
    except Exception as error:
        if library is None or "Domain already set" not in str(error):
            raise
    raise BadInput("these session options hold the library of a fused model already: make new ones for each session")


def library_of(path: Path) -> Path | None:
    """The library that a model needs, beside it; None where it needs none.

    Raises:
        BadInput: PATH is no model; the library is missing, is another one than the model was written with, or is for
            another machine.
    """
    name = next((entry.value for entry in read(path).metadata_props if entry.key == LIBRARY), None)
    return None if name is None else _beside(path, name)


def libraries_of(model: ir.Model, path: Path) -> tuple[Path, ...]:
    """The libraries that a model read from PATH needs, as `open_session` takes them; raises as `library_of` does."""
    name = model.metadata_props.get(LIBRARY)
    return () if name is None else (_beside(path, name),)


def _beside(path: Path, name: str) -> Path:
    """The library NAME beside the model in PATH, once it is sure that it is the one meant."""
    if Path(name).name != name or not name.endswith(".so"):
        raise BadInput(f"{path} names the library {name!r}, which is no file beside it")
    library = path.resolve().parent / name
    try:
        data = library.read_bytes()
    except OSError:
        raise BadInput(f"{path} needs its library {name} beside it: copy both") from None
    if _digest(data) != name.split(".")[-2]:
        raise BadInput(f"{library} is not the library that {path} was written with: its bytes are others")
    try:
        made_for = architecture_of(data)
    except Malformed as error:
        raise BadInput(f"{library}: {error}") from None
    if platform.system() != "Linux" or made_for != platform.machine():  # else the loader says: no such file
        raise BadInput(
            f"{library} holds code for Linux on {made_for}, and this is {platform.system()} on {platform.machine()}: "
            "fuse the original model on such a machine"
        )
    return library


def write_library(model: ir.Model, library: Path, target: Path) -> Path:
    """Put LIBRARY beside TARGET, where MODEL is about to be written, and its name into the model.

    Raises:
        BadInput: It cannot be written.
    """
    data = library.read_bytes()
    written = target.with_name(f"{target.stem}.{_digest(data)}.so")
    with staged(written) as part:
        part.write_bytes(data)
    model.metadata_props[LIBRARY] = written.name
    return written


def replaced_library(target: Path) -> Path | None:
    """The library that is of no use once another model is written to TARGET; None where there is none of ours.

    It belongs to the model there, lies beside it, and has a name and bytes that go together.
    """
    if not target.is_file():
        return None
    try:
        name = next((entry.value for entry in read(target).metadata_props if entry.key == LIBRARY), "")
    except BadInput:
        return None  # what is there is no model
    library = target.resolve().parent / name
    if Path(name).name != name or not _OWN.fullmatch(name) or library.is_symlink() or not library.is_file():
        return None
    return library if _digest(library.read_bytes()) == name.split(".")[-2] else None


def remove_library(library: Path) -> str:
    """Remove a library whose model was replaced, where no other model beside it names it; what was done, for people."""
    try:
        user = next((model for model in library.parent.glob("*.onnx") if _names(model, library.name)), None)
        if user is None:
            library.unlink()
            return f"{library.name}, the library of the model that was replaced, was removed"
        reason = f"{user.name} names it too"
    except OSError as error:
        reason = error.strerror or str(error)
    return f"{library.name}, the library of the model that was replaced, was left: {reason}"


def _names(model: Path, library: str) -> bool:
    """Whether a file, which may be large or no model at all, has the name of a library in it."""
    with model.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.rfind(library.encode()) >= 0


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
