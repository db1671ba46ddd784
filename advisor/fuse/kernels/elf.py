"""Turns a relocatable ELF object into a shared library, so that no linker is needed: `shared_library`.

As little as the generated libraries need: one object for x86-64 or aarch64, whose code refers to nothing outside of
it; its data may hold addresses of functions that the process has (weak: null where it has not). Sources: the System V
gABI (chapters 4 and 5), the x86-64 psABI (table 4.9) and the ELF for the Arm 64-bit Architecture (tables of static
and dynamic relocations).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["Malformed", "architecture_of", "shared_library"]

X86_64 = 62
AARCH64 = 183
NAMES = {X86_64: "x86_64", AARCH64: "aarch64"}
"""Machines as Linux calls them."""
PAGE = {X86_64: 0x1000, AARCH64: 0x10000}
"""The largest page of a system of that machine: segments of different permissions never share one."""

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
SEGMENT = struct.Struct("<IIQQQQQQ")
DYNAMIC = struct.Struct("<QQ")

IDENTITY = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # 64 bits, little endian, version 1, System V
RELOCATABLE, SHARED = 1, 3
PROGBITS, SYMTAB, RELA, NOBITS, INIT_ARRAY, FINI_ARRAY = 1, 2, 4, 8, 14, 15
WRITE, ALLOCATE, EXECUTE, THREAD_LOCAL = 1, 2, 4, 0x400
READ_ONLY, READ_EXECUTE, READ_WRITE = 4, 5, 6  # of segments
LOAD, DYNAMIC_SEGMENT, STACK = 1, 2, 0x6474E551
UNDEFINED, ABSOLUTE = 0, 0xFFF1
GLOBAL_FUNCTION, WEAK_NOTHING = 0x12, 0x20

# DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_RELA, DT_RELASZ, DT_RELAENT
HASH, STRTAB, SYMTAB_ENTRY, STRSZ, SYMENT, RELA_ENTRY, RELASZ, RELAENT = 4, 5, 6, 10, 11, 7, 8, 9

ADDRESS = {X86_64: 1, AARCH64: 257}
"""R_X86_64_64, R_AARCH64_ABS64: also what the loader writes for a symbol of the process."""
RELATIVE = {X86_64: 8, AARCH64: 1027}
"""R_*_RELATIVE: the loader adds the address at which the library lies."""


class Malformed(ValueError):  # noqa: N818 - reads as what it is at every raise
    """The object is not one that can become a library of this kind; the message says why."""


@dataclass(frozen=True)
class Section:
    """One section header, in the order of the ELF format."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & ALLOCATE and self.size and self.kind in (PROGBITS, NOBITS, INIT_ARRAY, FINI_ARRAY))


@dataclass(frozen=True)
class Symbol:
    """One symbol of the object."""

    name: str
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """A place in a section that holds an address of SYMBOL plus ADDEND, in one of the machine's ways."""

    section: int
    offset: int
    symbol: Symbol
    kind: int
    addend: int


@dataclass(frozen=True)
class Object:
    """A relocatable object, read and checked."""

    data: bytes
    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    def contents(self, section: Section) -> bytes:
        return _slice(self.data, section.offset, section.size)


def shared_library(data: bytes, exports: tuple[str, ...]) -> bytes:
    """The shared library of an object, of which processes see only EXPORTS.

    Raises:
        Malformed: It is no object for x86-64 or aarch64, is damaged, lacks an export, or its code needs a symbol that
            it does not define.
    """
    try:
        return _Library(_read(data), exports).written()
    except struct.error as error:
        raise Malformed(f"the object is cut off or damaged: {error}") from None


