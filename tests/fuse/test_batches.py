"""The gain by size of the batch: which sizes are raced, what is said about the others, and the page with the curve."""

from __future__ import annotations

import json
import time
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import onnx
import pytest

from advisor.errors import CannotDecide
from advisor.fuse import batches, bench
from advisor.fuse.batches import measure_batches
from advisor.fuse.search import fuse
from advisor.fuse.transform import Applied
from advisor.fuse.verify import Verification
from advisor.measure.latency import measure_pair
from advisor.measure.session import CPU
from tests.conftest import in_process
from tests.fuse.graphs import model, proto
from tests.report.fusion_reports import race

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.fuse.batches import BatchLatency
    from advisor.measure.inputs import Inputs
    from advisor.measure.latency import PairedLatency

DOUBLE = "(float[batch, 8] x) => (float[batch, 8] y) { y = Add(x, x) }"
# Twice x only up to a batch of two: behind that, batch - 2 is added.
WRONG_BEYOND_TWO = """(float[batch, 8] x) => (float[batch, 8] y) {
    s = Shape <start = 0, end = 1> (x) t = Constant <value = int64 {2}> () d = Sub(s, t)
    z = Constant <value = int64 {0}> () m = Max(d, z) f = Cast <to = 1> (m) e = Add(x, f) y = Add(e, x) }"""
SCHEMA = json.loads((files("advisor.report") / "schemas" / "fusion-1.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def busy_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Races by processor time of one thread."""
    monkeypatch.setattr(bench, "measure_pair", partial(measure_pair, clock=time.process_time_ns))


def measured(original: str, fused: str, *sizes: int, **options: Any) -> tuple[BatchLatency, ...]:
    settings: dict[str, Any] = {"path": Path("m.onnx"), "provider": CPU, "threads": 1, "seconds": 0.2}
    return measure_batches(model(original), Applied(model(fused), ()), sizes, **(settings | options))


def test_every_size_is_raced_once_in_ascending_order() -> None:
    said: list[str] = []
    found = measured(DOUBLE, DOUBLE, 4, 1, 4, progress=said.append)
    assert [each.batch for each in found] == [1, 4]
    assert all(each.latency is not None and each.latency.rounds for each in found)
    assert said == ["measuring at a batch of 1", "measuring at a batch of 4"]


def test_a_model_that_is_wrong_at_a_size_is_not_raced_there() -> None:
    right, wrong = measured(DOUBLE, WRONG_BEYOND_TWO, 2, 3)
    assert right.latency is not None
    assert not right.is_wrong
    assert (wrong.latency, wrong.is_wrong) == (None, True)
    assert wrong.reason.startswith("the fused model is wrong there: output 'y' is off")


def test_a_size_that_the_model_does_not_take_is_a_reason_and_the_others_go_on() -> None:
    pairs = "(float[batch, 8] x) => (float[a, b] y) { s = Constant <value = int64[2] {-1, 16}> () y = Reshape(x, s) }"
    odd, even = measured(pairs, pairs, 1, 2)
    assert (odd.latency, odd.is_wrong) == (None, False)
    assert "does not run on" in odd.reason
    assert even.latency is not None
    fixed = "(float[2, 8] x) => (float[2, 8] y) { y = Add(x, x) }"
    other, own = measured(fixed, fixed, 1, 2)
    assert (other.latency, other.reason) == (None, "the model's batch is fixed")
    assert own.latency is not None


class Scripted:
    """A bench that notes what it is asked for, and races in no time."""

    made: tuple[Scripted, ...] = ()
    provider = CPU

    def __init__(self, _: object, inputs: Inputs, **__: object) -> None:
        self.shapes = {name: array.shape for name, array in inputs.sets[0].feed.items()}
        self.raced: list[float] = []
        Scripted.made += (self,)

    def verify(self, _: Applied, *, final: bool) -> Verification:
        assert final
        return Verification(True, 1)

    def measure(self, _: Applied, *, seconds: float, resolution: float) -> PairedLatency:
        assert 0 < resolution < 0.1
        self.raced.append(seconds)
        return race(0.9, 0.89, 0.91)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    monkeypatch.setattr(Scripted, "made", ())
    monkeypatch.setattr(batches, "Bench", Scripted)
    return Scripted


def test_sizes_share_the_time_and_a_race_that_was_run_is_not_run_again(scripted: type[Scripted]) -> None:
    before = race(0.5, 0.4, 0.6)
    feed = {"x": np.zeros((2, 8), np.float32)}
    found = measured(DOUBLE, DOUBLE, 1, 2, 4, seconds=3.0, measured=(feed, before))
    assert found[1].latency is before
    assert [made.shapes for made in scripted.made] == [{"x": (1, 8)}, {"x": (4, 8)}]
    assert [made.raced for made in scripted.made] == [[1.0], [1.0]]


def test_a_size_of_the_batch_that_was_given_gives_way_and_other_sizes_stay(scripted: type[Scripted]) -> None:
    text = "(float[batch, seq] x) => (float[batch, seq] y) { y = Add(x, x) }"
    measured(text, text, 3, dims={"batch": 7, "seq": 5})
    assert [made.shapes for made in scripted.made] == [{"x": (3, 5)}]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: {"provider": "OtherExecutionProvider"}, "it does not load on CPUExecutionProvider"),
        (lambda: {"measure": _undecided}, "too little memory"),
    ],
)
def test_a_size_that_cannot_be_measured_says_why(
    monkeypatch: pytest.MonkeyPatch, scripted: type[Scripted], change: Callable[[], dict[str, Any]], reason: str
) -> None:
    for name, value in change().items():
        monkeypatch.setattr(scripted, name, value)
    (found,) = measured(DOUBLE, DOUBLE, 2)
    assert (found.latency, found.is_wrong, found.reason) == (None, False, reason)


