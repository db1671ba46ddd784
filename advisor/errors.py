"""What can end a command early, and with which exit code."""

from __future__ import annotations

__all__ = ["AdvisorError", "BadInput", "CannotDecide"]


class AdvisorError(Exception):
    """One clear line for people: what is wrong and what to do. Raised as one of its subclasses."""

    exit_code = 2


class BadInput(AdvisorError):  # noqa: N818 - reads as what it is at every raise
    """The input or the usage is wrong: nothing was computed, nothing was written."""

    exit_code = 2


class CannotDecide(AdvisorError):  # noqa: N818
    """The input is sound but does not hold what an answer needs (coverage, noise, not comparable)."""

    exit_code = 3
