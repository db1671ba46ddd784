"""The class of a node, from its operator."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest

from advisor.trace.kernel_classes import OP_CLASSES
from advisor.trace.onnx_operators import OPERATORS, operator_class, operator_classes

# What computes nothing on numbers, or only runs other nodes.
NO_CLASS = {
    "If", "Loop", "Scan", "SequenceMap", "Optional", "OptionalGetElement", "OptionalHasElement", "ImageDecoder",
    "RegexFullMatch", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer",
}  # fmt: skip


def test_every_onnx_operator_has_a_class() -> None:
    operators = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
    assert {name for name in operators if operator_class(name) == "other"} - {"Loop", "Scan", "If"} <= NO_CLASS


def test_the_table_names_known_classes_and_each_operator_once() -> None:
    assert OPERATORS.keys() <= OP_CLASSES.keys()
    counts = Counter(name for names in OPERATORS.values() for name in names.split())
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Add", "elementwise"),
        ("Sum", "elementwise"),
        ("ReduceSum", "reduction"),
        ("FusedConv", "conv"),
        ("MultiHeadAttention", "attention"),
        ("LinearAttentionGate", "elementwise"),
        ("SkipLayerNormalization", "norm"),
        ("TRTKernel_graph_main_1", "fused"),
        ("SomebodysOwnOp", "other"),
        ("", "other"),
    ],
)
def test_well_known_operators(name: str, expected: str) -> None:
    assert operator_class(name) == expected
    assert operator_classes([name, name]) == [expected, expected]


def test_generated_kernels_are_fused_ones() -> None:
    assert operator_class("Fused_1f38cc41b0168a6f") == "fused"
    assert operator_class("Fused_something") == "other"
