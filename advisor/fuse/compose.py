"""A model with some candidates applied, in the order in which they go together."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.fuse.rule import Rule
from advisor.fuse.transform import Applied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import onnx_ir as ir

    from advisor.fuse.rewrite import Site
    from advisor.fuse.transform import Transform

__all__ = ["compose"]


def compose(
    original: ir.Model,
    candidates: Iterable[Rule | Transform],
    *,
    provider: str,
    accept: Callable[[Site], bool] = lambda _: True,
) -> Applied:
    """Apply CANDIDATES to a copy of ORIGINAL, in their order; rules that follow one another work together.

    Args:
        original: The model; it is only read.
        candidates: What to apply, ordered as in the registry.
        provider: Execution provider that will run the result, as ONNX Runtime names it.
        accept: Whether a legal site is to be applied; what is not accepted is left out of the answer.

    Raises:
        NotApplicable: A transform cannot be tried on this model or machine.
    """
    model = clone(original)
    sites: list[Site] = []
    libraries: list[Path] = []
    for are_rules, group in groupby(candidates, key=lambda candidate: isinstance(candidate, Rule)):
        if are_rules:
            rules = [candidate for candidate in group if isinstance(candidate, Rule)]
            sites += rewrite(model, rules, provider=provider, accept=accept)
            continue
        for candidate in group:
            assert not isinstance(candidate, Rule), "grouped"
            applied = candidate.apply(model, provider=provider, accept=accept)
            model = applied.model
            sites += applied.sites
            libraries += applied.libraries
    return Applied(model, tuple(sites), tuple(libraries))
