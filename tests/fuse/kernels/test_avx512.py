"""Machine code for AVX-512, on an emulated processor, computes the same bits as this machine's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.fuse.kernels.compiled import Compiled, compiled, host_level, run
from tests.fuse.kernels.emulated import ALL_STATES, NO_ZMM, Processor
from tests.fuse.kernels.test_cpu import chain, scaled_erf, softmax
from tests.fuse.kernels.test_operators import CASES, inputs_of, name

if TYPE_CHECKING:
    from advisor.fuse.kernels.expression import Expression

SSE = 3
"""Of XCR0: only what was there before AVX."""


@pytest.fixture(scope="module")
def processor() -> Processor:
    return Processor([*CASES, softmax(), scaled_erf(), chain(40)])


@pytest.fixture(scope="module")
def kernels() -> Compiled:
    if host_level() not in ("v3", "v4"):
        pytest.skip("the other levels multiply and add with one rounding more, or are another machine's")
    return compiled([*CASES, softmax(), scaled_erf(), chain(40)])


@pytest.mark.parametrize(("states", "level"), [(ALL_STATES, 2), (NO_ZMM, 1), (SSE, 0)])
def test_the_level_is_what_the_operating_system_saves(processor: Processor, states: int, level: int) -> None:
    assert processor.call("cpu_level", states=states) == level


@pytest.mark.parametrize("one", CASES, ids=name)
def test_operators(processor: Processor, kernels: Compiled, one: Expression) -> None:
    for columns in (1, 15, 33, 701):
        inputs = inputs_of(one, columns)
        for general in (False, True):
            (result,) = processor.run(one, *inputs, rows=1, columns=columns, general=general)
            (expected,) = run(kernels, one, *inputs, rows=1, columns=columns, general=general)
            np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("columns", [1, 31, 32, 257])
def test_rows_and_reductions(processor: Processor, kernels: Compiled, columns: int) -> None:
    generator = np.random.default_rng(columns)
    x, mask, scale = (generator.normal(0, 3, (5, n)).astype(np.float32) for n in (columns, columns, 1))
    for expression, inputs in ((softmax(), (x, mask)), (scaled_erf(), (x, scale)), (chain(40), (x,))):
        results = processor.run(expression, *inputs, rows=5, columns=columns)
        for result, expected in zip(results, run(kernels, expression, *inputs, rows=5, columns=columns), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-6)
