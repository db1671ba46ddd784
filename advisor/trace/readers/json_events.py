"""The events of a JSON trace, one at a time, however large the file is; plain or compressed with gzip.

The events are the objects of the array under the key `traceEvents` of the outermost object, or the outermost array
itself. At most a few megabytes of text are held at once. Programs that are killed leave files without an end, and some
write names without escaping them: what can be read is read, and the rest is counted.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.errors import BadInput

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

__all__ = ["GZIP_MAGIC", "WHOLE_MICROSECONDS", "EventFile", "Names", "columns", "integer", "nanoseconds"]

GZIP_MAGIC = b"\x1f\x8b"

PIECE = 1 << 20
"""Bytes that are read, and at most unpacked, at once."""

LONGEST_EVENT = 1 << 22
"""Characters. What is longer and still no JSON is damaged."""

LATEST_NS = 1 << 62
"""The year 2116, so that sums of two times are still numbers of 64 bits."""

LONGEST_HEADER = 1 << 26
"""Characters before the first event, and after the last one."""

WHOLE_MICROSECONDS = "times are cut to whole µs: each gap is about half a µs too long, and each work as much too short"

_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_NEXT = re.compile(r'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:)')

# Fractions stay text: times in µs with three decimals do not all fit into a double.
_DECODE = json.JSONDecoder(parse_float=str).raw_decode


def nanoseconds(microseconds: object) -> int | None:
    """A time in µs as JSON holds it (an integer, or the text of a fraction), in ns; None where it is no time."""
    if isinstance(microseconds, int):
        ns = microseconds * 1000
    elif not isinstance(microseconds, str):
        return None
    elif microseconds[-4:-3] == "." and (digits := microseconds.replace(".", "", 1)).isdecimal():
        ns = int(digits)
    else:
        try:
            ns = int((Decimal(microseconds) * 1000).to_integral_value())
        except (InvalidOperation, ValueError, OverflowError):
            return None
    return ns if -LATEST_NS < ns < LATEST_NS else None


def integer(value: object) -> int:
    """An id as JSON holds it: a number or its digits; 0 for anything else."""
    if type(value) is int and 0 <= value < 1 << 32:
        return value
    if isinstance(value, str):
        digits = value.rpartition(" ")[2]  # "stream 7"
        value = int(digits) if digits.isdecimal() and len(digits) < 19 else 0
    return value if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else 0


class Names:
    """Texts by number, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The number of a text."""
        return self._codes.setdefault(name, len(self._codes))

    def texts(self) -> tuple[str, ...]:
        """All texts; each one's place is its number."""
        return tuple(self._codes)


def columns(values: array[int], names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    """Rows that lie one after the other in one array, as a column for each name."""
    rows = np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)
    return dict(zip(names, rows.reshape(-1, len(names)).T.copy(), strict=True))


class EventFile:
    """A file of events. What is beside the events is known once they have been read to the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = {}
        """The keys beside `traceEvents`."""
        self.after = ""
        """What follows the outermost array, where there is no object around it."""
        self.damaged = 0
        """Events that are no JSON; left out."""
        self.cut_off = False
        """The file ends before its events do."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events in the order of the file.

        Raises:
            BadInput: The file cannot be read, or holds no array of events.
        """
        try:
            with self.path.open("rb") as file:
                yield from self._events(self._texts(file))
        except OSError as error:
            raise BadInput(f"cannot read {self.path}: {error.strerror}") from None

    def _events(self, texts: Iterator[str]) -> Iterator[dict[str, Any]]:
        text, place, alone = self._header(texts)
        while True:
            place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]  # it matches everywhere
            if text.startswith("]", place):
                break
            try:
                event, place = _DECODE(text, place)
            except (json.JSONDecodeError, RecursionError):
                more = next(texts, "") if len(text) - place < LONGEST_EVENT else ""
                if more:
                    text, place = text[place:] + more, 0
                elif following := _NEXT.search(text, place):
                    self.damaged += 1
                    place = following.end()
                else:
                    self.cut_off = True
                    return
                continue
            if isinstance(event, dict):
                yield event
        rest = text[place + 1 :] + "".join(islice(texts, LONGEST_HEADER // PIECE))
        if alone:
            self.after = rest.strip()
        else:
            self.about |= _object("{" + rest.lstrip(", \r\n\t"))

    def _header(self, texts: Iterator[str]) -> tuple[str, int, bool]:
        """The text so far, where the events begin in it, and whether they are all there is."""
        text = ""
        for more in texts:
            text += more
            beginning = text.lstrip()
            if beginning.startswith("["):
                return beginning, 1, True
            found = _EVENTS.search(text)
            if found:
                self.about = _object(text[: found.start()].rstrip(", \r\n\t") + "}")
                return text, found.end(), False
            if len(text) > LONGEST_HEADER:
                break
        raise BadInput(f"{self.path} has no `traceEvents`: it is cut off, or no trace")

    def _texts(self, file: BinaryIO) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        pieces = self._unpacked(file) if packed else iter(lambda: file.read(PIECE), b"")
        yield from filter(None, map(decoder.decode, pieces))

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=31)
        packed = b""
        try:
            while packed := packed or file.read(PIECE):
                yield unpacker.decompress(packed, PIECE)
                packed = unpacker.unconsumed_tail
                if unpacker.eof:
                    packed = unpacker.unused_data or file.read(PIECE)
                    if not packed.startswith(GZIP_MAGIC):
                        return
                    unpacker = zlib.decompressobj(wbits=31)
            yield unpacker.flush()
            self.cut_off = not unpacker.eof
        except zlib.error:
            raise BadInput(f"{self.path} is damaged (gzip cannot unpack it): copy it again") from None


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_float=str)
    except (json.JSONDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
