"""Inputs made from a model fit what the model does with them; inputs from a file are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from advisor.errors import BadInput
from advisor.measure.inputs import generate_inputs, read_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import onnx
    from numpy.typing import NDArray

FLOAT, INT64, BOOL, UINT8, STRING = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.BOOL,
    TensorProto.UINT8,
    TensorProto.STRING,
)
Dims = list[Any]


def model(
    inputs: Mapping[str, tuple[int, Dims | None]],
    nodes: Sequence[onnx.NodeProto] = (),
    initializers: Mapping[str, NDArray[Any]] | None = None,
) -> ir.Model:
    """A model with these inputs; its output is the first input's."""
    first = next(iter(inputs))
    graph = helper.make_graph(
        [*nodes, helper.make_node("Identity", [first], ["out"])],
        "g",
        [helper.make_tensor_value_info(name, dtype, dims) for name, (dtype, dims) in inputs.items()],
        [helper.make_tensor_value_info("out", *inputs[first])],
        [numpy_helper.from_array(array, name) for name, array in (initializers or {}).items()],
    )
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def feeds(of: ir.Model, **options: Any) -> dict[str, Mapping[str, NDArray[Any]]]:
    return {one.name: one.feed for one in generate_inputs(of, **options).sets}


def shapes(of: ir.Model, **options: Any) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in generate_inputs(of, **options).sets[0].feed.items()}


def test_the_batch_is_one_and_other_sizes_follow_from_names() -> None:
    of = model({"ids": (INT64, ["batch_size", "sequence_length"]), "image": (FLOAT, ["batch_size", 3, "height", "w"])})
    assert shapes(of) == {"ids": (1, 128), "image": (1, 3, 224, 224)}
    assert shapes(of, batch=4) == {"ids": (4, 128), "image": (4, 3, 224, 224)}
    assert shapes(of, dims={"sequence_length": 7, "batch_size": 2})["ids"] == (2, 7)
    inputs = generate_inputs(of, batch=4)
    assert inputs.assumed == {"sequence_length": 128, "height": 224, "w": 224}
    assert inputs.batch == ("batch_size",)


def test_unnamed_dimensions_are_called_by_input_and_axis() -> None:
    of = model({"x": (FLOAT, [None, 3, None, None])})
    assert shapes(of) == {"x": (1, 3, 224, 224)}
    assert shapes(of, dims={"x:2": 48, "x:3": 192}) == {"x": (1, 3, 48, 192)}
    assert generate_inputs(of).assumed == {"x:0": 1, "x:2": 224, "x:3": 224}


def test_one_name_has_one_size_and_sums_are_computed() -> None:
    of = model(
        {
            "ids": (INT64, ["batch", "sequence"]),
            "mask": (INT64, ["batch", "past + sequence"]),
            "past": (FLOAT, ["batch", 4, "past", 8]),
        }
    )
    assert shapes(of, dims={"past": 5, "sequence": 2}) == {"ids": (1, 2), "mask": (1, 7), "past": (1, 4, 5, 8)}
    assert feeds(of)["odd batch"]["mask"].shape == (3, 32 + 128)


def test_a_leading_dimension_with_another_meaning_is_no_batch() -> None:
    assert shapes(model({"frames": (FLOAT, ["time", "batch", 8])}), batch=2) == {"frames": (128, 2, 8)}


def test_the_batch_of_a_recurrent_state_is_its_second_dimension() -> None:
    of = model({"x": (FLOAT, [None, 576]), "state": (FLOAT, [2, None, 128])})
    assert shapes(of, batch=3) == {"x": (3, 576), "state": (2, 3, 128)}


def test_sizes_that_the_model_does_not_have_are_refused() -> None:
    of = model({"x": (FLOAT, ["batch", 8])})
    with pytest.raises(BadInput, match=r"no dynamic dimension 'seq': it has batch"):
        generate_inputs(of, dims={"seq": 3})
    fixed = model({"x": (FLOAT, [2, 8])})
    with pytest.raises(BadInput, match="batch is fixed"):
        generate_inputs(fixed, batch=4)
    assert shapes(fixed, batch=2) == {"x": (2, 8)}


