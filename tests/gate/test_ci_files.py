"""The GitHub Action, and the jobs that `advisor init-ci` writes: valid, safe, and doing what they say."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from sample_traces.two_builds import write_builds

if TYPE_CHECKING:
    from tests.conftest import Advisor

ROOT = Path(__file__).resolve().parents[2]


def yaml(path: Path) -> Any:
    return YAML(typ="safe").load(StringIO(path.read_text(encoding="utf-8")))


def check(schema: str, path: Path) -> None:
    """Against the schemas of SchemaStore, which check-jsonschema ships."""
    pytest.importorskip("check_jsonschema", reason="the schemas of CI files come with the package check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_action_is_valid() -> None:
    check("vendor.github-actions", ROOT / "action.yml")


def test_inputs_never_become_part_of_a_script() -> None:
    for step in yaml(ROOT / "action.yml")["runs"]["steps"]:
        assert "${{" not in step["run"]


def gate_step() -> dict[str, Any]:
    return next(step for step in yaml(ROOT / "action.yml")["runs"]["steps"] if step.get("id") == "gate")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, advisor_command: Advisor) -> Path:
    """A repository with a baseline and runs, and advisor where the action's first step installs it."""
    folder = tmp_path_factory.mktemp("workspace")
    write_builds(folder / "runs")
    script = folder / "temp" / "advisor" / "bin" / "advisor"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m advisor "$@"\n', encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    mains = sorted((folder / "runs").glob("main-*.sqlite"))
    assert advisor_command("baseline", *mains, "-o", folder / "base.json").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("inputs", "code", "verdict"),
    [
        ({"runs": "runs/again-*.sqlite"}, 0, "pass"),
        ({"runs": "runs/change-*.sqlite"}, 1, "fail"),
        ({"runs": "runs/change-1.sqlite\nruns/change-2.sqlite\n"}, 1, "fail"),
        ({"runs": "runs/again-*.sqlite", "budget": "launches=1\ngap_ratio=99%"}, 1, "fail"),
        ({"runs": "runs/again-*.sqlite", "region": "layer"}, 3, "undecided"),
        ({"runs": "runs/nothing-*.sqlite"}, 2, ""),
        ({"runs": "$(touch owned); `touch owned`"}, 2, ""),
    ],
)
def test_the_action_gates(workspace: Path, tmp_path: Path, inputs: dict[str, str], code: int, verdict: str) -> None:
    step = gate_step()
    given = {"baseline": "base.json", "budget": "", "policy": "", "region": "", "results": "out"} | inputs
    variables = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")] for name, value in step["env"].items()
    }
    output, summary = tmp_path / "output", tmp_path / "summary"
    output.touch()
    summary.touch()
    environment = os.environ | variables | {
        "RUNNER_TEMP": str(workspace / "temp"),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    shutil.rmtree(workspace / "out", ignore_errors=True)
    # As the runner calls a step with `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    result = subprocess.run(
        command, cwd=workspace, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == code, result.stdout + result.stderr
    assert output.read_text(encoding="utf-8") == f"verdict={verdict}\n"
    assert not list(workspace.glob("**/owned"))
    if code in (0, 1, 3):
        assert sorted(path.name for path in (workspace / "out").iterdir()) == [
            "gate.json", "gate.md", "gate.sarif", "gate.xml"
        ]  # fmt: skip
        assert summary.read_text(encoding="utf-8").startswith("<!-- advisor -->\n## ")


def test_a_github_job_is_written(advisor_command: Advisor, tmp_path: Path) -> None:
    result = advisor_command("init-ci", "github", "--to", tmp_path)
    assert result.returncode == 0
    check("vendor.github-workflows", tmp_path / ".github" / "workflows" / "launch-overhead.yml")
    record = tmp_path / "ci" / "record-launch-overhead.sh"
    assert subprocess.run(["sh", "-n", str(record)], check=False).returncode == 0


def test_a_gitlab_job_is_written(advisor_command: Advisor, tmp_path: Path) -> None:
    assert advisor_command("init-ci", "gitlab", "--to", tmp_path).returncode == 0
    check("vendor.gitlab-ci", tmp_path / "ci" / "launch-overhead.gitlab-ci.yml")
    check("vendor.gitlab-ci", tmp_path / ".gitlab-ci.yml")


def test_files_that_exist_are_left_alone(advisor_command: Advisor, tmp_path: Path) -> None:
    mine = "stages: [mine]\n"
    (tmp_path / ".gitlab-ci.yml").write_text(mine, encoding="utf-8")
    result = advisor_command("init-ci", "gitlab", "--to", tmp_path)
    assert (tmp_path / ".gitlab-ci.yml").read_text(encoding="utf-8") == mine
    assert "left as it is: .gitlab-ci.yml" in result.stdout
    assert "- local: ci/launch-overhead.gitlab-ci.yml" in result.stdout
    (tmp_path / ".gitlab-ci.yml").write_bytes(b"# caf\xe9\ninclude:\n  - local: ci/launch-overhead.gitlab-ci.yml\n")
    assert "add to" not in advisor_command("init-ci", "gitlab", "--to", tmp_path).stdout
    (tmp_path / "ci" / "record-launch-overhead.sh").write_text("filled in\n", encoding="utf-8")
    advisor_command("init-ci", "github", "--to", tmp_path)
    advisor_command("init-ci", "github", "--to", tmp_path)
    assert (tmp_path / "ci" / "record-launch-overhead.sh").read_text(encoding="utf-8") == "filled in\n"


def test_half_a_job_is_never_written(advisor_command: Advisor, tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file\n", encoding="utf-8")
    (tmp_path / ".gitlab-ci.yml").mkdir()
    for host, name in (("github", ".github"), ("gitlab", ".gitlab-ci.yml")):
        result = advisor_command("init-ci", host, "--to", tmp_path)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert str(tmp_path / name) in result.stderr
    (tmp_path / ".github").unlink()
    (tmp_path / ".github").symlink_to("nowhere")
    assert advisor_command("init-ci", "github", "--to", tmp_path).returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".github", ".gitlab-ci.yml"]


def test_a_folder_that_is_not_there(advisor_command: Advisor, tmp_path: Path) -> None:
    result = advisor_command("init-ci", "github", "--to", tmp_path / "none")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert advisor_command("init-ci", "bitbucket").returncode == 2
