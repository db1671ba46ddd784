"""The result of a comparison: what `advisor.comparison/1` holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from advisor.gate.measures import MEASURES, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from advisor.gate.kernels import KernelDifference

__all__ = [
    "BY_WEIGHT",
    "BudgetResult",
    "Comparison",
    "GraphResult",
    "MeasureResult",
    "Status",
    "Verdict",
    "advisor_version",
    "heaviest",
]

SCHEMA = "advisor.comparison/1"


class Status(StrEnum):
    """What became of one measure, graph or budget."""

    REGRESSED = "regressed"
    WAIVED = "waived"
    """A regression that the policy accepts until a date."""
    UNDECIDED = "undecided"
    WORSE = "worse"
    """More, and no launch overhead: such as slower kernels."""
    IMPROVED = "improved"
    NEW = "new"
    UNCHANGED = "unchanged"


BY_WEIGHT = (
    Status.REGRESSED,
    Status.UNDECIDED,
    Status.WAIVED,
    Status.IMPROVED,
    Status.WORSE,
    Status.NEW,
    Status.UNCHANGED,
)
"""What a graph is called when its measures differ: the first of these that one of them has."""


class Verdict(StrEnum):
    """Of the whole comparison."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNDECIDED = "undecided"

    @property
    def exit_code(self) -> int:
        """Of `advisor gate`."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 3}[self]


@dataclass(frozen=True)
class MeasureResult:
    """One measure of one graph on both sides."""

    measure: str
    unit: Unit
    status: Status
    basis: str
    """What decided: `count` (certain), `distribution`, `interval`, or `shown` (never judged)."""
    baseline: float | None
    """Median over the runs of each run's median; a mean for counts that vary."""
    current: float | None
    reason: str = ""
    low: float | None = None
    """90 % interval of current - baseline."""
    high: float | None = None
    p: float | None = None
    """Of the rank test inside the runs, for the direction of the change."""
    p_adjusted: float | None = None
    """Corrected for the number of comparisons."""
    required: float | None = None
    """The smallest change that counts here: minimum effect, floor and run-to-run drift."""

    @property
    def title(self) -> str:
        """For people."""
        known = MEASURES.get(self.measure)
        return known.title if known else self.measure.replace("_", " ")

    @property
    def change(self) -> float | None:
        """Current - baseline."""
        return None if self.baseline is None or self.current is None else self.current - self.baseline

    @property
    def relative(self) -> float | None:
        """The change as a share of the baseline; None where that is 0."""
        return self.change / self.baseline if self.baseline and self.change is not None else None


@dataclass(frozen=True)
class GraphResult:
    """One graph on both sides."""

    name: str
    source: str
    status: Status
    reason: str = ""
    instances: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Executions measured in each run: baseline, current."""
    kernels: KernelDifference | None = None
    measures: tuple[MeasureResult, ...] = ()
    place: tuple[str, int, int] | None = None
    """Where to look: a current run's path, and the window of its median execution, ns on the trace's clock."""
    unguarded: str = ""
    """Why none of its times could be a regression whatever it is, so that only counts tell; empty where they could."""

    @property
    def regressions(self) -> tuple[MeasureResult, ...]:
        """Its measures that regressed, waived ones apart."""
        return tuple(entry for entry in self.measures if entry.status is Status.REGRESSED)


@dataclass(frozen=True)
class BudgetResult:
    """One absolute limit."""

    graph: str
    key: str
    limit: float
    value: float | None
    unit: Unit
    status: Status
    """`regressed` where it is exceeded, else `unchanged`, `waived` or `undecided`."""
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two sets of runs, compared."""

    graphs: tuple[GraphResult, ...]
    """Regressions first."""
    budgets: tuple[BudgetResult, ...] = ()
    undecided: tuple[tuple[str, str], ...] = ()
    """(graph or empty, reason): what keeps the comparison from passing."""
    notes: tuple[str, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    """(what, baseline, current) of differences."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    """The baseline's file."""
    runs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Names of the runs: baseline, current."""

    @property
    def verdict(self) -> Verdict:
        """A regression is one whatever else could not be compared; and what was not compared does not pass."""
        failed = (Status.REGRESSED,)
        if any(graph.status in failed for graph in self.graphs) or any(row.status in failed for row in self.budgets):
            return Verdict.FAIL
        if self.undecided or any(row.status is Status.UNDECIDED for row in self.budgets):
            return Verdict.UNDECIDED
        return Verdict.PASS

    def to_dict(self) -> dict[str, Any]:
        """The document `advisor.comparison/1`."""
        return {
            "schema": SCHEMA,
            "advisor": advisor_version(),
            "verdict": self.verdict.value,
            "exit_code": self.verdict.exit_code,
            "baseline": {"path": self.baseline, "runs": list(self.runs[0])},
            "current": {"runs": list(self.runs[1])},
            "environment": [
                {"what": what, "baseline": before, "current": after} for what, before, after in self.environment
            ],
            "policy": dict(self.policy),
            "graphs": [_graph(graph) for graph in self.graphs],
            "budgets": [{**asdict(row), "unit": row.unit.value, "status": row.status.value} for row in self.budgets],
            "undecided": [{"graph": graph or None, "reason": reason} for graph, reason in self.undecided],
            "notes": list(self.notes),
        }


def heaviest(measures: Iterable[MeasureResult]) -> Status:
    """What became of a graph with these measures."""
    statuses = {row.status for row in measures}
    return next((status for status in BY_WEIGHT if status in statuses), Status.UNCHANGED)


def advisor_version() -> str | None:
    """Of the installed distribution; None where the package runs from a checkout."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fusion-advisor")
    except PackageNotFoundError:
        return None


def _graph(graph: GraphResult) -> dict[str, Any]:
    changes = graph.kernels
    return {
        "name": graph.name,
        "source": graph.source,
        "status": graph.status.value,
        "reason": graph.reason,
        "unguarded": graph.unguarded or None,
        "instances": {"baseline": list(graph.instances[0]), "current": list(graph.instances[1])},
        "kernels": None
        if changes is None
        else {
            part: [{"name": change.name, "count": change.count} for change in getattr(changes, part)]
            for part in ("new", "gone", "moved")
        },
        "window": None if graph.place is None else dict(zip(("run", "from_ns", "to_ns"), graph.place, strict=True)),
        "measures": [
            {
                "measure": row.measure,
                "unit": row.unit.value,
                "status": row.status.value,
                "basis": row.basis,
                "baseline": row.baseline,
                "current": row.current,
                "change": row.change,
                "relative": row.relative,
                "low": row.low,
                "high": row.high,
                "p": row.p,
                "p_adjusted": row.p_adjusted,
                "required": row.required,
                "reason": row.reason,
            }
            for row in graph.measures
        ],
    }
