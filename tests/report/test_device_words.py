"""What waits is named: nodes that ran on a CPU wait for no GPU, and CUDA graph capture does not help them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tests.trace.test_ort_profile import chain, profile

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor


def test_the_report_of_a_cpu_profile_is_about_the_cpu(tmp_path: Path, advisor_command: Advisor) -> None:
    recorded = profile(chain(), {"x0": np.ones(16, np.float32)}, tmp_path)
    result = advisor_command("analyze", recorded, "--findings", "9", "--threshold", "1%", columns=120)
    assert result.returncode == 0, result.stderr
    assert "Why the CPU was idle" in result.stdout
    assert not re.findall(r".*(?:GPU|CUDA).*", result.stdout)


def test_the_report_of_a_gpu_trace_is_about_the_gpu(samples: Path, advisor_command: Advisor) -> None:
    result = advisor_command("analyze", samples / "launch_bound_decode.sqlite", columns=120)
    assert "Why the GPU was idle" in result.stdout
    assert "CUDA graph capture" in result.stdout
    assert "CPU was idle" not in result.stdout
