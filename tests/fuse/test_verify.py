"""What counts as the same model: values, NaN, shapes, dtypes and names of every output on every set of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
import pytest

from advisor.fuse.difference import compare_values
from advisor.fuse.verify import Reference, Verification, proof_notes, record, verify, verify_runtime
from advisor.measure.inputs import Inputs, InputSet, generate_inputs
from advisor.measure.session import CPU, Level, NotRunnable, open_session
from tests.fuse.graphs import proto

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnxruntime as ort  # type: ignore[import-untyped]
    from numpy.typing import NDArray


def session(text: str, **options: Any) -> ort.InferenceSession:
    return open_session(proto(text, **options).SerializeToString(), level=Level.OFF, provider=CPU)


def f32(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def reference(text: str, *, arithmetic: str | None = None, **options: Any) -> Reference:
    model = ir.from_proto(proto(text, **options))
    feeding = {} if arithmetic is None else {"y": arithmetic}
    return record(session(text, **options), generate_inputs(model), arithmetic=feeding)


def on(text: str, feed: Mapping[str, NDArray[Any]]) -> Reference:
    return record(session(text), Inputs((InputSet("given", feed),)))


def compare(original: str, other: str, **options: Any) -> Verification:
    return verify(reference(original, **options), session(other, **options))


RELU = "(float[batch, 8] x) => (float[batch, 8] y) { y = Relu(x) }"


def test_the_same_model_passes_without_a_difference_on_every_set() -> None:
    result = compare(RELU, RELU)
    assert result == Verification(True, 6, 0.0, 0.0, "y", errors=result.errors)


def test_another_function_fails_and_the_output_is_named() -> None:
    result = compare(RELU, "(float[batch, 8] x) => (float[batch, 8] y) { y = LeakyRelu<alpha = 0.1>(x) }")
    assert not result.passed
    assert result.worst_output == "y"
    assert "'y' is off by" in result.reason
    assert result.max_abs_error is not None
    assert result.max_abs_error > 0.01


@pytest.mark.parametrize(
    ("dtype", "wrong", "rounding"),
    [("float", 1e-3, 1e-5), ("double", 1e-8, 1e-10), ("float16", 1e-1, 2e-3)],
)
def test_every_dtype_lets_rounding_through_and_no_more(dtype: str, wrong: float, rounding: float) -> None:
    original = f"({dtype}[batch, 64] x) => ({dtype}[batch, 64] y) {{ y = Tanh(x) }}"
    if dtype == "double":
        original = original.replace("Tanh", "Sqrt")
    name = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    for change, passes in ((wrong, False), (rounding, True)):
        other = original.replace("{ y =", "{ t =").replace(" }", "  y = Mul(t, factor) }")
        factor = np.array(1 + change, name)
        candidate = open_session(proto(other, factor=factor).SerializeToString(), level=Level.OFF, provider=CPU)
        assert verify(reference(original), candidate).passed is passes


def test_tanh_gelu_is_no_erf_gelu() -> None:
    original = """(float[batch, 64] x) => (float[batch, 64] y) { y = com.microsoft.Gelu(x) }"""
    other = """(float[batch, 64] x) => (float[batch, 64] y) { y = com.microsoft.FastGelu(x) }"""
    assert compare(original, original).passed
    result = compare(original, other)
    assert not result.passed
    assert result.max_abs_error is not None
    assert 1e-4 < result.max_abs_error < 1e-3


def test_a_fault_that_only_some_inputs_show_is_found() -> None:
    saturated = "(float[batch, 64] x) => (float[batch, 64] y) { y = Min(x, limit) }"
    identity = "(float[batch, 64] x) => (float[batch, 64] y) { y = Identity(x) }"
    candidate = open_session(proto(saturated, limit=f32(7)).SerializeToString(), level=Level.OFF, provider=CPU)
    result = verify(reference(identity), candidate)
    assert "large inputs" in result.reason
    assert result.inputs == 3


def test_a_model_that_holds_for_one_batch_only_is_found() -> None:
    original = "(float[batch, 8] x) => (float[batch, 8] y) { y = Relu(x) }"
    fixed = "(float[batch, 8] x) => (float[batch, 8] y) { r = Relu(x)  y = Reshape(r, shape) }"
    candidate = open_session(proto(fixed, shape=np.array([1, 8])).SerializeToString(), level=Level.OFF, provider=CPU)
    result = verify(reference(original), candidate)
    assert not result.passed
    assert "odd batch" in result.reason


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("(float[batch, 8] x) => (float[batch, 8] z) { z = Relu(x) }", "names or types"),
        ("(float[batch, 8] v) => (float[batch, 8] y) { y = Relu(v) }", "names or types"),
        ("(float[batch, 8] x) => (double[batch, 8] y) { r = Relu(x)  y = Cast<to = 11>(r) }", "names or types"),
        ("(float[batch, 8] x) => (float y) { r = Relu(x)  y = ReduceSum<keepdims = 0>(r) }", "shape"),
        ("(float[batch, 8] x) => (float[8, batch] y) { r = Relu(x)  y = Transpose(r) }", "shape"),
    ],
)
def test_names_dtypes_and_shapes_are_part_of_it(other: str, words: str) -> None:
    result = compare(RELU, other)
    assert not result.passed
    assert words in result.reason


def test_every_output_counts_and_their_order_too() -> None:
    two = "(float[4] x) => (float[4] a, float[4] b) { a = Relu(x)  b = Neg(x) }"
    wrong = "(float[4] x) => (float[4] a, float[4] b) { a = Relu(x)  b = Identity(x) }"
    swapped = "(float[4] x) => (float[4] b, float[4] a) { a = Relu(x)  b = Neg(x) }"
    assert compare(two, two).passed
    assert compare(two, wrong).worst_output == "b"
    assert not compare(two, swapped).passed


def test_nan_and_infinity_must_be_in_the_same_places() -> None:
    feed = {"x": f32(-1, 0, 1, 2)}
    log = "(float[4] x) => (float[4] y) { y = Log(x) }"  # NaN, -inf, 0, 0.7
    original = on(log, feed)
    assert verify(original, session(log)).passed
    without_nan = "(float[4] x) => (float[4] y) { a = Abs(x)  y = Log(a) }"
    assert "NaN" in verify(original, session(without_nan)).reason
    without_infinity = open_session(
        proto("(float[4] x) => (float[4] y) { l = Log(x)  y = Max(l, low) }", low=f32(-1e30)).SerializeToString(),
        level=Level.OFF,
        provider=CPU,
    )
    assert "infinite" in verify(original, without_infinity).reason
    opposite = "(float[4] x) => (float[4] y) { l = Log(x)  y = Neg(l) }"
    assert "infinite" in verify(original, session(opposite)).reason


def test_a_value_that_stands_for_minus_infinity_does_not_hide_a_fault() -> None:
    masked = np.where(np.arange(1000) % 200 == 0, np.float32(-1e9), 0).astype(np.float32)
    original = "(float[1000] x) => (float[1000] y) { y = Add(x, mask) }"
    wrong = "(float[1000] x) => (float[1000] y) { h = Mul(x, factor)  y = Add(h, mask) }"
    known = reference(original, mask=masked)
    candidate = open_session(
        proto(wrong, mask=masked, factor=f32(1.01)).SerializeToString(), level=Level.OFF, provider=CPU
    )
    assert not verify(known, candidate).passed


FILLS = ["-1e9", "-3.4028235e38", "-1e4"]


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("way", ["filled in", "added"])
def test_fill_values_in_any_number_do_not_hide_a_fault(fill: str, way: str) -> None:
    """Half of the elements stand for minus infinity: the others are compared with their like."""
    masked = np.arange(64) % 2 == 0
    mask = masked if way == "filled in" else np.where(masked, np.float32(fill), np.float32(0))
    last = "y = Where(mask, fill, h)" if way == "filled in" else "y = Add(h, mask)"
    original = f"(float[batch, 64] x) => (float[batch, 64] y) {{ h = Sigmoid(x)  {last} }}"
    arrays: dict[str, Any] = {"mask": mask}
    if way == "filled in":
        arrays["fill"] = np.float32(fill)
    known = reference(original, **arrays)
    assert verify(known, session(original, **arrays)).passed
    wrong = verify(known, session(original.replace("Sigmoid", "Tanh"), **arrays))
    assert not wrong.passed
    assert wrong.max_abs_error is not None
    assert wrong.max_abs_error < 10  # of what is wrong, not of a fill value
    slightly = original.replace("h = Sigmoid(x)", "s = Sigmoid(x)  h = Mul(s, factor)")
    assert not verify(known, session(slightly, factor=f32(1.01), **arrays)).passed


def differs(expected: list[float], changes: dict[int, float]) -> bool:
    """Whether a float32 array with some elements changed is another one."""
    wanted = np.array(expected, np.float32)
    found = wanted.copy()
    for place, value in changes.items():
        found[place] = value
    return bool(compare_values(wanted, found).reason)


NORMAL = np.random.default_rng(0).normal(size=300).tolist()
LARGE = [1000 * each for each in NORMAL]


@pytest.mark.parametrize("fills", [[-1e9], [-1e9, -2e9], [-1e4, -3e38], [-1e4 + 3, -1e4 - 30]])
def test_several_fill_values_and_masks_that_lie_on_one_place(fills: list[float]) -> None:
    values = [*NORMAL, *(100 * fills)]
    assert differs(values, {0: NORMAL[0] + 0.01})
    assert not differs(values, {0: NORMAL[0] + 1e-5})
    assert differs(values, {300: 1.01 * fills[0]})


def test_a_few_numbers_among_fill_values_are_not_hidden() -> None:
    """As the scores of the words that are allowed, in a large vocabulary."""
    values = [*NORMAL[:50], *(20000 * [-1e9])]
    assert differs(values, {0: NORMAL[0] + 0.01})
    assert not differs(values, {0: NORMAL[0] + 1e-5})


def test_zeros_beside_fill_values_are_not_hidden() -> None:
    """As in a mask that is added."""
    mask = [*(50 * [0.0]), *(50 * [-1e9])]
    assert differs(mask, {0: 1.0})
    assert not differs(mask, {0: 1e-7, 99: -1e9 + 64})
    assert not differs([*(50 * [0.0]), *(50 * [255.0])], {0: 1e-5})  # what is left of 255


def test_numbers_that_two_units_of_measure_divide_are_each_compared_with_their_like() -> None:
    """As boxes in pixels beside probabilities."""
    pixels = np.random.default_rng(0).uniform(20, 640, 100).tolist()
    chances = np.random.default_rng(1).uniform(0.001, 0.1, 100).tolist()
    assert differs([*pixels, *chances], {150: chances[50] + 0.01})
    assert not differs([*pixels, *chances], {150: chances[50] + 1e-4})  # what float32 leaves where pixels cancel
    assert not differs([*pixels, *chances], {0: pixels[0] + 0.02})


def test_what_is_left_where_large_numbers_cancel_is_as_exact_as_those() -> None:
    assert not differs([*LARGE, *(100 * [4e-4])], {310: -4e-4})
    assert differs([*LARGE, *(100 * [4e-4])], {310: 0.1})
    assert not differs([*LARGE, 0.0, 0.0], {300: 1e-2})


def test_one_number_near_zero_among_few_is_no_kind_of_its_own() -> None:
    few = [812.0, -1340.0, 977.0, 1.5]
    assert not differs(few, {3: 1.51})
    assert differs([-1e9, -1e9, -1e9, 1.5], {3: 1.51})


def test_the_largest_hundredth_and_numbers_of_one_kind_are_compared_as_ever() -> None:
    assert not differs(LARGE, {0: LARGE[0] + 0.05})
    assert differs([*LARGE, -1e9, 1e9], {0: LARGE[0] + 1})
    assert not differs([*LARGE, -1e9, 1e9], {0: LARGE[0] + 0.05})


def test_the_largest_difference_is_that_of_the_output_that_is_named() -> None:
    text = "(float[batch, 64] x) => (float[batch, 64] a, float[batch, 64] b) {{ a = Mul(x, large)  b = {} }}"
    other = text.format("Mul(x, nearly)").replace("large", "larger")
    known = reference(text.format("Identity(x)"), large=f32(1e4))
    result = verify(known, session(other, larger=f32(1e4 * (1 + 1e-6)), nearly=f32(1 + 1e-5)))
    assert result.passed
    assert result.worst_output == "b"
    assert result.max_abs_error is not None
    assert result.max_abs_error < 1e-3  # that of `a` is larger, and smaller for its size


def test_outputs_without_a_number_on_any_set_are_named() -> None:
    text = """(float[batch, 8] x) => (float[batch, 8] y, float[batch, 8] nan, float[batch, 0] empty, int64[0] none) {
        y = Relu(x)
        nan = Sqrt(negative)
        empty = Slice(x, zero, zero, one)
        none = Slice(one, zero, zero)
        negative = Sub(low, y)
    }"""
    lines = text.splitlines()
    text = "\n".join([*lines[:2], lines[5], *lines[2:5], lines[6]])
    arrays: dict[str, Any] = {"zero": np.array([0]), "one": np.array([1]), "low": f32(-1)}
    result = compare(text, text, **arrays)
    assert result.passed
    assert result.not_compared == ("nan", "empty", "none")
    assert "nan, empty, none" in " ".join(proof_notes([result], "the original's", quantizes=False))
    assert compare(RELU, RELU).not_compared == ()


def test_integers_and_booleans_are_equal_or_not() -> None:
    argmax = "(float[4, 8] x) => (int64[4] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }"
    argmin = "(float[4, 8] x) => (int64[4] y) { y = ArgMin<axis = 1, keepdims = 0>(x) }"
    assert compare(argmax, argmax).passed
    assert "differs in" in compare(argmax, argmin).reason


def test_sequences_are_compared_element_by_element() -> None:
    split = "(float[4] x) => (seq(float[2]) y) { y = SplitToSequence<axis = 0>(x, size) }"
    swapped = "(float[4] x) => (seq(float[2]) y) { n = Neg(x)  y = SplitToSequence<axis = 0>(n, size) }"
    size = np.array(2)
    assert compare(split, split, size=size).passed
    assert compare(split, swapped, size=size).worst_output == "y[0]"


def test_a_model_that_does_not_run_has_failed() -> None:
    result = compare(
        "(float[batch, 8] x) => (float[batch, m] y) { y = Relu(x) }",
        "(float[batch, 8] x) => (float[batch, m] y) { s = Shape(x)  d = Mul(s, s)  r = Relu(x)  y = Reshape(r, d) }",
    )
    assert not result.passed
    assert "does not run" in result.reason


def test_sets_that_the_original_does_not_run_on_are_left_out_and_named() -> None:
    fixed = "(float[batch, 8] x) => (float[batch, 8] y) { r = Relu(x)  y = Reshape(r, shape) }"
    known = reference(fixed, shape=np.array([1, 8]))
    assert list(known.skipped) == ["odd batch"]
    assert len(known.sets) == 5


def test_an_original_that_does_not_run_is_an_error() -> None:
    model = "(float[batch, 8] x) => (float[batch, 8] y) { r = Relu(x)  y = Reshape(r, shape) }"
    with pytest.raises(NotRunnable):
        reference(model, shape=np.array([5, 5]))


@pytest.mark.parametrize(
    ("arithmetic", "allowed", "wrong"), [("float16", 5e-3, 5e-2), ("bfloat16", 2e-2, 0.3), ("quantized", 0.05, 0.5)]
)
def test_a_model_that_computes_coarsely_may_differ_more(arithmetic: str, allowed: float, wrong: float) -> None:
    original = "(float[batch, 64] x) => (float[batch, 64] y) { y = Tanh(x) }"
    other = "(float[batch, 64] x) => (float[batch, 64] y) { t = Tanh(x)  y = Mul(t, factor) }"
    for change, passes in ((allowed, True), (wrong, False)):
        model = proto(other, factor=f32(1 + change)).SerializeToString()
        candidate = open_session(model, level=Level.OFF, provider=CPU)
        assert not verify(reference(original), candidate).passed
        assert verify(reference(original, arithmetic=arithmetic), candidate).passed is passes


def test_what_the_runtime_does_to_the_original_is_not_the_models_fault() -> None:
    original = "(float[batch, 64] x) => (float[batch, 64] y) { y = Tanh(x) }"
    other = "(float[batch, 64] x) => (float[batch, 64] y) { t = Tanh(x)  y = Mul(t, factor) }"

    def off_by(error: float) -> ort.InferenceSession:
        model = proto(other, factor=f32(1 + error))
        return open_session(model.SerializeToString(), level=Level.OFF, provider=CPU)

    known = reference(original)
    runtime = verify_runtime(known, off_by(5e-4))  # stands for a session at ORT_ENABLE_ALL
    assert runtime.passed
    assert verify(known, off_by(5e-4), runtime=runtime).passed
    assert not verify(known, off_by(5e-4)).passed
    assert not verify(known, off_by(1e-3), runtime=runtime).passed
    assert not verify_runtime(known, off_by(1e-2)).passed


@pytest.mark.parametrize(("arithmetic", "passes"), [("quantized", True), (None, False)])
def test_one_step_of_a_quantised_number_is_rounding_where_the_model_quantises(
    arithmetic: str | None, passes: bool
) -> None:
    steps = np.arange(-128, 128).astype(np.int8)
    moved = steps.copy()
    moved[::7] = np.clip(moved[::7].astype(np.int16) + 1, -128, 127)
    assert (compare_values(steps, moved, arithmetic=arithmetic).reason == "") is passes
    assert compare_values(steps, -steps, arithmetic=arithmetic).reason
