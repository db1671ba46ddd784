"""An encoder like the Conformer (Gulati et al. 2020, arXiv:2005.08100), as PyTorch's TorchScript exporter writes it.

Weights are random, the same for the same seed. Batch and time are open; attention has no relative positions. The
exporter's form: linear layers are MatMul and Add with the bias first, targets of Reshape are computed from shapes,
numbers are Constant nodes, GLU is Split, Sigmoid and Mul. BatchNormalization stands apart, as it does on request.
"""

from __future__ import annotations

import math
from pathlib import Path  # noqa: TC003 - typer reads the types of a command's options when it runs
from typing import Annotated

import numpy as np
import onnx_ir as ir
import typer
from onnx_ir.tape import Tape

__all__ = ["FEATURES", "conformer"]

FEATURES = 80
"""Mel bands of a frame."""
HEADS = 4
KERNEL = 31
"""Steps that the depthwise convolution spans."""
EXPANSION = 4
"""Of the feed-forward layers."""
OPSET, IR_VERSION = 17, 8


def conformer(*, blocks: int = 4, width: int = 144, frames: int | None = None, seed: int = 0) -> ir.Model:
    """The encoder: `features`, float32 [batch, time, 80], becomes `encoded`, float32 [batch, steps, width].

    Two convolutions leave a step for four frames. There have to be at least 7 frames.

    Args:
        blocks: How many conformer blocks.
        width: Channels of a step; a multiple of 4, the number of heads.
        frames: Fixes the time; None leaves it open.
        seed: Of the weights.

    Raises:
        ValueError: WIDTH is no multiple of the number of heads, or there are too few frames.
    """
    if width % HEADS:
        raise ValueError(f"a width of {width} cannot be divided among {HEADS} heads")
    if frames is not None and frames < 7:
        raise ValueError(f"{frames} frames are too few: two convolutions need 7")
    features = ir.Value(
        name="features",
        type=ir.TensorType(ir.DataType.FLOAT),
        shape=ir.Shape(["batch", "time" if frames is None else frames, FEATURES]),
    )
    layers = _Layers(width, seed)
    hidden = layers.subsampling(features)
    for _ in range(blocks):
        hidden = layers.block(hidden)
    hidden.name, hidden.type = "encoded", ir.TensorType(ir.DataType.FLOAT)
    hidden.shape = ir.Shape(["batch", "steps" if frames is None else _halved(_halved(frames)), width])
    graph = ir.Graph(
        [features],
        [hidden],
        nodes=layers.tape.nodes,
        initializers=layers.tape.initializers,
        opset_imports={"": OPSET},
        name="conformer",
    )
    return ir.Model(graph, ir_version=IR_VERSION, producer_name="benchmarks.conformer")


