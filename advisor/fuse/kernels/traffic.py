"""What a group saves: tensors that are no longer read and written, kernels that are no longer launched."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.groups import express
from advisor.fuse.kernels.view import copies_nothing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.fuse.kernels.groups import Group
    from advisor.fuse.scope import Scope

__all__ = ["Traffic", "total", "traffic"]


@dataclass(frozen=True)
class Traffic:
    """Reads and writes of memory for every element, and what else a group saves.

    Tensors with one value for a row are not counted. What a reduction reads again from the cache is not, either.

    Attributes:
        loads_before: Tensors that the nodes read, one by one.
        stores_before: Tensors that they write.
        loads_after: Tensors that the kernel reads.
        stores_after: Tensors that it writes.
        kernels_saved: Launches that are saved.
        bytes_saved: Bytes of intermediate tensors that are no longer written; None where a shape is not certain.
    """

    loads_before: int
    stores_before: int
    loads_after: int
    stores_after: int
    kernels_saved: int
    bytes_saved: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def total(parts: Iterable[Traffic]) -> Traffic:
    """What several groups save together."""
    listed = list(parts)
    sizes = [part.bytes_saved for part in listed]
    return Traffic(
        loads_before=sum(part.loads_before for part in listed),
        stores_before=sum(part.stores_before for part in listed),
        loads_after=sum(part.loads_after for part in listed),
        stores_after=sum(part.stores_after for part in listed),
        kernels_saved=sum(part.kernels_saved for part in listed),
        bytes_saved=None if None in sizes else sum(size for size in sizes if size is not None),
    )


def traffic(group: Group, scope: Scope, flow: Flow | None = None) -> Traffic:
    """What GROUP saves in the graph of SCOPE, whose FLOW may be given where it is known."""
    flow = flow or Flow(scope.graph)
    nodes = [node for node in group.nodes if not copies_nothing(node)]
    alone = [express([node], scope, flow) for node in nodes]
    inner = [value for node in nodes for value in node.outputs if value.uses() and value not in group.outputs]
    sizes: list[int | None] = []
    for value in inner:
        dims, dtype = scope.shape(value), scope.dtype(value)
        known = [dim for dim in dims or () if dim is not None]
        is_known = dims is not None and dtype is not None and len(known) == len(dims)
        sizes.append(int(prod(known) * dtype.itemsize) if is_known and dtype is not None else None)
    return Traffic(
        loads_before=sum(single.loads for single in alone),
        stores_before=sum(single.stores for single in alone),
        loads_after=group.loads,
        stores_after=group.stores,
        kernels_saved=len(nodes) - 1,
        bytes_saved=None if None in sizes else sum(size for size in sizes if size is not None),
    )
