"""The colours of the causes of idleness, wherever a report shows them.

Warm is what fusion removes, cool is what it does not, grey is what is no fault of the program. Inside a family the
lightness differs, so that the colours stay apart with any kind of colour blindness: the least distance (CIEDE2000) of
two causes is 9 with protanopia, deuteranopia and tritanopia as of Machado et al. 2009, at full severity. All of them
stand out from white and from near black, and wherever there is room, the name of the cause stands beside its colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BUSY", "CAUSE_COLOURS", "ink"]

BUSY = "#667585"
"""Work on the device."""

CAUSE_COLOURS: Mapping[Cause, str] = {
    Cause.LAUNCH: "#d2450e",
    Cause.DISPATCH: "#f0902a",
    Cause.TURNAROUND: "#f5dc85",
    Cause.GRAPH: "#873818",
    Cause.SYNC: "#1f4fa3",
    Cause.HOST: "#58a5ee",
    Cause.MEMORY: "#0f8577",
    Cause.API: "#a9d0f5",
    Cause.MODULE: "#9461c9",
    Cause.WAIT: "#8c96a3",
    Cause.PROFILER: "#cdd2d8",
    Cause.UNKNOWN: "#555d68",
}


def ink(colour: str) -> str:
    """Black or white, whichever is read well on COLOUR (`#rrggbb`): a contrast of at least 4.5 on those above."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return "#fff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.1833 else "#000"


def _linear(value: float) -> float:
    """A colour's component without its gamma, as of WCAG 2."""
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
