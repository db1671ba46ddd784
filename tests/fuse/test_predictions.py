"""Traces of a model: which of its nodes they are about, how that is known, and what fusing them would save."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

import advisor
from advisor.fuse.predictions import match, predict
from advisor.fuse.rewrite import rewrite
from advisor.fuse.rules import RULES
from sample_traces.operations import Host, Launch, Operation, Pop, Push, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from tests.conftest import REPOSITORY
from tests.fuse.graphs import CPU, proto, weights

if TYPE_CHECKING:
    from advisor.fuse.predictions import Predictions
    from advisor.trace.analysis import Analysis
    from tests.conftest import Advisor

LAYERS = 4
RUNS = 8


def block(layer: int) -> str:
    """A matrix product with bias, hard-swish and GELU (erf)."""
    return f"""
    m{layer} = MatMul(x{layer}, w)
    a{layer} = Add(m{layer}, b)
    p{layer} = Add(a{layer}, three)
    c{layer} = Clip(p{layer}, zero, six)
    u{layer} = Mul(a{layer}, c{layer})
    h{layer} = Div(u{layer}, six)
    t{layer} = Transpose <perm = [0, 2, 1]> (h{layer})
    r{layer} = Reshape(t{layer}, shape)
    d{layer} = Div(r{layer}, root)
    e{layer} = Erf(d{layer})
    s{layer} = Add(e{layer}, one)
    g{layer} = Mul(r{layer}, s{layer})
    x{layer + 1} = Mul(g{layer}, half)"""


def model(layers: int = LAYERS, *, named: bool = True) -> onnx.ModelProto:
    scalars = {"three": 3, "zero": 0, "six": 6, "root": 2**0.5, "one": 1, "half": 0.5}
    arrays = {name: np.array(value, np.float32) for name, value in scalars.items()}
    arrays |= {"w": weights(32, 32), "b": weights(32)}
    body = "".join(map(block, range(layers)))
    made = proto(f"(float[1, 32, 32] x0) => (float[1, 32, 32] y) {{ {body} y = Softmax(x{layers}) }}")
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    made.graph.initializer.extend([*tensors, onnx.numpy_helper.from_array(np.array([1, 32, 32]), "shape")])
    for node in made.graph.node:
        node.name = f"/layer/{node.output[0]}" if named else ""
    return made


def profile(subject: onnx.ModelProto, folder: Path, level: str = "ORT_DISABLE_ALL") -> Path:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession(subject.SerializeToString(), options, providers=[CPU])
    shape = [dim.dim_value for dim in subject.graph.input[0].type.tensor_type.shape.dim]
    for _ in range(RUNS):
        session.run(None, {subject.graph.input[0].name: np.ones(shape, np.float32)})
    return Path(session.end_profiling())


# ---- the same model on a GPU, simulated: kernels as ONNX Runtime's CUDA provider calls them


def kernel(op_type: str) -> str:
    function = f"onnxruntime::cuda::OP_{op_type}<float, float, float>"
    return {
        "MatMul": "ampere_sgemm_32x32_sliced1x4_nn",
        "Erf": "void onnxruntime::cuda::_UnaryElementWise<float, float, onnxruntime::cuda::OP_Erf<float>, 256, 4>"
        "(const float *, float *, onnxruntime::cuda::OP_Erf<float>, int)",
        "Clip": "void onnxruntime::cuda::_Clip<float>(const float *, float *, float, float, unsigned long)",
        "Softmax": "void onnxruntime::cuda::softmax_warp_forward<float, float, float, 5, false>"
        "(float*, float const*, int, int, int)",
        "Transpose": "void onnxruntime::cuda::Transpose3DKernel<float, 32u>(long, long, long, float const*, float*)",
    }.get(
        op_type,
        "void onnxruntime::cuda::_BinaryElementWiseSimple<true, true, float, float, float, "
        f"{function}, 256, 4, int>(float const*, float const*, float*, {function}, int)",
    )


def program(subject: onnx.ModelProto, *, marked: bool = True, nodes: bool = False) -> list[Operation]:
    """Runs of the model; with NODES each is marked as ONNX Runtime does where it is built with NVTX."""
    steps: list[Operation] = [Host(50_000)]
    for _ in range(RUNS):
        steps += [Push("infer")] if marked else []
        for number, node in enumerate(subject.graph.node):
            if node.op_type == "Reshape":
                continue
            duration = 6_000 if node.op_type == "MatMul" else 1_500
            launch: list[Operation] = [Host(9_000), Launch(kernel(node.op_type), duration)]
            mark = Push(f"{node.op_type}.{number}({node.name})")
            steps += [mark, *launch, Pop()] if nodes else launch
        steps += [Synchronize(), *([Pop()] if marked else [])]
    return steps


def traced(subject: onnx.ModelProto, **how: bool) -> Analysis:
    return advisor.analyze(to_trace(simulate(program(subject, **how), Machine(module_load_ns=0))))


def sites(subject: onnx.ModelProto, rule: str) -> list[tuple[str, ...]]:
    only = [each for each in RULES if each.id == rule]
    return [site.nodes for site in rewrite(ir.from_proto(subject), only, provider=CPU)]


def found(predictions: Predictions) -> set[str]:
    return {node for each in predictions.matched for nodes in each.nodes for node in nodes}


def test_a_profile_of_the_model_is_matched_by_names(tmp_path: Path) -> None:
    subject = model()
    predictions = predict(ir.from_proto(subject), profile(subject, tmp_path))
    assert predictions.graph == "model_run"
    assert predictions.unmatched == ()
    assert {each.how for each in predictions.matched} == {"by name"}
    assert {each.certainty for each in predictions.matched} == {1.0}
    # A transposition ends a chain.
    for layer in range(LAYERS):
        chains = [nodes for each in predictions.matched for nodes in each.nodes]
        assert tuple(f"/layer/{value}{layer}" for value in "mapcuh") in chains
    for rule in ("hard-swish", "gelu"):
        predicted = predictions.of(sites(subject, rule))
        assert predicted is not None, rule
        low, high = predicted.saving_ns
        assert 0 <= low < high
        assert predicted.source == "by name"


def test_nodes_without_a_name_are_found_by_their_number(tmp_path: Path) -> None:
    subject = model(named=False)
    predictions = predict(ir.from_proto(subject), profile(subject, tmp_path))
    assert predictions.unmatched == ()
    assert predictions.of(sites(subject, "hard-swish")) is not None
    assert "Clip → c0" in found(predictions)


def test_what_the_runtime_fused_itself_predicts_nothing(tmp_path: Path) -> None:
    subject = model()
    predictions = predict(ir.from_proto(subject), profile(subject, tmp_path, "ORT_ENABLE_ALL"))
    assert predictions.graph == "model_run"
    assert predictions.of(sites(subject, "gelu")) is None
    swish = predictions.of(sites(subject, "hard-swish"))
    assert swish is not None
    assert swish.saving_ns[1] > 0


def test_a_fusion_is_predicted_the_links_between_its_own_nodes() -> None:
    subject = model()
    predictions = match(ir.from_proto(subject), traced(subject, nodes=True))
    places = sites(subject, "hard-swish")
    assert len(places) == LAYERS
    swish = predictions.of(places)
    assert swish is not None
    # Of Add, Clip, Mul and Div the last three go; each waits 9 µs of dispatch and more for its launch.
    assert swish.saving_ns[0] >= 3 * LAYERS * 9_000
    assert swish.saving_ns[1] == swish.saving_ns[0] + 3 * LAYERS * 1_500
    assert predictions.of([*places, *places]) == swish
    one = [predictions.of([place]) for place in places]
    assert sum(each.saving_ns[1] for each in one if each) == swish.saving_ns[1]
    whole = sum(each.candidate.saving_ns[1] for each in predictions.matched)
    assert swish.saving_ns[1] < whole
    assert predictions.of([("/layer/a0", "/layer/h0")]) is None


def test_ranges_of_nodes_in_a_gpu_trace_are_names() -> None:
    subject = model()
    predictions = match(ir.from_proto(subject), traced(subject, nodes=True))
    assert {each.how for each in predictions.matched} == {"by name"}
    assert predictions.unmatched == ()
    assert predictions.on_gpu


@pytest.mark.parametrize("marked", [True, False])
def test_a_gpu_trace_without_names_is_matched_by_class_sequence(marked: bool) -> None:
    subject = model()
    named = match(ir.from_proto(subject), traced(subject, nodes=True))
    predictions = match(ir.from_proto(subject), traced(subject, marked=marked))
    assert predictions.unmatched == ()
    assert {each.how for each in predictions.matched} == {
        "by class sequence, 4 of 4 repetitions",
        "by class sequence, 3 of 3 repetitions",
        "by class sequence, 1 of 1 repetition",
    }
    assert {each.certainty for each in predictions.matched} == {1.0}
    assert found(predictions) == found(named)
    assert predictions.links.keys() == named.links.keys()


def test_the_model_as_the_runtime_optimises_it_is_matched_too() -> None:
    """On a GPU as on the CPU ONNX Runtime fuses GELU, and bias into the product, before it runs the model."""
    subject = model()
    ran = onnx.ModelProto()
    ran.CopyFrom(subject)
    del ran.graph.node[:]
    for node in subject.graph.node:
        if node.output[0][0] not in "adesg":
            ran.graph.node.append(node)
    predictions = match(ir.from_proto(subject), traced(ran))
    assert predictions.graph == "infer"
    assert predictions.of(sites(subject, "hard-swish")) is not None
    assert predictions.of(sites(subject, "gelu")) is None


def test_chains_that_are_not_as_often_in_the_model_are_not_guessed() -> None:
    subject = model()
    ran = onnx.ModelProto()
    ran.CopyFrom(subject)
    # One Erf is missing in the trace: two chains of five and one of four, where the model has three of five.
    [erf] = [node for node in ran.graph.node if node.output[0] == "e2"]
    ran.graph.node.remove(erf)
    predictions = match(ir.from_proto(subject), traced(ran))
    assert predictions.of(sites(subject, "hard-swish")) is not None
    *_, last = sorted(sites(subject, "gelu"))
    assert predictions.of(sites(subject, "gelu")) == predictions.of([last])  # the only one before the softmax
    assert {each.reason for each in predictions.unmatched} == {
        "2 times in a run, 3 times in this model",
        "this model has no nodes of these classes one behind the other",
    }
    assert all(each.certainty < 1 for each in predictions.matched)


def test_a_trace_of_another_model_matches_nothing_and_says_so(tmp_path: Path) -> None:
    subject = ir.from_proto(model())
    other = proto(
        "(float[1, 64] x) => (float[1, 64] y) { a = Add(x, b)  c = Sqrt(a)  d = Softmax(c)  y = Mul(d, b) }",
        b=np.ones(64, np.float32),
    )
    for node in other.graph.node:
        node.name = f"other/{node.output[0]}"
    by_name = predict(subject, profile(other, tmp_path))
    by_class = match(subject, advisor.analyze(advisor.read_trace(Path("sample_traces/gpu_bound_cnn.sqlite"))))
    for predictions in (by_name, by_class):
        assert predictions.graph is None
        assert predictions.matched == ()
        assert predictions.links == {}
        assert "this model" in predictions.reason
        assert {each.reason for each in predictions.unmatched} <= {predictions.reason}
    assert by_name.unmatched
    assert by_class.unmatched


def test_some_equal_names_do_not_make_it_the_same_model(tmp_path: Path) -> None:
    """Exporters number nodes: the first layers of two models are called the same."""
    shallow = model(layers=1)
    names = {node.name for node in shallow.graph.node}
    predictions = predict(ir.from_proto(model()), profile(shallow, tmp_path))
    assert len(names & {node.name for node in model().graph.node}) == len(names)
    assert predictions.graph is None
    assert predictions.of(sites(model(), "hard-swish")) is None


def test_layouts_of_the_cpu_do_not_hide_the_model(tmp_path: Path) -> None:
    """At ORT_ENABLE_ALL ONNX Runtime gives convolutions on the CPU other names, and puts nodes around them."""
    subject = proto(
        """(float[1, 16, 8, 8] x) => (float[1, 16, 8, 8] y) {
        k = Conv <kernel_shape = [1, 1]> (x, w)
        a = Add(k, three)  c = Clip(a, zero, six)  m = Mul(k, c)  s = Div(m, six)
        y = Conv <kernel_shape = [1, 1]> (s, w) }""",
        w=weights(16, 16, 1, 1),
        three=np.array(3, np.float32),
        zero=np.array(0, np.float32),
        six=np.array(6, np.float32),
    )
    for node in subject.graph.node:
        node.name = f"/{node.output[0]}"
    predictions = predict(ir.from_proto(subject), profile(subject, tmp_path, "ORT_ENABLE_ALL"))
    swish = predictions.of(sites(subject, "hard-swish"))
    assert swish is not None
    assert swish.source == "by name"


def test_another_machine_is_said_plainly() -> None:
    subject = model()
    predictions = match(ir.from_proto(subject), traced(subject))
    [note] = predictions.notes(CPU, "")
    assert "different machines" in note
    assert CPU in note
    same = replace(predictions, device="NVIDIA A10")
    assert list(same.notes("CUDAExecutionProvider", "CUDA 12.8, NVIDIA A10")) == []
    assert "different machines" in next(iter(same.notes("CUDAExecutionProvider", "CUDA 12.8, NVIDIA H200")))


# ---- in the report


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The model, and a profile in which ONNX Runtime has fused GELU itself."""
    folder = tmp_path_factory.mktemp("model")
    subject = model()
    path = folder / "model.onnx"
    onnx.save(subject, path)
    return path, profile(subject, folder, "ORT_ENABLE_ALL")


