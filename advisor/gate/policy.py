"""What counts as a regression: thresholds, budgets and waivers, from options and from `advisor.toml`.

[gate]                              # [tool.advisor.gate] in pyproject.toml
level = 0.01
min_effect = "5%"
gap_floor = "2us"
judge = ["time"]                    # measures that are only shown otherwise
ignore = ["host"]
budget = { gap_ratio = 0.20 }       # of every graph

[gate.graphs."decode_*"]            # a name or a pattern; the same keys
min_effect = "10%"
budget = { launches = 120 }

[[gate.waivers]]
id = "decode_token/launch_calls"    # graph/measure, or a pattern
reason = "the new sampler; see #123"
until = 2027-01-31
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput
from advisor.gate.measures import MEASURES, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "BUDGETS",
    "Policy",
    "Thresholds",
    "Waiver",
    "check_level",
    "find_policy",
    "fits",
    "load_policy",
    "parse_budget",
]

BUDGETS: Mapping[str, str] = {key: key for key in MEASURES} | {"launches": "launch_calls"}
"""What may be limited, and the measure that it limits."""
FUSION_BUDGETS = ("latency_ratio", "latency")

_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}


def fits(name: str, pattern: str) -> bool:
    """Whether PATTERN means NAME: as a pattern, or letter by letter, since names have brackets of their own."""
    return name == pattern or fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a difference counts."""

    level: float = 0.01
    """The chance that one comparison of two equal builds finds anything, over all measures together."""
    min_effect: float = 0.05
    """The smallest relative change that counts."""
    drift: float = 0.01
    """How much runs of one build differ, as a relative standard deviation, where the runs at hand do not show more."""
    gap_floor_ns: int = 2_000
    """The smallest change of a time that counts, ns an execution; and at least `share_floor` of a run's time."""
    share_floor: float = 0.001
    ratio_floor: float = 0.01
    """The smallest change of a ratio that counts."""
    count_floor: float = 0.1
    """The smallest change of the mean of a count that varies."""
    min_instances: int = 8
    """Executions on either side that statistics need."""
    min_coverage: float = 0.95
    """The share of the work that must have its launch call in the trace, and of launched kernels that must be in it."""
    judge: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiver:
    """A regression that is accepted for a while."""

    id: str
    reason: str
    until: date

    def covers(self, identity: str) -> bool:
        """Whether IDENTITY (graph/measure) is meant."""
        return fits(identity, self.id)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a comparison is judged by."""

    thresholds: Thresholds = Thresholds()
    budgets: Mapping[str, float] = field(default_factory=dict)
    """Of every graph."""
    graphs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For names and patterns of graphs: thresholds that differ, and `budgets`."""
    waivers: tuple[Waiver, ...] = ()
    source: str | None = None
    """The file that it came from."""

    def of_graph(self, name: str) -> Thresholds:
        """The thresholds for a graph; of patterns that fit, the later one wins."""
        thresholds = self.thresholds
        for pattern, changes in self.graphs.items():
            if fits(name, pattern):
                thresholds = replace(thresholds, **{key: value for key, value in changes.items() if key != "budgets"})
                if "judge" in changes and "ignore" not in changes:  # judged here, though ignored elsewhere
                    left = tuple(key for key in thresholds.ignore if key not in thresholds.judge)
                    thresholds = replace(thresholds, ignore=left)
        return thresholds

    def budgets_of(self, name: str) -> dict[str, float]:
        """The budgets of a graph."""
        budgets = dict(self.budgets)
        for pattern, changes in self.graphs.items():
            if fits(name, pattern):
                budgets |= changes.get("budgets", {})
        return budgets

    def with_budgets(self, budgets: Mapping[str, float]) -> Policy:
        """These budgets too."""
        return replace(self, budgets={**self.budgets, **budgets})

    def to_dict(self) -> dict[str, Any]:
        """As in `advisor.comparison/1`."""

        def plain(value: Any) -> Any:
            return list(value) if isinstance(value, tuple) else value

        return {
            "source": self.source,
            **{entry.name: plain(getattr(self.thresholds, entry.name)) for entry in fields(Thresholds)},
            "budgets": dict(self.budgets),
            "graphs": {
                pattern: {key: plain(value) for key, value in changes.items()}
                for pattern, changes in self.graphs.items()
            },
        }


def find_policy(folder: Path) -> Path | None:
    """`advisor.toml`, or a `pyproject.toml` with `[tool.advisor.gate]`, in FOLDER."""
    own = folder / "advisor.toml"
    if own.is_file():
        return own
    project = folder / "pyproject.toml"
    return project if project.is_file() and _own_part(project) else None


def load_policy(path: Path | None) -> Policy:
    """The policy in a TOML file; the defaults without one.

    Raises:
        BadInput: The file cannot be read, or holds what is no policy.
    """
    if path is None:
        return Policy()
    table = _table(path)
    graphs = table.pop("graphs", {})
    waivers = table.pop("waivers", [])
    if not isinstance(graphs, dict) or not isinstance(waivers, list):
        raise BadInput(f'{path}: write [gate.graphs."NAME"] and [[gate.waivers]]')
    settings = _settings(table, str(path))
    budgets = settings.pop("budgets", {})
    return Policy(
        thresholds=replace(Thresholds(), **settings),
        budgets=budgets,
        graphs={str(name): _settings(changes, f"{path}, graph {name}") for name, changes in graphs.items()},
        waivers=tuple(_waiver(entry, path) for entry in waivers),
        source=str(path),
    )


