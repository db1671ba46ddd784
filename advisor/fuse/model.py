"""An ONNX model in memory: read, copied, written, handed to ONNX Runtime.

Weights in external data files stay on disk until someone reads them.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir

from advisor.errors import BadInput
from advisor.fuse.weights import FILES, in_files
from advisor.output import staged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ModelFile", "clone", "count_nodes", "load", "opset", "read", "runnable", "save", "serialised"]

logging.getLogger("onnx_ir").addHandler(logging.NullHandler())  # what it warns of is refused, or needs no word

INLINE_LIMIT = 1_900_000_000
"""Bytes of weights that a model file holds itself; protobuf ends at 2 GiB, and the graph needs some of it."""
EXTERNAL_THRESHOLD = 256
"""Smaller tensors stay in the model file even when the others go to a data file, as in onnx and onnx-ir."""
DIGITS = 18
"""So many decimal digits at most has an offset or length of data that can exist."""
SOURCE = "advisor.source"
"""Key of a graph's `meta` store: the file that the model was read from. Never written into a model."""
RENAMED = "advisor.renamed"
"""Likewise: how many nodes got another name, since ONNX Runtime refuses the one that they had."""


@dataclass(frozen=True)
class ModelFile:
    """A model.

    Attributes:
        path: Its file; None where none was written.
        nodes: Its nodes, those of subgraphs included, constants not.
        opset: Its version of the standard operators.
        library: Custom-operator library that a session needs to load it; None where it needs none.
    """

    path: Path | None
    nodes: int
    opset: int
    library: Path | None = None


def load(path: Path) -> ir.Model:
    """Read the model in PATH.

    Nodes of one graph that have the same name get a number behind it: names of nodes mean nothing, but ONNX Runtime
    refuses a model where they are not unique. Nodes that stand before what they read are sorted, as ONNX Runtime does.

    Raises:
        BadInput: The file cannot be read, is no ONNX model, or needs a data file that is missing, too short, or outside
            of the model's folder.
    """
    proto = read(path)
    if not proto.opset_import or not proto.HasField("graph") or not proto.graph.output:
        raise BadInput(f"{path} is not an ONNX model (no graph with outputs in it)")
    if _has_sparse_weights(proto.graph):
        raise BadInput(f"{path} holds sparse initialisers, which cannot be rewritten: store them as dense ones")
    _check_types(proto.graph, path)
    _check_external(proto, path)
    try:
        model = ir.from_proto(proto)
    except Exception as error:  # onnx-ir wraps whatever went wrong in its own exceptions
        raise BadInput(f"{path} is not a valid ONNX model: {_innermost(error)}") from None
    folder = path.resolve().parent
    for tensor in _weights(model):
        if isinstance(tensor, ir.ExternalTensor):
            _locate(tensor, path, folder)
    for node, attribute in list(_constants(model)):
        tensor = attribute.as_tensor()
        if isinstance(tensor, ir.ExternalTensor):
            # Read now: onnx-ir moves initialisers between memory and data files, but not these few, small tensors.
            _locate(tensor, path, folder)
            node.attributes.add(ir.AttrTensor(attribute.name, ir.Tensor(tensor.numpy().copy(), dtype=tensor.dtype)))
    model.graph.meta[RENAMED] = _number_equal_names(model)
    _sort(model, path)
    model.graph.meta[SOURCE] = path.resolve()
    return model


def constant_tensor(node: ir.Node) -> ir.TensorProtocol | None:
    """The tensor that a Constant node gives; None where it is none, or an attribute of a function."""
    given = node.attributes.get("value")
    if given is not None and given.type is ir.AttributeType.TENSOR:
        tensor: ir.TensorProtocol | None = given.value  # onnx-ir checks this against a protocol, which takes long
        return tensor
    return ir.convenience.get_const_tensor(node.outputs[0])


def clone(model: ir.Model) -> ir.Model:
    """A copy that may be changed freely; the tensors, which nobody changes, are shared."""
    return model.clone()


def save(model: ir.Model, path: Path) -> tuple[Path, ...]:
    """Write MODEL to PATH, whole or not at all, and return the files written.

    Weights go to PATH.data beside it where the model came with external data or is too large for one file.

    Raises:
        BadInput: PATH cannot be written, or would replace a file that the model was read from.
    """
    data = path.with_name(f"{path.name}.data")
    external = [tensor for tensor in _weights(model) if isinstance(tensor, ir.ExternalTensor)]
    sources = {Path(tensor.path).resolve() for tensor in external}
    if SOURCE in model.graph.meta:
        sources.add(model.graph.meta[SOURCE])
    for target in (path, data):
        if target.resolve() in sources:
            raise BadInput(f"{target} belongs to the model that was read: write to another file")
    try:
        if not external and _bytes(model) <= INLINE_LIMIT:
            with staged(path) as part:
                part.write_bytes(ir.to_proto(model).SerializeToString())
            return (path,)
        # The data file is moved into place first: the model then never points at weights that are not there.
        with staged(path) as part, staged(data) as data_part:
            written = _with_external_weights(model, data_part, data.name)
            part.write_bytes(ir.to_proto(written).SerializeToString())
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from None
    return path, data


