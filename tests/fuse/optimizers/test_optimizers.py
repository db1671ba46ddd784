"""Other libraries' optimisers: what they do well is used, and whatever they do otherwise hurts nobody."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from advisor.fuse.compose import compose
from advisor.fuse.optimizers import OPTIMIZERS
from advisor.fuse.optimizers.optimizer import Optimizer
from advisor.fuse.transform import NotApplicable
from tests.fuse.graphs import CPU, assert_same, model, operators, weights
from tests.fuse.optimizers.stand_in import WAY

if TYPE_CHECKING:
    from pathlib import Path

SMALL = "(float[n, 4] x, float[4] w) => (float[n, 4] y) { a = Add(x, w) y = Neg(a) }"


def stand_in(patience_s: float = 60) -> Optimizer:
    return Optimizer("stand-in", "onnx", "Goes wrong.", "tests.fuse.optimizers.stand_in", patience_s)


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("aborts", "crashed"),
        ("hangs", r"took longer than 2 s and was stopped \(a larger --budget tells\)"),
        ("exits", "SystemExit"),
        ("raises", "it failed: ValueError: no such thing$"),
        ("renames", "changes the names"),
        ("retypes", "types of the model's outputs"),
        ("does not load", "ONNX Runtime does not load its result"),
        ("takes the default away", "takes away the default"),
    ],
)
def test_whatever_goes_wrong_is_a_reason(
    way: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv(WAY, way)
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    with pytest.raises(NotApplicable, match=reason) as error:
        compose(model(SMALL, w=weights(4)), [stand_in(2 if way == "hangs" else 60)], provider=CPU)
    assert not error.value.is_missing
    assert error.value.is_unfinished == (way == "hangs")
    assert capfd.readouterr() == ("", "")


def test_the_declared_dimensions_stay(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv(WAY, "fixes dimensions")
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    before = model(SMALL, w=weights(4))
    applied = compose(before, [stand_in()], provider=CPU)
    assert operators(applied.model) == ["Add", "Abs"]
    assert applied.model.graph.outputs[0].shape == before.graph.outputs[0].shape
    assert [site.nodes for site in applied.sites] == [("Neg → y",)]


def test_what_changes_nothing_has_no_site(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv(WAY, "nothing")
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    assert compose(model(SMALL, w=weights(4)), [stand_in()], provider=CPU).sites == ()


def test_what_is_not_installed_says_what_to_install() -> None:
    missing = Optimizer("ghost", "no_such_package", "Is not there.", "nowhere")
    with pytest.raises(NotApplicable, match=r"pip install 'fusion-advisor\[optimizers\]'") as error:
        compose(model(SMALL, w=weights(4)), [missing], provider=CPU)
    assert error.value.is_missing


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda each: each.id)
def test_each_keeps_what_the_model_computes(optimizer: Optimizer) -> None:
    if find_spec(optimizer.package) is None:
        pytest.skip(f"{optimizer.package} is not installed")
    text = """(float[batch, 8, 16] x) => (float[batch, 8, 16] y) {
        s = Shape(x) r = Reshape(x, s) two = Constant<value = float {2.0}>() half = Mul(one, two)
        m = ReduceMean<axes = [-1]>(r) d = Sub(r, m) p = Pow(d, two) v = ReduceMean<axes = [-1]>(p)
        e = Add(v, eps) q = Sqrt(e) n = Div(d, q) g = Mul(n, gamma) b = Add(g, beta)
        same = Identity(b) y = Mul(same, half)
    }"""
    arrays = {name: weights(16, seed=seed) for seed, name in enumerate(("gamma", "beta"))}
    before = model(text, eps=weights(1)[:1] ** 2 * 1e-5, one=weights(1), **arrays)
    applied = compose(before, [optimizer], provider=CPU)
    assert len(applied.sites) == 1
    assert len(operators(applied.model)) < len(operators(before))
    assert applied.model.graph.inputs[0].shape == before.graph.inputs[0].shape
    assert_same(before, applied.model)


def test_a_model_with_external_data(shared: Path) -> None:
    from advisor.fuse.model import load

    before = load(shared / "cases" / "ext_data_chain.onnx")
    for optimizer in OPTIMIZERS[:1]:
        if find_spec(optimizer.package) is not None:
            assert_same(before, compose(before, [optimizer], provider=CPU).model)
