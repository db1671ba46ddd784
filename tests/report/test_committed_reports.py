"""The committed reports are what the program writes today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor

REPORTS = REPOSITORY / "reports"


@pytest.mark.parametrize("sample", ["launch_bound_decode", "gpu_bound_cnn", "sync_bound_loop", "cuda_graph_replay"])
def test_make_reports_would_change_nothing(advisor_command: Advisor, sample: str, tmp_path: Path) -> None:
    options = [f"--{form}={tmp_path / sample}.{ending}" for form, ending in (("html", "html"), ("markdown", "md"))]
    result = advisor_command("analyze", f"sample_traces/{sample}.sqlite", *options, cwd=REPOSITORY)
    assert result.stdout == (REPORTS / f"{sample}.txt").read_text(encoding="utf-8")
    for ending in ("html", "md"):
        written = (tmp_path / f"{sample}.{ending}").read_text(encoding="utf-8")
        assert written == (REPORTS / f"{sample}.{ending}").read_text(encoding="utf-8"), "run `make reports`"
