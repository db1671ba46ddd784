"""Reading and writing models: clear words for what cannot be read, nothing lost, the input never touched."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

from advisor.errors import BadInput
from advisor.fuse import model as models
from advisor.fuse import weights as stored
from advisor.fuse.model import clone, count_nodes, load, opset, runnable, save, serialised
from tests.fuse.graphs import assert_same, proto, rewritten, weights

TEXT = "(float[batch, 16] x) => (float[batch, 16] y) { m = MatMul(x, w) s = Sigmoid(m) y = Mul(m, s) }"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.onnx"
    onnx.save(proto(TEXT, w=weights(16, 16)), path)
    return path


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A model whose weights lie in a file of its own in a folder below."""
    path = tmp_path / "external.onnx"
    (tmp_path / "data").mkdir()
    onnx.save(proto(TEXT, w=weights(16, 16)), path, save_as_external_data=True, location="data/w.bin", size_threshold=0)
    return path


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below FOLDER with its modification time and content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def complaint(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load(path)
    words = str(caught.value)
    assert "\n" not in words
    assert str(path) in words
    return words


def test_a_model_is_read_with_what_it_says_of_itself(plain: Path) -> None:
    model = load(plain)
    assert (opset(model), count_nodes(model)) == (17, 3)
    assert [value.name for value in model.graph.inputs] == ["x"]


def test_a_missing_file_a_directory_and_a_file_without_permission(tmp_path: Path, plain: Path) -> None:
    assert "no such file" in complaint(tmp_path / "none.onnx")
    assert "is a directory" in complaint(tmp_path)
    plain.chmod(0)
    if os.access(plain, os.R_OK):
        pytest.skip("this user may read every file")
    assert "cannot read" in complaint(plain)


def test_files_that_are_no_models(tmp_path: Path, plain: Path) -> None:
    whole = plain.read_bytes()
    bad = tmp_path / "bad.onnx"
    for content in (
        b"",
        b"\x00" * 100,
        b"PK\x03\x04" + bytes(50),
        "füße".encode(),
        whole[: len(whole) // 2],
        whole[:20],
    ):
        bad.write_bytes(content)
        assert "is not an ONNX model" in complaint(bad)
    bad.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    assert "Git LFS" in complaint(bad)
    for suffix in (".json", ".onnxtxt", ".textproto"):
        text = tmp_path / f"bad{suffix}"
        text.write_text("{ not a model")
        assert "is not an ONNX model" in complaint(text)


def test_a_graph_that_contradicts_itself(tmp_path: Path) -> None:
    model = proto("(float[4] x) => (float[4] y) { y = Neg(x) }")
    model.graph.node.append(model.graph.node[0])
    path = tmp_path / "twice.onnx"
    onnx.save(model, path)
    assert "is not a valid ONNX model" in complaint(path)


def test_sparse_weights_are_not_silently_dropped(tmp_path: Path) -> None:
    model = proto("(float[3] x) => (float[3] y) { y = Add(x, w) }")
    values = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [2.0])
    indices = onnx.helper.make_tensor("w_indices", onnx.TensorProto.INT64, [1], [1])
    model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [3]))
    path = tmp_path / "sparse.onnx"
    onnx.save(model, path)
    assert "sparse" in complaint(path)


def test_maps_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """As ZipMap of scikit-learn's converters gives them: a sequence of maps."""
    model = proto("(float[3] x) => (float[3] y) { y = Neg(x) }")
    tensor = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    maps = onnx.helper.make_sequence_type_proto(onnx.helper.make_map_type_proto(onnx.TensorProto.INT64, tensor))
    model.graph.output.append(onnx.helper.make_value_info("probabilities", maps))
    path = tmp_path / "classifier.onnx"
    onnx.save(model, path)
    assert "the output 'probabilities', which is a map" in complaint(path)
    assert "zipmap" in complaint(path)


def test_external_data_is_read_when_needed(external: Path) -> None:
    model = load(external)
    assert isinstance(model.graph.initializers["w"].const_value, ir.ExternalTensor)
    assert_same(model, rewritten(model)[0])


def test_external_data_that_is_missing_cut_off_or_a_directory(external: Path) -> None:
    data = external.parent / "data" / "w.bin"
    data.write_bytes(data.read_bytes()[:-1])
    assert "cut off" in complaint(external)
    data.unlink()
    assert "which is not beside it" in complaint(external)
    data.mkdir()
    assert "is no file" in complaint(external)


