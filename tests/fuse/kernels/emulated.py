"""An x86-64 processor with AVX-512, emulated by Bochs, that runs kernels on NumPy arrays: `Processor`.

`pip install bochscpu-python` brings it; it needs glibc 2.38. The processor is in 64-bit mode with one flat address
space and no operating system. Every array ends where a page ends, and the next page is not there: an access behind an
array is a fault, and most arrays are as little aligned as their elements.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from advisor.fuse.kernels.cpu import function_name, kernel_module
from advisor.fuse.kernels.elf import shared_library
from advisor.fuse.kernels.expression import Access, Expression
from advisor.fuse.kernels.library import ARCHITECTURES, compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

try:
    import bochscpu._bochscpu as bochs  # type: ignore[import-not-found]
except ImportError as missing:
    pytest.skip(f"no emulated processor: {missing}", allow_module_level=True)

PAGE, TABLE_ENTRIES = 4096, 512
MEMORY = 64 << 20
DIRECTORIES, TABLES = 0x1000, 0x4000
IMAGE, STACK = 0x100000, 0x800000
PRESENT = 3
ALL_STATES, NO_ZMM = 0xE7, 0x7
"""Of XCR0: which registers the operating system saves."""


class Processor:
    """One processor with the kernels of some expressions in its memory."""

    def __init__(self, expressions: Sequence[Expression], level: str = "v4") -> None:
        self.level = level
        self._buffer = mmap.mmap(-1, MEMORY)
        self.memory = np.frombuffer(self._buffer, np.uint8)
        host = self.memory.ctypes.data
        for at in range(0, MEMORY, PAGE):
            bochs.memory.page_insert(at, host + at)
        for at in (DIRECTORIES, DIRECTORIES + PAGE):
            self._put(at, struct.pack("<Q", at + PAGE | PRESENT))
        tables = range(TABLES, TABLES + MEMORY // TABLE_ENTRIES, PAGE)
        for place, at in enumerate(tables):
            self._put(DIRECTORIES + 2 * PAGE + 8 * place, struct.pack("<Q", at | PRESENT))
        self.pages = self.memory[tables.start : tables.stop].view(np.uint64)
        names = [function_name(e, level, general=g) for e in expressions for g in (False, True)]
        target = ARCHITECTURES["x86_64"]
        modules = (kernel_module(expressions, [level]), target.cpu_level())
        exports = (*names, "cpu_level")
        code = compiled(modules, target.triple, target.cpu, seconds=120, exports=exports)
        image = shared_library(code, exports)
        self._map(IMAGE, len(image))
        self._put(IMAGE, image)
        self._map(STACK - 16 * PAGE, 16 * PAGE)
        self.functions = dict(zip(exports, _addresses(image, len(exports)), strict=True))

    def _map(self, start: int, size: int) -> None:
        first, last = start // PAGE, -(-(start + size) // PAGE)
        self.pages[first:last] = np.arange(first, last, dtype=np.uint64) * np.uint64(PAGE) | np.uint64(PRESENT)

    def _put(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def call(self, name: str, *arguments: int, states: int = ALL_STATES) -> int:
        """Call a function; what it returns."""
        state = bochs.State()
        state.cr0, state.cr3, state.cr4, state.efer, state.xcr0 = 0x80050033, DIRECTORIES, 0x40620, 0xD00, states
        state.rflags, state.mxcsr, state.mxcsr_mask = 2, 0x1F80, 0xFFFF
        state.cs = _segment(0x10, 0xA09B)
        state.ss = state.ds = state.es = state.fs = state.gs = _segment(0x18, 0xC093)
        halt = STACK - 16
        self._put(halt, b"\xf4")
        state.rsp = STACK - 1024 - 8
        self._put(state.rsp, struct.pack("<Q", halt))
        state.rip = IMAGE + self.functions[name]
        for register, argument in zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), arguments, strict=False):
            setattr(state, register, argument)
        session = bochs.Session()
        faults: list[tuple[int, int]] = []

        def fault(_session: Any, _processor: int, vector: int, error: int) -> None:
            faults.append((vector, error))
            session.stop()

        session.cpu.state = state
        session.missing_page_handler = lambda at: faults.append((-1, at))
        hook = bochs.Hook()
        hook.hlt = lambda *_: session.stop()
        hook.exception = fault
        session.run([hook])
        assert not faults, f"{name} faulted at {session.cpu.rip - IMAGE:#x}: {faults}"
        return int(session.cpu.rax)

    def run(
        self, expression: Expression, *inputs: NDArray[Any], rows: int, columns: int, general: bool = False
    ) -> list[NDArray[Any]]:
        """Call a kernel on arrays of [rows, columns], [rows, 1], [1, columns] or [1, 1]."""
        self.end = STACK + PAGE
        placed = [self._place(np.ascontiguousarray(array)) for array in inputs]
        outputs = []
        for output in expression.outputs:
            shape = (rows, columns if output.access is Access.COLUMNS else 1)
            outputs.append(self._place(np.full(shape, 77, expression.dtype(output.value).numpy())))
        strides = [[0 if a.shape[axis] == 1 else a.strides[axis] // a.itemsize for a, _ in placed] for axis in (0, 1)]
        vectors = [[at for _, at in placed], [at for _, at in outputs], *strides]
        arguments = [self._place(np.array(vector or [0], np.int64))[1] for vector in vectors]
        self.call(function_name(expression, self.level, general=general), *arguments, rows, columns)
        return [array.copy() for array, _ in outputs]

    def _place(self, array: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """A copy in the processor's memory, up to the end of a page with nothing behind it, and its address."""
        pages = max(1, -(-array.nbytes // PAGE))
        self._map(self.end, pages * PAGE)
        self.pages[self.end // PAGE + pages] = 0
        at = self.end + pages * PAGE - array.nbytes
        self.end += (pages + 1) * PAGE
        assert self.end <= MEMORY
        copy: NDArray[Any] = self.memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy, at


def _segment(selector: int, attributes: int) -> Any:
    segment = bochs.Segment()
    segment.present, segment.selector, segment.attr = True, selector, attributes
    segment.base, segment.limit = 0, 0xFFFFFFFF
    return segment


def _addresses(image: bytes, count: int) -> list[int]:
    """Of the exported functions, from the table of symbols, whose first entry is none."""
    at = 64 + 5 * 56
    return [struct.unpack_from("<Q", image, at + 24 * n + 8)[0] for n in range(1, count + 1)]
