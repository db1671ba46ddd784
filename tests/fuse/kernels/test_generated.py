"""Generated kernels inside models, run by ONNX Runtime: the same numbers as the operators one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.backend.test.loader
import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

from advisor.errors import BadInput
from advisor.fuse.compose import compose
from advisor.fuse.kernels.expression import DOMAIN, Constant
from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.formula import NotExpressible
from advisor.fuse.kernels.generated import GENERATED
from advisor.fuse.kernels.groups import Group, express
from advisor.fuse.kernels.library import ARCHITECTURES, build_library, here
from advisor.fuse.kernels.lowering import LOWERINGS
from advisor.fuse.model import load, runnable
from advisor.fuse.scope import Facts, Scope
from advisor.fuse.session import libraries_of, library_of, session, write_library
from advisor.fuse.transform import NotApplicable
from advisor.measure.session import Level, open_session, provider_of
from tests.conftest import SHARED
from tests.fuse.graphs import CPU, model, random_inputs
from tests.fuse.graphs import session as ort_session
from tests.fuse.kernels.compiled import host_level
from tests.fuse.kernels.single_operator import double
from tests.fuse.test_cases import NOT_ON_CPU, every_case, inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from advisor.fuse.rewrite import Site

CHAIN = "(float[N,768] x) => (float[N,768] y) { a = Exp(x) b = Tanh(a) y = Mul(b, x) }"
SOFTMAX = "(float[N,768] x) => (float[N,768] y) { a = Mul(x, x) b = Softmax(a) y = Tanh(b) }"


def cuda_starts() -> bool:
    opened = open_session(
        ir.to_proto(model(CHAIN)).SerializeToString(), level=Level.OFF, provider="CUDAExecutionProvider"
    )
    return provider_of(opened) != CPU


def take_all(_: Site) -> bool:
    return True


def run(
    subject: ir.Model, feed: dict[str, Any], libraries: tuple[Path, ...] = (), *, optimised: bool = False
) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    for library in libraries:
        options.register_custom_ops_library(str(library))
    with runnable(subject) as source:
        opened = ort.InferenceSession(source if isinstance(source, bytes) else str(source), options, providers=[CPU])
    results: list[Any] = opened.run(None, feed)
    return results


def generated(subject: ir.Model, accept: Callable[[Site], bool] = take_all) -> Any:
    return compose(subject, [GENERATED], provider=CPU, accept=accept)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the models lie in ../shared/cases, which is not here")
@pytest.mark.parametrize("name", [] if not SHARED.is_dir() else [n for n in every_case() if n not in NOT_ON_CPU])
def test_models_that_tools_got_wrong_stay_right(name: str) -> None:
    before = load(SHARED / "cases" / f"{name}.onnx")
    after = generated(before)
    if not after.sites:
        pytest.skip("nothing to compile")
    feed = inputs_of(name) or random_inputs(ort_session(before))
    for ours, theirs in zip(run(after.model, feed, after.libraries), run(before, feed), strict=True):
        tolerance = 5e-3 if theirs.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_chain_becomes_one_node_and_keeps_its_names(rows: int) -> None:
    before = model(CHAIN)
    after = generated(before)
    assert [(node.domain, node.outputs[0].name) for node in after.model.graph] == [(DOMAIN, "y")]
    feed = {"x": np.random.default_rng(0).standard_normal((rows, 768)).astype(np.float32)}
    (ours,), (theirs,) = run(after.model, feed, after.libraries, optimised=True), run(before, feed)
    np.testing.assert_allclose(ours, theirs, rtol=3e-6, atol=1e-6)


def test_kernels_of_one_model_read_one_another() -> None:
    text = """(float[N,64] x) => (float[N,64] y, float[N,64] z) {
        a = Exp(x) b = Tanh(a) p = MatMul(b, w) q = Add(p, a) z = Sigmoid(q) r = MatMul(z, w) s = Mul(r, a) y = Tanh(s)
    }"""
    before = model(text, w=np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32) / 8)
    after = generated(before)
    assert len(after.sites) == 3
    feed = random_inputs(ort_session(before))
    for ours, theirs in zip(run(after.model, feed, after.libraries), run(before, feed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_bodies_hold_kernels_too() -> None:
    text = """(float[N,64] x, bool c) => (float[N,64] y) {
        y = If (c) <then_branch = g () => (float[N,64] t) { a = Exp(x) t = Tanh(a) },
                    else_branch = h () => (float[N,64] e) { b = Sin(x) e = Mul(b, x) }>
    }"""
    before = model(text)
    after = generated(before)
    assert len(after.sites) == 2
    for condition in (True, False):
        feed = {"x": np.ones((3, 64), np.float32), "c": np.array(condition)}
        np.testing.assert_allclose(run(after.model, feed, after.libraries)[0], run(before, feed)[0], rtol=1e-5)


@pytest.mark.parametrize("declared", ["float", "float[3,7]", "float[M,K]"])
def test_a_body_that_declares_another_shape_of_its_output(declared: str) -> None:
    """ONNX Runtime takes no notice of it for the operators one by one, and would hold a kernel to it."""
    text = f"""(float[N,4] x, bool c) => (float[N,4] y) {{
        y = If (c) <then_branch = g () => ({declared} t) {{ a = Exp(x) t = Tanh(a) }},
                    else_branch = h () => ({declared} e) {{ b = Abs(x) e = Mul(b, x) }}>
    }}"""
    before = model(text)
    after = generated(before)
    assert len(after.sites) == 2
    for condition in (True, False):
        feed = {"x": np.ones((2, 4), np.float32), "c": np.array(condition)}
        np.testing.assert_allclose(run(after.model, feed, after.libraries)[0], run(before, feed)[0], rtol=1e-5)


def test_kernels_that_differ_in_the_sign_of_a_zero_are_two() -> None:
    """0.0 == -0.0 in Python, also within one process that has made the other kernel before."""
    text = "(float[N,64] x, float[N,64] w) => (float[N,64] y) { a = Min(x, zero) b = Div(w, a) y = Neg(b) }"
    both = """(float[N,64] x, float[N,64] w) => (float[N,64] y, float[N,64] z) {
        a = Min(x, zero) b = Div(w, a) y = Neg(b) c = Min(w, other) d = Div(x, c) z = Neg(d)
    }"""
    zeros = (np.float32(0.0), np.float32(-0.0))
    feed = {"x": np.full((2, 64), 1, np.float32), "w": np.full((2, 64), 2, np.float32)}
    subjects = [model(text, zero=zero) for zero in zeros] + [model(both, zero=zeros[0], other=zeros[1])]
    for before in subjects:
        after = generated(before)
        assert after.sites
        for ours, theirs in zip(run(after.model, feed, after.libraries), run(before, feed), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_constants_are_equal_where_their_bits_are() -> None:
    dtype = ir.DataType.FLOAT
    assert Constant(dtype, 0.0) != Constant(dtype, -0.0)
    assert Constant(dtype, 1) != Constant(dtype, True)
    nan = Constant(dtype, float("nan"))
    assert (nan, hash(nan)) == (Constant(dtype, -float("nan")), hash(Constant(dtype, float("nan"))))


def test_what_is_turned_down_is_offered_smaller_and_nothing_is_changed() -> None:
    text = """(float[N,64] x, float[64] w) => (float[N,64] y) {
        a = Exp(x) b = Tanh(a) c = LayerNormalization(b, w) y = Mul(c, w)
    }"""
    subject = model(text)
    offered: list[Site] = []

    def turn_down(site: Site) -> bool:
        offered.append(site)
        return False

    after = generated(subject, turn_down)
    assert [(site.family, len(site.nodes)) for site in offered] == [("reduction", 4), ("elementwise", 2)]
    assert after.sites == ()
    assert after.libraries == ()
    assert [node.op_type for node in after.model.graph] == [node.op_type for node in subject.graph]


def test_the_same_model_gives_the_same_bytes() -> None:
    one, two = generated(model(CHAIN)), generated(model(CHAIN))
    assert ir.to_proto(one.model) == ir.to_proto(two.model)
    assert one.libraries == two.libraries


def test_other_providers_are_told_that_there_are_none() -> None:
    with pytest.raises(NotApplicable, match="not for TensorrtExecutionProvider"):
        compose(model(CHAIN), [GENERATED], provider="TensorrtExecutionProvider")


def test_for_a_gpu_the_library_holds_ptx_and_still_runs_on_the_cpu(tmp_path: Path) -> None:
    subject = model(CHAIN)
    on_cpu, on_gpu = (compose(subject, [GENERATED], provider=f"{name}ExecutionProvider") for name in ("CPU", "CUDA"))
    assert [site.group for site in on_gpu.sites] == [site.group for site in on_cpu.sites]
    library = on_gpu.libraries[0].read_bytes()
    assert library.count(b".target sm_70") == len(on_gpu.sites)
    assert b".target sm_" not in on_cpu.libraries[0].read_bytes()
    path = tmp_path / "fused.onnx"
    write_library(on_gpu.model, on_gpu.libraries[0], path)
    path.write_bytes(ir.to_proto(on_gpu.model).SerializeToString())
    x = np.ones((2, 768), np.float32)
    (y,) = session(path, providers=[CPU]).run(None, {"x": x})
    np.testing.assert_allclose(y, np.tanh(np.exp(x)), rtol=1e-6)


def test_a_gpu_computes_what_the_cpu_computes(tmp_path: Path) -> None:
    if not cuda_starts():
        pytest.skip("CUDAExecutionProvider does not start on this machine")
    cuda = "CUDAExecutionProvider"
    for text in (CHAIN, SOFTMAX):
        after = compose(model(text), [GENERATED], provider=cuda)
        assert after.sites
        path = tmp_path / "fused.onnx"
        write_library(after.model, after.libraries[0], path)
        path.write_bytes(ir.to_proto(after.model).SerializeToString())
        x = np.random.default_rng(0).standard_normal((5, 768)).astype(np.float32)
        opened = session(path, providers=[cuda])
        assert opened.get_providers()[0] == cuda
        (expected,) = run(model(text), {"x": x})
        np.testing.assert_allclose(opened.run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-6)


def written(folder: Path) -> tuple[Path, Path]:
    after = generated(model(CHAIN))
    path = folder / "fused.onnx"
    library = write_library(after.model, after.libraries[0], path)
    path.write_bytes(ir.to_proto(after.model).SerializeToString())
    return path, library


def test_a_written_model_opens_with_the_library_beside_it(tmp_path: Path) -> None:
    path, library = written(tmp_path)
    assert library_of(path) == library
    x = np.ones((2, 768), np.float32)
    (y,) = session(path, providers=[CPU]).run(None, {"x": x})
    np.testing.assert_allclose(y, np.tanh(np.exp(x)), rtol=1e-6)


def test_session_says_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    for path, words in ((tmp_path, "is a directory: name"), (tmp_path / "none", "no such file"),
                        (tmp_path / "text.onnx", "is not an ONNX model, or is cut off")):  # fmt: skip
        with pytest.raises(BadInput, match=words):
            session(path)


def test_session_takes_the_arguments_of_an_inference_session(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    opened = session(path_or_bytes=path, sess_options=options, providers=[CPU], provider_options=[{}])
    assert opened.get_session_options().intra_op_num_threads == 1
    with pytest.raises(BadInput, match="make new ones for each session"):
        session(path, options, [CPU])
    with pytest.raises(BadInput, match="not its bytes"):
        session(path.read_bytes())  # type: ignore[arg-type]


def test_only_the_library_that_the_model_was_written_with_is_loaded(tmp_path: Path) -> None:
    path, library = written(tmp_path)
    library.write_bytes(library.read_bytes() + b"!")
    with pytest.raises(BadInput, match="its bytes are others"):
        session(path)
    library.unlink()
    with pytest.raises(BadInput, match="beside it"):
        session(path)
    proto = onnx.load(path)
    proto.metadata_props[0].value = "../elsewhere.0.so"
    onnx.save(proto, path)
    with pytest.raises(BadInput, match="no file beside it"):
        session(path)


def test_a_library_for_another_machine_is_refused_in_words(tmp_path: Path) -> None:
    """The system's loader says of such a file only that there is none."""
    other = next(name for name in ARCHITECTURES if name != here())
    subject, path, library = model(CHAIN), tmp_path / "fused.onnx", tmp_path / "made.so"
    library.write_bytes(build_library([double()], architecture=other))
    write_library(subject, library, path)
    path.write_bytes(ir.to_proto(subject).SerializeToString())
    words = f"holds code for Linux on {other}, and this is Linux on {here()}: fuse the original model"
    with pytest.raises(BadInput, match=words):
        session(path)
    with pytest.raises(BadInput, match=words):
        libraries_of(subject, path)
    library.write_bytes(b"no library")
    write_library(subject, library, path)
    with pytest.raises(BadInput, match="not a shared library"):
        libraries_of(subject, path)


