"""The transform that compiles groups of element-wise operators and reductions into kernels of a custom-op library."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import onnx_ir as ir

from advisor.errors import BadInput
from advisor.fuse.edits import remove, unique
from advisor.fuse.kernels.expression import DOMAIN
from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.groups import find_groups
from advisor.fuse.kernels.traffic import traffic
from advisor.fuse.legality import dims_text
from advisor.fuse.rewrite import Site, label
from advisor.fuse.scope import Facts, Scope
from advisor.fuse.transform import Applied, NotApplicable
from advisor.measure.session import CPU, CUDA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from advisor.fuse.kernels.expression import Expression
    from advisor.fuse.kernels.groups import Group
    from advisor.fuse.rule import Family

__all__ = ["GENERATED", "Generated", "compiled_in", "groups_of"]


class Generated:
    """Groups of nodes, each compiled into one kernel.

    Every group is offered as large as it may be; where that is turned down, what its nodes give without reductions is
    offered in its place, so that a search can choose between the two by measurement.
    """

    id: Final = "generated"
    family: Family = "elementwise"
    description: Final = "chains of element-wise operators and reductions become one compiled kernel each"

    def apply(self, model: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        """Compile the groups that ACCEPT takes into one library, in a folder that lasts as long as this process.

        Raises:
            NotApplicable: Kernels cannot be compiled for this system or provider, or were not.
        """
        _check(provider)
        on_gpu = provider == CUDA
        sites: list[Site] = []
        expressions: dict[str, Expression] = {}
        names = Counter(node.name for graph in model.graphs() for node in graph if node.name)
        facts = Facts(model)
        for graph in list(model.graphs()):
            scope = Scope(graph, model, provider, facts)
            written: dict[ir.Value, ir.Value] = {}
            offered = _offered(scope, names, accept)
            if not offered:
                continue
            flow = Flow(graph)
            sites += [replace(site, traffic=traffic(group, scope, flow)) for group, site in offered]
            for group, _ in offered:
                expressions[group.expression.name] = group.expression
                _replace(group, scope, names, written)
            if written:
                graph.sort()  # what reads an output may have stood between the nodes of a group
        if not expressions:
            return Applied(model, ())
        library = _library(frozenset(expressions.values()), on_gpu)
        model.opset_imports.setdefault(DOMAIN, 1)
        return Applied(model, tuple(sites), (library,))


GENERATED = Generated()


def groups_of(model: ir.Model, provider: str = CPU) -> Iterator[tuple[Group, Scope]]:
    """Every group of a model, as large as it may be, with the graph that it lies in."""
    facts = Facts(model)
    for graph in model.graphs():
        scope = Scope(graph, model, provider, facts)
        for group in find_groups(scope):
            yield group, scope


def _check(provider: str) -> None:
    """Refuse what no library can be made for."""
    if provider not in {CPU, CUDA}:
        raise NotApplicable(f"kernels are compiled for {CPU} and {CUDA}, not for {provider}", is_missing=True)
    try:
        from advisor.fuse.kernels.library import here

        here()
        import_module("llvmlite")
    except ImportError as error:
        raise NotApplicable(f"kernels are compiled by llvmlite: {error}", is_missing=True) from None
    except BadInput as error:
        raise NotApplicable(str(error), is_missing=True) from None


def _offered(scope: Scope, names: Counter[str], accept: Callable[[Site], bool]) -> list[tuple[Group, Site]]:
    """The groups to replace: the accepted ones and, of the nodes of those turned down, smaller ones."""
    offered = [(group, _site(group, scope, names)) for group in find_groups(scope)]
    accepted = [(group, site) for group, site in offered if accept(site)]
    taken = {node for group, _ in accepted for node in group.nodes}
    left = {node for group, _ in offered if group.expression.reduced for node in group.nodes if node not in taken}
    if left:
        smaller = [(group, _site(group, scope, names)) for group in find_groups(scope, reductions=False, within=left)]
        accepted += [(group, site) for group, site in smaller if accept(site)]
    return accepted


def _site(group: Group, scope: Scope, names: Counter[str]) -> Site:
    shapes = " ".join(dims_text(scope.shape(value)) for value in group.inputs)
    return Site(
        rule=Generated.id,
        family="reduction" if group.expression.reduced else "elementwise",
        nodes=tuple(label(node, names) for node in group.nodes),
        value=group.outputs[-1].name or "",
        status="applied",
        reason="",
        group=f"{group.expression.name} {shapes}",
    )


def _replace(group: Group, scope: Scope, names: Counter[str], written: dict[ir.Value, ir.Value]) -> None:
    """Put one node in the place of a group; it takes over the names and users of the outputs.

    Args:
        group: The group, as it was found in the unchanged graph.
        scope: The graph.
        names: Of nodes; the new one is added.
        written: What stands in the place of the outputs of groups; this one's are added.
    """
    last = group.nodes[-1]
    outputs = [ir.Value(type=_type(value, scope), shape=_shape(value, scope)) for value in group.outputs]
    inputs = [written.get(value, value) for value in group.inputs]
    node = ir.Node(DOMAIN, group.expression.name, inputs, outputs=outputs)
    node.name = unique(f"{last.name or group.outputs[-1].name}/{group.expression.name}", names)
    scope.graph.insert_after(last, node)
    for old, new in zip(group.outputs, outputs, strict=True):
        name = old.name
        new.doc_string = old.doc_string
        new.metadata_props.update(old.metadata_props)
        old.replace_all_uses_with(new, replace_graph_outputs=True)
        old.name, new.name = None, name
        written[old] = new
    remove(group.nodes)


def _type(value: ir.Value, scope: Scope) -> ir.TypeProtocol | None:
    dtype = scope.dtype(value)
    return value.type if dtype is None else ir.TensorType(dtype)


def _shape(value: ir.Value, scope: Scope) -> ir.Shape | None:
    """What a model declares of its outputs, else what is certain: a custom operator's output has no inferred shape.

    What a body declares of its outputs may be stale, and ONNX Runtime would hold the kernel to it.
    """
    if value.is_graph_output() and scope.graph is scope.model.graph:
        return value.shape
    dims = scope.shape(value)
    return None if dims is None else ir.Shape(dims)


class _Folder:
    """Libraries of this process."""

    @cached_property
    def path(self) -> Path:
        """The folder; it is removed when the process ends."""
        self._folder = tempfile.TemporaryDirectory(prefix="advisor-kernels-")
        return Path(self._folder.name)


_FOLDER = _Folder()


@cache
def _library(expressions: frozenset[Expression], on_gpu: bool) -> Path:
    """The library of these expressions; its operators run on the CPU and, if wanted, on GPUs too.

    Raises:
        NotApplicable: It was not compiled.
    """
    from advisor.fuse.kernels.library import NotCompiled, build_library, ptx_kernels

    ordered = _ordered(expressions)
    start = time.perf_counter()
    try:
        data = build_library(ordered, ptx=ptx_kernels(ordered) if on_gpu else None)
    except NotCompiled as error:
        raise NotApplicable(str(error), is_unfinished=True) from None
    except BadInput as error:
        raise NotApplicable(str(error)) from None
    path = _FOLDER.path / f"{hashlib.sha256(data).hexdigest()[:16]}.so"
    if not path.exists():
        path.write_bytes(data)
    _COMPILED_S[path] = time.perf_counter() - start
    return path


_COMPILED_S: dict[Path, float] = {}


def compiled_in(library: Path) -> float:
    """How long it took to make a library of this process, s."""
    return _COMPILED_S[library]


def _ordered(expressions: Iterable[Expression]) -> list[Expression]:
    return sorted(expressions, key=lambda expression: expression.name)
