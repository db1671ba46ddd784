"""Large weights on disk, once for all sessions: ONNX Runtime maps a file, where it copies what lies in a model."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path

import onnx_ir as ir

__all__ = ["FILES", "LARGE", "in_files"]

LARGE = 1 << 20
"""Bytes from which a tensor gets a file: what is smaller is copied as fast as a file is opened."""


class _Files:
    """The files of this process: one a tensor, for as long as somebody has the tensor."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[ir.TensorProtocol, str] = weakref.WeakKeyDictionary()
        self._numbers = count()

    @cached_property
    def folder(self) -> Path:
        """Where they lie; it is removed when the process ends."""
        self._folder = tempfile.TemporaryDirectory(prefix="advisor-weights-")
        return Path(self._folder.name)

    def unused(self) -> Path:
        """A file of a name that none has had."""
        return self.folder / str(next(self._numbers))

    def name(self, tensor: ir.TensorProtocol) -> str:
        """The file that holds the bytes of TENSOR; it is written the first time.

        Raises:
            OSError: There is no room for it.
        """
        if tensor not in self._names:
            path = self.unused()
            try:
                path.write_bytes(tensor.tobytes())
            except OSError:
                path.unlink(missing_ok=True)
                raise
            self._names[tensor] = path.name
            weakref.finalize(tensor, path.unlink, missing_ok=True).atexit = False
        return self._names[tensor]


FILES = _Files()


def in_files(model: ir.Model) -> bool:
    """Put the large weights of MODEL, which is changed, into `FILES`, and all others into it; whether a file has any.

    What there is no room for on the disk stays in the model.
    """
    found = False
    for graph in model.graphs():
        for value in graph.initializers.values():
            tensor = value.const_value
            if tensor is None:
                continue
            if isinstance(tensor, ir.ExternalTensor):
                value.const_value = ir.Tensor(tensor.numpy(), dtype=tensor.dtype, name=tensor.name)
            if tensor.dtype == ir.DataType.STRING or tensor.nbytes < LARGE:
                continue
            with suppress(OSError):
                shape = ir.Shape(tensor.shape.numpy())
                value.const_value = ir.ExternalTensor(
                    FILES.name(tensor), 0, tensor.nbytes, tensor.dtype, shape=shape, name=tensor.name or ""
                )
                found = True
    return found
