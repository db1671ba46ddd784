"""Events of JSON traces: what `json.loads` would give, from files of any size, and what can be had of broken ones."""

from __future__ import annotations

import gzip
import json
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.trace.readers import json_events
from advisor.trace.readers.json_events import EventFile, integer, nanoseconds

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.lists(
    st.builds(lambda name, more: {"name": name, "args": more}, st.text(), VALUES),
    max_size=12,
)
FORMS = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def read(data: bytes, piece: int = 1 << 20) -> tuple[list[dict[str, Any]], EventFile]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_events, "PIECE", piece)
        path = Path(folder) / "trace.json"
        path.write_bytes(data)
        events = EventFile(path)
        return list(events), events


@given(EVENTS, FORMS, st.integers(1, 60), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_events_are_those_of_the_whole_document(
    events: list[dict[str, Any]], form: dict[str, Any], piece: int, packed: bool, alone: bool
) -> None:
    about = {"schemaVersion": 1, "first": "traceEvents"}
    after = {"traceName": "x", "WARNING": ["a ] b"]}
    text = json.dumps(events if alone else about | {"traceEvents": events} | after, **form)
    data = text.encode(errors="replace")
    found, file = read(gzip.compress(data) if packed else data, piece)
    whole = json.loads(data.decode())
    assert found == (whole if alone else whole["traceEvents"])
    assert not file.cut_off
    assert file.damaged == 0
    assert file.about == ({} if alone else about | after)


@given(st.integers(0, 400), st.booleans(), st.integers(1, 60))
@settings(deadline=None, max_examples=100)
def test_a_file_that_is_cut_off_gives_its_whole_events(cut: int, packed: bool, piece: int) -> None:
    events = [{"name": f"event {number}", "args": {"list": [{"a": 1}, {"a": 2}]}} for number in range(8)]
    data = json.dumps({"traceEvents": events}).encode()
    whole = gzip.compress(data) if packed else data
    part = whole[: len(whole) * cut // 400]
    if cut == 400:
        return
    try:
        found, file = read(part, piece)
    except BadInput as error:
        assert "traceEvents" in str(error)  # noqa: PT017 - where it is cut off before the first event
        return
    assert found == events[: len(found)]
    assert file.cut_off or len(found) == len(events)


def test_a_damaged_event_costs_only_itself() -> None:
    text = '[{"ph":"X","name":"a"},\n{"ph":"X","name":"with "quotes""},\n{"ph":"X","name":"b"}]'
    found, file = read(text.encode())
    assert [event["name"] for event in found] == ["a", "b"]
    assert (file.damaged, file.cut_off) == (1, False)


def test_memory_is_bounded_however_long_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_events, "PIECE", 1 << 14)
    path = tmp_path / "trace.json"
    event = json.dumps({"name": "k" * 200, "args": {"list": list(range(50))}})
    path.write_text('{"traceEvents": [' + ",\n".join([event] * 4_000) + "]}", encoding="utf-8")
    assert path.stat().st_size > 1_500_000
    tracemalloc.start()
    count = sum(1 for _ in EventFile(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 4_000
    assert peak < 300_000


def test_a_damaged_archive_is_one_clear_error() -> None:
    text = json.dumps({"traceEvents": [{"name": f"event {number}"} for number in range(50_000)]})
    packed = bytearray(gzip.compress(text.encode()))
    packed[len(packed) // 2] ^= 0xFF
    packed[len(packed) // 2 + 1] ^= 0xFF
    with pytest.raises(BadInput, match="damaged"):
        read(bytes(packed))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5_000),
        ("88511388202.755", 88_511_388_202_755),
        ("1775078638061388.765", 1_775_078_638_061_388_765),
        (1 << 60, None),
        ("1e30", None),
        ("0.001", 1),
        ("12.5", 12_500),
        ("12.0006", 12_001),
        ("1e3", 1_000_000),
        ("-3.25", -3_250),
        (None, None),
        ("soon", None),
        ("NaN", None),
        ([], None),
    ],
)
def test_microseconds_become_exact_nanoseconds(value: object, expected: int | None) -> None:
    assert nanoseconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), ("24610", 24610), ("stream 7", 7), (-1, -1), (None, 0), ("", 0), ("x", 0), (1 << 70, 0), ("9" * 30, 0)],
)
def test_ids_are_numbers_however_they_are_written(value: object, expected: int) -> None:
    assert integer(value) == expected
