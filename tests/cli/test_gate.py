"""`advisor baseline`, `advisor gate`, `advisor diff` as people and CI jobs meet them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from advisor.errors import BadInput
from advisor.gate.baseline import load_baseline
from sample_traces.two_builds import write_builds

if TYPE_CHECKING:
    import subprocess

    from tests.conftest import Advisor


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two builds: main-N, again-N, change-N."""
    folder = tmp_path_factory.mktemp("runs")
    write_builds(folder)
    return folder


@pytest.fixture(scope="module")
def base(runs: Path, advisor_command: Advisor) -> Path:
    path = runs / "base.json"
    result = advisor_command("baseline", *three(runs, "main"), "-o", path)
    assert result.returncode == 0, result.stderr
    return path


def three(runs: Path, build: str) -> list[Path]:
    return [runs / f"{build}-{number}.sqlite" for number in (1, 2, 3)]


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_same_build_passes(advisor_process: Advisor, runs: Path, base: Path) -> None:
    result = advisor_process("gate", *three(runs, "again"), "--baseline", base)
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith("PASSED")
    assert result.stderr == ""


def test_a_change_fails_and_says_why(
    advisor_command: Advisor, advisor_process: Advisor, runs: Path, base: Path, tmp_path: Path
) -> None:
    result = advisor_process("gate", *three(runs, "change"), "--baseline", base)
    assert result.returncode == 1
    assert result.stdout.startswith("FAILED: launch overhead regressed in decode_token.")
    words = " ".join(result.stdout.split())
    assert "kernels 34 → 35 +1 regressed" in words
    assert re.search(r"new: 1 x at::native::vectorized_elementwise_kernel", words)
    # On one line, whatever its length.
    shown = re.search(r"^  look: (advisor analyze \S+ --from \d+ns --to \d+ns --html look.html)$", result.stdout, re.M)
    assert shown
    # The command that it names shows the execution.
    assert advisor_command(*shown[1].split()[1:], cwd=tmp_path).returncode == 0
    assert "decode_token" in (tmp_path / "look.html").read_text(encoding="utf-8")
    lines = result.stdout.splitlines()
    assert max(len(line) for line in lines if "look: " not in line) <= 80
    assert lines == [line.rstrip() for line in lines]


def test_another_program_is_undecided(advisor_command: Advisor, samples: Path, base: Path) -> None:
    result = advisor_command("gate", samples / "gpu_bound_cnn.sqlite", "--baseline", base)
    assert result.returncode == 3
    assert "CANNOT DECIDE" in result.stdout
    assert "decode_token: not found in the current runs" in result.stdout


def test_traces_and_their_analyses_compare_alike(
    advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path
) -> None:
    def document(*arguments: str | Path) -> dict[str, Any]:
        text = advisor_command("gate", *arguments, "--baseline", base, "--json", "-").stdout
        found: dict[str, Any] = json.loads(text)
        for graph in found["graphs"]:
            del graph["window"]
        return found["graphs"]  # type: ignore[no-any-return]

    analyses = [tmp_path / f"{number}.json" for number in (1, 2, 3)]
    for trace, analysis in zip(three(runs, "change"), analyses, strict=True):
        advisor_command("analyze", trace, "--json", analysis)
    assert document(*three(runs, "change")) == document(*analyses)


def test_one_run_is_a_baseline_too(advisor_command: Advisor, runs: Path) -> None:
    main, again, change = (runs / f"{build}-1.sqlite" for build in ("main", "again", "change"))
    assert advisor_command("gate", again, "--baseline", main).returncode == 0
    assert advisor_command("gate", change, "--baseline", main).returncode == 1


def test_every_output_at_once(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    outputs = {"--json": "g.json", "--junit": "g.xml", "--sarif": "g.sarif", "--markdown": "g.md"}
    options = [part for option, name in outputs.items() for part in (option, tmp_path / name)]
    result = advisor_command("gate", *three(runs, "change"), "--baseline", base, *options)
    assert result.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(outputs.values())
    assert json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))["verdict"] == "fail"
    assert "::error" not in result.stdout


