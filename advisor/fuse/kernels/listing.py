"""Kernels for people to read: the LLVM IR of each operator by itself, and of all of them as one."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.fuse.kernels.cpu import kernel_module
from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.generated import groups_of
from advisor.fuse.kernels.groups import express
from advisor.fuse.kernels.library import ARCHITECTURES, here
from advisor.fuse.kernels.traffic import traffic
from advisor.fuse.kernels.view import PLAIN, copies_nothing
from advisor.fuse.legality import dims_text
from advisor.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx_ir as ir

    from advisor.fuse.kernels.expression import Expression, Input
    from advisor.fuse.kernels.groups import Group
    from advisor.fuse.scope import Scope

__all__ = ["group_listing", "list_groups"]

LEVEL = {"x86_64": "v3", "aarch64": "v8"}
"""The level of CPUs that is shown."""


def list_groups(model: ir.Model, width: int = 80) -> str:
    """The groups of a model, numbered from 1, on so many columns: operators, inputs, outputs, what is saved."""
    flow = cache(Flow)  # of a graph, which many groups share
    groups = enumerate(groups_of(model), 1)
    lines = [_summary(number, group, scope, flow(scope.graph), width) for number, (group, scope) in groups]
    return "\n".join(lines) or _wrapped("no group: nothing in this model would become a generated kernel", width)


def group_listing(model: ir.Model, chosen: str, width: int = 80) -> str:
    """The IR of one group, by number or name, before fusion, and after fusion and optimisation.

    What is not IR takes at most WIDTH columns.

    Raises:
        BadInput: There is no such group.
    """
    groups = list(groups_of(model))
    for number, (group, scope) in enumerate(groups, 1):
        if chosen in {str(number), group.expression.name}:
            return "\n".join(_listing(number, group, scope, width))
    raise BadInput(f"no group {chosen!r}: there are {len(groups)}; without one, they are listed")


def _wrapped(text: str, width: int, *, indent: str = "", first: str | None = None) -> str:
    """TEXT on lines that begin with INDENT, the first one with FIRST; names stay whole."""
    return textwrap.fill(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(number: int, group: Group, scope: Scope, flow: Flow, width: int) -> str:
    saved = traffic(group, scope, flow)
    shapes = ", ".join(
        _seen(value, tensor, scope) for value, tensor in zip(group.inputs, group.expression.inputs, strict=True)
    )
    operators = " ".join(node.op_type for node in group.nodes)
    what = _wrapped(f"{group.expression.name}  {operators}", width, indent=" " * 5, first=f"{number:3}  ")
    effect = (
        f"reads {shapes}; per element {saved.loads_before} → {saved.loads_after} loads, {saved.stores_before} →"
        f" {saved.stores_after} stores"
    )
    effect += f"; {counted(saved.kernels_saved, 'kernel')} fewer" if saved.kernels_saved else ""
    return f"{what}\n{_wrapped(effect, width, indent=' ' * 5)}"


def _seen(value: ir.Value, tensor: Input, scope: Scope) -> str:
    """The shape of an input and, where the kernel sees it otherwise, that one."""
    dims, view = scope.shape(value), tensor.view
    seen = None if dims is None else view.sizes(tuple("?" if dim is None else dim for dim in dims))
    if view == PLAIN or seen is None:
        return dims_text(dims)
    part = f" from {view.start} on" if view.is_part else ""
    return f"{dims_text(dims)} as {dims_text(tuple(None if isinstance(size, str) else size for size in seen))}{part}"


def _listing(number: int, group: Group, scope: Scope, width: int) -> Iterator[str]:
    flow = Flow(scope.graph)
    yield _summary(number, group, scope, flow, width)
    nodes = [node for node in group.nodes if not copies_nothing(node)]
    alone = [express([node], scope, flow).expression for node in nodes]
    names = [f"{node.op_type} alone" for node in nodes]
    yield "\n" + _wrapped("==== before fusion: each operator by itself", width, indent="; ")
    for name, expression in zip(names, alone, strict=True):
        yield f"\n; ---- {name}\n{_function(kernel_module([expression], [LEVEL[here()]]), expression)}"
    yield "\n; ==== after fusion"
    yield _function(kernel_module([group.expression], [LEVEL[here()]]), group.expression)
    before, after = _optimised(alone), _optimised([group.expression])
    yield "\n; ==== after fusion and optimisation"
    yield "\n".join(after)
    yield "\n" + _wrapped("loads and stores in the optimised code, vector and scalar", width, indent="; ")
    yield _wrapped(f"before fusion: {_counts(before)}", width, indent=";     ", first=";   ")
    yield _wrapped(f"after fusion:  {_counts(after)}", width, indent=";     ", first=";   ")


def _function(module: str, expression: Expression) -> str:
    """The fast variant of EXPRESSION in the text of MODULE."""
    return _functions(module, {f"{expression.name}_{LEVEL[here()]}"})[0]


def _functions(module: str, names: set[str]) -> list[str]:
    found = re.findall(r"^define [^@]*@\"?([\w.]+)\"?\(.*?^}", module, re.DOTALL | re.MULTILINE)
    texts = [match[0] for match in re.finditer(r"^define .*?^}", module, re.DOTALL | re.MULTILINE)]
    return [text for name, text in zip(found, texts, strict=True) if name in names]


def _optimised(expressions: Sequence[Expression]) -> list[str]:
    """The fast variants of EXPRESSIONS after LLVM's O3."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    unique = list(dict.fromkeys(expressions))
    target = ARCHITECTURES[here()]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, opt=3, reloc="pic")
    module = llvm.parse_assembly(kernel_module(unique, [LEVEL[here()]]))
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    text = str(module)
    by_name = {expression.name: _functions(text, {f"{expression.name}_{LEVEL[here()]}"})[0] for expression in unique}
    return [by_name[expression.name] for expression in expressions]


def _counts(functions: Sequence[str]) -> str:
    lines = [line for function in functions for line in function.splitlines()]
    counts = {
        (kind, word): sum(f"{word} " in line and (f"{word} <" in line) == (kind == "vector") for line in accesses)
        for word in ("load", "store")
        for accesses in [[line for line in lines if re.search(rf"(?:= |^\s*){word} ", line)]]
        for kind in ("vector", "scalar")
    }
    return ", ".join(f"{count} {kind} {word}s" for (kind, word), count in counts.items())
