"""`fuse` from model to report, on ONNX Runtime."""

from __future__ import annotations

import json
import shutil
import time
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import onnx
import pytest

from advisor.errors import BadInput, CannotDecide
from advisor.fuse import bench
from advisor.fuse.kernels.generated import GENERATED
from advisor.fuse.result import FusionReport, Status
from advisor.fuse.rules import RULES
from advisor.fuse.search import fuse
from advisor.fuse.session import session
from advisor.fuse.transform import Applied
from advisor.measure.latency import measure_pair
from advisor.measure.session import CPU, Level, has_provider, open_session, run
from advisor.measure.statistics import Verdict
from tests.fuse.fused_models import with_kernels
from tests.fuse.graphs import model, proto, weights
from tests.fuse.trial_rules import SLOW_ABS, WRONG_TANH, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = json.loads((files("advisor.report") / "schemas" / "fusion-1.json").read_text(encoding="utf-8"))
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
FAST: dict[str, Any] = {"provider": "cpu", "threads": 1, "budget_s": 0.5}

GELU = """(float[batch, 64, 256] x) => (float[batch, 64, 256] y) {
    h = MatMul(x, w)
    d = Div(h, root)
    e = Erf(d)
    o = Add(e, one)
    m = Mul(h, o)
    y = Mul(m, half)
}"""
CONSTANTS = {"root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5)}
TANH_GELU = """(float[batch, 64, 256] x) => (float[batch, 64, 256] y) {
    c = Pow(x, three)
    p = Mul(c, k)
    a = Add(x, p)
    s = Mul(a, root)
    t = Tanh(s)
    o = Add(t, one)
    m = Mul(x, o)
    y = Mul(m, half)
}"""
TANH_CONSTANTS = {
    "three": np.float32(3),
    "k": np.float32(0.044715),
    "root": np.float32((2 / np.pi) ** 0.5),
    "one": np.float32(1),
    "half": np.float32(0.5),
}
ABS_TANH = "(float[batch, 512] x) => (float[batch, 512] y) { a = Abs(x)  y = Tanh(a) }"


@pytest.fixture(autouse=True)
def busy_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Races by processor time (of one thread: FAST), so that whatever else runs here does not decide a test."""
    monkeypatch.setattr(bench, "measure_pair", partial(measure_pair, clock=time.process_time_ns))


def written(folder: Path, text: str, **options: Any) -> Path:
    path = folder / "model.onnx"
    options = {name: np.asarray(value) if name in _WEIGHTS else value for name, value in options.items()}
    onnx.save(proto(text, **options), path)
    return path


_WEIGHTS = {*CONSTANTS, *TANH_CONSTANTS}


def checked(report: FusionReport) -> dict[str, Any]:
    """The report as other programs read it: valid, and plain JSON."""
    document: dict[str, Any] = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def outputs(path: Path, feed: dict[str, NDArray[Any]]) -> dict[str, Any]:
    return run(open_session(path, level=Level.ALL, provider=CPU), feed)


def test_a_fusion_that_pays_is_proven_measured_and_written(tmp_path: Path) -> None:
    path = written(tmp_path, TANH_GELU, **TANH_CONSTANTS)
    before, stamp = path.read_bytes(), path.stat().st_mtime_ns
    report = fuse(path, output=tmp_path / "fused.onnx", candidates=RULES, **(FAST | {"budget_s": 3.0}))
    document = checked(report)
    assert report.changed
    assert document["fusions"][0]["rule"] == "tanh-gelu"
    assert document["fusions"][0]["status"] == "kept"
    assert document["fused"] == {"path": str(tmp_path / "fused.onnx"), "nodes": 1, "library": None, "changed": True}
    assert document["verification"]["passed"]
    assert document["verification"]["max_abs_error"] < 1e-5
    assert document["result"]["verdict"] == "faster"
    assert document["result"]["low"] <= document["result"]["ratio"] <= document["result"]["high"] < 0.8
    assert document["result"]["latency_ns"] < document["baseline"]["latency_ns"]
    assert document["provider"] == CPU
    # The original is as it was, and nothing else lies about.
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, stamp)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fused.onnx", "model.onnx"]
    x = np.random.default_rng(5).standard_normal((2, 64, 256)).astype(np.float32)
    np.testing.assert_allclose(
        outputs(tmp_path / "fused.onnx", {"x": x})["y"], outputs(path, {"x": x})["y"], rtol=1e-5, atol=1e-5
    )


def test_a_generated_kernel_that_pays_is_written_with_its_library(tmp_path: Path) -> None:
    path = written(tmp_path, TANH_GELU, **TANH_CONSTANTS)
    report = fuse(path, output=tmp_path / "fused.onnx", candidates=[GENERATED], **(FAST | {"budget_s": 3.0}))
    document = checked(report)
    assert [fusion["rule"] for fusion in document["fusions"] if fusion["status"] == "kept"] == ["generated"]
    assert document["result"]["verdict"] == "faster"
    library = tmp_path / str(document["fused"]["library"])
    assert sorted(file.name for file in tmp_path.iterdir()) == [library.name, "fused.onnx", "model.onnx"]
    assert document["generated"]["kernels"] == 1
    assert document["generated"]["library_bytes"] == library.stat().st_size
    x = np.random.default_rng(5).standard_normal((2, 64, 256)).astype(np.float32)
    (y,) = session(tmp_path / "fused.onnx", providers=[CPU]).run(None, {"x": x})
    np.testing.assert_allclose(y, outputs(path, {"x": x})["y"], rtol=1e-5, atol=1e-5)


def test_a_wrong_rule_is_caught_and_the_original_written(tmp_path: Path) -> None:
    path = written(tmp_path, ABS_TANH)
    report = fuse(path, output=tmp_path / "out.onnx", candidates=[WRONG_TANH], **FAST)
    document = checked(report)
    (wrong,) = document["fusions"]
    assert wrong["status"] == "wrong"
    assert wrong["max_abs_error"] > 0.1
    assert "'y' is off" in wrong["reason"]
    assert document["result"]["verdict"] == "no measurable change"
    assert document["result"]["ratio"] is None
    assert not document["fused"]["changed"]
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def test_a_rule_that_makes_the_model_slower_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, ABS_TANH)
    report = fuse(path, output=tmp_path / "out.onnx", candidates=[SLOW_ABS], **FAST)
    document = checked(report)
    (slow,) = document["fusions"]
    assert (slow["status"], slow["max_abs_error"]) == ("not_faster", 0.0)
    assert slow["low"] > 1.5
    assert report.verdict is Verdict.UNCHANGED
    assert document["turned_down"]["verdict"] == "slower"
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def test_wrong_and_slow_rules_take_no_right_one_with_them(tmp_path: Path) -> None:
    text = TANH_GELU.replace("float[batch, 64, 256] y", "float[batch, 64, 256] y, float[batch, 512] v").replace(
        "x) =>", "x, float[batch, 512] u) =>"
    )
    text = text.rstrip("}") + "    b = Abs(u)\n    v = Sinh(b)\n}"
    path = written(tmp_path, text, **TANH_CONSTANTS)
    rules = [*RULES, SLOW_ABS, replacing("Sinh", "Cosh")]
    report = fuse(path, candidates=rules, **(FAST | {"budget_s": 3.0}))
    checked(report)
    assert {fusion.rule: fusion.status for fusion in report.fusions} == {
        "tanh-gelu": Status.KEPT,
        "slow-abs": Status.NOT_FASTER,
        "sinh": Status.WRONG,
    }
    assert report.verdict is Verdict.FASTER
    assert report.fused.path is None


def test_a_real_model_without_a_place_to_fuse_is_written_unchanged(tmp_path: Path) -> None:
    path = LIGHT / "light_shufflenet.onnx"
    report = fuse(path, output=tmp_path / "out.onnx", candidates=[replacing("Sinh", "Cosh")], **FAST)
    document = checked(report)
    assert document["fusions"] == []
    assert document["baseline"]["latency_ns"] > 0
    assert document["turned_down"] is None
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def test_erf_gelu_behind_a_matmul_ends_with_a_ratio(tmp_path: Path) -> None:
    path = written(tmp_path, GELU, w=weights(256, 256), **CONSTANTS)
    document = checked(fuse(path, **FAST))
    assert document["verification"]["passed"]
    assert document["fusions"]
    assert all(fusion["ratio"] is not None for fusion in document["fusions"] if fusion["status"] == "kept")


def test_sizes_that_were_assumed_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, "(float[batch, seq, 8] x) => (float[batch, seq, 8] y) { y = Relu(x) }")
    assumed = checked(fuse(path, **FAST))
    assert assumed["settings"]["assumed"] == {"batch": 1, "seq": 128}
    assert any("seq=128" in note for note in assumed["notes"])
    given = checked(fuse(path, dims={"seq": 5}, batch=2, **FAST))
    assert given["settings"]["shapes"] == {"x": [2, 5, 8]}
    assert given["settings"]["assumed"] == {}


def test_inputs_from_a_file_are_the_ones_measured(tmp_path: Path) -> None:
    path = written(tmp_path, "(float[batch, 8] x) => (float[batch, 8] y) { y = Relu(x) }")
    np.savez(tmp_path / "feed.npz", x=np.ones((3, 8), np.float32))
    document = checked(fuse(path, inputs=tmp_path / "feed.npz", **FAST))
    assert document["settings"]["shapes"] == {"x": [3, 8]}
    assert document["verification"]["inputs"] == 4
    with pytest.raises(BadInput, match="leave --dim, --batch and --batch-sizes away"):
        fuse(path, inputs=tmp_path / "feed.npz", batch=2)


def test_an_initialiser_that_may_be_overridden_still_may(tmp_path: Path) -> None:
    text = "(float[4, 16] x, float[16, 16] w, float[16] b) => (float[4, 16] y) { m = MatMul(x, w)  y = Add(m, b) }"
    path = tmp_path / "model.onnx"
    onnx.save(proto(text, w=weights(16, 16), b=weights(16, seed=2)), path)
    report = fuse(path, output=tmp_path / "out.onnx", **FAST)
    assert report.verification.inputs == 6
    x, other = weights(4, 16), weights(16, 16, seed=9)
    for feed in ({"x": x}, {"x": x, "w": other}):
        np.testing.assert_allclose(outputs(tmp_path / "out.onnx", feed)["y"], outputs(path, feed)["y"], atol=1e-5)


def test_node_names_that_are_there_twice_are_no_obstacle(tmp_path: Path) -> None:
    model = proto("(float[4] x) => (float[4] y) { a = Sin(x)  y = Cos(a) }")
    for node in model.graph.node:
        node.name = "same"
    onnx.save(model, tmp_path / "model.onnx")
    report = fuse(tmp_path / "model.onnx", output=tmp_path / "out.onnx", **FAST)
    assert outputs(tmp_path / "out.onnx", {"x": weights(4)})["y"].shape == (4,)
    assert any(note.startswith("a node had the name of others, which ONNX Runtime refuses") for note in report.notes)


def test_external_data_stays_beside_an_unchanged_output(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    model = proto("(float[4, 64] x) => (float[4, 64] y) { m = MatMul(x, w)  y = Sin(m) }", w=weights(64, 64))
    onnx.save(model, tmp_path / "in" / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    report = fuse(tmp_path / "in" / "model.onnx", output=tmp_path / "out" / "fused.onnx", **FAST)
    assert not report.changed
    x = {"x": weights(4, 64)}
    np.testing.assert_array_equal(
        outputs(tmp_path / "out" / "fused.onnx", x)["y"], outputs(tmp_path / "in" / "model.onnx", x)["y"]
    )
    assert sorted(file.name for file in (tmp_path / "in").iterdir()) == ["model.onnx", "w.bin"]


def test_a_model_that_computes_in_half_precision_is_compared_so(tmp_path: Path) -> None:
    text = """(float[batch, 64] x) => (float[batch, 64] y) {
        h = Cast<to = 10>(x)
        s = Sigmoid(h)
        m = Mul(h, s)
        y = Cast<to = 1>(m)
    }"""
    report = fuse(written(tmp_path, text), **FAST)
    assert report.runtime.passed
    assert any("computes in float16" in note for note in report.notes)


def test_a_model_that_the_provider_cannot_run_is_undecidable(tmp_path: Path) -> None:
    path = written(tmp_path, "(bfloat16[4] x) => (bfloat16[4] y) { y = Tanh(x) }")
    with pytest.raises(CannotDecide, match="Tanh"):
        fuse(path, **FAST)


def test_inputs_that_do_not_fit_are_named_with_what_to_do(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "(float[n, m] x) => (float[n, k] y) { y = Reshape(x, root) }",
        root=np.array([7, 7], np.int64),
    )
    with pytest.raises(BadInput, match=r"x \[1, 64\]; n=1, m=64 was assumed: give real sizes with --dim"):
        fuse(path, **FAST)
    with pytest.raises(BadInput, match="no dynamic dimension 'z': it has m, n"):
        fuse(path, dims={"z": 1}, **FAST)


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard", "dotted"])
def test_the_original_is_never_overwritten(tmp_path: Path, link: str) -> None:
    path = written(tmp_path, ABS_TANH)
    content, target = path.read_bytes(), tmp_path / "link.onnx"
    match link:
        case "itself":
            target = path
        case "symbolic":
            target.symlink_to(path)
        case "hard":
            target.hardlink_to(path)
        case "dotted":
            target = tmp_path / "folder" / ".." / "model.onnx"
            (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="never overwritten"):
        fuse(path, output=target, **FAST)
    assert path.read_bytes() == content


def test_an_output_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, ABS_TANH)
    with pytest.raises(BadInput, match="no folder"):
        fuse(path, output=tmp_path / "missing" / "out.onnx")
    with pytest.raises(BadInput, match="is a directory"):
        fuse(path, output=tmp_path)


def test_an_interruption_leaves_no_file(tmp_path: Path) -> None:
    path = written(tmp_path, ABS_TANH)

    def stop(words: str) -> None:
        if "original" in words:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fuse(path, output=tmp_path / "out.onnx", progress=stop, **FAST)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_provider_that_did_not_load_is_told(tmp_path: Path) -> None:
    if not has_provider("CUDAExecutionProvider"):
        pytest.skip("this build of ONNX Runtime has no CUDA provider")
    path = written(tmp_path, ABS_TANH)
    document = checked(fuse(path, **(FAST | {"provider": "cuda"})))
    assert document["settings"]["provider"] == "CUDAExecutionProvider"
    if document["provider"] == CPU:
        assert "CUDAExecutionProvider was asked for and did not load" in document["notes"][0]


def test_the_same_seed_gives_the_same_proof(tmp_path: Path) -> None:
    path = written(tmp_path, TANH_GELU, **TANH_CONSTANTS)
    rules = [WRONG_TANH]  # no race, so nothing depends on the clock
    one, two = (checked(fuse(path, seed=3, candidates=rules, **FAST)) for _ in range(2))
    assert (one["fusions"], one["runtime"]) == (two["fusions"], two["runtime"])
    assert one["fusions"][0]["max_abs_error"] > 0


@pytest.fixture(scope="module")
def with_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model as `fuse` writes it with generated kernels: `fused.onnx` and its library."""
    folder = tmp_path_factory.mktemp("fused")
    original = written(folder, "(float[2,768] x) => (float[2,768] y) { a = Exp(x)  y = Tanh(a) }")
    with_kernels(original, folder / "fused.onnx")
    original.unlink()
    return folder


def fused_over(folder: Path, source: Path) -> tuple[str, ...]:
    """Write what is an original to `fused.onnx` in a folder; the notes about what was there."""
    report = fuse(written(source, ABS_TANH), output=folder / "fused.onnx", candidates=[], **FAST)
    assert (folder / "fused.onnx").read_bytes() == (source / "model.onnx").read_bytes()
    return tuple(note for note in report.notes if ".so" in note)


def test_the_library_of_a_replaced_model_goes_with_it(with_library: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(with_library, tmp_path / "out"))
    (library,) = folder.glob("*.so")
    stranger = folder / f"other.{'0' * 16}.so"
    stranger.write_bytes(b"of somebody else")
    assert fused_over(folder, tmp_path) == (f"{library.name}, the library of the model that was replaced, was removed",)
    assert sorted(folder.iterdir()) == [folder / "fused.onnx", stranger]
    assert fused_over(folder, tmp_path) == ()


def test_a_library_that_another_model_names_stays(with_library: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(with_library, tmp_path / "out"))
    shutil.copyfile(folder / "fused.onnx", folder / "copy.onnx")
    (library,) = folder.glob("*.so")
    (note,) = fused_over(folder, tmp_path)
    assert note.endswith("was left: copy.onnx names it too")
    session(folder / "copy.onnx", providers=[CPU])
    assert library.exists()


@pytest.mark.parametrize("name", ["own.so", "../out/{}", "{}.so"])
def test_only_a_library_of_its_name_and_bytes_is_removed(with_library: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(with_library, tmp_path / "out"))
    (library,) = folder.glob("*.so")
    subject = onnx.load(folder / "fused.onnx")
    subject.metadata_props[0].value = name.format(library.name)
    onnx.save(subject, folder / "fused.onnx")
    shutil.copyfile(library, folder / "own.so")
    shutil.copyfile(library, folder / f"{library.name}.so")
    before = sorted(folder.iterdir())
    assert fused_over(folder, tmp_path) == ()
    assert sorted(folder.iterdir()) == before


def test_a_library_with_other_bytes_than_its_name_says_stays(with_library: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(with_library, tmp_path / "out"))
    (library,) = folder.glob("*.so")
    library.write_bytes(b"others")
    assert fused_over(folder, tmp_path) == ()
    assert library.read_bytes() == b"others"


def test_a_model_written_through_a_link_lies_beside_its_library(tmp_path: Path) -> None:
    library, folder = tmp_path / "kernels.so", tmp_path / "out"
    library.write_bytes(b"kernels")
    folder.mkdir()
    (folder / "real.onnx").touch()
    (tmp_path / "link.onnx").symlink_to(folder / "real.onnx")
    applied = Applied(model("(float[4] x) => (float[4] y) { y = Exp(x) }"), (), (library,))
    result = import_module("advisor.fuse.search")._write_fused(applied, tmp_path / "link.onnx")
    assert sorted(folder.iterdir()) == sorted([folder / "real.onnx", result])


def test_a_library_whose_model_is_not_written_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    library, folder = tmp_path / "kernels.so", tmp_path / "out"
    library.write_bytes(b"kernels")
    folder.mkdir()
    search = import_module("advisor.fuse.search")
    monkeypatch.setattr(search, "save", interrupted)
    applied = Applied(model("(float[4] x) => (float[4] y) { y = Exp(x) }"), (), (library,))
    with pytest.raises(KeyboardInterrupt):
        search._write_fused(applied, folder / "fused.onnx")
    assert list(folder.iterdir()) == []
