"""What `import advisor` promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import advisor


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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        advisor.nonsense  # noqa: B018