def architecture_of(library: bytes) -> str:
    """Name of the machine whose code a library holds.

    Raises:
        Malformed: It is no library for x86-64 or aarch64.
    """
    if library[:7] == IDENTITY[:7] and len(library) >= HEADER.size:
        _, kind, machine, *_ = HEADER.unpack_from(library)
        if kind == SHARED and machine in NAMES:
            return NAMES[machine]
    raise Malformed("not a shared library for x86-64 or aarch64")


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise Malformed("the object is cut off: a part of it lies behind its end")
    return data[offset : offset + size]


def _text(strings: bytes, offset: int) -> str:
    end = strings.find(b"\0", offset)
    if offset > len(strings) or end < 0:
        raise Malformed("a symbol's name lies outside of the names")
    return strings[offset:end].decode("ascii", errors="backslashreplace")


def _read(data: bytes) -> Object:
    header = HEADER.unpack_from(data)
    identity, kind, machine, offset, count = header[0], header[1], header[2], header[6], header[12]
    if identity[:7] != IDENTITY[:7] or kind != RELOCATABLE or machine not in PAGE:
        raise Malformed("not a relocatable ELF object for x86-64 or aarch64")
    headers = _slice(data, offset, count * SECTION.size)
    sections = tuple(Section(*fields) for fields in SECTION.iter_unpack(headers))
    tables = [section for section in sections if section.kind == SYMTAB]
    if len(tables) != 1 or tables[0].link >= len(sections):
        raise Malformed("the object has no table of symbols")
    strings = sections[tables[0].link]
    names = _slice(data, strings.offset, strings.size)
    symbols = tuple(
        Symbol(_text(names, name), section, value, size)
        for name, _, _, section, value, size in SYMBOL.iter_unpack(_slice(data, tables[0].offset, tables[0].size))
    )
    relocations = []
    for section in sections:
        if section.flags & ALLOCATE and section.flags & THREAD_LOCAL:
            raise Malformed("thread-local data is not taken")
        if section.kind != RELA or section.info >= len(sections) or not sections[section.info].loaded:
            continue
        for place, info, addend in RELOCATION.iter_unpack(_slice(data, section.offset, section.size)):
            if info >> 32 >= len(symbols) or place + 4 > sections[section.info].size:
                raise Malformed("a relocation points outside of its section or of the symbols")
            relocations.append(Relocation(section.info, place, symbols[info >> 32], info & 0xFFFFFFFF, addend))
    return Object(data, machine, sections, symbols, tuple(relocations))


def _aligned(place: int, alignment: int) -> int:
    alignment = max(alignment, 1)
    return (place + alignment - 1) // alignment * alignment


