"""Pages that open without a network: a template, its styles and scripts, and a policy that forbids everything else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["fill"]


def fill(template: str, *, styles: Sequence[str], script: str, content: Mapping[str, str]) -> str:
    """A page.

    Args:
        template: File in `html/`; `{{name}}` in it gives way to what `content` has under that name.
        styles: Files in `html/`, for `{{style}}`.
        script: File in `html/`, for `{{script}}`.
        content: HTML by name; it is not escaped here.
    """
    folder = files("advisor.report") / "html"
    style = "".join((folder / name).read_text(encoding="utf-8") for name in styles)
    code = (folder / script).read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(code)}'"
    )
    parts = {**content, "policy": policy, "style": style, "script": code}
    text = (folder / template).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], text)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
