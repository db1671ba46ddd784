"""Generated kernels against the operators one by one and against ONNX Runtime's own fused operators, in one run.

    python -m benchmarks.kernels [--write docs/kernels-speed.md] [--seconds 0.3]

Each model holds eight copies of a group, one after the other. The three ways of computing it (decomposed at
ORT_ENABLE_ALL, ONNX Runtime's own fused operators, generated) run by turns, each for as long; a ratio is the median
over the rounds of what their fastest calls took.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from advisor.fuse.compose import compose
from advisor.fuse.kernels.generated import GENERATED
from advisor.measure.session import CPU, Level, open_session, run, runner, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

COPIES = 8
ROUNDS = 9
SHAPES = ([1, 768], [128, 768], [8, 128, 3072])
NUMBERS = {
    "k3": 3.0, "k2": 2.0, "k1": 1.0, "half": 0.5, "cubic": 0.044715, "root": 0.7978845608, "low": 0.0, "k6": 6.0,
    "eps": 1e-5, "eighth": 0.125, "sqrt2": 1.4142135381698608,
}  # fmt: skip

# One copy of a group: from {x} (and the tensor b, the weights w and v) to {y}; values of its own end in {i}.
GROUPS: dict[str, tuple[str, str | None]] = {
    "tanh-GELU": (
        "p{i} = Pow({x}, k3) q{i} = Mul(p{i}, cubic) r{i} = Add({x}, q{i}) s{i} = Mul(r{i}, root) t{i} = Tanh(s{i})"
        " u{i} = Add(t{i}, k1) h{i} = Mul({x}, half) {y} = Mul(h{i}, u{i})",
        "{y} = com.microsoft.FastGelu({x})",
    ),
    "SwiGLU": (
        "s{i} = Sigmoid({x}) t{i} = Mul({x}, s{i}) {y} = Mul(t{i}, b)",
        "t{i} = com.microsoft.QuickGelu<alpha: float = 1.0>({x}) {y} = Mul(t{i}, b)",
    ),
    "HardSwish": (
        "a{i} = Add({x}, k3) c{i} = Clip(a{i}, low, k6) m{i} = Mul({x}, c{i}) {y} = Div(m{i}, k6)",
        "{y} = HardSwish({x})",
    ),
    "add + RMSNorm": (
        "s{i} = Add({x}, b) p{i} = Pow(s{i}, k2) m{i} = ReduceMean<axes: ints = [-1]>(p{i}) e{i} = Add(m{i}, eps)"
        " r{i} = Sqrt(e{i}) d{i} = Reciprocal(r{i}) t{i} = Mul(s{i}, d{i}) {y} = Mul(t{i}, w)",
        "{y} = com.microsoft.SkipSimplifiedLayerNormalization<epsilon: float = 0.00001>({x}, b, w)",
    ),
    "add + LayerNorm": (
        "s{i} = Add({x}, b) {y} = LayerNormalization<epsilon: float = 0.00001>(s{i}, w, v)",
        "{y} = com.microsoft.SkipLayerNormalization<epsilon: float = 0.00001>({x}, b, w, v)",
    ),
    "softmax + mask": ("s{i} = Mul({x}, eighth) t{i} = Add(s{i}, b) {y} = Softmax<axis: int = -1>(t{i})", None),
    "bias + erf-GELU": (
        "t{i} = Add({x}, v) d{i} = Div(t{i}, sqrt2) e{i} = Erf(d{i}) a{i} = Add(e{i}, k1) m{i} = Mul(t{i}, a{i})"
        " {y} = Mul(m{i}, half)",
        "{y} = com.microsoft.BiasGelu({x}, v)",
    ),
    "Mish": ("p{i} = Softplus({x}) t{i} = Tanh(p{i}) {y} = Mul({x}, t{i})", None),
    "modulate": ("a{i} = Mul({x}, w) c{i} = Add(a{i}, v) {y} = Add(c{i}, b)", None),
    "LayerNorm + SiLU": (
        "n{i} = LayerNormalization({x}, w, v) s{i} = Sigmoid(n{i}) {y} = Mul(n{i}, s{i})",
        None,
    ),
}


def model(text: str, shape: Sequence[int], copies: int = COPIES) -> ir.Model:
    """Copies of a group in a row."""
    body = " ".join(text.format(i=i, x=f"x{i}", y=f"x{i + 1}") for i in range(copies))
    size = ",".join(map(str, shape))
    arguments = f"float[{size}] x0" + (f", float[{size}] b" if ", b" in text else "")
    header = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "advisor.generated": 1]>'
    proto = onnx.parser.parse_model(f"{header} g ({arguments}) => (float[{size}] x{copies}) {{ {body} }}")
    rng = np.random.default_rng(0)
    weights: dict[str, Any] = dict(NUMBERS)
    weights |= {"w": 1 + 0.1 * rng.standard_normal(shape[-1]), "v": 0.1 * rng.standard_normal(shape[-1])}
    read = {name for node in proto.graph.node for name in node.input}
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(value, np.float32), name)
        for name, value in weights.items()
        if name in read
    )
    return ir.from_proto(proto)


def generated(text: str, shape: Sequence[int]) -> tuple[str, tuple[Path, ...]]:
    """One copy of a group as a kernel, in the same text, and its library: copies are not fused with one another."""
    one = compose(model(text, shape, copies=1), [GENERATED], provider=CPU)
    (node,) = one.model.graph
    inputs = ["{x}" if value.name == "x0" else value.name or "" for value in node.inputs if value is not None]
    return f"{{y}} = {node.domain}.{node.op_type}({', '.join(inputs)})", one.libraries


def measure(
    decomposed: str, fused: str | None, shape: Sequence[int], threads: int, seconds: float
) -> tuple[float, float, float | None]:
    """Microseconds of one generated kernel, and how many times longer the decomposed group and the operator take."""
    original = model(decomposed, shape)
    kernel, library = generated(decomposed, shape)
    rng = np.random.default_rng(1)
    feed = {value.name or "": rng.standard_normal(shape).astype(np.float32) for value in original.graph.inputs}
    subjects: dict[str, tuple[ir.Model, tuple[Path, ...]]] = {
        "generated": (model(kernel, shape), library),
        "decomposed": (original, ()),
    }
    if fused is not None:
        subjects["operator"] = (model(fused, shape), ())
    runs: dict[str, Callable[[], object]] = {}
    results = {}
    for name, (subject, libraries) in subjects.items():
        source = ir.to_proto(subject).SerializeToString()
        session = open_session(source, level=Level.ALL, provider=CPU, threads=threads, libraries=libraries)
        results[name] = run(session, {key: feed[key] for key in (value.name for value in session.get_inputs())})
        runs[name] = runner(session, {key: feed[key] for key in (value.name for value in session.get_inputs())})
    (ours,), (theirs,) = results["generated"].values(), results["decomposed"].values()
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    times: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(ROUNDS + 2):
        first = number % len(names)  # what runs longest brings interruptions upon what comes next: not always the same
        for name in (*names[first:], *names[:first]):
            times[name].append(_fastest_call(runs[name], seconds / ROUNDS / len(names)) / COPIES)
    kept = {name: values[2:] for name, values in times.items()}
    against, *operator = (
        statistics.median(a / b for a, b in zip(kept[name], kept["generated"], strict=True)) for name in list(kept)[1:]
    )
    return statistics.median(kept["generated"]) * 1e6, against, operator[0] if operator else None


def _fastest_call(call: Callable[[], object], seconds: float) -> float:
    """Seconds of the fastest call within SECONDS: other programs only ever make one slower."""
    fastest = float("inf")
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end or fastest == float("inf"):
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def table(seconds: float) -> Iterator[str]:
    """The lines of the report."""
    yield "| group | shape | threads | µs a kernel | decomposed ÷ generated | ONNX Runtime's operator ÷ generated |"
    yield "| --- | --- | --: | --: | --: | --: |"
    decomposed: list[float] = []
    operators: list[float] = []
    for name, (text, fused) in GROUPS.items():
        for shape in SHAPES:
            for threads in (1, 2):
                micros, against, operator = measure(text, fused, shape, threads, seconds)
                decomposed.append(against)
                operators += [] if operator is None else [operator]
                size = "x".join(map(str, shape))
                last = "" if operator is None else f"{operator:.2f}"
                yield f"| {name} | {size} | {threads} | {micros:.1f} | {against:.2f} | {last} |"
    yield ""
    yield (
        f"Geometric means: {statistics.geometric_mean(decomposed):.2f} times as fast as the decomposed group"
        f" (least {min(decomposed):.2f}), {statistics.geometric_mean(operators):.2f} times as fast as ONNX Runtime's"
        f" own operators (least {min(operators):.2f})."
    )


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each row of the table")
    options = parser.parse_args()
    lines = [
        "# How fast generated kernels are",
        "",
        "Written by `python -m benchmarks.kernels --write docs/kernels-speed.md`, which says how it measures.",
        f"ONNX Runtime {version()}, {platform.machine()}, {os.cpu_count()} cores, all in one run: read ratios.",
        "",
    ]
    print("\n".join(lines))
    for line in table(options.seconds):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
