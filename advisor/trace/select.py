"""A part of a trace: one device, one process, a window of time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from advisor.errors import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.trace import Trace

__all__ = ["calls_within", "select"]


def select(
    trace: Trace,
    *,
    device: int | None = None,
    process: int | str | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> Trace:
    """The works of TRACE that fit; the analysis then sees those alone.

    API calls stay, since they say what the host was doing before the first work of a window.

    Args:
        trace: The trace.
        device: A device's number.
        process: A process id or name.
        from_ns: Works that start earlier are left out; ns on the trace's clock.
        to_ns: Works that start at this time or later are left out.

    Raises:
        BadInput: No such device or process, the window ends before it begins, or nothing runs in it.
    """
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise BadInput(f"the window ends before it begins: from {from_ns / 1e9:g} s to {to_ns / 1e9:g} s")
    works = trace.works
    keep = np.ones(len(works), np.bool_)
    notes = []
    if device is not None:
        numbers = [entry.number for entry in trace.devices]
        if device not in numbers:
            raise BadInput(f"no device {device} in this trace: it has {_listed(sorted(set(numbers)))}")
        keep &= np.isin(works.device, [index for index, number in enumerate(numbers) if number == device])
    if process is not None:
        chosen = _processes(trace, process)
        active = sorted({trace.processes[index][0] for index in np.unique(works.process)})
        mine = np.isin(works.process, chosen)
        if not mine.any():
            raise BadInput(f"no process {process} runs work in this trace: processes {_listed(active)} do")
        if np.isin(works.device[~mine], works.device[mine]).any():
            notes.append("other processes use the same device: while they run it, it counts as idle here")
        keep &= mine
    if from_ns is not None:
        keep &= works.start >= from_ns
    if to_ns is not None:
        keep &= works.start < to_ns
    if len(works) and not keep.any():
        first, last = works.start.min() / 1e9, works.start.max() / 1e9
        raise BadInput(f"no work starts in this selection: the trace's works start from {first:.6f} s to {last:.6f} s")
    if keep.all():
        return trace
    return replace(trace, works=works.take(keep), notes=(*trace.notes, *notes))


def calls_within(
    trace: Trace, *, process: int | str | None = None, from_ns: int | None = None, to_ns: int | None = None
) -> NDArray[np.bool_]:
    """Shape (calls,): the API calls of a process in a window of time, as `select` has them; of all where not given."""
    calls = trace.calls
    within = np.ones(len(calls), np.bool_)
    if process is not None:
        within &= np.isin(trace.threads[calls.thread], _processes(trace, process))
    if from_ns is not None:
        within &= calls.start >= from_ns
    if to_ns is not None:
        within &= calls.start < to_ns
    return within


def _processes(trace: Trace, process: int | str) -> list[int]:
    return [
        index
        for index, (pid, name) in enumerate(trace.processes)
        if str(process) in {str(pid), name, name.rsplit("/", 1)[-1]}
    ]


def _listed(items: list[int]) -> str:
    return ", ".join(str(item) for item in items)
