"""Parts of a model, and the same parts of a changed version of it."""

from __future__ import annotations

import numpy as np

from advisor.fuse.cutout import Cutter
from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.measure.session import CPU
from tests.fuse.graphs import model, operators, session, weights
from tests.fuse.trial_rules import replacing

TEXT = """(float[2, 4] x, float[2, 4] m) => (float[2, 4] y) {
    a = MatMul(x, w)  k = Neg(m)  b = Tanh(a)  c = Add(b, k)  d = Abs(c)  e = MatMul(d, w)
    f = Exp(e)  g = Sin(f)  h = Cos(g)  i = MatMul(h, w)  j = MatMul(i, w)  l = Relu(j)  n = MatMul(l, w)  y = Neg(n)
}"""


def test_the_same_part_of_a_changed_model_reads_and_gives_the_same_values() -> None:
    subject = model(TEXT, w=weights(4, 4))
    cutter = Cutter(subject, provider=CPU)
    part = cutter.cut(cutter.around(["Tanh → b"]))
    assert part is not None
    assert "Tanh → b" in part.nodes
    changed = clone(cutter.model)
    assert [site.status for site in rewrite(changed, [replacing("Tanh", "Sigmoid")], provider=CPU)] == ["applied"]
    twin = cutter.between(part, changed)
    assert twin is not None
    assert operators(twin) == [{"Tanh": "Sigmoid"}.get(each, each) for each in operators(part.model)]
    before, after = session(part.model), session(twin)
    feed = {value.name: weights(2, 4, seed=index) for index, value in enumerate(before.get_inputs())}
    assert [value.name for value in after.get_inputs()] == list(feed)
    whole = {value.name: result for value, result in zip(after.get_outputs(), after.run(None, feed), strict=True)}
    assert tuple(whole) == part.outputs
    assert not np.allclose(before.run(None, feed)[0], after.run(None, feed)[0])


def test_what_is_read_no_more_is_still_an_input_and_what_is_gone_is_no_part() -> None:
    subject = model(TEXT, w=weights(4, 4))
    cutter = Cutter(subject, provider=CPU)
    part = cutter.cut(cutter.around(["Abs → d"]))
    assert part is not None
    changed = clone(cutter.model)
    add = next(node for node in changed.graph if node.op_type == "Add")
    first, second = add.inputs
    assert second is not None
    add.replace_input_with(1, first)
    changed.graph.remove(second.producer(), safe=True)  # type: ignore[arg-type]
    twin = cutter.between(part, changed)
    assert twin is not None
    assert [value.name for value in twin.graph.inputs] == list(part.inputs)
    [last] = [node for node in changed.graph if node.outputs[0].name == part.outputs[0]]
    last.outputs[0].name = "another"
    assert cutter.between(part, changed) is None
