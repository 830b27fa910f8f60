"""A column of an attention that has no value, as in GPT-OSS.

Each row has one more score, its sink, which takes a share of the probabilities:

    probabilities = softmax([scores, sink]), without the last column

With the result and the logarithm of the sum of exponentials of an attention
without the sink, those with it are

    logarithm' = log(exp(logarithm) + exp(sink))
    result' = exp(logarithm - logarithm') result

of which backward of that attention makes the gradients of everything else, and
that of the sink is -exp(sink - logarithm') (gradient . result') for each row.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from regather.fx.attention_nodes import (Maker, Refused, dtype_of, is_cast,
                                         keeps_elements, shape_of)

_aten = torch.ops.aten
_SLICE = _aten.slice.Tensor


@dataclass(frozen=True)
class Sink:
    """``scores`` are those of ``columns`` keys, which ``joined`` puts beside
    ``tensor``, one score for each row. ``shifted`` may subtract the largest of each
    row, ``largest``, which changes nothing."""

    scores: Node
    tensor: Node
    joined: Node
    shifted: Node | None
    largest: Node | None
    columns: int

    # Forward

    def is_cut(self, node: Node) -> bool:
        """Whether a node leaves out the sink."""
        return node.target is _SLICE and _bounds(node) == (0, self.columns)

    def with_sink(self, result: Node, logs: Node, made: Maker) -> tuple[Node, Node]:
        """What ``result`` and ``logs`` of an attention without sinks are with
        them."""
        both = _add_powers(logs, self._of_rows(logs, made), made)
        share = made.call(_aten.exp.default, (
            made.call(_aten.sub.Tensor, (logs, both)),))
        share = made.call(_aten.unsqueeze.default, (share, 3))
        product = made.call(_aten.mul.Tensor, (result, share))
        return _cast(product, dtype_of(result), made), both

    def _of_rows(self, logs: Node, made: Maker) -> Node:
        """The sinks, to be broadcast to [batch, heads, rows]."""
        node = self.tensor
        while node.target is _aten.expand.default and len(shape_of(node)) == len(
                shape_of(node.args[0])):
            node = node.args[0]
        shape = shape_of(node)[:-1]
        if len(shape) == 2:
            shape.insert(1, 1)
        if shape != shape_of(node):
            node = made.call(_aten.view.default, (made.contiguous(node), shape))
        return _cast(node, dtype_of(logs), made)

    # Backward

    def find_gradients(self, softmax: Node) -> tuple[Node, Node | None]:
        """Of the scores, and of the sinks, if that is read. ``softmax`` gives
        that of the softmax."""
        node = self._pass_shift(softmax)
        found: dict[tuple[int, int], Node] = {}
        for user in node.users:
            if user.target is not _SLICE or _bounds(user) in found:
                raise Refused("the gradient of its scores and sinks is read by "
                               f"'{user.target}'")
            found[_bounds(user)] = user
        scores = found.pop((0, self.columns), None)
        sinks = found.pop((self.columns, self.columns + 1), None)
        if scores is None or found:
            raise Refused("the gradient of its scores and sinks is read in parts")
        return scores, sinks

    def _pass_shift(self, gradient: Node) -> Node:
        """Behind what the largest of each row gets. The gradient of a softmax has
        the sum zero, so that is nothing."""
        if self.shifted is None:
            return gradient
        users = list(gradient.users)
        total = next((user for user in users if user.target is _aten.add.Tensor
                      and not user.kwargs), None)
        if total is None or len(users) != 2:
            raise Refused("the gradient of its largest scores is not known")
        first, second = total.args
        node: Any = second if first is gradient else first
        if not self._is_scattered(node):
            raise Refused("the gradient of its largest scores is not known")
        node, steps = node.args[3], set()
        while node is not gradient:
            if not isinstance(node, Node) or len(node.users) != 1:
                raise Refused("the gradient of its largest scores is not known")
            if not keeps_elements(node):
                steps.add(node.target)
            node = node.args[0]
        if steps != {_aten.neg.default, _aten.sum.dim_IntList}:
            raise Refused("the gradient of its largest scores is not known")
        return total

    def _is_scattered(self, node: Any) -> bool:
        """Whether zeros get something where the largest of each row is."""
        if not isinstance(node, Node) or node.target is not _aten.scatter.src:
            return False
        zeros, dim, index, _ = node.args
        return (dim % len(shape_of(node)) == len(shape_of(node)) - 1
                and index.target is operator.getitem and index.args[1] == 1
                and index.args[0] is self.largest and is_zero(zeros))

    def make_gradient(self, old: Node, gradient: Node, result: Node, logs: Node,
                      made: Maker) -> None:
        """Puts that of the sinks in the place of ``old``, where ``result`` and
        ``logs`` are with sinks, and ``gradient`` is that of the result."""
        wide = dtype_of(logs)
        product = made.call(_aten.mul.Tensor, (_cast(gradient, wide, made),
                                               _cast(result, wide, made)))
        along = made.call(_aten.sum.dim_IntList, (product, [3]))
        share = made.call(_aten.exp.default, (made.call(
            _aten.sub.Tensor, (self._of_rows(logs, made), logs)),))
        value = made.call(_aten.neg.default, (made.call(
            _aten.mul.Tensor, (share, along)),))
        value = made.call(_aten.view.default, (value, shape_of(old)))
        old.replace_all_uses_with(_cast(value, dtype_of(old), made))


def find_sink(softmax: Node) -> Sink | None:
    """The sink of a softmax along the last dimension, if it has one."""
    node: Any = softmax.args[0]
    while is_cast(node):
        node = node.args[0]
    shifted = largest = None
    if node.target is _aten.sub.Tensor and not node.kwargs:
        shifted, (node, value) = node, node.args
        largest = _find_largest(value, node)
        if largest is None:
            return None
    if node.target is not _aten.cat.default or len(node.args) != 2:
        return None
    parts: Any = node.args[0]
    rank = len(shape_of(node))
    if node.args[1] % rank != rank - 1 or len(parts) != 2 or (
            shape_of(parts[1])[-1] != 1):
        return None
    if len(node.users) != 1 and set(node.users) != {shifted, largest}:
        return None
    return Sink(parts[0], parts[1], node, shifted, largest, shape_of(parts[0])[-1])


def _find_largest(value: Any, of: Any) -> Node | None:
    """What gives ``value`` and where it is, if that is the largest of each row."""
    if not isinstance(value, Node) or value.target is not operator.getitem or (
            value.args[1] != 0):
        return None
    found: Any = value.args[0]
    if found.target is not _aten.max.dim or found.args[0] is not of:
        return None
    rank = len(shape_of(of))
    dim, keeps = (*found.args[1:], False)[:2]
    return found if dim % rank == rank - 1 and keeps else None


def _add_powers(first: Node, second: Node, made: Maker) -> Node:
    """log(exp(first) + exp(second)), of which the second is finite."""
    node = made.call(_aten.sub.Tensor, (first, second))
    for function in (_aten.abs.default, _aten.neg.default, _aten.exp.default,
                     _aten.log1p.default):
        node = made.call(function, (node,))
    return made.call(_aten.add.Tensor, (
        made.call(_aten.maximum.default, (first, second)), node))


def is_zero(node: Any) -> bool:
    """Whether a node is filled with zeros."""
    return isinstance(node, Node) and node.target in (
        _aten.full.default, _aten.full_like.default) and node.args[1] == 0


def is_padded(node: Node, columns: int) -> bool:
    """Whether a node puts a last column of zeros behind ``columns`` others, its
    second operand."""
    return (node.target is _aten.slice_scatter.default and is_zero(node.args[0])
            and _bounds(node, 2) == (0, columns)
            and shape_of(node)[-1] == columns + 1)


def _bounds(node: Node, first: int = 1) -> tuple[int, int]:
    """Of what a node takes of the last dimension, or an empty range."""
    rank = len(shape_of(node))
    dim, start, end, step = (*node.args[first:], *(0, None, None, 1)[
        len(node.args) - first:])
    size = shape_of(node.args[0])[-1]
    if dim % rank != rank - 1 or step != 1:
        return (0, 0)
    begin, stop, _ = slice(start, end).indices(size)
    return (begin, stop)


def _cast(node: Node, dtype: torch.dtype, made: Maker) -> Node:
    return node if dtype_of(node) == dtype else made.call(
        _aten._to_copy.default, (node,), {"dtype": dtype})


__all__ = ["Sink", "find_sink", "is_padded", "is_zero"]
