"""ONNX Runtime sessions that say which provider they really have."""

from __future__ import annotations

import ctypes
import re
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]

from advisor.errors import BadInput, CannotDecide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Feed = Mapping[str, NDArray[Any]]
    """Input name to array, in the dtype of the input (bfloat16 and the like as those of ml_dtypes)."""

__all__ = [
    "CPU",
    "CUDA",
    "Level",
    "NotRunnable",
    "has_provider",
    "nodes_elsewhere",
    "open_session",
    "provider_name",
    "provider_of",
    "run",
    "runner",
    "version",
]

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
SUFFIX = "ExecutionProvider"
EXACT = {"use_tf32": "0"}
FATAL_ONLY = 4
"""Log severity: what goes wrong arrives as an exception, once, and not as lines on the user's terminal too."""


class Level(Enum):
    """How much ONNX Runtime optimises a model while it loads it."""

    OFF = "ORT_DISABLE_ALL"
    ALL = "ORT_ENABLE_ALL"


class NotRunnable(Exception):  # noqa: N818 - reads as what it is at every raise
    """ONNX Runtime does not load or not run a model; the message is one line, in its words.

    Attributes:
        unsupported: The model is sound, but the provider lacks a kernel or operator that it needs, or does not load.
    """

    def __init__(self, error: Exception, *, unsupported: bool = False) -> None:
        super().__init__(_one_line(error))
        self.unsupported = unsupported or type(error).__name__ == "NotImplemented"

    def ending(self, path: Path, on: str = "") -> BadInput | CannotDecide:
        """What ends a command that cannot do without PATH: the model or its inputs are wrong, or not for this provider.

        Args:
            path: What messages call the model.
            on: The inputs that it does not run on; empty where it does not even load.
        """
        if self.unsupported:
            return CannotDecide(f"ONNX Runtime cannot run {path} here: {self}. Try another --provider")
        return BadInput(f"{path} does not run on {on}: {self}" if on else f"ONNX Runtime does not load {path}: {self}")


def version() -> str:
    """ONNX Runtime's version, such as `1.20.1`."""
    return str(ort.__version__)


def provider_name(text: str) -> str:
    """The full name of a provider of this ONNX Runtime: `cuda`, or `CUDAExecutionProvider`.

    Raises:
        BadInput: This build of ONNX Runtime does not have it.
    """
    available = ort.get_available_providers()
    short: dict[str, str] = {name.removesuffix(SUFFIX).lower(): name for name in available}
    name = short.get(text.lower().removesuffix(SUFFIX.lower()))
    if name is None:
        raise BadInput(
            f"no provider {text!r} in this onnxruntime {version()}: it has {', '.join(sorted(short))}"
            " (onnxruntime-gpu brings cuda and tensorrt)"
        )
    return name


def has_provider(name: str) -> bool:
    """Whether this build of ONNX Runtime has a provider (which may still not load)."""
    return name in ort.get_available_providers()


def open_session(
    model: bytes | Path,
    *,
    level: Level,
    provider: str | None = None,
    threads: int | None = None,
    exact: bool = False,
    profile: Path | None = None,
    libraries: Sequence[Path] = (),
) -> ort.InferenceSession:
    """Load a model.

    Args:
        model: The model, or its file where it has external data or is larger than 2 GB.
        level: How much ONNX Runtime optimises.
        provider: Full name of the provider to ask for; None asks for CUDA where this ONNX Runtime has it. What cannot
            be had falls back to the CPU: `provider_of` says what the session got.
        threads: Threads inside an operator; None leaves it to ONNX Runtime (one for each core).
        exact: Compute float32 in float32. By default CUDA rounds the factors of products to 10 bits (TF32), which would
            hide what a comparison looks for.
        libraries: Custom-operator libraries that the model needs.
        profile: Record every node's execution to a file whose name begins so; `end_profiling` of the session tells it.

    Raises:
        NotRunnable: ONNX Runtime does not load it.
    """
    ort.set_default_logger_severity(FATAL_ONLY)
    options = ort.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level.value)
    if threads is not None:
        options.intra_op_num_threads = threads
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    # Workers that go on spinning after a run take the cores from the session that runs next in this process: on two
    # cores a paired latency was wrong by a factor of four. They still spin while a run lasts.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for library in libraries:
        try:
            options.register_custom_ops_library(str(library))
        except Exception as error:
            raise NotRunnable(error) from None
    source = model if isinstance(model, bytes) else str(model)
    for providers in _falling_back(provider, EXACT if exact else {}):
        try:
            session = ort.InferenceSession(source, options, providers=providers, enable_fallback=0)
        except Exception as error:
            last = error
            continue
        # A run that fails would else start a new session on another provider, and print about it.
        session.disable_fallback()
        return session
    raise NotRunnable(last)


def _falling_back(
    provider: str | None, cuda_options: dict[str, str]
) -> Iterator[list[str | tuple[str, dict[str, str]]]]:
    """Lists of providers to try in this order. A provider that cannot start makes way for the next list."""
    if provider is None:
        provider = CUDA if has_provider(CUDA) else CPU
    cuda = (CUDA, cuda_options)
    if provider == TENSORRT:
        yield [TENSORRT, cuda, CPU]
    elif provider not in {CUDA, CPU}:
        yield [provider, CPU]
    if provider in {TENSORRT, CUDA}:
        yield [cuda, CPU]
    yield [CPU]


def provider_of(session: ort.InferenceSession) -> str:
    """The provider that the session really has."""
    return str(session.get_providers()[0])


def nodes_elsewhere(session: ort.InferenceSession) -> int | None:
    """How many nodes another provider than the session's runs; None where ONNX Runtime is too old to tell."""
    try:
        parts = session.get_provider_graph_assignment_info()
    except Exception:
        return None
    own = provider_of(session)
    return sum(len(part.get_nodes()) for part in parts if part.ep_name != own)


