"""A model's nodes as a trace shows them: by the names that ONNX Runtime gives them, and in the order that it runs them.

ONNX Runtime calls a node without a name by its operator and its number in the graph, constants not counted. While it
loads a model it fuses nodes by itself, and runs what is left in an order of its own.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnxruntime as ort  # type: ignore[import-untyped]

from advisor.fuse.model import runnable
from advisor.fuse.rewrite import label
from advisor.measure.session import CPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx_ir as ir

__all__ = ["ModelNodes"]

NO_KERNEL = frozenset({"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that put no work on a GPU: their output is their input under another shape."""
SHAPES = frozenset({"Shape", "Size"})
"""What is computed from these alone is computed on the host."""


@dataclass(frozen=True)
class ModelNodes:
    """The nodes of a model, those of bodies of If, Loop and Scan included, constants not.

    Attributes:
        model: The model.
        nodes: Its nodes, graph by graph.
        labels: How reports name each.
    """

    model: ir.Model
    nodes: tuple[ir.Node, ...]
    labels: tuple[str, ...]

    @staticmethod
    def of(model: ir.Model) -> ModelNodes:
        """The nodes of MODEL, which is only read."""
        every = [node for graph in model.graphs() for node in graph]
        names = Counter(node.name for node in every if node.name)
        nodes = tuple(node for node in every if node.op_type != "Constant")
        return ModelNodes(model, nodes, tuple(label(node, names) for node in nodes))

    def find(self, name: str, op_type: str | None) -> int | None:
        """The node that ONNX Runtime calls NAME; None where there is none, or several, or it is another operator."""
        found = self._by_name.get(name, ())
        if len(found) != 1 or op_type not in {None, self.nodes[found[0]].op_type}:
            return None
        return found[0]

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        number: Counter[int] = Counter()
        for place, node in enumerate(self.nodes):
            owner = id(node.graph)
            index.setdefault(node.name or f"{node.op_type}_{number[owner]}", []).append(place)
            number[owner] += 1
        return index

    def named(self, *, on_gpu: bool) -> Iterator[set[tuple[str, str | None]]]:
        """Name and operator of the nodes that may run: those of the file, then what ONNX Runtime makes of them.

        Args:
            on_gpu: Leave out what puts no work on a GPU.
        """

        def kept(op_type: str) -> bool:
            return not (on_gpu and op_type in NO_KERNEL | SHAPES)

        yield {
            (name, self.nodes[place].op_type)
            for name, places in self._by_name.items()
            for place in places
            if kept(self.nodes[place].op_type)
        }
        name_of = {place: name for name, places in self._by_name.items() for place in places}
        for graph in self._optimised:
            named = ((node.name or name_of.get(self._place(node), ""), node.op_type) for node in graph.node)
            yield {(name, op_type) for name, op_type in named if kept(op_type)}

    def _place(self, node: onnx.NodeProto) -> int:
        """The place in `nodes` of one that ONNX Runtime left as it was, with operator and output; -1: none."""
        return self._by_output.get((node.op_type, node.output[0]), -1)

    @cached_property
    def _by_output(self) -> dict[tuple[str, str | None], int]:
        return {(node.op_type, node.outputs[0].name): place for place, node in enumerate(self.nodes)}

    @cached_property
    def _optimised(self) -> tuple[onnx.GraphProto, ...]:
        """What ONNX Runtime makes of the model, without and with layouts of the CPU; none if it does not load it."""
        try:
            return tuple(_optimise(self.model, level) for level in ("ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"))
        except Exception:  # ONNX Runtime's own; the search says why
            return ()

    def in_file_order(self) -> tuple[tuple[str, int], ...]:
        """What the main graph puts on a GPU, as it stands in the file: operator, and place in `nodes`."""
        main = [(place, node) for place, node in enumerate(self.nodes) if node.graph is self.model.graph]
        steps = [
            (
                node.op_type,
                place,
                [value.name or "" for value in node.inputs if value is not None and not _is_constant(value)],
                [value.name or "" for value in node.outputs],
            )
            for place, node in main
        ]
        return _on_device(steps)

    def as_executed(self) -> tuple[tuple[str, int], ...]:
        """The same of what ONNX Runtime makes of the main graph; -1 for nodes that it made itself."""
        if not self._optimised:
            return ()
        graph = self._optimised[0]
        constants = {tensor.name for tensor in graph.initializer}
        constants |= {name for node in graph.node if node.op_type == "Constant" for name in node.output}
        steps = [
            (
                node.op_type,
                self._place(node),
                [name for name in node.input if name and name not in constants],
                list(node.output),
            )
            for node in graph.node
            if node.op_type != "Constant"
        ]
        return _on_device(steps)


def _is_constant(value: ir.Value) -> bool:
    producer = value.producer()
    return value.is_initializer() or (producer is not None and producer.op_type == "Constant")


def _on_device(steps: list[tuple[str, int, list[str], list[str]]]) -> tuple[tuple[str, int], ...]:
    """Without what the host computes, and what computes nothing; steps are operator, place, inputs and outputs."""
    on_host: set[str] = set()
    kept = []
    for op_type, place, inputs, outputs in steps:
        if op_type in SHAPES or (inputs and on_host.issuperset(inputs)):
            on_host.update(outputs)
        elif op_type not in NO_KERNEL:
            kept.append((op_type, place))
    return tuple(kept)


def _optimise(model: ir.Model, level: str) -> onnx.GraphProto:
    """What ONNX Runtime makes of MODEL at LEVEL, in the order that it runs it.

    Made on the CPU, as every machine can: for a GPU it may fuse a little more or less.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder, runnable(model) as source:
        path = Path(folder, "executed.onnx")
        options.optimized_model_filepath = str(path)
        # Weights are not needed here, and those over 2 GB do not fit into the file.
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights.data")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
        given = source if isinstance(source, bytes) else str(source)
        ort.InferenceSession(given, options, providers=[CPU], enable_fallback=0)
        return onnx.load(path, load_external_data=False).graph
