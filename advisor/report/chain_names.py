"""A chain of kernels in few words: `gemm → Add → 2 Mul`."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from advisor.words import plain, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.trace.candidates import Candidate

__all__ = ["chain_names", "in_row", "kernel_word"]

LONGEST_WORD = 24
"""So many letters of a word are shown where there is little room."""
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


def chain_names(candidates: Sequence[Candidate], *, short: bool = False) -> list[str]:
    """The words for the kernels of each candidate in order; where other kernels have the same words, a number says so.

    Args:
        candidates: All chains of an analysis: what the numbers count.
        short: Write long words in few letters.
    """
    told = [
        [
            op_class if op_class in SAY_THE_CLASS else kernel_word(name)
            for name, op_class in zip(candidate.kernels, candidate.op_classes, strict=True)
        ]
        for candidate in candidates
    ]
    words = dict.fromkeys(word for chain in told for word in chain)
    written = shortened(words, LONGEST_WORD) if short else {word: word for word in words}
    alike: dict[str, list[tuple[str, ...]]] = {}
    names = []
    for candidate, chain in zip(candidates, told, strict=True):
        name = in_row([written[word] for word in chain])
        others = alike.setdefault(name, [])
        if candidate.kernels not in others:
            others.append(candidate.kernels)
        place = others.index(candidate.kernels)
        names.append(f"{name} (sequence {place + 1})" if place else name)
    return names


def in_row(words: Sequence[str], write: Callable[[str], str] = str) -> str:
    """WORDS with arrows between them, equal neighbours counted, each in the form that WRITE gives it."""
    counts = ((write(word), len(list(same))) for word, same in groupby(words))
    return " → ".join(word if count == 1 else f"{count} {word}" for word, count in counts)


def kernel_word(name: str) -> str:
    """One word for what a kernel computes, or its own name without namespaces, templates and `_kernel`."""
    for pattern in _OPERATORS:
        found = pattern.search(name)
        if found:
            return plain(found[1])
    own = re.split(r"[<(]", _NO_NAME.sub("", name), maxsplit=1)[0].rsplit("::", 1)[-1].strip()
    return plain(_ENDINGS.sub("", own) or own or name)
