"""Another library's optimiser, run in a process of its own: a crash or a hang there is a line in the report here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import onnx_ir as ir

import advisor
from advisor.errors import BadInput
from advisor.fuse.model import INLINE_LIMIT, SOURCE, load, serialised
from advisor.fuse.rewrite import Site, label
from advisor.fuse.scope import OVERRIDABLE_SINCE
from advisor.fuse.transform import Applied, NotApplicable
from advisor.words import plain

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REASON", "Optimizer"]

PATIENCE_S = 90.0
"""How long an optimiser may take: six times what the slowest of eight real models took (a GPT-2 of 198 MB)."""
REASON = "reason.txt"
"""File beside the result in which the process says why there is none."""
LONGEST = 200
"""Characters of a reason."""
DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""Operator sets that every ONNX Runtime has, and that mean the same on every machine."""


@dataclass(frozen=True)
class Optimizer:
    """An optimiser as a transform.

    Attributes:
        id: Short, stable name.
        package: What has to be installed, as it is imported.
        description: One sentence for people.
        module: Module of this project whose `optimize` calls it, on an onnx.ModelProto.
        patience_s: Seconds after which it is stopped.
        family: Where reports put it.
    """

    id: str
    package: str
    description: str
    module: str
    patience_s: float = PATIENCE_S
    family: Literal["optimizer"] = "optimizer"

    def check(self) -> None:
        """Raise NotApplicable where the library is missing, without running it."""
        if find_spec(self.package) is None:
            advice = "pip install 'fusion-advisor[optimizers]'"
            raise NotApplicable(f"{self.package} is not installed: {advice}", is_missing=True)

    def within(self, seconds: float) -> Optimizer:
        """The same, stopped after SECONDS at most."""
        return replace(self, patience_s=min(seconds, self.patience_s))

    def apply(self, model: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        """Give the optimised model; its one site names the nodes of MODEL that are gone.

        Raises:
            NotApplicable: The library is missing, failed, or gave something that cannot stand in the model's place.
        """
        self.check()
        result = self._run(model, provider)
        gone = _gone(model, result)
        if not gone:
            return Applied(model, ())
        site = Site(self.id, self.family, gone, model.graph.outputs[0].name or "", "applied", "")
        return Applied(result, (site,)) if accept(site) else Applied(model, ())

    def _run(self, model: ir.Model, provider: str) -> ir.Model:
        weights = sum(value.const_value.nbytes for value in _weights(model) if value.const_value is not None)
        if weights > INLINE_LIMIT:
            raise NotApplicable("it takes no model of more than 2 GB")
        with tempfile.TemporaryDirectory(prefix="advisor-") as name:
            folder = Path(name)
            given, result = folder / "model.onnx", folder / "result.onnx"
            given.write_bytes(serialised(model))
            self._call(folder, [self.module, str(given), str(result), provider])
            try:
                optimised = load(result)
            except BadInput as error:
                raise NotApplicable(f"its result is no valid model: {str(error).replace(name, '')}") from None
        _fit(optimised, model)
        return optimised

    def _call(self, folder: Path, arguments: list[str]) -> None:
        """Run the optimiser and wait; whatever it prints is dropped."""
        paths = [str(Path(advisor.__file__).parents[1]), os.environ.get("PYTHONPATH")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        command = [sys.executable, "-m", "advisor.fuse.optimizers.run", *arguments]
        try:
            code = subprocess.run(  # noqa: S603 - this program itself
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self.patience_s,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            advice = " (a larger --budget tells)" if self.patience_s < PATIENCE_S else ""
            reason = f"it took longer than {self.patience_s:.0f} s and was stopped{advice}"
            raise NotApplicable(reason, is_unfinished=True) from None
        if code < 0:
            raise NotApplicable(f"it crashed ({signal.Signals(-code).name})")
        if (folder / REASON).exists():
            reason = plain((folder / REASON).read_text(encoding="utf-8"))[:LONGEST]
            raise NotApplicable(reason)
        if code or not (folder / "result.onnx").exists():
            raise NotApplicable(f"it ended with exit code {code} and no result")


def _weights(model: ir.Model) -> list[ir.Value]:
    return [value for graph in model.graphs() for value in graph.initializers.values()]


def _inputs(model: ir.Model) -> list[ir.Value]:
    """What callers give; before IR version 4, weights are listed as inputs too, but nobody may give them."""
    overridable = model.ir_version >= OVERRIDABLE_SINCE
    return [value for value in model.graph.inputs if overridable or not value.is_initializer()]


def _fit(optimised: ir.Model, original: ir.Model) -> None:
    """Give OPTIMISED the original's declared shapes, origin and tensors, or say why it cannot stand in its place."""
    foreign = {node.domain for graph in optimised.graphs() for node in graph} - set(original.opset_imports) - DOMAINS
    own = {domain for domain, _, _ in optimised.functions}
    if foreign - own:
        raise NotApplicable(f"its result uses operators of {', '.join(sorted(foreign - own))}, which is not portable")
    for kind, before, after in (
        ("inputs", _inputs(original), _inputs(optimised)),
        ("outputs", original.graph.outputs, optimised.graph.outputs),
    ):
        if [(value.name, value.type) for value in before] != [(value.name, value.type) for value in after]:
            raise NotApplicable(f"it changes the names, order or types of the model's {kind}")
        for old, new in zip(before, after, strict=True):
            if old.shape is not None and new.shape is not None and len(old.shape) != len(new.shape):
                raise NotApplicable(f"it changes the rank of '{old.name}'")
            new.shape = old.shape
    defaults = [{v.name for v in _inputs(m) if v.is_initializer()} for m in (original, optimised)]
    if defaults[0] != defaults[1]:
        raise NotApplicable("it takes away the default of an input")
    optimised.graph.meta[SOURCE] = original.graph.meta.get(SOURCE)
    if optimised.graph.meta[SOURCE] is None:
        del optimised.graph.meta[SOURCE]
    for name, value in optimised.graph.initializers.items():
        # Most weights are the same: one copy in memory serves all candidates.
        known = original.graph.initializers.get(name)
        if known is not None and known.const_value is not None and value.const_value is not None:
            old_tensor, new_tensor = known.const_value, value.const_value
            same = old_tensor.dtype == new_tensor.dtype and old_tensor.shape == new_tensor.shape
            if same and old_tensor.dtype != ir.DataType.STRING and old_tensor.tobytes() == new_tensor.tobytes():
                value.const_value = old_tensor


def _gone(before: ir.Model, after: ir.Model) -> tuple[str, ...]:
    """The nodes of BEFORE that AFTER has no longer: none there computes a value of that name by that operator."""
    present = {(node.op_type, value.name) for node in after.graph.all_nodes() for value in node.outputs}
    nodes = [node for node in before.graph.all_nodes() if node.op_type != "Constant"]
    names = Counter(node.name for node in nodes if node.name)
    return tuple(
        label(node, names)
        for node in nodes
        if not any((node.op_type, value.name) in present for value in node.outputs if value.name)
    )