class _Layers:
    """Appends the nodes of one layer after the other."""

    def __init__(self, width: int, seed: int) -> None:
        self.tape = Tape()
        self.width = width
        self._rng = np.random.default_rng(seed)

    def subsampling(self, features: ir.Value) -> ir.Value:
        """Two convolutions of stride 2 over time and features, and a linear layer for each step."""
        op = self.tape.op
        image = op("Unsqueeze", [features, self._constant([1])])
        for inputs in (1, self.width):
            kernel = self._weight(self.width, inputs, 3, 3, fan_in=9 * inputs)
            bias = self._weight(self.width, fan_in=9 * inputs)
            image = op("Conv", [image, kernel, bias], {"strides": [2, 2], "kernel_shape": [3, 3]})
            image = op("Relu", [image])
        batch, steps = self._size(image, 0), self._size(image, 2)
        columns = self.width * _halved(_halved(FEATURES))
        rows = op("Transpose", [image], {"perm": [0, 2, 1, 3]})
        return self._linear(self._reshape(rows, batch, steps, columns), columns, self.width)

    def block(self, hidden: ir.Value) -> ir.Value:
        """Half a feed-forward layer, attention, convolution, the other half, normalisation; that not added."""
        hidden = self._half_step(hidden)
        hidden = self.tape.op("Add", [hidden, self._attention(self._layer_norm(hidden))])
        hidden = self.tape.op("Add", [hidden, self._convolution(self._layer_norm(hidden))])
        return self._layer_norm(self._half_step(hidden))

    def _half_step(self, hidden: ir.Value) -> ir.Value:
        inner = EXPANSION * self.width
        forward = self._swish(self._linear(self._layer_norm(hidden), self.width, inner))
        forward = self._linear(forward, inner, self.width)
        return self.tape.op("Add", [hidden, self.tape.op("Mul", [forward, self._constant(0.5)])])

    def _attention(self, hidden: ir.Value) -> ir.Value:
        op = self.tape.op
        batch, steps = self._size(hidden, 0), self._size(hidden, 1)
        size = self.width // HEADS

        def heads(perm: list[int]) -> ir.Value:
            rows = self._reshape(self._linear(hidden, self.width, self.width), batch, steps, HEADS, size)
            return op("Transpose", [rows], {"perm": perm})

        query, key, value = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
        scores = op("Div", [op("MatMul", [query, key]), self._constant(math.sqrt(size))])
        mixed = op("MatMul", [op("Softmax", [scores], {"axis": -1}), value])
        rows = self._reshape(op("Transpose", [mixed], {"perm": [0, 2, 1, 3]}), batch, steps, self.width)
        return self._linear(rows, self.width, self.width)

    def _convolution(self, hidden: ir.Value) -> ir.Value:
        op, width = self.tape.op, self.width
        channels = op("Transpose", [hidden], {"perm": [0, 2, 1]})
        both = op("Conv", [channels, *self._kernel(2 * width, width, 1)], {"kernel_shape": [1]})
        value, gate = self.tape.op_multi_out("Split", [both], {"axis": 1}, num_outputs=2)
        channels = op("Mul", [value, op("Sigmoid", [gate])])
        channels = op(
            "Conv",
            [channels, *self._kernel(width, 1, KERNEL)],
            {"group": width, "kernel_shape": [KERNEL], "pads": [KERNEL // 2, KERNEL // 2]},
        )
        statistics = [self._weight(width, fan_in=16, around=1.0), self._weight(width, fan_in=16)]
        statistics += [self._weight(width, fan_in=16), self._weight(width, fan_in=64, around=1.0)]
        channels = op("BatchNormalization", [channels, *statistics], {"epsilon": 1e-5, "momentum": 0.9})
        channels = op("Conv", [self._swish(channels), *self._kernel(width, width, 1)], {"kernel_shape": [1]})
        return op("Transpose", [channels], {"perm": [0, 2, 1]})

    def _linear(self, hidden: ir.Value, inputs: int, outputs: int) -> ir.Value:
        product = self.tape.op("MatMul", [hidden, self._weight(inputs, outputs, fan_in=inputs)])
        return self.tape.op("Add", [self._weight(outputs, fan_in=inputs), product])

    def _layer_norm(self, hidden: ir.Value) -> ir.Value:
        scale, shift = self._weight(self.width, fan_in=16, around=1.0), self._weight(self.width, fan_in=16)
        return self.tape.op("LayerNormalization", [hidden, scale, shift], {"axis": -1, "epsilon": 1e-5})

    def _swish(self, hidden: ir.Value) -> ir.Value:
        return self.tape.op("Mul", [hidden, self.tape.op("Sigmoid", [hidden])])

    def _kernel(self, outputs: int, inputs: int, size: int) -> tuple[ir.Value, ir.Value]:
        fan_in = inputs * size
        return self._weight(outputs, inputs, size, fan_in=fan_in), self._weight(outputs, fan_in=fan_in)

    def _size(self, value: ir.Value, axis: int) -> ir.Value:
        index = self._constant(axis)
        return self.tape.op("Gather", [self.tape.op("Shape", [value]), index], {"axis": 0})

    def _reshape(self, value: ir.Value, *sizes: ir.Value | int) -> ir.Value:
        """To SIZES, some of them computed: one tensor of one number each, joined."""
        parts = [
            self._constant([size]) if isinstance(size, int) else self.tape.op("Unsqueeze", [size, self._constant([0])])
            for size in sizes
        ]
        return self.tape.op("Reshape", [value, self.tape.op("Concat", parts, {"axis": 0})])

    def _constant(self, number: float | list[int]) -> ir.Value:
        dtype = np.float32 if isinstance(number, float) else np.int64
        return self.tape.op("Constant", [], {"value": ir.tensor(np.asarray(number, dtype))})

    def _weight(self, *shape: int, fan_in: int, around: float = 0.0) -> ir.Value:
        """Uniform numbers, as PyTorch's layers begin with, in +-1/sqrt(FAN_IN) of AROUND."""
        limit = 1 / math.sqrt(fan_in)
        values = self._rng.uniform(around - limit, around + limit, shape).astype(np.float32)
        return self.tape.initializer(ir.tensor(values, name=f"weight_{len(self.tape.initializers)}"))


def _halved(length: int) -> int:
    """What a convolution of 3 with stride 2 leaves of LENGTH."""
    return (length - 3) // 2 + 1


def main(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The ONNX file to write.", show_default=False)],
    blocks: Annotated[int, typer.Option(min=1, help="How many conformer blocks.")] = 4,
    width: Annotated[int, typer.Option(min=HEADS, help=f"Channels of a step, a multiple of {HEADS}.")] = 144,
    frames: Annotated[int | None, typer.Option(min=7, help="Fixes the time; else it is open.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same weights.")] = 0,
) -> None:
    """Write a conformer-like encoder with random weights."""
    try:
        model = conformer(blocks=blocks, width=width, frames=frames, seed=seed)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    ir.save(model, path)


if __name__ == "__main__":
    typer.run(main)
