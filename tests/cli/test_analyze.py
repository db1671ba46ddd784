"""`advisor analyze` as people and scripts meet it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Advisor

DECODE = "launch_bound_decode.sqlite"
CNN = "gpu_bound_cnn.sqlite"


def test_the_verdict_comes_first_and_fits_80_columns_without_colour(advisor_process: Advisor, samples: Path) -> None:
    result = advisor_process("analyze", samples / DECODE)
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "bound" in lines[1]
    assert result.stderr == ""


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_numbers_stay_whole_in_any_width(advisor_command: Advisor, samples: Path, columns: int) -> None:
    result = advisor_command("analyze", samples / DECODE, columns=columns)
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert "ratio" in result.stdout


def test_json_on_standard_output_is_nothing_but_json(advisor_command: Advisor, samples: Path) -> None:
    result = advisor_command("analyze", samples / DECODE, "--json", "-")
    assert json.loads(result.stdout)["schema"] == "advisor.analysis/1"


def test_json_in_a_file_comes_beside_the_report(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    result = advisor_command("analyze", samples / DECODE, "--json", tmp_path / "out.json")
    assert "Gap ratio" in result.stdout
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert document["graphs"][0]["flagged"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_fail_on_flag_is_an_exit_code(advisor_command: Advisor, advisor_process: Advisor, samples: Path) -> None:
    assert advisor_process("analyze", samples / DECODE, "--fail-on-flag").returncode == 1
    assert advisor_command("analyze", samples / CNN, "--fail-on-flag").returncode == 0
    assert advisor_command("analyze", samples / DECODE, "--fail-on-flag", "--threshold", "99%").returncode == 0


def test_fail_on_flag_with_an_undecidable_trace_is_three(advisor_command: Advisor, real_traces: Path) -> None:
    trace = real_traces / "clue_t4_2streams.sqlite"
    assert advisor_command("analyze", trace).returncode == 0
    assert advisor_command("analyze", trace, "--fail-on-flag").returncode == 3
    # Most of its idle time stays unknown, but not even all of that would lift the gap ratio over this threshold.
    assert advisor_command("analyze", trace, "--fail-on-flag", "--threshold", "82%").returncode == 0


def test_a_window_of_time_counts_only_what_starts_in_it(advisor_command: Advisor, samples: Path) -> None:
    whole = json.loads(advisor_command("analyze", samples / DECODE, "--json", "-").stdout)
    half = json.loads(advisor_command("analyze", samples / DECODE, "--json", "-", "--from", "5ms").stdout)
    assert 0 < half["totals"]["kernels"] < whole["totals"]["kernels"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "7"], "no device 7"),
        (["--process", "nobody"], "no process nobody"),
        (["--from", "9000s"], "no work starts in this selection"),
        (["--from", "5", "--to", "3"], "the window ends before it begins: from 5 s to 3 s"),
        (["--region", "("], "no regular expression"),
        (["--region", "no such range"], "no range"),
        (["--threshold", "20"], "is no ratio"),
        (["--from", "soon"], "is no time"),
    ],
)
def test_options_that_do_not_fit_are_one_clear_error(
    advisor_command: Advisor, samples: Path, arguments: list[str], words: str
) -> None:
    result = advisor_command("analyze", samples / DECODE, *arguments)
    assert result.returncode == 2
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("api_only_qcu", 3, "--trace=cuda"),
        ("nvtx_only", 3, "--trace=cuda"),
        ("target_info_only", 3, "--trace=cuda"),
        ("not_nsys", 2, "not an Nsight Systems export"),
        ("lfs_pointer", 2, "git lfs pull"),
        ("zero_byte", 2, "empty"),
        ("truncated", 2, "truncated"),
    ],
)
def test_bad_traces_are_one_clear_line(
    advisor_command: Advisor, real_traces: Path, name: str, code: int, words: str
) -> None:
    _is_one_line(advisor_command("analyze", real_traces / "bad" / f"{name}.sqlite"), code, words)


def test_what_is_no_file_is_one_clear_line(advisor_command: Advisor, tmp_path: Path) -> None:
    _is_one_line(advisor_command("analyze", tmp_path / "missing.sqlite"), 2, "missing.sqlite")
    _is_one_line(advisor_command("analyze", tmp_path), 2, "directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_one_clear_line(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    trace = Path(shutil.copy(samples / DECODE, tmp_path))
    trace.chmod(0)
    _is_one_line(advisor_command("analyze", trace), 2, "permission")


def _is_one_line(result: subprocess.CompletedProcess[str], code: int, words: str) -> None:
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_the_input_is_left_as_it_was(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    trace = Path(shutil.copy(samples / DECODE, tmp_path))
    trace.chmod(0o444)
    before = (trace.read_bytes(), trace.stat().st_mtime_ns)
    assert advisor_command("analyze", trace, "--json", "-").returncode == 0
    assert (trace.read_bytes(), trace.stat().st_mtime_ns) == before
    assert [path.name for path in tmp_path.iterdir()] == [DECODE]


def test_an_output_that_cannot_be_written_is_one_clear_line(advisor_command: Advisor, samples: Path) -> None:
    result = advisor_command("analyze", samples / DECODE, "--json", "/no/such/folder/out.json")
    assert result.returncode == 2
    assert "cannot write" in result.stderr
    assert "Traceback" not in result.stderr


def test_analyze_imports_neither_onnx_runtime_nor_pandas(samples: Path) -> None:
    code = (
        "import sys; sys.argv = ['advisor', 'analyze', sys.argv[1]]\n"
        "from advisor.cli import main\n"
        "main()\n"
        "print([name for name in ('onnxruntime', 'onnx', 'onnx_ir', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code, samples / DECODE], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_error(samples: Path) -> None:
    command = f"{sys.executable} -m advisor analyze {samples / DECODE} | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stderr == ""


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_rows_of_kernels_differ_and_no_cause_is_cut(advisor_command: Advisor, real_traces: Path, columns: int) -> None:
    path = real_traces / "pipit_cloverleaf.sqlite"
    text = advisor_command("analyze", path, columns=columns).stdout
    table = text.partition("GPU work with the largest")[2].partition("Graphs,")[0]
    names = [line.split("  ")[0] for line in table.splitlines() if " µs" in line or " ms" in line]
    assert len(names) == len(set(names)) == 10
    assert "launch calls and their latency" in " ".join(text.split())


def test_what_the_advisor_wrote_is_no_trace_and_it_says_what_reads_it(
    advisor_command: Advisor, samples: Path, tmp_path: Path
) -> None:
    wrote, base = tmp_path / "analysis.json", tmp_path / "base.json"
    assert advisor_command("analyze", samples / DECODE, "--json", wrote).returncode == 0
    assert advisor_command("baseline", samples / DECODE, "-o", base).returncode == 0
    for path in (wrote, base):
        result = advisor_command("analyze", path)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert "is what advisor wrote" in result.stderr
        assert "`advisor diff` compares" in result.stderr


def test_graphs_of_one_name_are_told_apart(advisor_command: Advisor, real_traces: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    result = advisor_command("analyze", real_traces / "fuser_h200_2025_1.sqlite", "--markdown", report, columns=200)
    assert result.stdout.count("(sequence 2)") == 1
    assert report.read_text(encoding="utf-8").count("(sequence 2)") == 1
