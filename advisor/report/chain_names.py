"""A chain of kernels in few words: `gemm → Add → 2 Mul`."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from advisor.words import plain

if TYPE_CHECKING:
    from advisor.trace.candidates import Candidate

__all__ = ["chain_name", "kernel_word"]

LONGEST_WORD = 24
SAY_THE_CLASS = ("gemm", "conv")
"""Their names tell tiles and layouts, not what they compute."""

# What a kernel computes often stands in its template arguments, after these words; the first pattern that fits counts.
_OPERATORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bOP_(\w+?)(?=<|\b)",  # ONNX Runtime: _UnaryElementWise<…, OP_Relu<float>, …>
        r"\bCUDAFunctor(?:OnSelf|OnOther)?_(\w+)",  # PyTorch: CUDAFunctor_add<float>
        r"\b(?!(?:A|B)?(?:Unary|Binary)|Fill)(\w+?)Functor<",  # PyTorch: MulFunctor<float>
        r"\b(\w+?)Ops<",  # PyTorch: ReduceOp<float, MeanOps<…>>
        r"::(\w+?)_kernel_(?:cuda|impl)\b",  # PyTorch: rsqrt_kernel_cuda(TensorIteratorBase&)
        r"::launch_(\w+?)\(",  # PyTorch: launch_clamp_scalar(TensorIteratorBase&, …)
        r"^triton_\w{3}_fused_(\w+?)_?\d*$",  # Inductor: triton_poi_fused_mul_silu_1
    )
)
_NO_NAME = re.compile(r"^(static |inline )*void |\(anonymous namespace\)::|<unnamed>::")
_ENDINGS = re.compile(r"^_+|_*([kK]ernel)?_*$")


def chain_name(candidate: Candidate) -> str:
    """The kernels of a candidate in order, equal neighbours counted."""
    words = (
        op_class if op_class in SAY_THE_CLASS else kernel_word(name)
        for name, op_class in zip(candidate.kernels, candidate.op_classes, strict=True)
    )
    counted = ((word, len(list(same))) for word, same in groupby(words))
    return " → ".join(word if count == 1 else f"{count} {word}" for word, count in counted)


def kernel_word(name: str) -> str:
    """One word for what a kernel computes, or its own name without namespaces, templates and `_kernel`."""
    for pattern in _OPERATORS:
        found = pattern.search(name)
        if found:
            return _cut(found[1])
    own = re.split(r"[<(]", _NO_NAME.sub("", name), maxsplit=1)[0].rsplit("::", 1)[-1].strip()
    return _cut(_ENDINGS.sub("", own) or own or name)


def _cut(word: str) -> str:
    word = plain(word)
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"