def with_entry(path: Path, place: str, **entries: str) -> None:
    """Give the one tensor in external data of PATH other ENTRIES; at PLACE in the model."""
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer[0]
    kept = {entry.key: entry.value for entry in tensor.external_data} | entries
    tensor.ClearField("external_data")
    for key, value in kept.items():
        tensor.external_data.add(key=key, value=value)
    if place != "initialiser":
        constant = onnx.helper.make_node("Constant", [], ["w"], value=tensor)
        model.graph.ClearField("initializer")
        if place == "body":
            body = onnx.helper.make_graph([constant], "body", [], [onnx.ValueInfoProto(name="w")])
            constant = onnx.helper.make_node("If", ["c"], ["w"], then_branch=body, else_branch=body)
        model.graph.node.insert(0, constant)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("place", ["initialiser", "constant", "body"])
@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize("value", ["-1", "many", "", "1.5", "0x10", "1_024", "٣", "9" * 5000])
def test_an_offset_or_length_that_is_no_number_of_bytes(external: Path, place: str, key: str, value: str) -> None:
    with_entry(external, place, **{key: value})
    words = complaint(external)
    assert f"as the {key} of 'w' in data/w.bin, which is no number of bytes" in words
    assert len(words) < len(str(external)) + 200


def test_bytes_that_the_data_file_has_not_or_the_tensor_does_not_take(external: Path) -> None:
    with_entry(external, "initialiser", offset="4096")
    assert "keeps 'w' in bytes 4,096 to 5,120 of data/w.bin, which has 1,024" in complaint(external)
    with_entry(external, "initialiser", offset="0", length="1000")
    assert "gives 1,000 bytes of data/w.bin to 'w', which takes 1,024" in complaint(external)
    with_entry(external, "initialiser", length="1024", location="")
    assert "does not say in which" in complaint(external)


def test_tensors_may_share_bytes_of_a_data_file(external: Path) -> None:
    model = onnx.load(external, load_external_data=False)
    twin = model.graph.initializer.add()
    twin.CopyFrom(model.graph.initializer[0])
    twin.name, model.graph.node[1].input[0] = "v", "v"
    external.write_bytes(model.SerializeToString())
    read = load(external).graph.initializers
    assert [tensor.const_value.numpy().tolist() for tensor in read.values()] == [weights(16, 16).tolist()] * 2  # type: ignore[union-attr]


@pytest.mark.parametrize("location", ["../secret.bin", "data/../../secret.bin", "/etc/passwd", "link.bin"])
def test_external_data_outside_of_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(1024))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    model = proto(TEXT, w=weights(16, 16))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    assert "outside of its folder" in complaint(path)


def test_external_data_of_constant_nodes_is_read(tmp_path: Path) -> None:
    model = proto("(float[4] x) => (float[4] y) { c = Constant<value = float[4] {1, 2, 3, 4}>() y = Add(x, c) }")
    tensor = model.graph.node[0].attribute[0].t
    (tmp_path / "c.bin").write_bytes(np.arange(4, dtype="float32").tobytes())
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="c.bin")
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    read = load(path)
    (tmp_path / "c.bin").unlink()
    (written,) = save(read, tmp_path / "out.onnx")
    session = ort.InferenceSession(written, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros(4, "float32")})[0], np.arange(4))


def test_equal_names_of_nodes_are_numbered(tmp_path: Path) -> None:
    model = proto("(float[4] x) => (float[4] y) { a = Neg(x) b = Abs(a) c = Exp(b) y = Neg(c) }")
    for node, name in zip(model.graph.node, ("n", "n", "n_2", "n"), strict=True):
        node.name = name
    path = tmp_path / "same.onnx"
    onnx.save(model, path)
    assert [node.name for node in load(path).graph] == ["n", "n_3", "n_2", "n_4"]


def test_written_it_is_one_file_that_computes_the_same(plain: Path, tmp_path: Path) -> None:
    before = load(plain)
    target = tmp_path / "out" / "fused.onnx"
    target.parent.mkdir()
    after, _ = rewritten(before)
    assert save(after, target) == (target,)
    assert sorted(listing(target.parent)) == ["fused.onnx"]
    assert_same(before, load(target))
    onnx.checker.check_model(target, full_check=True)


