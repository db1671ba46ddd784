"""Units tried on a part of the model: a cheap proof and a cheap race, where the whole model takes long.

One run of the original, with optimisation off and under ONNX Runtime's profiler, gives what the parts read and how long
each node takes. A part is cut around one place of a unit, and is raced with and without the fusion, both at
ORT_ENABLE_ALL.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.fuse.compose import compose
from advisor.fuse.cutout import HEAVY, Cutter
from advisor.fuse.departure import exposing
from advisor.fuse.transform import Applied, NotApplicable
from advisor.fuse.units import accepting
from advisor.measure.session import NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import onnx_ir as ir

    from advisor.fuse.bench import Bench
    from advisor.fuse.cutout import Cutout
    from advisor.fuse.units import Unit
    from advisor.fuse.verify import Verification
    from advisor.measure.latency import PairedLatency

__all__ = ["Screened", "Screening"]

PROFILED_RUNS = 3
"""The first, which pays for memory and threads, does not count."""
RESOLUTION = 0.01
NODE_TIME = "_kernel_time"


@dataclass(frozen=True)
class Screened:
    """A unit on a part of the model.

    Attributes:
        verification: The part with the fusion, compared with the unoptimised original.
        latency: Its race against the part without; None where it failed.
        sites: How many places of the unit the part holds.
    """

    verification: Verification
    latency: PairedLatency | None
    sites: int

    def saving_ns(self, places: int) -> float:
        """What PLACES such places save a run, ns; negative where they cost."""
        if self.latency is None:
            return 0.0
        return self.latency.baseline_ns * (1 - self.latency.ratio.ratio) / self.sites * places


class Screening:
    """Parts of one model, cut around the places of units."""

    def __init__(self, original: ir.Model, bench: Bench, *, path: Path) -> None:
        """Cut nothing yet; ORIGINAL is only read."""
        self._bench, self._path = bench, path
        self._cutter = Cutter(original, provider=bench.provider)
        self._parts: dict[tuple[str, str], Cutout] = {}
        """By candidate and group."""
        self._values: dict[str, Any] = {}
        self._times: dict[ir.Node, float] = {}

    def prepare(self, units: Sequence[Unit]) -> None:
        """Cut a part for each of UNITS, of one group each, where one can be, and run the original once for all."""
        for unit in units:
            cuts = (self._cutter.cut(self._cutter.around(site.nodes)) for site in unit.sites)
            part = next((cut for cut in cuts if cut is not None), None)
            if part is not None:
                self._parts[unit.candidate.id, unit.groups[0]] = part
        computed = {value.name for node in self._cutter.model.graph for value in node.outputs}
        wanted = {name for part in self._parts.values() for name in part.inputs}
        feed = self._bench.feed
        self._values = dict(feed)
        names = [name for name in computed if name in wanted]
        with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
            subject = exposing(self._cutter.model, names, also_outputs=True)
            try:
                session = self._bench.open_unoptimised(subject, profile=Path(folder, "nodes"))
                for _ in range(PROFILED_RUNS):
                    self._values |= run(session, feed)
            except NotRunnable:  # with these values as outputs: then nothing is known, and the whole model decides
                self._parts.clear()
                return
            self._times = self._read(Path(session.end_profiling()))

    def share(self, unit: Unit, *, heavy: float = 1.0) -> float | None:
        """The share of a run that UNIT's nodes take with what lies around them; None where that is not known.

        With optimisation off, since only then every node keeps its name. What lies between the places and the next
        heavy nodes counts, because a fusion may decide what ONNX Runtime makes of it: so it is the most that can be
        gained or lost there.

        Args:
            unit: What to look at.
            heavy: How much of the time of heavy nodes counts.
        """
        whole = sum(self._times.values())
        regions = [(self._cutter.around(site.nodes), site) for site in unit.sites]
        if not whole or not regions or not all(region for region, _ in regions):
            return None
        own = {name for _, site in regions for name in site.nodes}
        labels = self._cutter.labels
        counted = {
            node for region, _ in regions for node in region if node.op_type not in HEAVY or labels.get(node) in own
        }
        parts = (self._times.get(node, 0.0) * (heavy if node.op_type in HEAVY else 1.0) for node in counted)
        return sum(parts) / whole

    def race(self, unit: Unit, *, seconds: float) -> Screened | None:
        """Prove and race UNIT on its part, for about SECONDS; None where no part tells."""
        parts = (self._parts.get((unit.candidate.id, group)) for group in unit.groups)
        part = next((each for each in parts if each is not None), None)
        if part is None or not all(isinstance(self._values.get(name), np.ndarray) for name in part.inputs):
            return None
        fused = self._fused(unit, part)
        if fused is None:
            return None
        places = sum(site.status == "applied" for site in fused.sites)
        feed = {name: self._values[name] for name in part.inputs}
        try:
            bench = self._bench.part(part.model, feed, name=self._path)
        except (BadInput, CannotDecide):
            return None
        verification = bench.verify(fused, final=False)
        if not verification.passed:
            return Screened(verification, None, places)
        return Screened(verification, bench.measure(fused, seconds=seconds, resolution=RESOLUTION), places)

    def _fused(self, unit: Unit, part: Cutout) -> Applied | None:
        """PART with the places of UNIT that lie in it; None where there are none.

        Where only the whole model shows that they are legal, the part is cut out of that with them.
        """
        is_wanted = accepting([unit])
        try:
            fused = compose(part.model, [unit.candidate], provider=self._bench.provider, accept=is_wanted)
            if any(site.status == "applied" for site in fused.sites):
                return fused
            whole = compose(
                self._cutter.model,
                [unit.candidate],
                provider=self._bench.provider,
                accept=lambda site: is_wanted(site) and part.nodes.issuperset(site.nodes),
            )
        except NotApplicable:
            return None
        sites = tuple(site for site in whole.sites if site.status == "applied")
        model = self._cutter.between(part, whole.model) if sites else None
        return None if model is None else Applied(model, sites, whole.libraries)

    def _read(self, profile: Path) -> dict[ir.Node, float]:
        """Time of each node of the model in a run, µs."""
        rows: Iterable[dict[str, Any]] = json.loads(profile.read_bytes())
        nodes = self._cutter.nodes
        runs: dict[ir.Node, list[float]] = {}
        for row in rows:
            name = str(row.get("name", ""))
            if row.get("cat") == "Node" and name.endswith(NODE_TIME):
                place = nodes.find(name.removesuffix(NODE_TIME), row["args"].get("op_name"))
                if place is not None:
                    runs.setdefault(nodes.nodes[place], []).append(float(row["dur"]))
        return {
            node: sum(times[len(times) // PROFILED_RUNS :]) / (PROFILED_RUNS - 1)
            for node, times in runs.items()
            if len(times) >= PROFILED_RUNS
        }