def test_what_is_predicted_to_save_most_is_tried_first(files: tuple[Path, Path]) -> None:
    path, trace = files
    steps: list[str] = []
    report = advisor.fuse(path, trace=trace, provider="cpu", threads=1, budget_s=0.0, progress=steps.append)
    # Without a budget there is time for one race on a part; whether it wins there is the machine's to say.
    tried = [step for step in steps if step.startswith("trying")]
    assert [step.split(",")[0] for step in tried] == ["trying hard-swish on a part of the model"]
    fusions = {fusion.rule: fusion for fusion in report.fusions if fusion.status != "illegal"}
    assert fusions["hard-swish"].predicted is not None
    assert fusions["gelu"].predicted is None
    assert fusions["gelu"].ratio is None


def test_predictions_stand_in_the_report_beside_what_was_measured(
    files: tuple[Path, Path], tmp_path: Path, advisor_command: Advisor
) -> None:
    path, trace = files
    document = tmp_path / "fusion.json"
    options = ("--provider", "cpu", "--threads", "1", "--budget", "0.2", "--json", document)
    result = advisor_command("fuse", path, "--trace", trace, *options, columns=200)
    assert result.returncode == 0, result.stderr
    [line] = [line for line in result.stdout.splitlines() if line.startswith("- hard-swish, 4 places: predicted")]
    assert "(by name), not measured alone" in line  # the Reshapes that do nothing went with it
    report = json.loads(document.read_text(encoding="utf-8"))
    schema = json.loads((REPOSITORY / "advisor/report/schemas/fusion-1.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, schema)
    assert report["trace"]["graph"] == "model_run"
    [swish] = [fusion for fusion in report["fusions"] if fusion["rule"] == "hard-swish"]
    assert swish["predicted_from"] == "by name"
    assert swish["predicted_saving_ns"][0] <= swish["predicted_saving_ns"][1]
    [gelu] = [fusion for fusion in report["fusions"] if fusion["rule"] == "gelu"]
    assert gelu["predicted_saving_ns"] is None
    assert any("profiler" in note for note in report["notes"])


def test_without_a_trace_nothing_is_predicted(files: tuple[Path, Path]) -> None:
    report = advisor.fuse(files[0], provider="cpu", threads=1, budget_s=0.0).to_dict()
    assert report["trace"] is None
    assert {fusion["predicted_saving_ns"] for fusion in report["fusions"]} == {None}


def test_a_trace_is_neither_overwritten_nor_anything_else(
    files: tuple[Path, Path], tmp_path: Path, advisor_command: Advisor
) -> None:
    path, trace = files
    content = trace.read_bytes()
    for option in ("-o", "--json"):
        result = advisor_command("fuse", path, "--trace", trace, option, trace)
        assert result.returncode == 2
        assert result.stderr.startswith("error: ")
    assert trace.read_bytes() == content
    (tmp_path / "text").write_text("hello")
    result = advisor_command("fuse", path, "--trace", tmp_path / "text")
    assert result.returncode == 2
    assert "of no format that is read" in result.stderr