def test_written_with_external_data_it_can_be_moved(external: Path, tmp_path: Path) -> None:
    before = load(external)
    originals = listing(external.parent)
    after, _ = rewritten(before)
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "fused.onnx"
    written = save(after, target)
    assert [path.name for path in written] == ["fused.onnx", "fused.onnx.data"]
    assert sorted(listing(folder)) == ["fused.onnx", "fused.onnx.data"]
    assert {name: listing(tmp_path)[name] for name in originals} == originals
    folder = folder.rename(tmp_path / "moved")
    external.unlink()
    session = ort.InferenceSession(folder / "fused.onnx", providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.ones((2, 16), "float32")})[0].shape == (2, 16)
    (location,) = {
        entry.value
        for tensor in onnx.load(folder / "fused.onnx", load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert location == "fused.onnx.data"


def test_written_twice_the_second_replaces_the_first(external: Path) -> None:
    model = load(external)
    target = external.parent / "fused.onnx"
    save(model, target)
    save(model, target)
    assert_same(model, load(target))


def test_the_files_of_the_model_that_was_read_are_not_overwritten(external: Path) -> None:
    model = clone(load(external))
    originals = listing(external.parent)
    with pytest.raises(BadInput, match="write to another file"):
        save(model, external)
    with pytest.raises(BadInput, match="write to another file"):
        save(model, external.parent / "data" / ".." / "external.onnx")
    (external.parent / "w.onnx.data").symlink_to(external.parent / "data" / "w.bin")
    with pytest.raises(BadInput, match="write to another file"):
        save(model, external.parent / "w.onnx")
    (external.parent / "w.onnx.data").unlink()
    assert listing(external.parent) == originals


def test_what_cannot_be_written_leaves_nothing_behind(external: Path, tmp_path: Path) -> None:
    model = load(external)
    before = sorted(listing(tmp_path))
    with pytest.raises(BadInput):
        save(model, tmp_path / "none" / "fused.onnx")
    with pytest.raises(BadInput):
        save(model, tmp_path / "data")
    assert sorted(listing(tmp_path)) == before


@pytest.mark.parametrize("form", ["plain", "external"])
def test_sessions_share_large_weights_in_files_that_last_as_long_as_the_model(
    form: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "LARGE", 512)
    model = load(request.getfixturevalue(form))
    x = {"x": np.ones((2, 16), "float32")}
    expected = ort.InferenceSession(serialised(model)).run(None, x)[0]
    before = set(stored.FILES.folder.iterdir())
    for subject in (model, clone(model)):
        with runnable(subject) as source:
            assert isinstance(source, Path)
            session = ort.InferenceSession(source, providers=["CPUExecutionProvider"])
        assert not source.exists()
        np.testing.assert_array_equal(session.run(None, x)[0], expected)  # the session needs the file no more
        files = set(stored.FILES.folder.iterdir()) - before
        assert len(files) == 1
    del model, subject
    gc.collect()
    assert not any(file.exists() for file in files)
    np.testing.assert_array_equal(session.run(None, x)[0], expected)


def test_without_room_on_the_disk_weights_stay_in_the_model(external: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored, "LARGE", 512)
    monkeypatch.setattr(Path, "write_bytes", full)
    with runnable(load(external)) as source:
        assert isinstance(source, bytes)
        ort.InferenceSession(source, providers=["CPUExecutionProvider"])


def test_a_model_too_large_for_one_file_is_split(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "INLINE_LIMIT", 512)
    model = load(plain)
    x = {"x": np.ones((2, 16), "float32")}
    with runnable(model) as source:
        result = ort.InferenceSession(source).run(None, x)[0]
    written = save(model, tmp_path / "large.onnx")
    assert len(written) == 2
    np.testing.assert_array_equal(ort.InferenceSession(written[0]).run(None, x)[0], result)


def test_nodes_are_counted_with_bodies_and_functions_but_without_constants() -> None:
    text = """(float[4] x, bool b) => (float[4] y) {
        c = Constant<value = float {1}>()
        z = local.twice(x)
        y = If (b) <
            then_branch = t () => (float[4] p) { p = Add(z, c) },
            else_branch = e () => (float[4] q) { q = Neg(z) }
        >
    }"""
    function = '<domain: "local", opset_import: ["": 17]> twice (x) => (y) { y = Add(x, x) }'
    assert count_nodes(ir.from_proto(proto(text, functions=function))) == 5


def test_nodes_in_any_order_are_sorted_as_onnx_runtime_does(tmp_path: Path) -> None:
    model = proto("(float[2] x) => (float[2] y) { a = Exp(x) b = Neg(a) y = Mul(b, x) }")
    model.graph.node.reverse()
    onnx.save(model, tmp_path / "backwards.onnx")
    loaded = load(tmp_path / "backwards.onnx")
    assert [node.op_type for node in clone(loaded).graph] == ["Exp", "Neg", "Mul"]


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ("(float[2] x) => (float[2] y) { a = Add(x, b) b = Exp(a) y = Neg(b) }", "in a circle"),
        ("(float[2] x) => (float[2] y) { y = Add(x, w) }", "gives 'w', which the Add"),
        ("(float[2] x) => (float[2] y) { z = Exp(x) }", "gives 'y', which is an output"),
    ],
)
def test_what_nothing_gives_is_named(tmp_path: Path, graph: str, said: str) -> None:
    onnx.save(proto(graph), tmp_path / "broken.onnx")
    assert said in complaint(tmp_path / "broken.onnx")
