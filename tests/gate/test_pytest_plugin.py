"""The `launch_overhead` fixture, with a stand-in for nsys: a script that runs the test and writes a simulated trace."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from advisor.gate.baseline import load_baseline
from advisor.measure import machine

if TYPE_CHECKING:
    from _pytest.pytester import RunResult

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ("-p", "advisor.gate.pytest_plugin", "-p", "no:cacheprovider")

TEST = """
def test_decode(launch_overhead, record_property):
    with launch_overhead("decode", baseline="decode.json", runs=1):
        open("ran", "a").write("x")
    open("compared", "a").write("x")

def test_recorded(launch_overhead):
    launch_overhead.check("recorded.sqlite", baseline="recorded.json")
"""

NSYS = """#!{python}
import os, subprocess, sys
arguments = sys.argv[2:]
command = arguments[[argument.startswith("-") for argument in arguments].index(False):]
assert sys.argv[1] == "profile"
assert "--nvtx-capture=decode@advisor" in arguments
code = subprocess.call(command)
from pathlib import Path
from sample_traces.nsys_export import write
from sample_traces.operations import Synchronize
from sample_traces.simulator import simulate
from tests.gate.simulated import NOISY, loop, step
output = next(argument for argument in arguments if argument.startswith("--output=")).removeprefix("--output=")
extra = [Synchronize()] if os.environ.get("BUILD") == "slow" else []
write(simulate(loop(step(*extra)), NOISY, seed=int(output[-1])), Path(output + ".sqlite"))
sys.exit(code)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a test that profiles a block, and one that compares a recorded run; a PATH without nsys."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", str(pytester.mkdir("bin")))
    # Rewriting the asserts of every module that a plugin imports would be most of the time, in each process anew.
    monkeypatch.setenv("PYTEST_ADDOPTS", "--assert=plain")
    pytester.makepyfile(test_it=TEST)
    return pytester


@pytest.fixture
def nsys(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in on the PATH, and a GPU."""
    script = project.path / "bin" / "nsys"
    script.write_text(NSYS.format(python=sys.executable), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(machine, "driver", lambda: machine.Fact("NVIDIA driver", True, "a GPU"))


def run(project: pytest.Pytester, *arguments: str, test: str = "test_decode") -> RunResult:
    return project.runpytest_inprocess(*PLUGIN, "-rs", f"test_it.py::{test}", *arguments)


def test_without_nsys_the_block_runs_and_the_test_is_skipped_with_the_reason(project: pytest.Pytester) -> None:
    result = run(project)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*cannot profile: nsys is not on PATH*unmeasured*"])
    assert (project.path / "ran").read_text(encoding="utf-8") == "x"
    assert not (project.path / "decode.json").exists()


@pytest.mark.usefixtures("nsys")
def test_without_a_gpu_the_reason_says_so(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "driver", lambda: machine.Fact("NVIDIA driver", False, "no GPU"))
    result = run(project)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no NVIDIA GPU*"])


@pytest.mark.usefixtures("nsys")
def test_a_block_is_recorded_compared_and_fails_where_it_regressed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = run(project)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*no baseline*--launch-overhead-record REASON*"])

    run(project, "--launch-overhead-record", "the first one").assert_outcomes(passed=1)
    baseline = load_baseline(project.path / "decode.json")
    assert [entry["reason"] for entry in baseline.history] == ["the first one"]
    assert len(baseline.runs) == 1

    (project.path / "compared").unlink()
    run(project).assert_outcomes(passed=1)
    # Once in this process, which compares, and in the one that is recorded.
    assert (project.path / "compared").read_text(encoding="utf-8") == "xx"

    monkeypatch.setenv("BUILD", "slow")
    slow = run(project)
    slow.assert_outcomes(failed=1)
    slow.stdout.fnmatch_lines(["*FAILED: launch overhead regressed in step*", "*synchronisations of step: 1 * 2*"])
    run(project, "--launch-overhead-record", "one more wait, on purpose").assert_outcomes(passed=1)
    history = load_baseline(project.path / "decode.json").history
    assert [entry["reason"] for entry in history] == ["the first one", "one more wait, on purpose"]
    assert {change["measure"] for change in history[1]["changes"]} >= {"synchronisations"}


def test_recorded_runs_are_compared_without_a_gpu(project: pytest.Pytester, samples: Path) -> None:
    (project.path / "recorded.sqlite").write_bytes((samples / "sync_bound_loop.sqlite").read_bytes())
    run(project, "--launch-overhead-record", "first", test="test_recorded").assert_outcomes(passed=1)
    run(project, test="test_recorded").assert_outcomes(passed=1)
    (project.path / "recorded.sqlite").write_bytes((samples / "cuda_graph_replay.sqlite").read_bytes())
    other = run(project, test="test_recorded")
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*CANNOT DECIDE*"])


def test_a_recording_is_not_replaced_by_a_baseline(project: pytest.Pytester, samples: Path) -> None:
    recording = (samples / "sync_bound_loop.sqlite").read_bytes()
    for name in ("recorded.sqlite", "recorded.json"):
        (project.path / name).write_bytes(recording)
    result = run(project, "--launch-overhead-record", "first", test="test_recorded")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*is no baseline*"])
    assert (project.path / "recorded.json").read_bytes() == recording


@pytest.mark.usefixtures("nsys")
def test_a_failure_under_nsys_is_told(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import os
        def test_decode(launch_overhead):
            with launch_overhead("decode", baseline="decode.json"):
                assert "ADVISOR_LAUNCH_OVERHEAD_BLOCK" not in os.environ, "only when profiled"
        """
    )
    result = run(project, "--launch-overhead-record", "first")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the profiled test failed under nsys*"])
    assert os.environ.get("ADVISOR_LAUNCH_OVERHEAD_BLOCK") is None