def parse_budget(text: str) -> tuple[str, float]:
    """`gap_ratio=20%`, `launches=120`, `fusible_gap=50us`.

    Raises:
        BadInput: TEXT is no budget.
    """
    key, sign, value = text.partition("=")
    if not sign:
        raise BadInput(f"--budget {text!r}: write KEY=VALUE, for example gap_ratio=0.20 or launches=120")
    return key.strip(), _budget(key.strip(), value.strip(), "--budget")


def _table(path: Path) -> dict[str, Any]:
    """The table of settings in a file.

    Raises:
        BadInput: There is none, or there are settings outside of it, which would hold nothing.
    """
    part = _own_part(path)
    table = part.pop("gate", None)
    gate = "[tool.advisor.gate]" if path.name == "pyproject.toml" else "[gate]"
    if not isinstance(table, dict):
        raise BadInput(f"{path} has no {gate}")
    if part:
        raise BadInput(f"{path}: {', '.join(map(repr, part))} outside of {gate}: all settings stand in it")
    return table


def _own_part(path: Path) -> dict[str, Any]:
    """What a TOML file says to the advisor: all, or in a `pyproject.toml` what is under `[tool.advisor]`."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no TOML: it is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is no TOML: {error}") from None
    if path.name != "pyproject.toml":
        return document
    tools = document.get("tool", {})
    part = tools.get("advisor", {}) if isinstance(tools, dict) else {}
    if not isinstance(part, dict):
        raise BadInput(f"{path}: write [tool.advisor.gate]")
    return part


_READ = {
    "level": "level",
    "min_effect": "share",
    "drift": "share",
    "gap_floor": "time",
    "share_floor": "share",
    "ratio_floor": "share",
    "count_floor": "number",
    "min_instances": "whole",
    "min_coverage": "share",
    "judge": "measures",
    "ignore": "measures",
    "budget": "budgets",
}


def _settings(table: Any, where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise BadInput(f"{where}: {table!r} is no table of settings")
    settings: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READ:
            raise BadInput(f"{where}: unknown key {key!r}: there are {', '.join([*_READ, 'graphs', 'waivers'])}")
        kind = _READ[key]
        if kind == "measures":
            settings[key] = _measures(value, f"{where}: {key}")
        elif kind == "level":
            settings[key] = check_level(_number(value, "share", f"{where}: {key}"), f"{where}: {key}")
        elif kind == "budgets":
            if not isinstance(value, dict):
                raise BadInput(f"{where}: write budget = {{ gap_ratio = 0.20 }}")
            settings["budgets"] = {name: _budget(name, limit, where) for name, limit in value.items()}
        else:
            name = f"{key}_ns" if kind == "time" else key
            settings[name] = _number(value, kind, f"{where}: {key}")
    both = [key for key in settings.get("judge", ()) if key in settings.get("ignore", ())]
    if both:
        raise BadInput(f"{where}: {', '.join(both)} cannot be judged and ignored")
    return settings


def check_level(level: float, where: str) -> float:
    """LEVEL, the chance of a false alarm, which no test can keep at 0: nothing would ever be red.

    Raises:
        BadInput: It is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise BadInput(f"{where} lies between 0 and 1, such as 0.01: {level:g} is no chance of a false alarm")
    return level


def _measures(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name in MEASURES for name in value):
        raise BadInput(f"{where} is a list of measures: {', '.join(MEASURES)}")
    return tuple(value)


def _budget(key: str, value: Any, where: str) -> float:
    if key in FUSION_BUDGETS:
        return _number(value, "time" if key == "latency" else "number", f"{where} {key}")
    if key not in BUDGETS:
        raise BadInput(f"{where}: no budget {key!r}: there are {', '.join([*BUDGETS, *FUSION_BUDGETS])}")
    kind = {Unit.NS: "time", Unit.RATIO: "share", Unit.COUNT: "number"}[MEASURES[BUDGETS[key]].unit]
    return _number(value, kind, f"{where} {key}")


def _number(value: Any, kind: str, where: str) -> float:
    """A number, `20%` for shares, `50us` for times (in ns)."""
    text = str(value).strip()
    unit = r"(s|ms|us|µs|ns)" if kind == "time" else r"(%?)" if kind == "share" else "()"
    match = re.fullmatch(rf"(\d+(?:\.\d*)?|\.\d+)\s*{unit}", text)
    if isinstance(value, bool) or match is None:
        example = {"time": "50us or 1.5ms", "share": "0.2 or 20%", "whole": "8"}.get(kind, "120")
        raise BadInput(f"{where}: {value!r} is not understood: write {example}")
    number = float(match[1])
    if kind == "time":
        return round(number * _NS[match[2]])
    if kind == "share":
        number = number / 100 if match[2] else number
        if number > 1:
            raise BadInput(f"{where}: {value!r} is more than 100 %: write 0.2 or 20%")
        return number
    return int(number) if kind == "whole" else number


def _waiver(entry: Any, path: Path) -> Waiver:
    if not isinstance(entry, dict) or set(entry) != {"id", "reason", "until"}:
        raise BadInput(f"{path}: a waiver has an id (graph/measure), a reason and until (a date), and nothing else")
    until = entry["until"]
    if isinstance(until, datetime):
        until = until.date()
    if not isinstance(until, date):
        raise BadInput(f"{path}: waiver {entry['id']!r}: until is a date without quotes, such as 2027-01-31")
    if not str(entry["reason"]).strip():
        raise BadInput(f"{path}: waiver {entry['id']!r} has no reason")
    return Waiver(str(entry["id"]), str(entry["reason"]).strip(), until)
