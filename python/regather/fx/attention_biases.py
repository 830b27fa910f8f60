"""What is added to scores and hides none: numbers that are never so low.

Parameters, products and normalized values, and what sums, factors, tables and
bounded functions make of them, have the size of usual scores. What a mask hides
is not of this kind: some number in it is very low, or nothing is known of an
input.

Each node is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import torch
from torch.fx import Node

from regather.fx.private import unset_fake_temporarily

_aten = torch.ops.aten

# Whose results have the size of usual numbers whatever they read.
_LEAVES = {
    _aten.addmm.default, _aten.arange.start_step, _aten.bmm.default,
    _aten.mm.default, _aten.sigmoid.default, _aten.tanh.default,
}
# Which make no other numbers than their operands have, or a few times so large.
_KEPT = {
    _aten.abs.default, _aten.add.Scalar, _aten.add.Tensor, _aten.alias.default,
    _aten.cat.default, _aten.clone.default, _aten.detach.default,
    _aten.expand.default, _aten.maximum.default, _aten.mean.dim,
    _aten.minimum.default, _aten.mul.Scalar, _aten.mul.Tensor, _aten.neg.default,
    _aten.permute.default, _aten.relu.default, _aten.repeat.default,
    _aten.select.int, _aten.slice.Tensor, _aten.squeeze.default, _aten.squeeze.dim,
    _aten.squeeze.dims, _aten.sub.Scalar, _aten.sub.Tensor,
    _aten.sum.dim_IntList, _aten.transpose.int, _aten.unsqueeze.default,
    _aten.view.default, _aten._unsafe_view.default, _aten.where.self,
    _aten._to_copy.default,
}
_ARITHMETIC = {
    _aten.add.Scalar, _aten.add.Tensor, _aten.mul.Scalar, _aten.mul.Tensor,
    _aten.sub.Scalar, _aten.sub.Tensor,
}
# Which give numbers of their first operand.
_TABLES = {
    _aten.embedding.default, _aten.gather.default, _aten.index.Tensor,
    _aten.index_select.default,
}
_FILLED = {_aten.full.default: 1, _aten.scalar_tensor.default: 0}
_LEAST = 1e-6
# Beside larger numbers the logarithm of a sum of exponentials has too few digits.
USUAL = 4096
# How far a bias is followed to what it is made of.
_DEEPEST = 48


class UsualNumbers:
    """Of one graph, with ``parameters`` among its placeholders."""

    def __init__(self, parameters: Set[Node],
                 evaluate: Callable[[Node], torch.Tensor | None]) -> None:
        self._parameters = parameters
        self._evaluate = evaluate
        self._known: dict[Node, bool] = {}

    def has(self, node: Any, depth: int = 0) -> bool:
        """Whether ``node`` is known to have no number that hides a score."""
        if not isinstance(node, Node):
            return True
        if node not in self._known:
            self._known[node] = False
            self._known[node] = depth < _DEEPEST and self._look(node, depth + 1)
        return self._known[node]

    def _look(self, node: Node, depth: int) -> bool:
        value = node.meta.get("val")
        if node in self._parameters or node.target in _LEAVES:
            return True
        if isinstance(value, torch.Tensor) and value.dtype == torch.bool:
            return True
        if node.target in _FILLED:
            number = node.args[_FILLED[node.target]]
            return isinstance(number, int | float) and abs(number) <= USUAL
        if node.target in _TABLES:
            return self.has(node.args[0], depth)
        if node.target is _aten.div.Tensor:
            return self.has(node.args[0], depth) and self._divides(node.args[1])
        if node.target not in _KEPT:
            # Integers are places, and truth values as numbers.
            return isinstance(value, torch.Tensor) and not (
                value.is_floating_point())
        if node.target in _ARITHMETIC and node.kwargs:
            return False
        numbers = [arg for arg in node.args if isinstance(arg, int | float)
                   and node.target in _ARITHMETIC]
        return all(abs(number) <= USUAL for number in numbers) and all(
            self.has(operand, depth) for operand in node.all_input_nodes)

    def _divides(self, divisor: Any) -> bool:
        """Whether it makes nothing much larger."""
        if isinstance(divisor, Node):
            divisor = self._evaluate(divisor)
        with unset_fake_temporarily():
            return divisor is not None and bool(
                (torch.as_tensor(divisor).abs() > _LEAST).all())


__all__ = ["USUAL", "UsualNumbers"]
