"""A pytest plugin: the `launch_overhead` fixture.

    def test_decode(launch_overhead):
        session = open_session()
        with launch_overhead("decode", baseline="tests/decode.json"):
            for _ in range(30):
                session.run()

The block runs as it is, then again under `nsys profile` (the same test, in processes of its own, recording this block
only), and the recorded runs are held against the baseline. Where there is no nsys or no GPU, the block has run once and
the test is skipped with that reason: nothing was measured, and nothing is claimed. Runs that were recorded otherwise,
of any format that `advisor gate` takes, are compared everywhere:

        launch_overhead.check("run.sqlite", baseline="tests/decode.json")

`pytest --launch-overhead-record "why"` records the baselines, or accepts new ones, instead of comparing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from advisor.gate.policy import Policy
    from advisor.gate.result import Comparison
    from advisor.gate.runs import Recording

__all__ = ["LaunchOverhead", "launch_overhead"]

DOMAIN = "advisor"
BLOCK = "ADVISOR_LAUNCH_OVERHEAD_BLOCK"
"""Set in the profiled process: the block to record there."""
LIMIT_S = 600


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's option."""
    parser.getgroup("advisor").addoption(
        "--launch-overhead-record",
        metavar="REASON",
        help="record the baselines of `launch_overhead` blocks, or accept new ones, for this reason",
    )


@pytest.fixture
def launch_overhead(request: pytest.FixtureRequest, tmp_path: Path) -> LaunchOverhead:
    """Profiles a block and holds it against a baseline: see the module's words."""
    reason = request.config.getoption("--launch-overhead-record")
    return LaunchOverhead(request.node.nodeid, request.config.rootpath, tmp_path, reason)


class LaunchOverhead:
    """What the fixture gives to a test."""

    def __init__(self, test: str, root: Path, folder: Path, reason: str | None) -> None:
        self._test = test
        self._root = root
        self._folder = folder
        self._reason = reason

    @contextmanager
    def __call__(
        self,
        name: str = "block",
        *,
        baseline: str | Path,
        runs: int = 3,
        region: str | None = None,
        policy: Policy | None = None,
    ) -> Iterator[None]:
        """Profile the block under nsys, in RUNS processes, and compare.

        Args:
            name: Of the block; a test may have several.
            baseline: The baseline's file; recorded with `--launch-overhead-record REASON`.
            runs: How often; several tell how much runs drift.
            region: The NVTX ranges in the block that are executions; else they are found.
            policy: Other thresholds than the defaults.
        """
        recorded = os.environ.get(BLOCK)
        if recorded is not None:
            if recorded != name:
                yield
                return
            import nvtx  # type: ignore[import-untyped]

            with nvtx.annotate(name, domain=DOMAIN):
                yield
            return
        yield
        reason = unable()
        if reason:
            pytest.skip(f"launch_overhead: {reason}")
        self._baseline(baseline)
        traces = [self._record(name, number) for number in range(1, runs + 1)]
        self.check(*traces, baseline=baseline, region=region, policy=policy)

    def check(
        self,
        *runs: str | Path,
        baseline: str | Path,
        region: str | None = None,
        policy: Policy | None = None,
    ) -> Comparison | None:
        """Compare recorded runs with the baseline; fail the test on a regression, and where nothing can be decided.

        Returns:
            The comparison; None where a first baseline was recorded.
        """
        from advisor.errors import AdvisorError
        from advisor.gate.baseline import load_baseline
        from advisor.gate.compare import compare
        from advisor.gate.runs import load_runs

        path = self._baseline(baseline)
        try:
            known = load_baseline(path) if path.exists() else None
            region = region or (known.region if known else None)
            recordings = load_runs([Path(run) for run in runs], region=region)
            if self._reason:
                return self._write(path, recordings, region)
            comparison = compare(known.runs if known else (), recordings, policy, baseline=path)
        except AdvisorError as error:
            pytest.fail(str(error), pytrace=False)
        if comparison.verdict.exit_code:
            pytest.fail(_words(comparison), pytrace=False)
        return comparison

    def _baseline(self, given: str | Path) -> Path:
        """The baseline's file; the test fails where it should exist and does not."""
        path = Path(given)
        path = path if path.is_absolute() else self._root / path
        if not path.exists() and not self._reason:
            pytest.fail(f"no baseline {path}: record it with pytest --launch-overhead-record REASON", pytrace=False)
        return path

    def _write(self, path: Path, recordings: Sequence[Recording], region: str | None) -> Comparison | None:
        from advisor.gate.baseline import record, stored_baseline
        from advisor.gate.compare import compare

        before = stored_baseline(path) if path.exists() else None
        comparison = compare(before.runs, recordings) if before else None
        path.parent.mkdir(parents=True, exist_ok=True)
        record(recordings, reason=self._reason or "", region=region, before=before, comparison=comparison).write(path)
        return comparison

    def _record(self, name: str, number: int) -> Path:
        """One run of this test under nsys; only the block is recorded."""
        output = self._folder / f"{name}-{number}"
        command = [
            "nsys",
            "profile",
            "--trace=cuda,nvtx",
            "--cuda-graph-trace=node",
            "--capture-range=nvtx",
            f"--nvtx-capture={name}@{DOMAIN}",
            "--capture-range-end=stop",
            "--export=sqlite",
            "--force-overwrite=true",
            f"--output={output}",
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            __name__,
            "-p",
            "no:cacheprovider",
            f"--rootdir={self._root}",
            self._test,
        ]
        # nsys looks at registered NVTX strings only, unless told otherwise.
        environment = os.environ | {BLOCK: name, "NSYS_NVTX_PROFILER_REGISTER_ONLY": "0"}
        try:
            result = subprocess.run(  # noqa: S603 - the user's own nsys and test
                command, capture_output=True, text=True, check=False, cwd=self._root, env=environment, timeout=LIMIT_S
            )
        except (OSError, subprocess.SubprocessError) as error:
            pytest.fail(f"nsys does not run: {error}", pytrace=False)
        trace = output.with_name(f"{output.name}.sqlite")
        if result.returncode or not trace.is_file():
            said = (result.stdout + result.stderr).strip()[-2000:]
            pytest.fail(f"the profiled test failed under nsys (exit {result.returncode}):\n{said}", pytrace=False)
        return trace


def unable() -> str | None:
    """Why nothing can be profiled on this machine; None where it can."""
    if shutil.which("nsys") is None:
        return "cannot profile: nsys is not on PATH (install Nsight Systems); the block ran once, unmeasured"
    from advisor.measure.machine import driver

    if not driver().works:
        return "cannot profile: no NVIDIA GPU on this machine; the block ran once, unmeasured"
    return None


def _words(comparison: Comparison) -> str:
    from advisor.report.comparison_words import findings, headline

    return "\n".join([headline(comparison), *(finding.message for finding in findings(comparison))])
