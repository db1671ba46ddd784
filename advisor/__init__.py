"""Find where a GPU waits between kernels, say why, and fuse models where it measurably helps.

import advisor

trace = advisor.read_trace("trace.sqlite")
analysis = advisor.analyze(trace)
report = advisor.fuse("model.onnx", output="fused.onnx")
comparison = advisor.compare_models("model.onnx", "fused.onnx")
profile = advisor.profile("model.onnx")
session = advisor.session("fused.onnx")
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.fuse.compare import ModelComparison, compare_models
    from advisor.fuse.result import FusionReport
    from advisor.fuse.search import fuse
    from advisor.fuse.session import session
    from advisor.measure.profile import ModelProfile, profile
    from advisor.trace.analysis import Analysis
    from advisor.trace.analyze import analyze
    from advisor.trace.readers import read_trace
    from advisor.trace.trace import Trace

# Since 2026 builds of ONNX Runtime for Linux and macOS send what they do to Microsoft, unless this is set before they
# are loaded (https://github.com/microsoft/onnxruntime/pull/27379). Who wants that sets it to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__all__ = [
    "Analysis",
    "FusionReport",
    "ModelComparison",
    "ModelProfile",
    "Trace",
    "analyze",
    "compare_models",
    "fuse",
    "profile",
    "read_trace",
    "session",
]

_HOME = {
    "Analysis": "advisor.trace.analysis",
    "FusionReport": "advisor.fuse.result",
    "ModelComparison": "advisor.fuse.compare",
    "ModelProfile": "advisor.measure.profile",
    "Trace": "advisor.trace.trace",
    "analyze": "advisor.trace.analyze",
    "compare_models": "advisor.fuse.compare",
    "fuse": "advisor.fuse.search",
    "profile": "advisor.measure.profile",
    "read_trace": "advisor.trace.readers",
    "session": "advisor.fuse.session",
}

# The function `fuse` has the name of the subpackage that it lives in. Imported here (it is empty), the subpackage does
# not take the function's place later, when a module in it is imported.
import_module("advisor.fuse")
globals().pop("fuse", None)


def __getattr__(name: str) -> Any:
    # Loaded at first use: reading a trace needs no ONNX Runtime, and `advisor --help` needs neither.
    if name not in _HOME:
        raise AttributeError(f"module 'advisor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