def run(session: ort.InferenceSession, feed: Feed) -> dict[str, Any]:
    """Run once; output name to array (a list or dictionary of arrays where an output is a sequence or map).

    Raises:
        NotRunnable: The run fails.
    """
    names = [output.name for output in session.get_outputs()]
    try:
        if not _needs_ort_values(session, feed):
            return dict(zip(names, session.run(names, dict(feed)), strict=True))
        values = session.run_with_ort_values(names, {name: _ort_value(array, "cpu") for name, array in feed.items()})
        return {name: _array(value) for name, value in zip(names, values, strict=True)}
    except Exception as error:
        raise NotRunnable(error) from None


def runner(session: ort.InferenceSession, feed: Feed) -> Callable[[], object]:
    """A call that runs the session on FEED, with inputs and outputs kept where the provider computes; after one run.

    Only tensors can be bound; where an input or output is a string, sequence or map, the call copies as `run` does. So
    it does where an output has another shape than the model declares, which ONNX Runtime refuses of a bound one, though
    not in the first run.

    Raises:
        NotRunnable: The session does not run on FEED.
    """
    values = [*session.get_inputs(), *session.get_outputs()]
    if any(not value.type.startswith("tensor(") or value.type == "tensor(string)" for value in values):
        run(session, feed)
        return partial(session.run, None, dict(feed))
    device = "cuda" if provider_of(session) in {CUDA, TENSORRT} else "cpu"
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, _ort_value(array, device))
    for output in session.get_outputs():
        binding.bind_output(output.name, device)
    try:
        session.run_with_iobinding(binding)
    except Exception as error:
        raise NotRunnable(error) from None
    declared = [output.shape for output in session.get_outputs()]
    if not all(map(_fits, (value.shape() for value in binding.get_outputs()), declared)):
        return partial(run, session, feed)
    return partial(session.run_with_iobinding, binding)


def _fits(shape: Sequence[int], declared: Sequence[int | str | None]) -> bool:
    """Whether SHAPE is one that a model DECLARED; a declared shape of nothing stands for any."""
    if not declared:
        return True
    return len(shape) == len(declared) and all(
        not isinstance(dim, int) or dim == size for size, dim in zip(shape, declared, strict=True)
    )


def _ort_value(array: NDArray[Any], device: str) -> ort.OrtValue:
    array = np.asarray(array, order="C")  # np.ascontiguousarray makes a number an array of one
    if not _is_extended(array.dtype):
        return ort.OrtValue.ortvalue_from_numpy(array, device)
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _element_types()[array.dtype.name])


def _array(value: ort.OrtValue) -> Any:
    """An output as an array; NumPy has no name for some dtypes, so those are read as bits."""
    try:
        return value.numpy()
    except Exception:
        dtype = _extended_dtypes()[value.element_type()]
    shape = tuple(value.shape())
    buffer = (ctypes.c_char * value.tensor_size_in_bytes()).from_address(value.data_ptr())
    return np.frombuffer(buffer, dtype).reshape(shape).copy()


def _needs_ort_values(session: ort.InferenceSession, feed: Feed) -> bool:
    return any(_is_extended(array.dtype) for array in feed.values()) or any(
        output.type in {"tensor(bfloat16)", "tensor(float8e4m3fn)", "tensor(float8e5m2)"}
        for output in session.get_outputs()
    )


def _is_extended(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is one of ml_dtypes, which ONNX Runtime does not take from NumPy."""
    return dtype.kind == "V"


@cache
def _extended_dtypes() -> dict[int, np.dtype[Any]]:
    """ONNX element type to dtype, for what NumPy lacks and is a whole number of bytes."""
    import ml_dtypes
    from onnx import TensorProto

    return {
        TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
        TensorProto.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
        TensorProto.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    }


@cache
def _element_types() -> dict[str, int]:
    return {dtype.name: element for element, dtype in _extended_dtypes().items()}


LONGEST = 240
"""Characters of one line for people; ONNX Runtime goes on with shapes and types."""
_PREFIX = re.compile(
    r"^(\[ONNXRuntimeError\] : \d+ : \w+ : )?(Load model from .*? failed:)?(Exception during initialization: )?", re.S
)
_PLACE = re.compile(r"/\S+\.(?:cc|h|cpp|cu|cuh):\d+ ")
_SIGNATURE = re.compile(r"[^()]*::[^()]*(?=\()")
"""Of a C++ function, up to its first bracket."""
_BEHIND_BRACKET = re.compile(r"(?: const\b| noexcept\b|::[\w<~]+|>)*(?: (?=\[with ))?")
"""What may come before the next bracket of a signature, as in `f(int) const [with T = float]` and `f()::<lambda()>`."""


def _after_function(text: str) -> str:
    """What stands behind the name of a C++ function, or behind its signature, with which TEXT begins."""
    signature = _SIGNATURE.match(text)
    if signature is None:
        return text.partition(" ")[2]
    depth, at = 0, signature.end()
    while at < len(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            behind = _BEHIND_BRACKET.match(text, at)
            at = at if behind is None else behind.end()
            if text[at : at + 1] not in {"(", "["}:
                break
    return text[at:].lstrip()


def _one_line(error: Exception) -> str:
    """An exception of ONNX Runtime without its source places and their functions, on one printable line."""
    text = _PREFIX.sub("", str(error))
    while place := _PLACE.search(text):
        text = text[: place.start()] + _after_function(text[place.end() :])
    text = " ".join(text.split()) or type(error).__name__
    if len(text) > LONGEST:
        text = text[:LONGEST] + " …"
    # Names of nodes come from strangers.
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