def test_an_empty_batch_is_a_batch() -> None:
    assert shapes(model({"x": (FLOAT, ["n", 8])}), dims={"n": 0}) == {"x": (0, 8)}


@given(st.integers(1, 300), st.sampled_from(["Gather", "Cast"]))
def test_indices_lie_within_their_table(rows: int, path: str) -> None:
    nodes = [helper.make_node("Gather", ["table", "ids"], ["e"])]
    dtype = INT64
    if path == "Cast":  # some exporters hand indices over as numbers
        dtype = FLOAT
        nodes = [
            helper.make_node("Cast", ["ids"], ["i"], to=INT64),
            helper.make_node("Unsqueeze", ["i", "axis"], ["u"]),
            helper.make_node("Gather", ["table", "u"], ["e"]),
        ]
    table = np.zeros((rows, 2), np.float32)
    of = model({"ids": (dtype, ["batch", 9])}, nodes, {"table": table, "axis": np.array([0])})
    for feed in feeds(of).values():
        assert 0 <= feed["ids"].min() <= feed["ids"].max() < rows
    assert feeds(of)["ordinary"]["ids"].dtype == (np.int64 if dtype == INT64 else np.float32)


def test_masks_are_ones_with_padding_in_one_set_and_never_all_zero() -> None:
    one = np.array(1, np.int64)
    hidden = model({"m": (INT64, ["batch", 8])}, [helper.make_node("Sub", ["one", "m"], ["inverse"])], {"one": one})
    for of, name in ((model({"attention_mask": (BOOL, ["batch", 8])}), "attention_mask"), (hidden, "m")):
        sets = feeds(of)
        assert sets["ordinary"][name].all()
        assert sets["reseeded"][name].astype(int).tolist() == [[1, 1, 1, 1, 1, 1, 0, 0]]
        assert all(feed[name].any() for feed in sets.values())