def _undecided(*_: Any, **__: Any) -> PairedLatency:
    raise CannotDecide("too little memory")


def test_sizes_that_were_asked_for_are_not_silently_dropped(tmp_path: Path) -> None:
    path = tmp_path / "product.onnx"
    onnx.save(proto("(float[n, 4] x) => (float[n, 4] y) { y = Mul(x, x) }"), path)
    report = fuse(path, provider="cpu", budget_s=0.1, batch_sizes=(1, 2), candidates=())
    assert report.batches == ()
    assert "no batch size was raced: the output is the original" in report.notes


def test_page_json_and_terminal_have_the_sizes(tmp_path: Path) -> None:
    """The whole command on a GELU of eight operators, which one operator computes in a fraction of the time."""
    text = """(float[batch, 64, 256] x) => (float[batch, 64, 256] y) {
        c = Pow(x, three) p = Mul(c, k) a = Add(x, p) s = Mul(a, root) t = Tanh(s) o = Add(t, one) m = Mul(x, o)
        y = Mul(m, half) }"""
    constants = {"three": 3, "k": 0.044715, "root": (2 / np.pi) ** 0.5, "one": 1, "half": 0.5}
    path = tmp_path / "gelu.onnx"
    arrays: dict[str, Any] = {name: np.array(value, np.float32) for name, value in constants.items()}
    onnx.save(proto(text, **arrays), path)
    outputs = {name: tmp_path / name for name in ("fused.onnx", "page.html", "report.json")}
    result = in_process(
        "fuse",
        path,
        *("--provider", "cpu", "--threads", "1", "--budget", "3", "--batch-sizes", "2,1"),
        *("-o", outputs["fused.onnx"], "--html", outputs["page.html"], "--json", outputs["report.json"]),
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(outputs["report.json"].read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert document["fused"]["changed"]
    assert [(each["batch"], each["verdict"]) for each in document["batches"]] == [(1, "faster"), (2, "faster")]
    # The size that fusions were chosen at was raced already.
    assert document["batches"][0]["ratio"] == document["result"]["ratio"]
    assert document["gain_ends_at"] is None
    assert document["gaps"]["after"]["works"] < document["gaps"]["before"]["works"]
    page = outputs["page.html"].read_text(encoding="utf-8")
    curve = page[page.index("By size of the batch</h2>") :]
    assert "<svg" in curve
    assert f"Ratio by batch: 1: {document['batches'][0]['ratio']:.3f}" in curve
    said = " ".join(result.stdout.split())
    assert "By size of the batch" in said
    assert "The gain is there at every size that was measured." in said