class _Library:
    """The library while it is laid out: addresses are offsets in the file.

    Three segments: what is read only (with the dynamic tables), code, and what the loader or the library writes.
    """

    def __init__(self, source: Object, exports: tuple[str, ...]) -> None:
        self.source = source
        self.machine = source.machine
        self.exports = exports
        address = ADDRESS[self.machine]
        self.imports = tuple(
            sorted({place.symbol.name for place in source.relocations if place.symbol.section == UNDEFINED})
        )
        self.names = b"\0" + b"".join(name.encode() + b"\0" for name in (*exports, *self.imports))
        self.loader_work = sum(place.kind == address for place in source.relocations)
        self.addresses: dict[int, int] = {}
        self._lay_out()

    def _place(self, end: int, flags: int) -> int:
        """Gives the sections of those permissions their addresses, from END on; those without contents last."""
        chosen = [
            (section.kind == NOBITS, place)
            for place, section in enumerate(self.source.sections)
            if section.loaded and section.flags & (WRITE | EXECUTE) == flags
        ]
        for _, place in sorted(chosen):
            section = self.source.sections[place]
            self.addresses[place] = _aligned(end, section.alignment)
            end = self.addresses[place] + section.size
            if section.kind != NOBITS:
                self.file_end = end
        return end

    def _lay_out(self) -> None:
        if any(
            section.loaded and section.flags & WRITE and section.flags & EXECUTE for section in self.source.sections
        ):
            raise Malformed("a section is both written and executed")
        page, symbols = PAGE[self.machine], 1 + len(self.exports) + len(self.imports)
        self.symbols_at = HEADER.size + 5 * SEGMENT.size
        self.names_at = self.symbols_at + symbols * SYMBOL.size
        self.hash_at = _aligned(self.names_at + len(self.names), 8)
        self.relocations_at = _aligned(self.hash_at + 4 * (3 + symbols), 8)
        self.file_end = self.relocations_at + self.loader_work * RELOCATION.size
        self.constants_end = self._place(self.file_end, 0)
        self.code_at = _aligned(self.constants_end, page)
        self.code_end = self._place(self.code_at, EXECUTE)
        self.dynamic_at = _aligned(self.code_end, page)
        self.file_end = self.dynamic_at + 9 * DYNAMIC.size
        self.memory_end = self._place(self.file_end, WRITE)

    def written(self) -> bytes:
        self.image = bytearray(self.file_end)
        for place, address in self.addresses.items():
            section = self.source.sections[place]
            if section.kind != NOBITS:
                self.image[address : address + section.size] = self.source.contents(section)
        loader = b"".join(self._relocate(place) for place in self.source.relocations)
        self._put(self.relocations_at, loader)
        self._put(self.symbols_at, self._symbols())
        self._put(self.names_at, self.names)
        self._put(self.hash_at, self._hash())
        self._put(self.dynamic_at, self._dynamic(len(loader)))
        self._put(0, self._headers())
        return bytes(self.image)

    def _put(self, place: int, data: bytes) -> None:
        self.image[place : place + len(data)] = data

    def _value(self, symbol: Symbol) -> int:
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section not in self.addresses:
            raise Malformed(f"{symbol.name or 'a symbol'} lies in a section that is not loaded")
        return self.addresses[symbol.section] + symbol.value

    def _relocate(self, relocation: Relocation) -> bytes:
        """Writes an address where it belongs; gives what is left to the loader, if anything."""
        place = self.addresses[relocation.section] + relocation.offset
        symbol, kind = relocation.symbol, relocation.kind
        if symbol.section == UNDEFINED:
            code = self.source.sections[relocation.section].flags & EXECUTE
            if code or kind != ADDRESS[self.machine]:
                raise Malformed(f"the code needs {symbol.name}, which is not in it")
            number = 1 + len(self.exports) + self.imports.index(symbol.name)
            return RELOCATION.pack(place, kind | number << 32, relocation.addend)
        target = self._value(symbol) + relocation.addend
        if kind == ADDRESS[self.machine]:
            return RELOCATION.pack(place, RELATIVE[self.machine], target)
        if self.source.sections[relocation.section].kind == NOBITS:
            raise Malformed("a relocation in a section without contents")
        (_x86_64 if self.machine == X86_64 else _aarch64)(self.image, place, target, kind)
        return b""

    def _symbols(self) -> bytes:
        defined = {symbol.name: symbol for symbol in self.source.symbols if symbol.section in self.addresses}
        entries, name_at = [bytes(SYMBOL.size)], 1
        for name in self.exports:
            if name not in defined:
                raise Malformed(f"the object does not define {name}")
            # Any section but 0 says that it is defined; the library has no table of sections to point into.
            value = self._value(defined[name])
            entries.append(SYMBOL.pack(name_at, GLOBAL_FUNCTION, 0, 1, value, defined[name].size))
            name_at += len(name) + 1
        for name in self.imports:
            entries.append(SYMBOL.pack(name_at, WEAK_NOTHING, 0, UNDEFINED, 0, 0))
            name_at += len(name) + 1
        return b"".join(entries)

    def _hash(self) -> bytes:
        """The table by which names are found, with a single bucket: a chain through all symbols."""
        count = len(self.exports) + len(self.imports)
        chain = [*range(2, count + 1), 0] if count else []
        return struct.pack(f"<{4 + count}I", 1, count + 1, 1 if count else 0, 0, *chain)

    def _dynamic(self, relocation_bytes: int) -> bytes:
        entries = (
            (HASH, self.hash_at),
            (STRTAB, self.names_at),
            (SYMTAB_ENTRY, self.symbols_at),
            (STRSZ, len(self.names)),
            (SYMENT, SYMBOL.size),
            (RELA_ENTRY, self.relocations_at),
            (RELASZ, relocation_bytes),
            (RELAENT, RELOCATION.size),
            (0, 0),
        )
        return b"".join(DYNAMIC.pack(*entry) for entry in entries)

    def _headers(self) -> bytes:
        page = PAGE[self.machine]
        header = HEADER.pack(
            IDENTITY, SHARED, self.machine, 1, 0, HEADER.size, 0, 0, HEADER.size, SEGMENT.size, 5, 0, 0, 0
        )
        dynamic = 9 * DYNAMIC.size
        segments = (
            (LOAD, READ_ONLY, 0, self.constants_end, self.constants_end, page),
            (LOAD, READ_EXECUTE, self.code_at, self.code_end - self.code_at, self.code_end - self.code_at, page),
            (
                LOAD,
                READ_WRITE,
                self.dynamic_at,
                self.file_end - self.dynamic_at,
                self.memory_end - self.dynamic_at,
                page,
            ),
            (DYNAMIC_SEGMENT, READ_WRITE, self.dynamic_at, dynamic, dynamic, 8),
            (STACK, READ_WRITE, 0, 0, 0, 16),
        )
        return header + b"".join(
            SEGMENT.pack(kind, flags, at, at, at, in_file, in_memory, alignment)
            for kind, flags, at, in_file, in_memory, alignment in segments
        )


