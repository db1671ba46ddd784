"""Models that quantise: a last bit may make a step there, and what is not a last bit is found all the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from advisor.errors import CannotDecide
from advisor.fuse.arithmetic import Arithmetic
from advisor.fuse.bench import Bench
from advisor.fuse.compare import compare_models
from advisor.fuse.sensitivity import nudged
from advisor.fuse.transform import Applied
from advisor.measure.inputs import Inputs, InputSet, generate_inputs
from advisor.measure.session import CPU, Level
from advisor.report.fusion_words import proof
from advisor.report.verification_words import headline
from tests.fuse.graphs import model, proto
from tests.report.fusion_reports import report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.fuse.verify import Verification
    from tests.conftest import Advisor

LAYER = """
q{i}, s{i}, z{i} = DynamicQuantizeLinear(h{i})
product{i} = MatMulInteger(q{i}, w{i}, z{i})
number{i} = Cast<to = 1>(product{i})
scale{i} = Mul(s{i}, step)
scaled{i} = Mul(number{i}, scale{i})
b{i} = Add(scaled{i}, bias{i})
g{i} = com.microsoft.Gelu(b{i})
sum{i} = Add(h{i}, g{i})
h{next} = LayerNormalization<axis = -1>(sum{i}, gamma, beta)
"""
LAYERS = 3
ERF = "d{i} = Div(b{i}, root)  e{i} = Erf(d{i})  o{i} = Add(e{i}, one)  p{i} = Mul(b{i}, o{i})  g{i} = Mul(p{i}, half)"


def weights(text: str) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(0)
    found: dict[str, NDArray[Any]] = {
        "step": np.array([0.005], np.float32),
        "gamma": np.linspace(0.5, 2, 32).astype(np.float32),
        "beta": (0.1 * random.normal(size=32)).astype(np.float32),
        "root": np.array(np.sqrt(2), np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
    }
    for i in range(LAYERS):
        found[f"w{i}"] = random.integers(-127, 128, (32, 32)).astype(np.int8)
        found[f"bias{i}"] = random.normal(size=32).astype(np.float32)
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    return {name: array for name, array in found.items() if name in words}


def encoder(*changes: tuple[str, str], **other: NDArray[Any]) -> onnx.ModelProto:
    """Some layers with int8 products, in the first of them the CHANGES, and with OTHER weights."""
    layers = [LAYER.format(i=i, next=i + 1) for i in range(LAYERS)]
    for old, new in changes:
        assert old.format(i=0, next=1) in layers[0]
        layers[0] = layers[0].replace(old.format(i=0, next=1), new.format(i=0, next=1))
    text = f"(float[batch, 8, 32] h0) => (float[batch, 8, 32] y) {{ {''.join(layers)} y = Identity(h{LAYERS}) }}"
    arrays: dict[str, Any] = {**weights(text), **other}
    return proto(text, **arrays)


def applied(changed: onnx.ModelProto) -> Applied:
    return Applied(ir.from_proto(changed), ())


def judge(original: onnx.ModelProto, changed: onnx.ModelProto) -> Verification:
    subject = applied(original).model
    bench = Bench(subject, generate_inputs(subject), path=Path("encoder"), provider=CPU, threads=1)
    return bench.verify(applied(changed), final=True)


GELU = "g{i} = com.microsoft.Gelu(b{i})"
NORM = "LayerNormalization<axis = -1>(sum{i}, gamma, beta)"
WRONG = {
    "tanh-GELU for erf-GELU": (GELU, "g{i} = com.microsoft.FastGelu(b{i})"),
    "a dropped Add": ("sum{i} = Add(h{i}, g{i})", "sum{i} = Identity(g{i})"),
    "a dropped bias": ("b{i} = Add(scaled{i}, bias{i})", "b{i} = Identity(scaled{i})"),
    "a wrong epsilon": (NORM, "LayerNormalization<axis = -1, epsilon = 0.01>(sum{i}, gamma, beta)"),
    "a wrong axis": (NORM, "LayerNormalization<axis = -2>(sum{i}, gamma, beta)"),
    "another scale": ("scale{i} = Mul(s{i}, step)", "scale{i} = Add(s{i}, step)"),
}


def test_another_order_of_the_same_sums_passes_and_what_lies_between_the_quantisers_is_told() -> None:
    result = judge(encoder(), encoder((GELU, ERF)))
    assert result.passed
    assert result.between is not None
    assert 0 < result.between < 1e-5
    assert result.last_bits is None  # not needed: nothing made a step


@pytest.mark.parametrize("name", WRONG)
def test_what_is_more_than_a_last_bit_is_found_although_the_outputs_may_make_steps(name: str) -> None:
    old, new = WRONG[name]
    other = {"gamma": np.ones((8, 32), np.float32), "beta": np.zeros((8, 32), np.float32)} if "axis" in name else {}
    result = judge(encoder(), encoder((old, new), **other))
    assert not result.passed
    assert result.worst_output == "h1"
    assert "between the quantisers value 'h1', which DynamicQuantizeLinear reads, is off by" in result.reason


def test_a_wrong_constant_is_found_where_the_tolerance_of_outputs_would_let_it_through() -> None:
    wrong = encoder()
    bias = next(each for each in wrong.graph.initializer if each.name == "bias1")
    bias.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(bias) + np.float32(2e-3), "bias1"))
    result = judge(encoder(), wrong)
    assert not result.passed
    assert result.max_rel_error is not None
    assert result.max_rel_error < 1e-2  # of 1e-1 that outputs may differ
    assert "value 'h2'" in result.reason


def test_a_part_without_quantisers_is_proven_as_in_a_model_that_has_none() -> None:
    subject = applied(encoder()).model
    bench = Bench(subject, generate_inputs(subject), path=Path("encoder"), provider=CPU, threads=1)
    text = "(float[1, 8, 32] b0) => (float[1, 8, 32] g0) {{ g0 = com.microsoft.{}(b0) }}"
    feed = {"b0": np.random.default_rng(0).normal(size=(1, 8, 32)).astype(np.float32)}
    part = bench.part(model(text.format("Gelu")), feed, name=Path("part"))
    assert part.verify(Applied(model(text.format("Gelu")), ()), final=False).passed
    result = part.verify(Applied(model(text.format("FastGelu")), ()), final=False)
    assert "where 1.0e-04 is allowed" in result.reason


def test_a_part_that_ends_with_a_product_of_quantised_numbers_may_make_their_steps() -> None:
    """As a part of a model does, whose products are integers there; labels and the like stay exact."""
    text = """(float[32] x) => (int32[4] y, int32[32] label) {
        v = Mul(x, factor)
        q = QuantizeLinear(v, one, zero)
        y = MatMulInteger(q, w)
        label = Cast<to = 6>(q)
    }"""
    factor = np.full(32, 0.5, np.float32)
    factor[16:] = 100
    constants: dict[str, Any] = {"one": np.array(1, np.float32), "zero": np.array(0, np.int8)}
    constants["w"] = np.ones((32, 4), np.int8)
    feed = Inputs((InputSet("given", {"x": np.ones(32, np.float32)}),))
    moved = np.nextafter(factor, np.float32(np.inf))
    for outputs, passes in (("int32[4] y", True), ("int32[4] y, int32[32] label", False)):
        shown = text.replace("int32[4] y, int32[32] label", outputs)
        subject = model(shown, factor=factor, **constants)
        bench = Bench(subject, feed, path=Path("part"), provider=CPU, threads=1)
        assert bench.verify(Applied(model(shown, factor=moved, **constants), ()), final=True).passed is passes


def test_quantisers_that_are_not_the_originals_are_not_taken_for_them() -> None:
    """Two quantisers in place of one, or another one: then only the outputs are compared."""
    result = judge(encoder(), encoder(AGAIN))
    assert result.passed
    assert result.between is None


def renamed(changed: onnx.ModelProto) -> onnx.ModelProto:
    """The same with other names inside."""
    ends = {value.name for value in (*changed.graph.input, *changed.graph.output)}
    for node in changed.graph.node:
        node.name = ""
        node.input[:] = [name if name in ends or not name else f"other {name}" for name in node.input]
        node.output[:] = [name if name in ends or not name else f"other {name}" for name in node.output]
    for tensor in changed.graph.initializer:
        tensor.name = f"other {tensor.name}"
    return changed


@pytest.mark.parametrize("name", WRONG)
def test_a_model_with_other_names_is_held_to_the_same(name: str) -> None:
    same = judge(encoder(), renamed(encoder((GELU, ERF))))
    assert same.passed
    assert same.between is not None
    assert 0 < same.between < 1e-5
    old, new = WRONG[name]
    other = {"gamma": np.ones((8, 32), np.float32), "beta": np.zeros((8, 32), np.float32)} if "axis" in name else {}
    assert not judge(encoder(), renamed(encoder((old, new), **other))).passed


def test_names_that_mean_other_quantisers_are_not_believed() -> None:
    """Exporters number values, so that two exports use one name for two things."""
    changed = encoder((GELU, ERF))
    turned = {f"{letter}{i}": f"{letter}{(i + 1) % LAYERS}" for letter in "qsz" for i in range(LAYERS)}
    for node in changed.graph.node:
        node.input[:] = [turned.get(name, name) for name in node.input]
        node.output[:] = [turned.get(name, name) for name in node.output]
    result = judge(encoder(), changed)
    assert result.passed
    assert result.between is not None
    assert 0 < result.between < 1e-5


AGAIN = (
    "product{i} = MatMulInteger(q{i}, w{i}, z{i})",
    "t{i} = DequantizeLinear(q{i}, s{i}, z{i})\n"
    "qq{i}, ss{i}, zz{i} = DynamicQuantizeLinear(t{i})\n"
    "product{i} = MatMulInteger(qq{i}, w{i}, zz{i})",
)
"""Two quantisers in place of one, for the same numbers."""


def test_a_candidate_with_other_quantisers_has_to_give_the_same_as_one_without() -> None:
    assert judge(encoder(), encoder(AGAIN)).passed
    result = judge(encoder(), encoder(AGAIN, WRONG["tanh-GELU for erf-GELU"]))
    assert not result.passed
    assert "its quantisers are not the original's, and output 'y' is off by" in result.reason
    assert result.max_rel_error is not None
    assert result.max_rel_error < 0.1  # what outputs that quantisers feed may differ by, once these are proven


def test_verify_says_that_equal_is_within_ten_percent_where_quantisers_are_not_the_same(tmp_path: Path) -> None:
    one = save(encoder(), tmp_path / "a.onnx")
    wrong = WRONG["tanh-GELU for erf-GELU"]
    for changes, coarse in (((GELU, ERF),), False), ((AGAIN,), False), ((AGAIN, wrong), True):
        comparison = compare_models(one, save(encoder(*changes), tmp_path / "b.onnx"), provider="cpu")
        assert comparison.equal
        assert comparison.is_coarse is coarse
        assert comparison.to_dict()["coarse"] is coarse
        assert headline(comparison).startswith("Equal within 10 % only: " if coarse else "Equal: no difference")


def test_equal_within_ten_percent_is_no_pass_unless_the_user_says_so(advisor_command: Advisor, tmp_path: Path) -> None:
    """`advisor verify a b && deploy` believes in equality."""
    one = save(encoder(), tmp_path / "a.onnx")
    two = save(encoder(AGAIN, WRONG["tanh-GELU for erf-GELU"]), tmp_path / "b.onnx")
    result = advisor_command("verify", one, two, "--provider", "cpu")
    assert result.returncode == 3
    words = " ".join(result.stdout.replace("│", " ").split())
    assert "Equal within 10 % only" in words
    assert "compare the models as they were before they were quantised, or take 10 % with --coarse-ok" in words
    assert advisor_command("verify", one, two, "--provider", "cpu", "--coarse-ok").returncode == 0
    assert advisor_command("verify", one, one, "--provider", "cpu").returncode == 0


def test_a_fault_between_quantisers_is_one_at_any_level(tmp_path: Path) -> None:
    one = save(encoder(), tmp_path / "a.onnx")
    two = save(encoder(WRONG["tanh-GELU for erf-GELU"]), tmp_path / "b.onnx")
    assert not compare_models(one, two, provider="cpu", levels=(Level.ALL,)).equal


def test_a_quantiser_that_nothing_reads_changes_nothing(tmp_path: Path) -> None:
    idle = "qi, si, zi = DynamicQuantizeLinear(b0)"
    two = encoder((GELU, GELU + idle))
    assert judge(encoder(), two).between == 0
    comparison = compare_models(save(encoder(), tmp_path / "a.onnx"), save(two, tmp_path / "b.onnx"), provider="cpu")
    assert (comparison.equal, comparison.is_coarse) == (True, False)


SIDE = {
    "float16": "(float[8] x) => (float[8] y, float16[8] z) { y = Mul(x, factor)  z = Cast<to = 10>(x) }",
    "quantized": """(float[8] x) => (float[8] y, uint8[8] z) {
        y = Mul(x, factor)
        z, s, p = DynamicQuantizeLinear(x)
    }""",
}


@pytest.mark.parametrize("kind", SIDE)
def test_an_output_is_held_to_the_tolerance_of_what_feeds_it(kind: str) -> None:
    """Coarse numbers elsewhere in the model are none of its."""
    original = model(SIDE[kind], factor=np.array(1, np.float32))
    assert Arithmetic(original).of_outputs() == {"z": kind}
    bench = Bench(original, generate_inputs(original), path=Path("side"), provider=CPU, threads=1)
    for factor, passes in ((1 + 1e-6, True), (1 + 1e-3, False)):
        changed = model(SIDE[kind], factor=np.array(factor, np.float32))
        result = bench.verify(Applied(changed, ()), final=True)
        assert result.passed is passes
        assert "output 'y' is off by" in result.reason or passes


FEEDING = {
    "y = Relu(x)": None,
    "h = Cast<to = 10>(x)  r = Relu(h)  y = Cast<to = 1>(r)": "float16",
    "h = Cast<to = 16>(x)  r = Cast<to = 10>(h)  y = Cast<to = 1>(r)": "bfloat16",
    "h = Cast<to = 1>(half)  y = Mul(h, x)": None,  # weights that are only stored so
    "h = Cast<to = 10>(x)  m = Mul(h, half)  y = Cast<to = 1>(m)": "float16",
    "q, s, z = DynamicQuantizeLinear(x)  y = DequantizeLinear(q, s, z)": "quantized",
    "h = Cast<to = 10>(x)  y = Relu(x)": None,
    """b = Cast<to = 9>(x0)
       y = If (b) <then_branch = t () => (float[8] a) { h = Cast<to = 10>(x)  a = Cast<to = 1>(h) },
                   else_branch = e () => (float[8] b) { b = Identity(x) }>""": "float16",
    """h = Cast<to = 10>(x)  w = Cast<to = 1>(h)  b = Cast<to = 9>(x0)
       y = If (b) <then_branch = t () => (float[8] a) { a = Relu(w) },
                   else_branch = e () => (float[8] b) { b = Identity(x) }>""": "float16",
}


@pytest.mark.parametrize("body", FEEDING)
def test_what_an_output_was_computed_in_is_followed_back(body: str) -> None:
    arrays: dict[str, Any] = {"half": np.ones(8, np.float16)} if "half" in body else {}
    text = f"(float[8] x, float x0) => (float[8] y) {{ {body} }}"
    assert Arithmetic(model(text, **arrays)).of("y") == FEEDING[body]


STEPS = """(float[64] x) => (float[64] y) {
    v = Mul(x, factor)
    q = QuantizeLinear(v, one, zero)
    y = DequantizeLinear(q, one, zero)
}"""
"""Half of the 64 numbers lie in the middle between two integers, where the last bit decides."""


def steps(text: str = STEPS, *, size: float, ulps: int = 0, off: float = 0.0) -> onnx.ModelProto:
    factor = np.full(64, 0.5, np.float32)
    factor[32:] = size
    for _ in range(ulps):
        factor = np.nextafter(factor, np.float32(np.inf))
    return proto(text, factor=factor * np.float32(1 + off), one=np.array(1, np.float32), zero=np.array(0, np.int8))


def judge_steps(original: onnx.ModelProto, changed: onnx.ModelProto) -> Verification:
    feed = Inputs((InputSet("given", {"x": np.ones(64, np.float32)}),))
    bench = Bench(applied(original).model, feed, path=Path("steps"), provider=CPU, threads=1)
    return bench.verify(applied(changed), final=True)


def test_a_step_that_last_bits_of_the_original_make_too_is_no_fault() -> None:
    result = judge_steps(steps(size=5), steps(size=5, ulps=1))
    assert result.passed
    assert result.max_rel_error == pytest.approx(1 / (12.5**0.5), rel=0.05)
    assert result.last_bits == pytest.approx(result.max_rel_error, rel=1e-6)
    assert result.between is not None
    assert result.between < 1e-6


def test_the_same_step_is_a_fault_where_more_than_last_bits_made_it() -> None:
    result = judge_steps(steps(size=5), steps(size=5, off=1e-3))
    assert not result.passed
    assert "value 'v', which QuantizeLinear reads, is off by" in result.reason


def test_the_same_step_is_a_fault_where_the_quantiser_is_another_one() -> None:
    other = STEPS.replace("QuantizeLinear(v, one", "QuantizeLinear(v, wide")
    changed = steps(other, size=5)
    changed.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1 - 1e-6, np.float32), "wide"))
    result = judge_steps(steps(size=5), changed)
    assert not result.passed
    assert result.between is None
    assert "output 'y' is off by" in result.reason


def test_a_report_says_where_last_bits_decided() -> None:
    made = report(verification=judge_steps(steps(size=5), steps(size=5, ulps=1)))
    assert "equals the unoptimised original's, but for what last bits alone do to that, on 1 set" in str(proof(made))
    plain = report(verification=judge_steps(steps(size=5), steps(size=5)))
    assert "equals the unoptimised original's on 1 set" in str(proof(plain))


def test_a_scale_that_callers_may_override_is_the_same_in_both() -> None:
    text = STEPS.replace("float[64] x)", "float[64] x, float one)", 1)
    result = judge_steps(steps(text, size=5), steps(text, size=5, ulps=1))
    assert result.passed
    assert result.between is not None


def test_a_quantiser_in_a_body_is_not_cut_out() -> None:
    text = """(float[64] x, bool yes) => (float[64] y) {
        y = If (yes) <
            then_branch = then () => (float[64] a) {
                v = Mul(x, factor)  q = QuantizeLinear(v, one, zero)  a = DequantizeLinear(q, one, zero)
            },
            else_branch = otherwise () => (float[64] b) { b = Identity(x) }>
    }"""
    feed = Inputs((InputSet("given", {"x": np.ones(64, np.float32), "yes": np.array(True)}),))
    subject = applied(steps(text, size=5)).model
    bench = Bench(subject, feed, path=Path("steps"), provider=CPU, threads=1)
    same = bench.verify(applied(steps(text, size=5)), final=True)
    assert same.passed
    assert same.between is None
    assert not bench.verify(applied(steps(text, size=5, ulps=1)), final=True).passed


def test_an_output_that_last_bits_move_by_its_size_tells_nothing() -> None:
    result = judge_steps(steps(size=1), steps(size=1, ulps=1))
    assert not result.passed
    assert result.is_undetermined
    assert "last bits alone move it by" in result.reason


def test_a_model_whose_outputs_agree_needs_no_last_bits_however_far_they_would_move_it() -> None:
    result = judge_steps(steps(size=1), steps(size=1))
    assert result.passed
    assert result.last_bits is None


def test_only_weights_are_moved_and_by_one_unit_in_the_last_place() -> None:
    text = """(float[4] x) => (float[4] y) {
        a = Mul(x, weight)  b = Pow(a, powers)  c = Sub(one, b)  d = DequantizeLinear(q, scale)  y = Add(c, d)
    }"""
    values: dict[str, Any] = {
        "weight": np.array([1, -2, 0, 3], np.float32),
        "powers": np.full(4, 2, np.float32),
        "one": np.array(1, np.float32),
        "q": np.array([1, 2, 3, 4], np.int8),
        "scale": np.array(0.1, np.float32),
    }
    seen = set()
    for seed in range(20):
        moved = nudged(model(text, **values), np.random.default_rng(seed))
        assert moved is not None
        found = {name: np.asarray(value.const_value) for name, value in moved.graph.initializers.items()}
        for name in ("powers", "one", "q"):
            np.testing.assert_array_equal(found[name], values[name])
        for name in ("weight", "scale"):
            step = (found[name] - values[name]) / np.spacing(np.abs(values[name]))
            assert np.abs(step).max() <= 1
            seen.update(step.ravel().tolist())
        assert found["weight"][2] == 0
    assert seen >= {-1.0, 0.0, 1.0}


def save(changed: onnx.ModelProto, path: Path) -> Path:
    onnx.save(changed, path)
    return path


def test_verify_finds_the_node_behind_a_fault_between_quantisers(tmp_path: Path) -> None:
    original = save(encoder(), tmp_path / "a.onnx")
    other = save(encoder((GELU, "g{i} = com.microsoft.FastGelu(b{i})")), tmp_path / "b.onnx")
    comparison = compare_models(original, other, provider="cpu")
    assert not comparison.equal
    assert comparison.departure is not None
    assert comparison.departure.value == "g0"
    assert [node.op_type for node in comparison.departure.b] == ["FastGelu"]


def test_verify_allows_last_bits_and_says_so(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones(64, np.float32))
    one, two = save(steps(size=5), tmp_path / "a.onnx"), save(steps(size=5, ulps=1), tmp_path / "b.onnx")
    comparison = compare_models(one, two, provider="cpu", inputs=tmp_path / "x.npz")
    assert comparison.equal
    assert "it is within" in " ".join(comparison.notes)
    assert "last bits of the first model's weights alone move its outputs by 2.8e-01" in " ".join(comparison.notes)


def test_verify_cannot_decide_where_last_bits_move_an_output_by_its_size(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones(64, np.float32))
    one, two = save(steps(size=1), tmp_path / "a.onnx"), save(steps(size=1, ulps=1), tmp_path / "b.onnx")
    with pytest.raises(CannotDecide, match="last bits alone move it by"):
        compare_models(one, two, provider="cpu", inputs=tmp_path / "x.npz")


CANCELLING = """(float[64] x) => (float[64] y) {
    a = Mul(x, factor)
    b = Mul(x, other)
    y = Sub(a, b)
}"""


def test_a_badly_conditioned_model_may_move_as_far_as_its_own_last_bits_move_it_and_no_further() -> None:
    """Where no number is quantised, too: the difference of two large numbers has few digits."""
    random = np.random.default_rng(0)
    other = (1000 * (1 + random.random(64))).astype(np.float32)
    constants: dict[str, Any] = {"factor": other + np.float32(1), "other": other}
    feed = Inputs((InputSet("given", {"x": np.full(64, 1 / 3, np.float32)}),))
    bench = Bench(model(CANCELLING, **constants), feed, path=Path("difference"), provider=CPU, threads=1)
    for factor, passes in ((1 + 2.0**-23, True), (1 + 2.0**-20, False)):
        changed = constants | {"factor": constants["factor"] * np.float32(factor)}
        result = bench.verify(Applied(model(CANCELLING, **changed), ()), final=True)
        assert result.passed is passes
        assert (result.last_bits is not None) is passes


def test_half_precision_has_its_tolerance_for_last_bits_and_no_more() -> None:
    random = np.random.default_rng(0)
    other = (100 * (1 + random.random(64))).astype(np.float16)
    text = CANCELLING.replace("float", "float16")
    constants: dict[str, Any] = {"factor": other + np.float16(4), "other": other}
    feed = Inputs((InputSet("given", {"x": np.ones(64, np.float16)}),))
    bench = Bench(model(text, **constants), feed, path=Path("difference"), provider=CPU, threads=1)
    changed = constants | {"factor": np.nextafter(constants["factor"], np.float16(np.inf))}
    result = bench.verify(Applied(model(text, **changed), ()), final=True)
    assert not result.passed
    assert result.max_rel_error is not None
    assert result.max_rel_error < 0.1  # ten tolerances
