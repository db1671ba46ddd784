"""`python -m advisor.fuse.optimizers.run MODULE MODEL RESULT PROVIDER`: what runs in an optimiser's own process."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import onnx

from advisor.fuse.optimizers.optimizer import REASON
from advisor.measure.session import Level, NotRunnable, open_session


def main(module: str, model: str, result: str, provider: str) -> str:
    """Optimise a model file; why there is no result, empty where there is one."""
    try:
        proto = import_module(module).optimize(onnx.load(model), provider)
        data: bytes = proto.SerializeToString()
    except BaseException as error:  # the library may raise, or exit, as it likes
        first = next(iter(str(error).strip().splitlines()), "")
        return f"it failed: {type(error).__name__}{f': {first}' if first else ''}"
    try:
        open_session(data, level=Level.ALL, provider=provider)
    except NotRunnable as error:
        return f"ONNX Runtime does not load its result: {error}"
    Path(result).write_bytes(data)
    return ""


if __name__ == "__main__":
    reason = main(*sys.argv[1:])
    if reason:
        Path(sys.argv[3]).with_name(REASON).write_text(reason, encoding="utf-8")