def _x86_64(image: bytearray, place: int, target: int, kind: int) -> None:
    difference = target - place
    if kind in (9, 41, 42):  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX: the load of an address becomes the address itself
        if place < 2 or image[place - 2] != 0x8B:
            raise Malformed("an address is read from a table that the library does not have")
        image[place - 2] = 0x8D  # mov → lea
        struct.pack_into("<i", image, place, difference)
    elif kind in (2, 4):  # PC32, PLT32
        struct.pack_into("<i", image, place, difference)
    elif kind == 24:  # PC64
        struct.pack_into("<q", image, place, difference)
    else:
        raise Malformed(f"x86-64 relocation {kind} is not known")


PAGE_OFFSETS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""ADD_ABS_LO12_NC and LDST8…128_ABS_LO12_NC: the instruction's unit, as a power of 2 bytes."""


def _aarch64(image: bytearray, place: int, target: int, kind: int) -> None:
    difference = target - place
    if kind == 261:  # PREL32
        struct.pack_into("<i", image, place, difference)
        return
    if kind == 260:  # PREL64
        struct.pack_into("<q", image, place, difference)
        return
    (word,) = struct.unpack_from("<I", image, place)
    if kind == 275:  # ADR_PREL_PG_HI21
        pages = (target >> 12) - (place >> 12)
        if not -(1 << 20) <= pages < 1 << 20:
            raise Malformed("the library is too large")
        word = word & 0x9F00001F | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    elif kind in PAGE_OFFSETS:
        if target & ((1 << PAGE_OFFSETS[kind]) - 1):
            raise Malformed("an address is less aligned than the instruction that reads it")
        word = word & ~(0xFFF << 10) | ((target & 0xFFF) >> PAGE_OFFSETS[kind]) << 10
    elif kind in (282, 283):  # JUMP26, CALL26
        if not -(1 << 27) <= difference < 1 << 27:
            raise Malformed("the library is too large")
        word = word & 0xFC000000 | difference >> 2 & 0x3FFFFFF
    else:
        raise Malformed(f"aarch64 relocation {kind} is not known")
    struct.pack_into("<I", image, place, word)