@contextmanager
def runnable(model: ir.Model) -> Iterator[bytes | Path]:
    """What `onnxruntime.InferenceSession` takes: the model's bytes, or, where it has large weights, a path.

    Sessions map large weights and do not copy them. The path is removed when the block ends; a session made in the
    block stays usable.
    """
    copy = clone(model)
    is_in_files = in_files(copy)
    data: bytes = ir.to_proto(copy).SerializeToString()
    if not is_in_files:
        yield data
        return
    path = FILES.unused()
    try:
        path.write_bytes(data)
        yield path
    finally:
        path.unlink(missing_ok=True)


def serialised(model: ir.Model) -> bytes:
    """MODEL in bytes, with all that it reads from data files; it has to have less than 2 GB."""
    data: bytes = ir.to_proto(ir.external_data.load_to_model(clone(model))).SerializeToString()
    return data


def count_nodes(model: ir.Model) -> int:
    """Operators in MODEL, those in bodies of If, Loop and Scan and in local functions included, constants not."""
    graphs = [model.graph, *(function.graph for function in model.functions.values())]
    return sum(node.op_type != "Constant" for graph in graphs for node in graph.all_nodes())


def opset(model: ir.Model) -> int:
    """Version of the standard operator set that MODEL imports; 0 where it uses none."""
    return model.opset_imports.get("", 0)


def read(path: Path) -> onnx.ModelProto:
    """What stands in PATH; weights in other files stay there.

    Raises:
        BadInput: It cannot be read, or is no ONNX model.
    """
    if path.is_dir():
        raise BadInput(f"{path} is a directory: name an ONNX file")
    try:
        with path.open("rb") as file:
            head = file.read(64)
        proto: onnx.ModelProto = onnx.load(path, load_external_data=False)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except Exception:  # protobuf's decoders and the text formats' parsers have an error each
        if head.startswith(b"version https://git-lfs"):
            raise BadInput(f"{path} is a Git LFS pointer, not the model: fetch it with git lfs pull") from None
        raise BadInput(f"{path} is not an ONNX model, or is cut off") from None
    return proto


def _has_sparse_weights(graph: onnx.GraphProto) -> bool:
    """Whether GRAPH or a body in it has sparse initialisers, which onnx-ir would drop."""
    bodies = (body for node in graph.node for attribute in node.attribute for body in (attribute.g, *attribute.graphs))
    return len(graph.sparse_initializer) > 0 or any(_has_sparse_weights(body) for body in bodies if body.node)


def _check_types(graph: onnx.GraphProto, path: Path) -> None:
    """Raise BadInput where something is a map, which only ZipMap of scikit-learn's converters makes."""
    for kind, values in (("output", graph.output), ("input", graph.input), ("value", graph.value_info)):
        for value in values:
            if _is_map(value.type):
                raise BadInput(
                    f"{path} has the {kind} {value.name!r}, which is a map: only tensors can be compared. Export it"
                    " without ZipMap (skl2onnx: options={'zipmap': False}; onnxmltools: zipmap=False)"
                )


def _is_map(kind: onnx.TypeProto) -> bool:
    """Whether KIND is a map, or a sequence or an optional of maps."""
    match kind.WhichOneof("value"):
        case "map_type":
            return True
        case "sequence_type":
            return _is_map(kind.sequence_type.elem_type)
        case "optional_type":
            return _is_map(kind.optional_type.elem_type)
    return False


def _check_external(proto: onnx.ModelProto, path: Path) -> None:
    """Raise BadInput where a tensor says no file, or no bytes in it; onnx-ir would stumble over that."""
    nodes = [*proto.graph.node, *(node for function in proto.functions for node in function.node)]
    for tensor in _stored(proto.graph.initializer, nodes):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if not entries.get("location"):
            raise BadInput(f"{path} keeps {tensor.name!r} in another file, but does not say in which: export it again")
        for key in ("offset", "length"):
            text = entries.get(key, "0")
            if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
                raise BadInput(
                    f"{path} gives {text[:40]!r} as the {key} of {tensor.name!r} in {entries['location']}, which is"
                    " no number of bytes: export it again"
                )


