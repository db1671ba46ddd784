"""Pages that open without a network: a frame around a body, styles, a script, and a policy that forbids all else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["fill"]


def fill(body: str, *, styles: Sequence[str], script: str, content: Mapping[str, str]) -> str:
    """A page.

    Args:
        body: File in `html/`; `{{name}}` in it gives way to what `content` has under that name.
        styles: Files in `html/`.
        script: File in `html/`.
        content: HTML by name, the page's `title` too; it is not escaped here.
    """
    folder = files("advisor.report") / "html"
    style = "".join((folder / name).read_text(encoding="utf-8") for name in styles)
    code = (folder / script).read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(code)}'"
    )
    inner = _filled((folder / body).read_text(encoding="utf-8"), content)
    frame = {"title": content["title"], "policy": policy, "style": style, "script": code, "body": inner}
    return _filled((folder / "page.html").read_text(encoding="utf-8"), frame)


def _filled(template: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