def test_values_follow_from_use_and_dtype() -> None:
    of = model(
        {
            "image": (FLOAT, ["batch", 3, 8, 8]),
            "bytes": (UINT8, ["batch", 8, 8, 3]),
            "axes": (INT64, [2]),
            "rate": (INT64, []),
            "position_ids": (INT64, ["batch", 6]),
            "lengths": (INT64, ["batch"]),
            "flag": (BOOL, ["batch", 16]),
            "tokens": (FLOAT, ["batch", 6, 4]),
        },
        [
            helper.make_node("ReduceSum", ["tokens", "axes"], ["sum"]),
            helper.make_node("Equal", ["rate", "known"], ["same"]),
        ],
        {"known": np.array(16000, np.int64)},
    )
    sets = feeds(of)
    ordinary, large = sets["ordinary"], sets["large"]
    assert 0 <= ordinary["image"].min() < ordinary["image"].max() <= 1
    assert 100 < large["image"].max() <= 255
    assert ordinary["bytes"].dtype == np.uint8
    assert ordinary["bytes"].max() > 100
    assert ordinary["axes"].tolist() == [-1, -2]
    assert ordinary["rate"] == 16000
    assert ordinary["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5]]
    assert ordinary["lengths"].tolist() == [3]  # the second axis of the first input
    assert ordinary["flag"].dtype == np.bool_
    assert np.abs(large["tokens"]).max() > 10 > 5 > np.abs(ordinary["tokens"]).max() > 1
    assert not sets["zeros"]["tokens"].any()


def test_sets_differ_and_a_seed_gives_the_same_again() -> None:
    of = model({"x": (FLOAT, ["batch", 8])})
    assert list(feeds(of)) == ["ordinary", "reseeded", "large", "small", "zeros", "odd batch"]
    one, again, other = feeds(of, seed=1), feeds(of, seed=1), feeds(of, seed=2)
    for name, feed in one.items():
        assert np.array_equal(feed["x"], again[name]["x"])
    assert not np.array_equal(one["ordinary"]["x"], other["ordinary"]["x"])
    assert not np.array_equal(one["ordinary"]["x"], one["reseeded"]["x"])


def test_initialisers_that_are_inputs_are_given_other_values_in_one_set() -> None:
    of = model({"x": (FLOAT, [2]), "g": (FLOAT, [2])}, initializers={"g": np.ones(2, np.float32)})
    sets = feeds(of)
    assert "g" not in sets["ordinary"]
    assert not np.allclose(sets["other initialisers"]["g"], 1)


@pytest.mark.parametrize(
    ("dtype", "dims", "words"),
    [(STRING, [2], r"text.*--inputs"), (FLOAT, None, r"rank.*--inputs"), (TensorProto.COMPLEX64, [2], "not supported")],
)
def test_what_cannot_be_made_up_is_refused(dtype: int, dims: Dims | None, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        generate_inputs(model({"x": (dtype, dims)}))


def test_sequences_are_refused() -> None:
    graph = helper.make_graph(
        [helper.make_node("SequenceLength", ["x"], ["n"])],
        "g",
        [helper.make_tensor_sequence_value_info("x", FLOAT, [2])],
        [helper.make_tensor_value_info("n", INT64, [])],
    )
    with pytest.raises(BadInput, match="no tensor"):
        generate_inputs(ir.from_proto(helper.make_model(graph)))


OF_FILE = {"ids": (INT64, ["batch", 4]), "x": (FLOAT, ["batch", 2])}


def test_a_file_gives_its_own_values_and_scaled_ones(tmp_path: Path) -> None:
    ids, x = np.arange(8).reshape(2, 4), np.ones((2, 2), np.float32)
    np.savez(tmp_path / "feed.npz", ids=ids, x=x)
    inputs = read_inputs(tmp_path / "feed.npz", model(OF_FILE))
    assert [one.name for one in inputs.sets] == ["given", "given, large", "given, small", "given, zeros"]
    assert all(np.array_equal(one.feed["ids"], ids) for one in inputs.sets)
    assert np.array_equal(inputs.sets[0].feed["x"], x)
    assert inputs.sets[1].feed["x"].max() == 10


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"ids": np.zeros((2, 4), np.int64)}, "lacks the input x"),
        (
            {"ids": np.zeros((2, 4), np.int32), "x": np.zeros((2, 2), np.float32)},
            "'ids' is int32, the model takes int64",
        ),
        ({"ids": np.zeros((2, 5), np.int64), "x": np.zeros((2, 2), np.float32)}, r"shape \[2, 5\].*\[batch, 4\]"),
        (
            {"ids": np.zeros((2, 4), np.int64), "x": np.zeros((2, 2), np.float32), "y": np.zeros(1)},
            "'y', which is no input: the model takes ids, x",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, arrays: dict[str, NDArray[Any]], words: str) -> None:
    np.savez(tmp_path / "feed.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=words):
        read_inputs(tmp_path / "feed.npz", model(OF_FILE))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for name, content in (("text.npz", b"hello"), ("empty.npz", b""), ("cut.npz", b"PK\x03\x04cut")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInput, match=r"no \.npz file"):
            read_inputs(tmp_path / name, model(OF_FILE))
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(BadInput, match="one array"):
        read_inputs(tmp_path / "one.npy", model(OF_FILE))
    np.savez(tmp_path / "objects.npz", ids=np.array([{}], dtype=object))
    with pytest.raises(BadInput, match="plain arrays"):
        read_inputs(tmp_path / "objects.npz", model(OF_FILE))
    with pytest.raises(BadInput, match="no such file"):
        read_inputs(tmp_path / "missing.npz", model(OF_FILE))
    with pytest.raises(BadInput, match="cannot read"):
        read_inputs(tmp_path, model(OF_FILE))


def test_sizes_beyond_any_memory_are_refused_before_anything_is_made() -> None:
    of = model({"x": (FLOAT, ["N", "M"]), "y": (FLOAT, ["M"])})
    with pytest.raises(BadInput, match="choose smaller sizes"):
        generate_inputs(of, dims={"N": 10**12})
