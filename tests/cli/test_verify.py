"""`advisor verify A B`: what counts as different, and where it says that two models part."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from advisor.fuse.compare import compare_models
from advisor.fuse.departure import Pair, bisect_departure, first_departure
from advisor.measure.inputs import generate_inputs
from advisor.measure.session import CPU, Level, open_session
from tests.conftest import Advisor as Command
from tests.conftest import in_process
from tests.fuse.fused_models import with_kernels
from tests.fuse.graphs import proto

if TYPE_CHECKING:
    import onnxruntime as ort  # type: ignore[import-untyped]

SCHEMA = json.loads((files("advisor.report") / "schemas" / "verification-1.json").read_text(encoding="utf-8"))
CHAIN = "(float[N, 768] x) => (float[N, 768] y) { a = Exp(x) b = Tanh(a) y = Mul(b, x) }"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LAYERS = """(float[batch, 8] x) => (float[batch, 8] y) {
    m = MatMul(x, w)
    a = Add(m, b)
    r = Relu(a)
    s = Sigmoid(r)
    y = Mul(s, r)
}"""
WEIGHTS: dict[str, Any] = {
    "w": np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8),
    "b": np.linspace(0.5, 1, 8, dtype=np.float32),
}


@pytest.fixture
def advisor() -> Command:
    return in_process


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    def save(name: str, model: onnx.ModelProto) -> Path:
        path = tmp_path / name
        onnx.save(model, path)
        return path

    return save


def layers(**changed: Any) -> onnx.ModelProto:
    return proto(LAYERS, **(WEIGHTS | changed))


def document(result: Any) -> Any:
    parsed = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(parsed)
    return parsed


def test_a_model_equals_itself_at_both_levels(advisor: Command, saved: Any) -> None:
    path = saved("a.onnx", layers())
    result = advisor("verify", path, path, "--provider", "cpu", "--json", "-")
    parsed = document(result)
    assert result.returncode == 0
    assert parsed["equal"]
    assert [check["level"] for check in parsed["checks"]] == ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
    assert parsed["checks"][0]["max_abs_error"] == 0
    assert parsed["departure"] is None


def test_the_same_function_from_other_operators_is_equal(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    b = saved("b.onnx", proto(LAYERS.replace("m = MatMul(x, w)", "").replace("Add(m, b)", "Gemm(x, w, b)"), **WEIGHTS))
    result = advisor("verify", a, b, "--provider", "cpu")
    assert result.returncode == 0
    assert "Equal" in result.stdout


def test_the_first_value_that_departs_and_both_nodes_are_named(advisor: Command, saved: Any) -> None:
    a, b = saved("a.onnx", layers()), layers()
    b.graph.node[2].op_type, b.graph.node[2].name = "Elu", "activation"
    result = advisor("verify", a, saved("b.onnx", b), "--provider", "cpu", "--json", "-")
    parsed = document(result)
    assert result.returncode == 1
    departure = parsed["departure"]
    assert departure["value"] == "r"
    assert departure["equal_before"] == 2
    assert [node["op_type"] for node in departure["a"]] == ["Relu"]
    assert departure["b"] == [{"name": "activation", "op_type": "Elu", "domain": ""}]
    assert departure["max_abs_error"] > 0.1
    assert departure["input_set"] in parsed["inputs"]["sets"]


def test_the_error_is_that_of_the_set_of_inputs_with_the_largest(saved: Any) -> None:
    b = layers()
    b.graph.node[2].op_type = "Elu"
    departure = compare_models(saved("a.onnx", layers()), saved("b.onnx", b), provider="cpu").departure
    assert departure is not None
    # Elu is -1 at most where Relu is 0, and comes close to it only where inputs are large.
    assert departure.max_abs_error == pytest.approx(1.0, abs=0.05)
    assert departure.input_set == "large"


def test_a_constant_with_another_value_is_named(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    b = saved("b.onnx", layers(b=WEIGHTS["b"] + np.float32(0.01)))
    result = advisor("verify", a, b, "--provider", "cpu", columns=60)
    assert result.returncode == 1
    assert "First value that differs: a (1 value before it is equal)" in " ".join(result.stdout.split())
    assert "constants with other values in the second model: b" in " ".join(result.stdout.split())


def test_the_summary_for_pull_requests_says_where_they_part(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    b = saved("b.onnx", layers(b=WEIGHTS["b"] + np.float32(0.01)))
    shown = advisor("verify", a, b, "--provider", "cpu", "--markdown", "-")
    assert shown.returncode == 1
    assert shown.stdout.startswith(
        "<!-- advisor -->\n## Different: the second model does not compute what the first one does.\n"
    )
    assert "\nFirst value that differs: a (1 value before it is equal)\n" in shown.stdout
    assert "\n- constants with other values in the second model: b\n" in shown.stdout
    same = advisor("verify", a, a, "--provider", "cpu", "--markdown", "-").stdout
    assert same.startswith("<!-- advisor -->\n## Equal: no difference beyond rounding was found.\n")
    assert "First value" not in same


def test_constants_are_named_whether_initialisers_or_nodes(advisor: Command, saved: Any) -> None:
    """Exporters and optimisers turn one into the other."""

    def as_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
        for tensor in model.graph.initializer:
            model.graph.node.insert(0, onnx.helper.make_node("Constant", [], [tensor.name], value=tensor))
        model.graph.ClearField("initializer")
        return model

    changed = WEIGHTS["b"] + np.float32(0.01)
    for number, (a, b) in enumerate(
        [
            (as_nodes(layers()), as_nodes(layers(b=changed))),
            (layers(), as_nodes(layers(b=changed))),
            (as_nodes(layers()), layers(b=changed)),
        ]
    ):
        paths = saved(f"a{number}.onnx", a), saved(f"b{number}.onnx", b)
        departure = document(advisor("verify", *paths, "--provider", "cpu", "--json", "-"))["departure"]
        assert (departure["value"], departure["weights"]) == ("a", ["b"])


def test_a_model_with_generated_kernels_is_loaded_with_its_library(advisor: Command, saved: Any) -> None:
    original = saved("a.onnx", proto(CHAIN))
    fused = with_kernels(original, original.with_name("fused.onnx"))
    for first, second in ((original, fused), (fused, original)):
        assert advisor("verify", first, second, "--provider", "cpu").returncode == 0
    other = saved("b.onnx", proto(CHAIN.replace("Tanh", "Sigmoid")))
    result = advisor("verify", other, fused, "--provider", "cpu", "--json", "-")
    assert result.returncode == 1
    assert document(result)["departure"]["b"][0]["domain"] == "advisor.generated"
    next(original.parent.glob("*.so")).unlink()
    result = advisor("verify", original, fused, "--provider", "cpu")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "needs its library" in result.stderr


def test_nodes_that_a_fusion_replaced_are_listed(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    b = proto(LAYERS.replace("m = MatMul(x, w)", "").replace("Add(m, b)", "Gemm <alpha = 2.0> (x, w, b)"), **WEIGHTS)
    departure = document(advisor("verify", a, saved("b.onnx", b), "--provider", "cpu", "--json", "-"))["departure"]
    assert departure["value"] == "a"
    assert [node["op_type"] for node in departure["a"]] == ["Add", "MatMul"]
    assert [node["op_type"] for node in departure["b"]] == ["Gemm"]


@pytest.mark.parametrize("place", [0, 20, 63, 99])
def test_the_first_of_many_values_is_found_in_passes(place: int) -> None:
    """Also in the second pass, which holds more, and at its ends; and where a later value is equal again."""
    names = [f"v{number}" for number in range(100)]
    body = "".join(f" {name} = Relu({before}) " for before, name in zip(["x", *names], names, strict=False))
    a = proto(f"(float[8] x) => (float[8] v99, float[8] again) {{ {body} again = Abs(x) }}")
    b = onnx.ModelProto()
    b.CopyFrom(a)
    b.graph.node[place].op_type = "Neg" if place == 0 else "Exp"
    pair = Pair(ir.from_proto(a), ir.from_proto(b), _unoptimised, _unoptimised, lambda _: None)
    sets = generate_inputs(pair.a).sets
    found = first_departure(pair, sets, failing=sets[0], say=lambda _: None)
    assert found is not None
    assert (found.value, found.equal_before) == (f"v{place}", place)
    bisected = bisect_departure(pair, sets[0], say=lambda _: None)
    assert bisected is not None
    assert bisected.value == f"v{place}"


def _unoptimised(model: ir.Model) -> ort.InferenceSession:
    return open_session(ir.to_proto(model).SerializeToString(), level=Level.OFF, provider=CPU)


def test_values_that_cannot_be_made_outputs_do_not_stop_the_search(saved: Any) -> None:
    text = """(float[4] x) => (float[4] y) {
        s = SequenceConstruct(x, x)  i = Constant <value_int = 0> ()  e = SequenceAt(s, i)  y = Relu(e) }"""
    b = proto(text.replace("Relu", "Neg"))
    comparison = compare_models(saved("a.onnx", proto(text)), saved("b.onnx", b), provider="cpu")
    assert comparison.departure is not None
    assert comparison.departure.value == "y"


def test_a_difference_inside_a_loop_is_laid_to_the_loop(shared: Path, saved: Any) -> None:
    a = shared / "cases" / "ew_chain_in_loop.onnx"
    b = onnx.load(a)
    loop = next(node for node in b.graph.node if node.op_type == "Loop")
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")
    changed = next(node for node in body.node if node.op_type in {"Mul", "Add"})
    changed.op_type = "Add" if changed.op_type == "Mul" else "Mul"
    comparison = compare_models(a, saved("b.onnx", b), provider="cpu")
    assert not comparison.equal
    assert comparison.departure is not None
    assert comparison.departure.a[0].op_type == "Loop"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            LAYERS.replace("(float[batch, 8] x)", "(double[batch, 8] x)").replace("MatMul(x", "MatMul(c"),
            "tensor(double)",
        ),
        (LAYERS.replace("y)", "y, float[batch, 8] r)"), "has the output 'r'"),
        (
            LAYERS.replace("[batch, 8] y)", "[batch, 8, 1] out)")
            .replace("y =", "o =")
            .replace("}", "a1 = Constant <value_ints = [2]> () out = Unsqueeze(o, a1) }"),
            "lacks the output 'y'",
        ),
        (LAYERS.replace("x)", "x, float[1] extra)", 1), "the input 'extra'"),
    ],
)
def test_other_inputs_and_outputs_are_told(advisor: Command, saved: Any, text: str, words: str) -> None:
    if "double" in text:
        text = text.replace("{", "{ c = Cast <to = 1> (x)", 1)
    result = advisor("verify", saved("a.onnx", layers()), saved("b.onnx", proto(text, **WEIGHTS)), "--provider", "cpu")
    assert result.returncode == 1
    assert words in " ".join(result.stdout.replace("│", "").split())


EXPORTS = (
    "(float[N, 8] x, float[N, 8] z) => (float[N, 8] v2, float[N, 8] v3) { v1 = Exp(x) v2 = Neg(v1) v3 = Relu(z) }",
    "(float[M, 8] v1, float[M, 8] z) => (float[M, 8] neg, float[M, 8] relu) {"
    " v2 = Exp(v1) neg = Neg(v2) relu = Relu(z) }",
)


def test_exports_that_name_inputs_and_outputs_differently_are_compared_by_place(advisor: Command, saved: Any) -> None:
    """Also where a name of one model means something else in the other one."""
    a, b = (saved(f"{name}.onnx", proto(text)) for name, text in zip("ab", EXPORTS, strict=True))
    result = advisor("verify", a, b, "--provider", "cpu", "--json", "-")
    parsed = document(result)
    assert result.returncode == 0
    assert parsed["equal"]
    assert parsed["renamed"] == [
        {"kind": "input", "a": "x", "b": "v1"},
        {"kind": "output", "a": "v2", "b": "neg"},
        {"kind": "output", "a": "v3", "b": "relu"},
    ]
    said = " ".join(advisor("verify", a, b, "--provider", "cpu").stdout.replace("│", "").split())
    assert "Compared by place, not by name: input x is v1, output v2 is neg, output v3 is relu" in said
    swapped = saved("c.onnx", proto(EXPORTS[1].replace("neg = Neg", "relu = Neg").replace("relu = Relu", "neg = Relu")))
    assert advisor("verify", a, swapped, "--provider", "cpu").returncode == 1


def test_a_model_that_only_takes_one_batch_differs(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    b = saved("b.onnx", proto(LAYERS.replace("batch", "1"), **WEIGHTS))
    result = advisor("verify", a, b, "--provider", "cpu")
    assert result.returncode == 1
    assert "odd batch inputs" in " ".join(result.stdout.replace("│", "").split())


def test_a_model_that_does_not_load_is_bad_input(advisor: Command, saved: Any) -> None:
    a = saved("a.onnx", layers())
    text = LAYERS.replace("MatMul(x, w)", "com.microsoft.NoSuchOperator(x, w)")
    b = saved("b.onnx", proto(text, **WEIGHTS))
    for first, second in ((a, b), (b, a)):
        result = advisor("verify", first, second, "--provider", "cpu")
        assert result.returncode == 2
        assert "b.onnx" in result.stderr
        assert result.stderr.count("\n") == 1


def test_bad_input_is_one_line(advisor: Command, saved: Any, tmp_path: Path) -> None:
    a = saved("a.onnx", layers())
    (tmp_path / "text.onnx").write_text("no model")
    for arguments in (
        (a, tmp_path / "absent.onnx"),
        (tmp_path / "text.onnx", a),
        (a, a, "--json", str(a)),
        (a, a, "--dim", "nothing"),
        (a, a, "--inputs", str(a)),
    ):
        result = advisor("verify", *arguments)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), arguments
    assert onnx.load(a) == layers()


def test_level_off_runs_no_optimised_session(advisor: Command, saved: Any) -> None:
    path = saved("a.onnx", layers())
    for level, expected in (("off", ["ORT_DISABLE_ALL"]), ("all", ["ORT_ENABLE_ALL"])):
        parsed = document(advisor("verify", path, path, "--provider", "cpu", "--level", level, "--json", "-"))
        assert [check["level"] for check in parsed["checks"]] == expected


def test_given_inputs_decide(advisor: Command, saved: Any, tmp_path: Path) -> None:
    """Relu and Abs are the same where nothing is negative, and the sets derived from given inputs keep the sign."""
    text = "(float[4] x) => (float[4] y) { y = Relu(x) }"
    a, b = saved("a.onnx", proto(text)), saved("b.onnx", proto(text.replace("Relu", "Abs")))
    np.savez(tmp_path / "inputs.npz", x=np.arange(4, dtype=np.float32))
    assert advisor("verify", a, b, "--provider", "cpu").returncode == 1
    assert advisor("verify", a, b, "--provider", "cpu", "--inputs", tmp_path / "inputs.npz").returncode == 0


def test_hostile_names_stay_on_their_line(advisor: Command, saved: Any) -> None:
    hostile = "evil\x1b[2J\n[red]name\u202e"
    a, b = layers(), layers()
    for model in (a, b):
        model.graph.node[2].name = hostile
        model.graph.node[2].output[0] = model.graph.node[3].input[0] = model.graph.node[4].input[1] = hostile
    b.graph.node[2].op_type = "Elu"
    result = advisor("verify", saved("a.onnx", a), saved("b.onnx", b), "--provider", "cpu", columns=60)
    assert result.returncode == 1
    assert "[red]name" in result.stdout
    assert not set("\x1b\u202e") & set(result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 60


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_a_real_model_with_its_last_operator_changed(name: str, saved: Any) -> None:
    """Their weights are all alike, and so are their outputs: only the softmax at the end can show a difference."""
    path = LIGHT / f"{name}.onnx"
    b = onnx.load(path)
    changed = next(node for node in b.graph.node if node.op_type == "Softmax")
    changed.op_type = "Sigmoid"
    del changed.attribute[:]
    comparison = compare_models(path, saved("b.onnx", b), provider="cpu", levels=(Level.OFF,))
    assert comparison.departure is not None
    assert comparison.departure.value == changed.output[0]
    assert comparison.departure.equal_before > 60


def test_sizes_that_do_not_fit_are_named(advisor: Command, saved: Any) -> None:
    text = """(float[batch, one] x, float[batch, two] z) => (float[batch, three] y) {
        s = Concat <axis = 1> (x, z)  y = Add(x, s) }"""
    path = saved("a.onnx", proto(text))
    for command in (("verify", path, path), ("profile", path), ("fuse", path)):
        result = advisor(*command, "--provider", "cpu")
        assert result.returncode == 2
        assert "two=64 was assumed: give real sizes with --dim" in result.stderr


@pytest.mark.parametrize(
    ("dtype", "opset", "ir_version", "domain", "reason"),
    [
        ("float", 99, 8, "", "Opset 99 is"),
        ("float", 17, 99, "", "Unsupported model IR version: 99"),
        ("float", 17, 8, "my.own", "domain 'my.own'"),
        ("bfloat16", 17, 8, "", "Could not find an implementation for Tanh"),
    ],
)
def test_one_cause_has_one_exit_code_and_says_the_reason(
    advisor: Command, saved: Any, dtype: str, opset: int, ir_version: int, domain: str, reason: str
) -> None:
    """Whatever the command: 2 where the model is wrong, 3 where it is sound and this provider lacks a kernel."""
    model = proto(f"({dtype}[4] x) => ({dtype}[4] y) {{ y = Tanh(x) }}")
    model.opset_import[0].version, model.ir_version, model.graph.node[0].domain = opset, ir_version, domain
    path = saved("a.onnx", model)
    for command in (("verify", path, path), ("profile", path), ("fuse", path)):
        result = advisor(*command, "--provider", "cpu")
        assert result.returncode == (3 if dtype == "bfloat16" else 2), command
        assert reason in result.stderr
        assert "onnxruntime::" not in result.stderr
        assert result.stderr.count("\n") == 1


DRAWS = {
    "noise": "n = RandomNormalLike(x) y = Add(x, n)",
    "a seed": "n = RandomUniform<shape = [4], seed = 1.0>() y = Add(x, n)",
    "training": "y = Dropout(x, half, yes)",
    "training on demand": "p = ReduceMax<keepdims = 0>(x) t = Cast<to = 9>(p) y = Dropout(x, half, t)",
    "in a branch": """y = If(yes) <then_branch = a () => (float[4] n) { n = Bernoulli(x) },
                                  else_branch = b () => (float[4] m) { m = Neg(x) }>""",
}


@pytest.mark.parametrize("draw", DRAWS)
def test_of_random_numbers_nothing_can_be_told(advisor: Command, saved: Any, tmp_path: Path, draw: str) -> None:
    arrays: dict[str, Any] = {"half": np.array(0.5, np.float32), "yes": np.array(True)}
    a = saved("a.onnx", proto(f"(float[4] x) => (float[4] y) {{ {DRAWS[draw]} }}", **arrays))
    b = saved("b.onnx", proto("(float[4] x) => (float[4] y) { y = Neg(x) }"))
    output = tmp_path / "fused.onnx"
    for command in (("verify", a, a), ("verify", b, a), ("fuse", a, "-o", output)):
        result = advisor(*command, "--provider", "cpu")
        assert result.returncode == 3
        assert "draws random numbers (" in result.stderr
        assert not result.stdout
    assert not output.exists()


@pytest.mark.parametrize("drops", ["Dropout(x)", "Dropout(x, half)", "Dropout(x, half, no)"])
def test_a_dropout_that_is_not_in_training_draws_nothing(advisor: Command, saved: Any, drops: str) -> None:
    arrays: dict[str, Any] = {"half": np.array(0.5, np.float32), "no": np.array(False)}
    a = saved("a.onnx", proto(f"(float[4] x) => (float[4] y) {{ y = {drops} }}", **arrays))
    assert advisor("verify", a, a, "--provider", "cpu").returncode == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(float[batch, 8] x) => (float[batch, 8] y) { n = Abs(x)  m = Sub(low, n)  y = Sqrt(m) }", "y = Log(m)"),
        ("(float[0, 8] x) => (float[0, 8] y) { m = Abs(x)  y = Sqrt(m) }", "y = Log(m)"),
    ],
)
def test_where_nothing_was_compared_nothing_is_called_equal(advisor: Command, saved: Any, one: str, other: str) -> None:
    """NaN throughout, or no element at all."""
    arrays: dict[str, Any] = {"low": np.array(-1, np.float32)} if "low" in one else {}
    a = saved("a.onnx", proto(one, **arrays))
    b = saved("b.onnx", proto(one.replace("y = Sqrt(m)", other), **arrays))
    result = advisor("verify", a, b, "--provider", "cpu")
    assert result.returncode == 3
    assert "has a number to compare" in result.stderr
    assert result.stdout == ""


def test_an_output_of_which_nothing_was_compared_is_named(advisor: Command, saved: Any) -> None:
    text = "(float[batch, 8] x) => (float[batch, 8] y, float[batch, 8] z) { y = Relu(x)  m = Sub(low, y)  z = Log(m) }"
    a = saved("a.onnx", proto(text, low=np.array(-1, np.float32)))
    result = advisor("verify", a, a, "--provider", "cpu", columns=200)
    assert result.returncode == 0
    assert "note: nothing of the outputs z was compared" in result.stdout
    document = json.loads(advisor("verify", a, a, "--provider", "cpu", "--json", "-").stdout)
    jsonschema.validate(document, SCHEMA)
    assert [check["not_compared"] for check in document["checks"]] == [["z"], ["z"]]


def test_a_model_that_the_runtime_changes_cannot_be_judged_optimised_alone(advisor: Command, saved: Any) -> None:
    """ONNX Runtime multiplies by four-bit weights with eight bits, which is no rounding of float32."""
    weights = onnx.helper.make_tensor("w4", onnx.TensorProto.INT4, [8, 8], np.arange(64) % 15 - 7)
    text = "(float[batch, 8] x) => (float[batch, 8] y) { w = DequantizeLinear(w4, scale)  y = MatMul(x, w) }"
    model = proto(text, scale=np.array(0.1, np.float32))
    model.opset_import[0].version = 21
    model.graph.initializer.append(weights)
    a = saved("a.onnx", model)
    both = advisor("verify", a, a, "--provider", "cpu")
    if "own optimisation changes" not in " ".join(both.stdout.split()):
        pytest.skip("this version of ONNX Runtime does not change it")
    assert both.returncode == 0
    alone = advisor("verify", a, a, "--provider", "cpu", "--level", "all")
    assert alone.returncode == 3
    assert "--level off" in alone.stderr


def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path) -> None:
    """Also where onnx-ir warns of it in words of its own, which pytest would catch."""
    node = onnx.helper.make_node("Add", ["x", "nowhere"], ["y"])
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy"]
    path = tmp_path / "a.onnx"
    path.write_bytes(
        onnx.helper.make_model(onnx.helper.make_graph([node], "g", values[:1], values[1:])).SerializeToString()
    )
    command = [sys.executable, "-m", "advisor", "verify", str(path), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "'nowhere'" in result.stderr
