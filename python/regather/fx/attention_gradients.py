"""The nodes of backward that read the scores and probabilities of an attention."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from regather.fx.attention_nodes import (BMM, REACH, Maker, Refused, are_equal,
                                         dtype_of, find_factor, is_cast,
                                         is_transposed, keeps_elements, number_of,
                                         only_user, shape_of, split_choice)
from regather.fx.attention_scores import SOFTMAX_BACKWARD, Scores
from regather.fx.attention_sinks import is_padded

_aten = torch.ops.aten
_SUM = _aten.sum.dim_IntList
# Attentions that add to the gradient of one bias, each behind the other.
_MOST_TERMS = 256


@dataclass(frozen=True)
class BiasGradient:
    """``reader`` reads ``scale`` times the gradient of masked scores, for what was
    added to them. If ``total`` is there, that is a sum over the batch, of this
    alone or, as a term of ``sum``, of others, too."""

    source: Node
    reader: Node
    scale: float
    sum: Node | None = None
    total: Node | None = None

    def give(self, gradient: Node, made: Maker) -> None:
        """Puts what is made of ``gradient``, [B or 1, H, R, C], in its place."""
        dtype = dtype_of(self.source)
        if self.total is None:
            shape = shape_of(self.source)
            value = self._scaled(gradient, made, dtype)
            if shape_of(value) != shape:
                value = made.call(_aten.view.default, (made.contiguous(value), shape))
            self.reader.replace_input_with(self.source, value)
            return
        others: Any = [d for d in self.total.args[1] if d % 4 != 0]
        shape = shape_of(self.total)
        if self.sum is None:
            value = self._scaled(gradient, made, dtype)
            self.total.replace_all_uses_with(self._summed(value, made, others, shape))
            return
        # The other terms are summed without this one.
        first, second = self.sum.args
        self.sum.replace_all_uses_with(second if first is self.source else first)
        self.sum.graph.erase_node(self.sum)
        readers = list(self.total.users)
        behind = Maker(self.total, before=self.total.next)
        value = self._scaled(gradient, behind, dtype)
        both = behind.call(_aten.add.Tensor, (
            self.total, self._summed(value, behind, others, shape)))
        for reader in readers:
            reader.replace_input_with(self.total, both)

    def _scaled(self, gradient: Node, made: Maker, dtype: torch.dtype) -> Node:
        if self.scale != 1:
            gradient = made.call(_aten.mul.Tensor, (gradient, self.scale))
        if dtype_of(gradient) != dtype:
            gradient = made.call(_aten._to_copy.default, (gradient,),
                                 {"dtype": dtype})
        return gradient

    @staticmethod
    def _summed(value: Node, made: Maker, dims: list[int], shape: list[int]) -> Node:
        if dims:
            value = made.call(_SUM, (value, dims, True))
        if shape_of(value) != shape:
            value = made.call(_aten.view.default, (made.contiguous(value), shape))
        return value


@dataclass
class Backward:
    """Gradients: of the result, and the nodes that make those of the operands,
    which may be missing."""

    gradient: Node
    softmax: Node | None = None
    query: Node | None = None
    key: Node | None = None
    value: Node | None = None
    sinks: Node | None = None
    biases: list[BiasGradient] = field(default_factory=list)


class Gradients:
    """Looks for the backward of one attention, of which it gets the operands of
    the products."""

    def __init__(self, softmax: Node, scores: Scores, value: Node) -> None:
        self._softmax = softmax
        self._scores = scores
        self._query, self._key = scores.product.args
        self._value = value

    def find(self, transposed: Node | None) -> Backward | None:
        """``transposed`` are the transposed probabilities. Raises ``Refused`` for
        what is not that of an attention."""
        found = None
        if transposed is not None:
            product = only_user(transposed, "its probabilities")
            if product.target is not BMM or product.args[0] is not transposed:
                raise Refused(f"its probabilities are read by '{product.target}'")
            found = Backward(product.args[1], value=product)
        softmax = next((user for user in self._softmax.users
                        if user.target is SOFTMAX_BACKWARD), None)
        if softmax is None:
            return found
        gradient = self._find_gradient(softmax)
        if found is None:
            found = Backward(gradient)
        elif found.gradient is not gradient:
            raise Refused("its gradients are those of two results")
        found.softmax = node = softmax
        if self._scores.sink is not None:
            node, found.sinks = self._scores.sink.find_gradients(softmax)
        self._follow(node, 1.0, False, found, 0)
        return found

    def _find_gradient(self, softmax: Node) -> Node:
        """The gradient of the result, of which ``softmax`` gets the product
        with the values."""
        node = softmax.args[0]
        sink = self._scores.sink
        is_padded_yet = sink is None
        while True:
            only_user(node, "the gradient of its probabilities")
            if node.target is BMM and is_padded_yet:
                break
            if not is_padded_yet and sink is not None and is_padded(
                    node, sink.columns):
                is_padded_yet, node = True, node.args[1]
                continue
            choice = split_choice(node)
            if choice is not None and self._scores.clears_hidden(node, choice[1]):
                node = choice[1]
                continue
            if not keeps_elements(node):
                raise Refused(f"'{node.target}' makes the gradient of its "
                               "probabilities")
            node = node.args[0]
        if not is_transposed(node.args[1], self._value):
            raise Refused("the gradient of its probabilities is no product "
                           "with its values")
        gradient: Node = node.args[0]
        return gradient

    def _follow(self, node: Node, scale: float, is_bounded: bool,
                found: Backward, depth: int) -> None:
        """Goes from the gradient of the scores on to those of query and key.
        ``node`` is that gradient times ``scale``, and, if it ``is_bounded``, times
        the slope of the bound. What else reads it is for what was added to the
        scores."""
        users = list(node.users)
        products = [user for user in users if self._is_product(user, node)]
        taken = products
        if not products:
            taken = [self._take_step(node, scale, is_bounded, found, depth)]
        for user in users:
            if user in taken:
                continue
            if is_bounded or not any(mask.hidden is None
                                     for mask in self._scores.masks):
                raise Refused("the gradient of its scores is read by "
                               f"'{user.target}'")
            found.biases.append(BiasGradient(node, user, scale))
        for user in products:
            gradient = self._find_scaled(user, scale, is_bounded)
            if user.args[0] is node:
                found.query = gradient
            else:
                found.key = gradient

    def _take_step(self, node: Node, scale: float, is_bounded: bool,
                   found: Backward, depth: int) -> Node:
        """The user of ``node`` from which the products are found."""
        users = list(node.users)
        reason: Refused | None = None
        for user in users if depth < REACH else []:
            factor, slopes = 1.0, is_bounded
            if self._is_slope(user, node):
                slopes = True
            elif (number := find_factor(user, node)) is not None:
                factor = number
            elif not keeps_elements(user) and not self._is_masking(user, node):
                continue
            tried = Backward(found.gradient)
            try:
                self._follow(user, scale * factor, slopes, tried, depth + 1)
            except Refused as refused:
                reason = reason or refused
                continue
            found.query, found.key = tried.query, tried.key
            found.biases += tried.biases
            return user
        if reason is not None:
            raise reason
        if len(users) != 1:
            raise Refused(
                "more than one node reads the gradient of its scores"
                if users else "nothing reads the gradient of its scores")
        raise Refused("the gradient of its scores is read by "
                       f"'{users[0].target}'")

    def _is_product(self, user: Node, node: Node) -> bool:
        return user.target is BMM and (
            user.args[0] is node and is_transposed(user.args[1], self._key)
            or user.args[1] is node and is_transposed(user.args[0], self._query))

    def _find_scaled(self, product: Node, scale: float, is_bounded: bool) -> Node:
        """The gradient that ``product`` is, with the scale of the scores, which
        may be applied behind it."""
        if is_bounded != (self._scores.tangent is not None):
            raise Refused("the gradient of its scores has another bound")
        node = product
        if not self._is_scale(scale) and len(product.users) == 1:
            node = next(iter(product.users))
            scale *= find_factor(node, product) or math.nan
        if not self._is_scale(scale):
            raise Refused(f"its scores are scaled by {self._scores.scale}, their "
                           "gradient by another number")
        return node

    def _is_scale(self, scale: float) -> bool:
        return math.isclose(scale, self._scores.scale, rel_tol=1e-9)

    def _is_masking(self, node: Node, gradient: Node) -> bool:
        """Whether a node sets the gradient to zero where a mask set scores."""
        choice = split_choice(node)
        return choice is not None and choice[1] is gradient and any(
            mask.hidden is choice[2] and are_equal(mask.tensor, choice[0])
            for mask in self._scores.masks)

    def _is_slope(self, node: Node, gradient: Node) -> bool:
        """Whether a node multiplies by the slope of the bound, 1 - tangent^2."""
        tangent = self._scores.tangent
        if tangent is None:
            return False
        if node.target is _aten.tanh_backward.default:
            return node.args[0] is gradient and node.args[1] is tangent
        if node.target is not _aten.mul.Tensor or node.kwargs:
            return False
        slope: Any = node.args[1] if node.args[0] is gradient else node.args[0]
        if not isinstance(slope, Node) or slope.target is not _aten.sub.Tensor or (
                slope.kwargs):
            return False
        one, square = slope.args
        if number_of(one) != 1 or not isinstance(square, Node) or (
                square.target is not _aten.mul.Tensor):
            return False
        factor: Any = square.args[0]
        if factor is not square.args[1]:
            return False
        while isinstance(factor, Node) and is_cast(factor):
            factor = factor.args[0]
        return factor is tangent


def find_total(bias: BiasGradient, sizes: list[int]) -> BiasGradient:
    """The same with the sum over the batch that it is a term of. ``sizes`` are
    those of the scores, with batch and heads apart. Raises ``Refused`` if there is
    none."""
    value, reader = bias.source, bias.reader
    first: Node | None = None
    for _ in range(_MOST_TERMS):
        if reader.target is _SUM and not reader.kwargs:
            if shape_of(value) == sizes and 0 in [d % 4 for d in reader.args[1]]:
                return BiasGradient(bias.source, bias.reader, bias.scale, first,
                                    reader)
            break
        is_term = (reader.target is _aten.add.Tensor and not reader.kwargs
                   and reader.args[0] is not reader.args[1]
                   and all(isinstance(arg, Node) and shape_of(arg) == sizes
                           for arg in reader.args))
        if not is_term or len(reader.users) != 1:
            break
        first = first or reader
        value, reader = reader, next(iter(reader.users))
    raise Refused(f"the gradient of its mask is read by '{bias.reader.target}', and "
                   "is no sum over the batch")


__all__ = ["Backward", "BiasGradient", "Gradients", "find_total"]
