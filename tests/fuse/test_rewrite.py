"""What holds for every rule: values that something needs stay, names stay, nothing else changes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules import RULES
from advisor.fuse.rules.silu import SILU
from tests.fuse.graphs import CPU, assert_same, fuse, model, operators, proto, rewritten, status, weights

SILU_BODY = "s = Sigmoid(x) y = Mul(x, s)"
SWISH_NUMBERS = "float three = {3}, float zero = {0}, float six = {6}"
SWISH_BODY = "a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) y = Div(m, six)"


def test_rules_have_names_and_sentences_of_their_own() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.family in ("elementwise", "reduction", "gemm", "attention")
        assert rule.description
        assert "\n" not in rule.description


@pytest.mark.parametrize("kept", ["a", "c", "m"])
def test_an_intermediate_value_that_is_an_output_stays(kept: str) -> None:
    text = f"(float[2, 4] x) => (float[2, 4] y, float[2, 4] {kept}) <{SWISH_NUMBERS}> {{ {SWISH_BODY} }}"
    found, sites = fuse(text)
    assert found == ["Add", "Clip", "Mul", "Div"]
    assert sites[0].status == "illegal"
    assert sites[0].reason == f"the intermediate value '{kept}' is an output of its graph"


@pytest.mark.parametrize("kept", ["a", "c", "m"])
def test_an_intermediate_value_with_another_user_stays(kept: str) -> None:
    text = f"(float[2, 4] x) => (float[2, 4] y, float[2, 4] z) <{SWISH_NUMBERS}> {{ {SWISH_BODY} z = Neg({kept}) }}"
    found, sites = fuse(text)
    assert found == ["Add", "Clip", "Mul", "Div", "Neg"]
    assert sites[0].reason == f"the intermediate value '{kept}' is also used by Neg 'z'"


@pytest.mark.parametrize("kept", ["a", "c", "m"])
def test_an_intermediate_value_that_a_body_captures_stays(kept: str) -> None:
    text = f"""(float[2, 4] x, bool b) => (float[2, 4] y, float[2, 4] z) <{SWISH_NUMBERS}> {{
        {SWISH_BODY}
        z = If (b) <
            then_branch = t () => (float[2, 4] p) {{ p = Neg({kept}) }},
            else_branch = e () => (float[2, 4] q) {{ q = Abs(x) }}
        >
    }}"""
    for condition in (True, False):
        x = np.linspace(-5, 5, 8, dtype="float32").reshape(2, 4)
        found, sites = fuse(text, {"x": x, "b": np.array(condition)})
        assert found == ["Add", "Clip", "Mul", "Div", "If"]
        assert sites[0].reason == f"the intermediate value '{kept}' is captured by a body that holds Neg 'p'"


def test_the_result_may_be_an_output_have_users_and_be_captured() -> None:
    branches = (
        "then_branch = t () => (float[2, 4] p) { p = Neg(y) }, else_branch = e () => (float[2, 4] q) { q = Abs(y) }"
    )
    text = f"(float[2, 4] x, bool b) => (float[2, 4] y, float[2, 4] z, float[2, 4] w) {{ {SILU_BODY} w = Exp(y) z = If (b) <{branches}> }}"  # noqa: E501
    x = np.linspace(-5, 5, 8, dtype="float32").reshape(2, 4)
    assert fuse(text, {"x": x, "b": np.array(True)})[0] == ["QuickGelu", "Exp", "If"]


def test_an_input_may_have_other_users_and_be_an_output() -> None:
    text = f"(float[2, 4] w) => (float[2, 4] y, float[2, 4] x, float[2, 4] z) {{ x = Neg(w) {SILU_BODY} z = Abs(x) }}"
    assert fuse(text)[0] == ["Neg", "QuickGelu", "Abs"]


def test_bodies_are_rewritten_each_by_itself() -> None:
    text = """(float[2, 4] x, bool b) => (float[2, 4] y) {
        y = If (b) <
            then_branch = t () => (float[2, 4] p) { s = Sigmoid(x) p = Mul(x, s) },
            else_branch = e () => (float[2, 4] q) { s = Sigmoid(x) u = Neg(s) q = Mul(x, u) }
        >
    }"""
    before = model(text)
    after, sites = rewritten(before)
    assert [(site.status, site.value) for site in sites] == [("applied", "p")]
    x = np.linspace(-5, 5, 8, dtype="float32").reshape(2, 4)
    for condition in (True, False):
        assert_same(before, after, {"x": x, "b": np.array(condition)})


def test_a_pattern_never_reaches_from_a_body_into_the_graph_around_it() -> None:
    text = """(float[2, 4] x, bool b) => (float[2, 4] y) {
        s = Sigmoid(x)
        y = If (b) <
            then_branch = t () => (float[2, 4] p) { p = Mul(x, s) },
            else_branch = e () => (float[2, 4] q) { q = Neg(x) }
        >
    }"""
    before = model(text)
    after, sites = rewritten(before)
    assert not sites
    assert_same(before, after, {"x": np.ones((2, 4), "float32"), "b": np.array(True)})


def test_in_a_loop_with_weights_of_its_own() -> None:
    text = """(float[4, 8] x) => (float[4, 8] y) <int64 n = {3}, bool go = {1}, float one = {1}, float half = {0.5}> {
        y = Loop (n, go, x) <body = body (int64 i, bool again, float[4, 8] h) => (bool more, float[4, 8] z)
            <float r = {1.4142135}> {
            d = Div(h, r)
            e = Erf(d)
            f = Add(e, one)
            m = Mul(h, f)
            g = Mul(m, half)
            z = Add(g, bias)
            more = Identity(again)
        }>
    }"""
    before = model(text, bias=weights(8))
    after, sites = rewritten(before)
    assert status(sites) == {"gelu": "applied"}
    assert_same(before, after)
    (body,) = after.graph.subgraphs()
    assert not body.initializers  # the constant that only the fused nodes used


def test_constants_that_something_else_uses_stay() -> None:
    text = f"(float[4] x) => (float[4] y, float[4] z) <{SWISH_NUMBERS}> {{ {SWISH_BODY} z = Add(x, six) }}"
    before = model(text)
    after, _ = rewritten(before)
    assert sorted(after.graph.initializers) == ["six"]
    assert_same(before, after)


def test_unused_weights_and_inputs_of_the_model_stay() -> None:
    text = f"(float[4] x, float[2] unused) => (float[4] y) <float[2] also = {{1, 2}}> {{ {SILU_BODY} }}"
    before = model(text)
    after, _ = rewritten(before)
    assert [value.name for value in after.graph.inputs] == ["x", "unused"]
    assert list(after.graph.initializers) == ["also"]


def test_a_constant_that_a_caller_may_override_is_not_folded() -> None:
    text = f"(float[4] x, float six) => (float[4] y) <float three = {{3}}, float zero = {{0}}> {{ {SWISH_BODY} }}"
    before = model(text, six=np.float32(6))
    after, sites = rewritten(before)
    assert operators(after) == operators(before)
    assert sites[0].reason == "the initialiser 'six' is also a graph input: a caller may replace its value"
    assert_same(before, after, {"x": np.arange(4, dtype="float32"), "six": np.array(5, "float32")})


def test_before_ir_version_4_every_weight_is_an_input_and_none_may_be_overridden() -> None:
    text = f"(float[4, 16] x, float six, float three) => (float[4, 16] y) {{ {SWISH_BODY} }}"
    text = text.replace("Clip(a, zero, six)", "Clip<min = 0.0, max = 6.0>(a)")
    before = model(text, ir_version=3, opset=8, six=np.float32(6), three=np.float32(3))
    after, sites = rewritten(before)
    assert status(sites) == {"hard-swish": "applied"}
    assert_same(before, after, {"x": weights(4, 16)})


def test_new_weights_of_old_models_are_constants() -> None:
    text = """(float[2, 16] x, float eps) => (float[2, 16] y) {
        m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [-1]>(q)
        e = Add(v, eps) s = Sqrt(e) y = Div(d, s)
    }"""
    before = model(text, ir_version=3, eps=np.float32(1e-5))
    after, sites = rewritten(before)
    assert status(sites) == {"layer-norm": "applied"}
    assert list(after.graph.initializers) == ["eps"]
    assert_same(before, after, {"x": weights(2, 16)})


def test_names_are_unique_and_the_results_keep_theirs() -> None:
    branch = "() => (float[4] {0}) {{ s{0} = Sigmoid(x) {0} = Mul(x, s{0}) }}"
    text = f"""(float[4] x, bool b) => (float[4] z, float[4] w) {{
        s = Sigmoid(x) y = Mul(x, s) t = Sigmoid(y) z = Mul(t, y)
        w = If (b) <then_branch = t {branch.format("p")}, else_branch = e {branch.format("q")}>
    }}"""
    before = model(text)
    after, sites = rewritten(before)
    assert sorted(site.value for site in sites) == ["p", "q", "y", "z"]
    nodes = [node for graph in after.graphs() for node in graph]
    names = [node.name for node in nodes] + [value.name for node in nodes for value in node.outputs]
    assert len(set(names)) == len(names) == 10
    assert_same(before, after, {"x": weights(4), "b": np.array(True)})


def test_a_name_that_is_taken_is_not_taken_twice() -> None:
    text = f"(float[4] x) => (float[4] y, float[4] z) <{SWISH_NUMBERS}> {{ {SWISH_BODY} z = Neg(x) }}"
    parsed = proto(text)
    for node in parsed.graph.node:
        if node.output[0] == "z":
            node.name, node.output[0] = "Div/Mul", "y/HardSigmoid"
    parsed.graph.output[1].name = "y/HardSigmoid"
    before = ir.from_proto(parsed)
    after, _ = rewritten(before)
    names = [value.name for node in after.graph for value in node.outputs]
    assert sorted(map(str, names)) == ["y", "y/HardSigmoid", "y/HardSigmoid_2"]
    assert_same(before, after)


def test_nodes_without_or_with_equal_names_are_told_apart() -> None:
    parsed = proto(f"(float[4] x) => (float[4] y) <{SWISH_NUMBERS}> {{ {SWISH_BODY} }}")
    for node, name in zip(parsed.graph.node, ("n", "n", "", "last"), strict=True):
        node.name = name
    (site,) = rewritten(ir.from_proto(parsed))[1]
    assert site.nodes == ("n → a", "n → c", "Mul → m", "last")
    assert (site.rule, site.family, site.value) == ("hard-swish", "elementwise", "y")


def test_what_a_model_says_of_itself_stays() -> None:
    parsed = proto(f"(float[batch, 4] x) => (float[batch, 4] y) {{ {SILU_BODY} }}")
    parsed.producer_name, parsed.doc_string, parsed.model_version = "exporter", "words", 7
    parsed.metadata_props.add(key="license", value="none")
    parsed.graph.node[1].metadata_props.add(key="scope", value="layer/act")
    parsed.graph.value_info.append(onnx.helper.make_tensor_value_info("y2", onnx.TensorProto.FLOAT, ["batch", 4]))
    parsed.graph.output[0].name = "z"
    parsed.graph.node.append(onnx.helper.make_node("Neg", ["y"], ["z"]))
    parsed.graph.value_info.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 4]))
    after, _ = rewritten(ir.from_proto(parsed))
    written = ir.to_proto(after)
    assert [node.op_type for node in written.graph.node] == ["QuickGelu", "Neg"]
    assert (written.producer_name, written.doc_string, written.model_version) == ("exporter", "words", 7)
    assert [(entry.key, entry.value) for entry in written.metadata_props] == [("license", "none")]
    assert [(entry.key, entry.value) for entry in written.graph.node[0].metadata_props] == [("scope", "layer/act")]
    assert written.graph.input == parsed.graph.input
    assert written.graph.output == parsed.graph.output
    assert [info for info in written.graph.value_info if info.name == "y"] == [parsed.graph.value_info[1]]


def test_the_operator_sets_that_new_nodes_need_are_imported() -> None:
    parsed = proto(f"(float[4] x) => (float[4] y) {{ {SILU_BODY} }}")
    del parsed.opset_import[1]
    after, _ = rewritten(ir.from_proto(parsed))
    assert after.opset_imports == {"": 17, "com.microsoft": 1}


def test_operator_sets_in_which_broadcasting_was_an_attribute_are_left() -> None:
    before = model("(float[4] x) => (float[4] y) { s = Sigmoid(x) y = Mul(x, s) }", opset=6)
    after, sites = rewritten(before)
    assert operators(after) == operators(before)
    assert [(site.status, site.reason) for site in sites] == [
        ("unsupported", "the model has opset 6, where operators broadcast differently")
    ]


def test_a_fusion_may_make_room_for_the_next() -> None:
    """Two rules in a row: the first one's result is what the second one looks for."""
    text = "(float[2, 4] x) => (float[2, 4] y) { s = Sigmoid(x) z = Mul(x, s) r = Sigmoid(z) y = Mul(z, r) }"
    found, sites = fuse(text)
    assert found == ["QuickGelu", "QuickGelu"]
    assert [site.status for site in sites] == ["applied", "applied"]


