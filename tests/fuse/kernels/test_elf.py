"""Shared libraries written without a linker, looked at from outside."""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.fuse.kernels.elf import Malformed, shared_library
from advisor.fuse.kernels.library import build_library
from tests.fuse.kernels.single_operator import double

PAGES = {"x86_64": (62, 0x1000), "aarch64": (183, 0x10000)}
LOAD, STACK, EXECUTE, WRITE = 1, 0x6474E551, 1, 2


@pytest.mark.parametrize("architecture", PAGES)
def test_segments_are_apart_and_nothing_is_both_written_and_executed(architecture: str) -> None:
    machine, page = PAGES[architecture]
    data = build_library([double()], architecture=architecture)
    assert struct.unpack_from("<HH", data, 16) == (3, machine)
    (count,) = struct.unpack_from("<H", data, 56)
    segments = [struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * place) for place in range(count)]
    assert not any(flags & WRITE and flags & EXECUTE for _, flags, *_ in segments)
    assert [flags for kind, flags, *_ in segments if kind == STACK] == [6]
    end = 0
    for kind, _, offset, address, _, in_file, in_memory, alignment in segments:
        if kind != LOAD:
            continue
        assert alignment == page
        assert offset == address
        assert address % page == 0
        assert address >= end
        assert offset + in_file <= len(data)
        end = address + in_memory
    assert data.count(b"RegisterCustomOps\0") == 1
    assert b"dlopen" not in data  # without a GPU kernel the library asks the process for nothing


@cache
def _object() -> bytes:
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly("@x = global ptr @f\ndefine ptr @f() { ret ptr @x }")
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    return bytes(target.create_target_machine(reloc="pic", codemodel="small").emit_object(module))


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, 10_000), value=st.integers(0, 255), cut=st.integers(0, 10_000))
def test_a_damaged_object_is_refused_or_becomes_some_library(place: int, value: int, cut: int) -> None:
    damaged = bytearray(_object())
    damaged[place % len(damaged)] = value
    with suppress(Malformed):  # any other exception fails
        assert shared_library(bytes(damaged[: len(damaged) - cut % 64]), ("f",))[:4] == b"\x7fELF"


def test_what_is_no_object_is_refused() -> None:
    for data in (b"", b"\x7fELF", bytes(100), build_library([double()])):
        with pytest.raises(Malformed):
            shared_library(data, ("f",))
    with pytest.raises(Malformed, match="does not define g"):
        shared_library(_object(), ("g",))
