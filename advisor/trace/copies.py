"""Which works are copies between host and device: what fusion of kernels never takes away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.trace import Trace

__all__ = ["between_host_and_device"]

# Nsight Systems' and PyTorch's names: `[CUDA memcpy Host-to-Device]`, `Memcpy HtoD (Pageable -> Device)`.
_NAME = re.compile(r"^(\[CUDA )?memcpy .*\b(Host|HtoD|DtoH)\b", re.IGNORECASE)


def between_host_and_device(trace: Trace) -> NDArray[np.bool_]:
    """Shape (names,): for each of `trace.work_names`, whether its works are such copies."""
    return np.array([bool(_NAME.match(name)) for name in trace.work_names], np.bool_)
