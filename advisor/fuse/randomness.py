"""Models that draw random numbers: two runs of one are not equal, so nothing can be told by comparing."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from advisor.errors import CannotDecide
from advisor.fuse.legality import label
from advisor.fuse.scope import Facts, Scope
from advisor.measure.session import CPU

if TYPE_CHECKING:
    from pathlib import Path

    import onnx_ir as ir

__all__ = ["RANDOM", "check_draws_nothing", "drawing"]

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def drawing(model: ir.Model) -> ir.Node | None:
    """A node of MODEL, of its bodies or functions, that draws random numbers.

    Also where it has a seed: ONNX Runtime goes on from run to run. A Dropout does where it is in training, or where
    only the run tells.
    """
    scope = Scope(model.graph, model, CPU, Facts(model))
    nodes = chain(model.graph.all_nodes(), *(function.all_nodes() for function in model.functions.values()))
    return next((node for node in nodes if not node.domain and _draws(node, scope)), None)


def check_draws_nothing(model: ir.Model, path: Path) -> None:
    """Refuse a model, read from PATH, that draws random numbers.

    Raises:
        CannotDecide: It does.
    """
    if (node := drawing(model)) is not None:
        raise CannotDecide(
            f"{path} draws random numbers ({label(node)}): no two runs of it are equal, so nothing can be proven"
        )


def _draws(node: ir.Node, scope: Scope) -> bool:
    if node.op_type != "Dropout":
        return node.op_type in RANDOM
    training = node.inputs[2] if len(node.inputs) > 2 else None
    if training is None:
        return False
    tensor = scope.default(training)
    return tensor is None or bool(tensor.numpy().any())
