"""Sessions say what they are: provider, fallback, and why a model does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from advisor.errors import BadInput
from advisor.measure.session import (
    CPU,
    Level,
    NotRunnable,
    has_provider,
    nodes_elsewhere,
    open_session,
    provider_name,
    provider_of,
    run,
    runner,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOAT, BFLOAT16 = TensorProto.FLOAT, TensorProto.BFLOAT16


def model(nodes: Sequence[onnx.NodeProto], x: int = FLOAT, y: int = FLOAT) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", x, [4])],
        [helper.make_tensor_value_info("y", y, [4])],
    )
    opset = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


RELU = model([helper.make_node("Relu", ["x"], ["y"])])
X = np.array([1, -2, 3, -4], np.float32)


def test_the_provider_is_the_one_that_the_session_has() -> None:
    session = open_session(RELU, level=Level.ALL, provider=CPU)
    assert provider_of(session) == CPU
    assert nodes_elsewhere(session) in {0, None}
    assert run(session, {"x": X})["y"].tolist() == [1, 0, 3, 0]


@pytest.mark.parametrize("asked", ["CUDAExecutionProvider", "TensorrtExecutionProvider"])
def test_a_provider_that_does_not_load_falls_back_in_silence(asked: str, capfd: pytest.CaptureFixture[str]) -> None:
    if not has_provider(asked):
        pytest.skip(f"this build of ONNX Runtime has no {asked}")
    session = open_session(RELU, level=Level.OFF, provider=asked)
    assert provider_of(session) in session.get_providers()
    assert run(session, {"x": X})["y"].tolist() == [1, 0, 3, 0]
    if provider_of(session) == CPU:
        assert capfd.readouterr() == ("", "")


def test_providers_have_short_names_and_unknown_ones_are_refused() -> None:
    assert provider_name("cpu") == provider_name("CPU") == provider_name("CPUExecutionProvider") == CPU
    with pytest.raises(BadInput, match=r"no provider 'npu' .*cpu"):
        provider_name("npu")


def test_a_missing_kernel_is_told_apart_from_a_broken_model() -> None:
    with pytest.raises(NotRunnable, match="Mul") as missing:
        open_session(model([helper.make_node("Mul", ["x", "x"], ["y"])], BFLOAT16, BFLOAT16), level=Level.OFF)
    if provider_of(open_session(RELU, level=Level.OFF)) == CPU:
        assert missing.value.unsupported
    with pytest.raises(NotRunnable) as broken:
        open_session(RELU[:-20], level=Level.OFF)
    assert not broken.value.unsupported
    for error in (missing.value, broken.value):
        assert "\n" not in str(error)
        assert "[ONNXRuntimeError]" not in str(error)


def test_names_in_error_messages_cannot_write_to_the_terminal() -> None:
    nodes = [helper.make_node("Reshape", ["x", "x"], ["y"], name="a\x1b[31mb")]
    with pytest.raises(NotRunnable) as error:
        open_session(model(nodes), level=Level.OFF)
    assert str(error.value).isprintable()


def test_a_run_that_fails_says_why() -> None:
    session = open_session(RELU, level=Level.OFF)
    with pytest.raises(NotRunnable, match="x"):
        run(session, {"x": np.zeros((5,), np.float32)})


def test_bfloat16_goes_in_and_out() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=FLOAT),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=BFLOAT16),
    ]
    session = open_session(model(nodes, BFLOAT16, BFLOAT16), level=Level.OFF)
    feed = {"x": X.astype(ml_dtypes.bfloat16)}
    result = run(session, feed)["y"]
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == [1, 0, 3, 0]
    runner(session, feed)()


def test_a_runner_runs_tensors_and_everything_else() -> None:
    runner(open_session(RELU, level=Level.ALL), {"x": X})()
    sequence = helper.make_model(
        helper.make_graph(
            [helper.make_node("SequenceConstruct", ["x", "x"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", FLOAT, [4])],
            [helper.make_tensor_sequence_value_info("y", FLOAT, [4])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    session = open_session(sequence.SerializeToString(), level=Level.ALL)
    feed: dict[str, Any] = {"x": X}
    runner(session, feed)()
    assert [array.tolist() for array in run(session, feed)["y"]] == [X.tolist(), X.tolist()]


def test_a_runner_runs_a_model_that_declares_a_wrong_rank() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    values = [helper.make_tensor_value_info("x", FLOAT, [4]), helper.make_tensor_value_info("y", FLOAT, [4])]
    shape = helper.make_node("Shape", ["like"], ["shape"])
    like = helper.make_tensor_value_info("like", FLOAT, None)  # hides the rank until the run
    graph = helper.make_graph([shape, *nodes], "g", [values[0], like], values[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(proto.SerializeToString(), level=Level.OFF, provider=CPU)
    feed = {"x": X, "like": np.zeros((2, 2), np.float32)}
    assert run(session, feed)["y"].shape == (2, 2)
    runner(session, feed)()
    with pytest.raises(NotRunnable, match="Reshape"):
        runner(session, {**feed, "like": np.zeros(3, np.float32)})


def test_a_runner_gives_a_number_as_a_number() -> None:
    nodes = [helper.make_node("Unsqueeze", ["x", "axes"], ["y"])]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in (("x", []), ("y", None))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [axes])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(proto.SerializeToString(), level=Level.OFF, provider=CPU)
    feed = {"x": np.array(2.0, np.float32)}
    assert run(session, feed)["y"].shape == (1,)
    binding = runner(session, feed).args[0]  # type: ignore[attr-defined]
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].shape == (1,)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "[ONNXRuntimeError] : 1 : FAIL : Load model from /a failed:/src/model.cc:256 onnxruntime::Model::Model("
            "onnx::ModelProto&&, const std::map<int, int (*)(int)>&) Unsupported model IR version: 99",
            "Unsupported model IR version: 99",
        ),
        (
            "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: /src/pool.h:88 onnxruntime::Pool::Pool("
            "const Info&, int) [with Info = onnxruntime::Info; std::string = x<char>] pads[i] < (k) was false.",
            "pads[i] < (k) was false.",
        ),
        (
            "Non-zero status code returned while running Y node. Status Message: /src/y.cc:87 virtual Value* "
            "ort::Context::Output(int, const Shape&) const (status.IsOK()) was false. ort::X(3)",
            "Non-zero status code returned while running Y node. Status Message: (status.IsOK()) was false. ort::X(3)",
        ),
        ("/src/matmul.h:142 Compute left operand cannot broadcast (0)", "left operand cannot broadcast (0)"),
        ("/src/z.cc:3 ort::A::B(int)::<lambda(ort::C&)> (x < y) was false", "(x < y) was false"),
        ("Type Error: T of node (a::b) is float", "Type Error: T of node (a::b) is float"),
    ],
)
def test_the_reason_stands_without_the_source_of_the_runtime(said: str, told: str) -> None:
    assert str(NotRunnable(RuntimeError(said))) == told
