"""Optimisers that go wrong in every way that a library may."""

from __future__ import annotations

import os
import sys
import time

import onnx
from onnx import helper

WAY = "ADVISOR_TEST_WAY"


def optimize(model: onnx.ModelProto, _: str) -> onnx.ModelProto:
    way = os.environ[WAY]
    print("noise", flush=True)
    print("noise", file=sys.stderr, flush=True)
    graph = model.graph
    if way == "aborts":
        os.abort()
    elif way == "hangs":
        time.sleep(60)
    elif way == "exits":
        sys.exit(3)
    elif way == "raises":
        raise ValueError("no such thing\nand more")
    elif way == "renames":
        graph.output[0].name = graph.node[-1].output[0] = "other"
    elif way == "retypes":
        graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
        graph.node.append(helper.make_node("Cast", ["h"], ["y"], to=onnx.TensorProto.DOUBLE))
        graph.node[-2].output[0] = "h"
    elif way == "does not load":
        graph.node[-1].op_type = "NoSuchOperator"
    elif way == "takes the default away":
        del graph.initializer[:]
    elif way == "fixes dimensions":
        graph.output[0].type.tensor_type.shape.dim[0].dim_value = 3
        graph.node[-1].op_type = "Abs"
    return model