def test_annotations_and_the_summary_in_github_actions(
    advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# what an earlier command wrote\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    change = three(runs, "change")
    result = advisor_command("gate", *change, "--baseline", base, "--markdown", summary)
    assert "::error title=advisor gate%3A kernels regressed::" in result.stdout
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# what an earlier command wrote\n")
    assert "❌ FAILED" in text
    quiet = advisor_command("gate", *three(runs, "again"), "--baseline", base)
    assert "::" not in quiet.stdout
    # What goes to a pipe is not mixed with annotations.
    json.loads(advisor_command("gate", *change, "--baseline", base, "--json", "-").stdout)


def test_a_baseline_changes_on_purpose_only(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    shutil.copy(base, path)
    change = three(runs, "change")
    assert "--accept" in one_line(advisor_command("baseline", *change, "-o", path))
    assert "needs a reason" in one_line(advisor_command("baseline", "--accept", *change, path))
    assert path.read_bytes() == base.read_bytes()

    result = advisor_command("baseline", "--accept", *change, "--reason", "the new sampler, #123", path)
    assert result.returncode == 0, result.stderr
    assert "kernels 34 → 35" in result.stdout
    assert advisor_command("gate", *change, "--baseline", path).returncode == 0
    assert advisor_command("gate", *three(runs, "main"), "--baseline", path).returncode == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    assert [entry["reason"] for entry in document["history"]] == ["recorded", "the new sampler, #123"]
    assert {"graph": "decode_token", "measure": "kernels", "status": "regressed", "from": 34.0, "to": 35.0} in document[
        "history"
    ][1]["changes"]


def test_a_baseline_takes_the_place_of_a_baseline_only(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    """`--accept RUN RUN` with the baseline forgotten would otherwise write over the last run."""
    one, two = three(runs, "main")[:2]
    trace, analysis = tmp_path / "run.sqlite", tmp_path / "run.json"
    shutil.copy(two, trace)
    advisor_command("analyze", two, "--json", analysis)
    for place in (trace, analysis):
        before = place.read_bytes()
        for arguments in ((one, place), (one, "-o", place)):
            result = advisor_command("baseline", "--accept", *arguments, "--reason", "x")
            assert f"{place} is no baseline" in one_line(result)
        assert place.read_bytes() == before


def test_a_baseline_goes_to_standard_output(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    result = advisor_command("baseline", *three(runs, "main"), "-o", "-", cwd=tmp_path)
    assert result.returncode == 0
    assert json.loads(result.stdout)["runs"] == json.loads(base.read_text(encoding="utf-8"))["runs"]
    assert list(tmp_path.iterdir()) == []
    assert "--accept" in one_line(
        advisor_command("baseline", "--accept", *three(runs, "main"), "-o", "-", "--reason", "x")
    )


def test_runs_of_two_programs_are_told(advisor_command: Advisor, runs: Path, samples: Path, tmp_path: Path) -> None:
    other = samples / "gpu_bound_cnn.sqlite"
    result = advisor_command("baseline", *three(runs, "main"), other, "-o", tmp_path / "base.json")
    words = " ".join(result.stdout.split())
    assert "gpu_bound_cnn.sqlite shares no graph with main-1.sqlite" in words
    assert words.count("shares no graph") == 1


def test_a_baseline_is_small_and_holds_nothing_of_the_machine(
    advisor_command: Advisor, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2hunter2")
    path = tmp_path / "base.json"
    advisor_command("baseline", *three(runs, "main"), "-o", path)
    text = path.read_text(encoding="utf-8")
    assert "hunter2" not in text
    assert str(runs) not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"
    assert len(text) < 30_000


def test_one_file_is_one_run(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    run = runs / "main-1.sqlite"
    link = tmp_path / "again.sqlite"
    link.symlink_to(run)
    assert "one file" in one_line(advisor_command("baseline", run, link, "-o", tmp_path / "b.json"))
    assert "one file" in one_line(advisor_command("gate", run, run, "--baseline", base))
    for same in (run, link):  # green whatever the build
        assert "is the baseline itself" in one_line(advisor_command("gate", same, "--baseline", run))
    assert not (tmp_path / "b.json").exists()


def test_runs_of_different_gpus_do_not_count_together(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    analysis = json.loads(advisor_command("analyze", runs / "main-1.sqlite", "--json", "-").stdout)
    for number, gpu in enumerate(["NVIDIA A100", "NVIDIA H100"]):
        for device in analysis["devices"]:
            device["name"] = gpu
        (tmp_path / f"{number}.json").write_text(json.dumps(analysis))
    result = advisor_command("baseline", tmp_path / "0.json", tmp_path / "1.json", "-o", tmp_path / "b.json")
    assert "NVIDIA A100" in one_line(result)


def test_budgets_without_a_baseline(advisor_command: Advisor, runs: Path) -> None:
    def code(*budgets: str) -> int:
        options = [part for budget in budgets for part in ("--budget", budget)]
        return advisor_command("gate", runs / "main-1.sqlite", *options).returncode

    assert code("launches=36") == 0
    assert code("launches=35") == 1
    assert code("gap_ratio=99%", "synchronisations=1") == 0
    assert code("gap_ratio=0.2") == 1


def test_the_policy_of_the_folder_holds(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    (tmp_path / "advisor.toml").write_text(
        '[[gate.waivers]]\nid = "decode_token/*"\nreason = "planned"\nuntil = 2100-01-01\n', encoding="utf-8"
    )
    result = advisor_command("gate", *three(runs, "change"), "--baseline", base, cwd=tmp_path)
    assert result.returncode == 0
    assert "waived until 2100-01-01: planned" in " ".join(result.stdout.split())
    (tmp_path / "advisor.toml").write_text("[gate]\nlevl = 1\n", encoding="utf-8")
    assert "unknown key 'levl'" in one_line(advisor_command("gate", runs / "main-1.sqlite", cwd=tmp_path))


def test_another_model_is_not_compared(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.onnx", tmp_path / "other.onnx"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    path = tmp_path / "base.json"
    advisor_command("baseline", *three(runs, "main"), "--model", one, "-o", path)
    again = three(runs, "again")
    assert advisor_command("gate", *again, "--baseline", path, "--model", one).returncode == 0
    assert advisor_command("gate", *again, "--baseline", path, "--model", other).returncode == 3
    assert advisor_command("gate", *again, "--baseline", path).returncode == 0
    unnamed = advisor_command("gate", *again, "--baseline", runs / "main-1.sqlite", "--model", one)
    assert unnamed.returncode == 3
    assert "which model ran" in " ".join(unnamed.stdout.split())


def test_what_traces_do_not_tell_can_be_said(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    advisor_command("baseline", *three(runs, "main"), "--environment", "driver=570.86", "-o", path)
    again = three(runs, "again")
    newer = advisor_command("gate", *again, "--baseline", path, "--environment", "driver=580.10")
    assert newer.returncode == 0
    assert "driver: 570.86 → 580.10" in newer.stdout
    same = advisor_command("gate", *again, "--baseline", path, "--environment", "driver=570.86")
    assert "driver" not in same.stdout
    assert "KEY=VALUE" in one_line(advisor_command("gate", *again, "--baseline", path, "--environment", "driver"))


def test_the_baselines_region_is_used_again(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    advisor_command("baseline", *three(runs, "main"), "--region", "^layer", "-o", path)
    result = advisor_command("gate", *three(runs, "again"), "--baseline", path, "--json", "-")
    assert result.returncode == 0
    assert {graph["name"] for graph in json.loads(result.stdout)["graphs"]} == {"layer_0"}


def test_diff_shows_without_a_verdict(advisor_command: Advisor, runs: Path, base: Path, samples: Path) -> None:
    result = advisor_command("diff", base, runs / "change-1.sqlite")
    assert result.returncode == 0
    words = " ".join(result.stdout.split())
    assert "decode_token differs" in words
    assert "kernels 34 → 35 +1 more" in words
    back = advisor_command("diff", runs / "change-1.sqlite", base)
    assert "kernels 35 → 34 -1 fewer" in " ".join(back.stdout.split())
    for verdict in ("FAILED", "regressed", "improved", "worse"):
        assert verdict not in result.stdout + back.stdout
    other = advisor_command("diff", base, samples / "gpu_bound_cnn.sqlite")
    assert other.returncode == 0
    assert "not found" in other.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "not an Nsight Systems export"),
        ('{"schema": "advisor.baseline/1", "runs": []}', "not a valid advisor.baseline/1"),
        ('{"schema": "advisor.baseline/9"}', "newer advisor"),
        ('{"schema": "advisor.analysis/1"}', "holds no samples"),
        ('{"schema": "advisor.comparison/1"}', "is advisor.comparison/1"),
        ('{"schema": "advisor.analysis/1", "samples": []}', "not a valid advisor.analysis/1"),
        ('{"schema": "advisor.analysis/1", ', "is no JSON"),
        ('{"schema": "advisor.baseline/1", "runs": [{}], "history": [], "region": null}', "'coverage' is missing"),
        ('{"schema": "advisor.baseline/1", "runs": [[]], "history": [], "region": null}', "not a valid"),
        ('{"schema": "advisor.baseline/1", "runs": 3, "history": [], "region": null}', "not a valid"),
        ('{"schema": "advisor.baseline/1", "x": ' + "[" * 100_000, "is no JSON"),
        ("[gate]\nlevel = 0.01\n", "of no format that is read"),
    ],
)
def test_what_is_no_baseline_is_one_line(
    advisor_command: Advisor, runs: Path, tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "base.json"
    path.write_text(content, encoding="utf-8")
    told = one_line(advisor_command("gate", runs / "main-1.sqlite", "--baseline", path))
    assert words in told or (content == "{}" and str(path) in told)
    assert "Error(" not in told
    assert "codec" not in told


@pytest.mark.parametrize(
    "damage",
    [
        {"kernels": []},
        {"kernels": None},
        {"gpus": 3},
        {"coverage": {}},
        {"coverage": {"work": 1e400}},
        {"samples": [3]},
        {"fusion": {}},
        {"fusion": []},
        {"labels": 3},
    ],
)
def test_a_damaged_baseline_is_told_in_plain_words(base: Path, tmp_path: Path, damage: dict[str, Any]) -> None:
    document = json.loads(base.read_text(encoding="utf-8"))
    document["runs"][0] |= damage
    path = tmp_path / "base.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput, match=r"not a valid advisor\.baseline/1") as told:
        load_baseline(path)
    assert "Error" not in str(told.value)


@pytest.mark.parametrize("value", [1e308, 2**70, -1, float("nan"), "long", [1]])
@pytest.mark.parametrize("column", ["span", "kernels", "launch", "hidden"])
def test_times_and_counts_that_no_trace_has_are_damage(base: Path, tmp_path: Path, column: str, value: object) -> None:
    document = json.loads(base.read_text(encoding="utf-8"))
    columns = document["runs"][0]["samples"][0]["columns"]
    whole = columns[column]
    columns[column] = [value, *whole[1:]] if isinstance(whole, list) else value
    path = tmp_path / "base.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput, match=r"not a valid advisor\.baseline/1"):
        load_baseline(path)


def test_names_of_another_type_are_compared_as_text(advisor_command: Advisor, base: Path, tmp_path: Path) -> None:
    document = json.loads(base.read_text(encoding="utf-8"))
    document["runs"][0]["kernels"][0] = {"a": True}
    path = tmp_path / "base.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert advisor_command("diff", path, base).returncode == 0


def test_bad_usage_is_one_line(advisor_command: Advisor, runs: Path, base: Path, tmp_path: Path) -> None:
    run = runs / "main-1.sqlite"
    assert "nothing to hold the runs against" in one_line(advisor_command("gate", run))
    assert "none.json does not exist" in one_line(advisor_command("gate", run, "--baseline", tmp_path / "none.json"))
    missing = advisor_command("gate", tmp_path / "none.sqlite", "--baseline", base)
    assert "none.sqlite does not exist" in one_line(missing)
    for command in (("baseline", tmp_path, "-o", tmp_path / "b"), ("gate", run, "--baseline", tmp_path)):
        assert "is a directory: name the files in it" in one_line(advisor_command(*command))
    assert "is a directory: name the files in it" in one_line(advisor_command("diff", run, tmp_path))
    assert "is the baseline itself" in one_line(advisor_command("gate", base, "--baseline", base))
    assert "is a baseline" in one_line(advisor_command("gate", base, "--baseline", run))
    assert "give one for each" in one_line(advisor_command("gate", run, "--baseline", base, "--paired"))
    for level in ("0", "100%"):
        told = one_line(advisor_command("gate", run, "--baseline", base, "--level", level))
        assert "--level lies between 0 and 1" in told
    assert "where to?" in one_line(advisor_command("baseline", run))
    assert "does not exist" in one_line(advisor_command("baseline", "--accept", run, "--reason", "x", tmp_path / "n"))


def fusion(tmp_path: Path, name: str, ratio: float | None, **changes: Any) -> Path:
    """A fusion report as `advisor fuse --json` writes it."""
    low, high = (None, None) if ratio is None else (ratio - 0.01, ratio + 0.01)
    document = {
        "schema": "advisor.fusion/1",
        "model": {"path": "/somewhere/model.onnx", "nodes": 120, "opset": 17},
        "provider": "CPUExecutionProvider",
        "onnxruntime": "1.31.1",
        "fused": {"path": "/somewhere/fused.onnx", "nodes": 90, "library": None},
        "baseline": {"latency_ns": 1_000_000, "level": "ORT_ENABLE_ALL"},
        "result": {"ratio": ratio, "low": low, "high": high, "verdict": "faster", "latency_ns": 800_000},
        "verification": {"passed": True, "inputs": 3},
        "fusions": [],
        "batches": [],
    }
    for key, value in changes.items():
        part, _, field = key.partition("__")
        document[part] = {**document[part], field: value} if field else value  # type: ignore[dict-item]
    path = tmp_path / name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def test_fusion_reports_are_runs_too(advisor_command: Advisor, tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    assert advisor_command("baseline", fusion(tmp_path, "a.json", 0.8), "-o", path).returncode == 0

    def code(ratio: float | None, **changes: Any) -> int:
        return advisor_command("gate", fusion(tmp_path, "b.json", ratio, **changes), "--baseline", path).returncode

    assert code(0.8) == 0
    assert code(0.81) == 0
    assert code(0.7) == 0
    assert code(0.9) == 1
    assert code(None) == 1  # no fusion kept any more
    assert code(0.8, fused__nodes=91) == 0  # shown, not judged
    assert code(0.8, verification__passed=False) == 1
    assert code(0.8, provider="CUDAExecutionProvider") == 3
    assert code(0.8, model__nodes=121) == 3


def test_a_trace_is_not_held_against_a_fusion_report(advisor_command: Advisor, runs: Path, tmp_path: Path) -> None:
    base = fusion(tmp_path, "a.json", 0.8)
    assert advisor_command("gate", runs / "main-1.sqlite", "--baseline", base).returncode == 3
    assert advisor_command("gate", base, "--budget", "latency_ratio=0.85").returncode == 0
    assert advisor_command("gate", base, "--budget", "latency_ratio=0.75").returncode == 1