# What ONNX's own test data says: every node test of an operator that kernels compute.


def node_tests() -> dict[str, tuple[Group, dict[str, Any], list[Any]]]:
    """The backend tests of one node that a kernel can take, each with its kernel, inputs and expected outputs."""
    tests: dict[str, tuple[Group, dict[str, Any], list[Any]]] = {}
    operators = {op_type for domain, op_type in LOWERINGS if not domain}
    for case in onnx.backend.test.loader.load_model_tests(kind="node"):
        proto = case.model
        assert proto is not None
        assert case.data_sets is not None
        if len(proto.graph.node) != 1 or proto.graph.node[0].op_type not in operators:
            continue
        inputs, expected = case.data_sets[0]
        feed = {value.name: array for value, array in zip(proto.graph.input, inputs, strict=True)}
        arrays = (*inputs, *expected)
        if not all(isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "biuf" for array in arrays):
            continue  # ONNX Runtime takes no bfloat16 from NumPy
        subject = ir.from_proto(proto)
        axes = next((value for value in subject.graph.inputs if value.name == "axes"), None)
        if axes is not None:  # axes that are known before the run only
            subject.graph.inputs.remove(axes)
            axes.const_value = ir.tensor(feed["axes"], name="axes")
            subject.graph.register_initializer(axes)
        scope = Scope(subject.graph, subject, CPU, Facts(subject))
        try:
            group = express(list(subject.graph), scope, Flow(subject.graph))
        except NotExpressible:
            continue
        tests[case.name] = (
            group,
            {value.name or "": np.asarray(feed[value.name]) for value in group.inputs},
            list(expected),
        )
    return tests


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_onnxs_own_node_tests_pass_through_kernels(tmp_path: Path) -> None:
    tests = node_tests()
    assert len(tests) > 150
    library = tmp_path / "all.so"
    library.write_bytes(build_library([group.expression for group, _, _ in tests.values()], levels=[host_level()]))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    wrong = []
    for name, (group, feed, expected) in tests.items():
        inputs = [
            onnx.helper.make_tensor_value_info(key, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for key, array in feed.items()
        ]
        outputs = [onnx.ValueInfoProto(name=f"out{index}") for index in range(len(group.outputs))]
        node = onnx.helper.make_node(group.expression.name, list(feed), [o.name for o in outputs], domain=DOMAIN)
        graph = onnx.helper.make_graph([node], "g", inputs, outputs)
        imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(DOMAIN, 1)]
        proto = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
        actual = ort.InferenceSession(proto.SerializeToString(), options, providers=[CPU]).run(None, feed)
        for ours, theirs in zip(actual, expected, strict=True):
            tolerance = 2e-3 if theirs.dtype == np.float16 else 1e-5
            is_same = ours.shape == theirs.shape and np.allclose(
                ours.astype(np.float64), theirs.astype(np.float64), rtol=tolerance, atol=tolerance, equal_nan=True
            )
            if not is_same:
                wrong.append(f"{name} {ours} {theirs}")
    assert wrong == []