FUNCTION = """<domain: "local", opset_import: ["": 17]> activation (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }"""


def test_local_functions_are_put_in_place_and_rewritten() -> None:
    text = "(float[2, 4] a) => (float[2, 4] b) { c = local.activation(a) d = Neg(c) b = local.activation(d) }"
    found, sites = fuse(text, functions=FUNCTION)
    assert found == ["QuickGelu", "Neg", "QuickGelu"]
    assert [site.status for site in sites] == ["applied", "applied"]


def test_a_function_for_another_opset_is_left_as_it_is() -> None:
    text = "(float[2, 4] a) => (float[2, 4] b) { b = local.activation(a) }"
    found, sites = fuse(text, functions=FUNCTION.replace("17", "13"))
    assert found == ["activation"]
    assert not sites


def test_only_a_clone_is_changed() -> None:
    before = model(f"(float[4] x) => (float[4] y) <{SWISH_NUMBERS}> {{ {SWISH_BODY} }}")
    bytes_before = ir.to_proto(before).SerializeToString()
    assert rewritten(before)[1][0].status == "applied"
    assert ir.to_proto(before).SerializeToString() == bytes_before


def test_a_refused_fusion_changes_nothing() -> None:
    text = f"(float[4] x) => (float[4] y, float[4] c) <{SWISH_NUMBERS}> {{ {SWISH_BODY} s = Sigmoid(y) z = Mul(y, s) }}"
    subject = model(text.replace("float[4] c)", "float[4] c, float[4] s, float[4] z)"))
    untouched = ir.to_proto(clone(subject)).SerializeToString()
    sites = rewrite(subject, provider=CPU)
    assert {site.status for site in sites} == {"illegal"}
    assert ir.to_proto(subject).SerializeToString() == untouched