def _stored(initialisers: Iterable[onnx.TensorProto], nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    """INITIALISERS, and the tensors of NODES and of bodies in them."""
    yield from initialisers
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for body in (attribute.g, *attribute.graphs):
                yield from _stored(body.initializer, body.node)


def _innermost(error: BaseException) -> str:
    """First line of the error that others were raised from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _locate(tensor: ir.ExternalTensor, model: Path, folder: Path) -> None:
    """Bind TENSOR to FOLDER, and raise BadInput unless its bytes lie in a file there or below, links followed."""
    tensor.base_dir = folder
    target = Path(folder, tensor.location).resolve()
    if not target.is_relative_to(folder):
        raise BadInput(f"{model} keeps weights in {tensor.location}, outside of its folder: copy both into one folder")
    try:
        status = target.stat()
    except OSError:
        raise BadInput(f"{model} keeps weights in {tensor.location}, which is not beside it") from None
    if not target.is_file():
        raise BadInput(f"{model} keeps weights in {tensor.location}, which is no file")
    start, length = tensor.offset or 0, tensor.length or tensor.nbytes
    if length != tensor.nbytes:
        raise BadInput(
            f"{model} gives {length:,} bytes of {tensor.location} to {tensor.name!r}, which takes {tensor.nbytes:,}:"
            " export it again"
        )
    if status.st_size < start + length:
        raise BadInput(
            f"{model} keeps {tensor.name!r} in bytes {start:,} to {start + length:,} of {tensor.location}, which has"
            f" {status.st_size:,}: it is cut off, or belongs to another model"
        )
    if status.st_nlink > 1:  # onnx-ir takes it for an attack when it reads the weights
        raise BadInput(f"{model} keeps weights in {tensor.location}, a file with several hard links: copy it")


def _number_equal_names(model: ir.Model) -> int:
    """Give nodes of one graph different names; how many got another one."""
    renamed = 0
    for graph in _graphs(model):
        taken = {node.name for node in graph}
        seen: set[str] = set()
        for node in graph:
            if node.name and node.name in seen:
                numbered = (f"{node.name}_{number}" for number in count(2))
                node.name = next(name for name in numbered if name not in taken)
                taken.add(node.name)
                renamed += 1
            seen.add(node.name or "")
    return renamed


def _sort(model: ir.Model, path: Path) -> None:
    """Put nodes behind what they read; raise BadInput where nothing gives that, or they wait for one another."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        late = list(_undefined(graph, frozenset()))
        if not late:
            continue
        try:
            graph.sort()
        except ValueError:
            raise BadInput(f"{path} is not a valid ONNX model: nodes read one another's outputs in a circle") from None
        for value, reader in _undefined(graph, frozenset()):
            raise BadInput(f"{path} is not a valid ONNX model: nothing in it gives {value.name!r}, {reader}")


def _undefined(graph: ir.Graph, outer: frozenset[ir.Value]) -> Iterator[tuple[ir.Value, str]]:
    """What is read in GRAPH, or in a body in it, before it is given, with the words who reads it."""
    known = {*outer, *graph.inputs, *graph.initializers.values()}
    for node in graph:
        reader = f"which the {node.op_type} {node.name!r} reads"
        yield from ((value, reader) for value in node.inputs if value is not None and value not in known)
        bodies = [body for attribute in node.attributes.values() for body in _bodies(attribute)]
        for body in bodies:
            yield from _undefined(body, frozenset(known))
        known.update(node.outputs)
    yield from ((value, "which is an output") for value in graph.outputs if value not in known)


def _bodies(attribute: ir.Attr) -> tuple[ir.Graph, ...]:
    if attribute.is_ref():
        return ()
    if attribute.type is ir.AttributeType.GRAPH:
        return (attribute.as_graph(),)
    return tuple(attribute.as_graphs()) if attribute.type is ir.AttributeType.GRAPHS else ()


def _graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """Every graph: the main one, bodies, and the same of local functions."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        yield graph
        yield from graph.subgraphs()


def _weights(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """The tensors of every initialiser."""
    for graph in _graphs(model):
        yield from (value.const_value for value in graph.initializers.values() if value.const_value is not None)


def _constants(model: ir.Model) -> Iterator[tuple[ir.Node, ir.Attr]]:
    """Every node that holds a tensor as an attribute, with the attribute."""
    for graph in _graphs(model):
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type is ir.AttributeType.TENSOR and not attribute.is_ref():
                    yield node, attribute


def _bytes(model: ir.Model) -> int:
    """Bytes of all tensors that MODEL stores."""
    weights = sum(tensor.nbytes for tensor in _weights(model))
    return weights + sum(attribute.as_tensor().nbytes for _, attribute in _constants(model))


def _with_external_weights(model: ir.Model, data: Path, name: str) -> ir.Model:
    """A copy of MODEL whose larger weights were written to DATA and are said to lie in a file called NAME."""
    copy = clone(model)
    ir.external_data.unload_from_model(copy, data.parent, data.name, size_threshold_bytes=EXTERNAL_THRESHOLD)
    for graph in copy.graphs():
        for value in graph.initializers.values():
            tensor = value.const_value
            if isinstance(tensor, ir.ExternalTensor):
                value.const_value = ir.ExternalTensor(
                    name, tensor.offset, tensor.length, tensor.dtype, shape=tensor.shape, name=tensor.name
                )
    return copy
