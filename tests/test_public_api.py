"""What `import advisor` promises."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import advisor
from advisor.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", advisor.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert callable(getattr(advisor, name))


def test_fuse_stays_a_function_whatever_is_imported() -> None:
    code = "import advisor, advisor.fuse.search, advisor.fuse.result; print(advisor.fuse.__module__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "advisor.fuse.search"


def test_importing_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, advisor\n"
        "print([name for name in ('numpy', 'pandas', 'onnx', 'onnxruntime', 'rich') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_public_names_are_listed() -> None:
    assert set(advisor.__all__) <= set(dir(advisor))


def test_a_trace_is_analyzed_by_its_path_too(samples: Path) -> None:
    trace = samples / "launch_bound_decode.sqlite"
    by_path = advisor.analyze(str(trace))
    assert by_path.to_dict() == advisor.analyze(advisor.read_trace(trace)).to_dict()
    assert len(repr(by_path)) < 3000
    assert "array(" not in repr(by_path)


@pytest.mark.parametrize("threshold", [5, -1, float("nan")])
def test_a_threshold_is_a_ratio(samples: Path, threshold: float) -> None:
    with pytest.raises(BadInput, match="no ratio"):
        advisor.analyze(samples / "launch_bound_decode.sqlite", threshold=threshold)


def test_what_is_no_trace_is_told() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="read_trace"):
        advisor.analyze(nothing)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        advisor.nonsense  # noqa: B018