def test_what_the_runtime_has_no_kernel_for_is_unsupported() -> None:
    rule = Rule(
        "nonsense",
        "elementwise",
        "…",
        SILU.patterns,
        lambda _: None,
        lambda match: [New("Nonsense", match["x"], domain="com.microsoft")],
    )
    before = model(f"(float[4] x) => (float[4] y) {{ {SILU_BODY} }}")
    after, (site,) = rewritten(before, [rule])
    assert operators(after) == ["Sigmoid", "Mul"]
    assert site.status == "unsupported"
    assert "no CPUExecutionProvider kernel for com.microsoft.Nonsense of float" in site.reason


def test_a_provider_that_is_not_there_is_unsupported() -> None:
    subject = model(f"(float[4] x) => (float[4] y) {{ {SILU_BODY} }}")
    (site,) = rewrite(subject, provider="NoSuchExecutionProvider")
    assert (site.status, site.reason) == ("unsupported", "this ONNX Runtime has no NoSuchExecutionProvider")
    assert operators(subject) == ["Sigmoid", "Mul"]


def test_values_that_only_shape_inference_knows_the_type_of() -> None:
    """Types that the model does not declare are found; those that nothing tells are not guessed."""
    text = f"(float[4] a) => (float[4] y) {{ x = Neg(a) {SILU_BODY} }}"
    assert fuse(text)[0] == ["Neg", "QuickGelu"]
    custom = model(f"(float[4] a) => (float[4] y) {{ x = com.microsoft.Custom(a) {SILU_BODY} }}")
    after, sites = rewritten(custom)
    assert operators(after) == ["Custom", "Sigmoid", "Mul"]
    assert sites[0].reason == "the element type of 'x' is not certain"
