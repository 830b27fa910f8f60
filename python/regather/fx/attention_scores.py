"""From the softmax of an attention back to the product that makes its scores,
and on to the product that reads its probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from regather.fx.attention_masks import Mask
from regather.fx.attention_nodes import (BMM, Other, Refused, are_equal,
                                         find_factor, is_transposed,
                                         keeps_elements, leads_to_product,
                                         number_of, reaches_product, shape_of,
                                         split_choice)
from regather.fx.attention_sinks import Sink, is_zero
from regather.fx.position_masks import LOWEST

_aten = torch.ops.aten
SOFTMAX_BACKWARD = _aten._softmax_backward_data.default
_NOT = _aten.logical_not.default
_FACTORS = (_aten.mul.Tensor, _aten.mul.Scalar, _aten.div.Tensor, _aten.div.Scalar)
_MASKING = (_aten.add.Tensor, _aten.where.self)


@dataclass(frozen=True)
class Softmax:
    """``probabilities`` are what ``node`` gives, but zeros in rows that minus
    infinity hides as a whole, which ``test`` looks for, if PyTorch's attention has
    written it so. What attention becomes gives zeros there in any case."""

    node: Node
    probabilities: Node
    test: Node | None = None


def find_softmax(node: Node) -> Softmax:
    scores = node.args[0]
    for user in node.users:
        if user.target is not _aten.where.self or user.args[2] is not node or (
                not is_zero(user.args[1])):
            continue
        test: Any = user.args[0]
        for target in (_NOT, _aten.any.dim, _NOT, _aten.eq.Scalar):
            if not isinstance(test, Node) or test.target is not target:
                break
            last, test = test, test.args[0]
        else:
            if test is scores and last.args[1] == -math.inf:
                return Softmax(node, user, last)
    return Softmax(node, node)


class Scores:
    """What makes the scores of a softmax:

        softcap * tanh(scale * product / softcap) + masks

    or without a bound, where ``softcap`` is None.
    """

    def __init__(self, found: Softmax, sink: Sink | None) -> None:
        """Raises ``Refused`` or ``Other`` if scores are made in another way."""
        self._softmax = softmax = found.node
        self._test = found.test
        self.sink = sink
        self._shape = shape_of(softmax)
        if sink is not None:
            self._shape[-1] = sink.columns
        self.scale = 1.0
        self.softcap: float | None = None
        # What gives the tangent.
        self.tangent: Node | None = None
        # From the last that is added to the first.
        self.masks: list[Mask] = []
        # Behind the bound.
        self._outer = 1.0
        self.product = self._follow()
        self.scale *= self._outer

    def _follow(self) -> Node:
        node: Any = self._softmax.args[0]
        reader = self._softmax
        if self.sink is not None:
            node, reader = self.sink.scores, self.sink.joined
        before: list[tuple[Node, Node]] = []
        while node.target is not BMM:
            before.append((node, reader))
            node, reader = self._step(node), node
        before.append((node, reader))
        product = shape_of(node)
        if product[1:] != self._shape[-2:] or (
                product[0] != math.prod(self._shape[:-2])):
            raise Other
        for value, reader in before:
            # Backward reads the tangent.
            if value is not self.tangent and [
                    user for user in value.users
                    if user is not self._test] != [reader]:
                raise Refused("its scores are read by others")
        return node

    def _step(self, node: Node) -> Node:
        """The operand of ``node`` that holds scores."""
        if node.op != "call_function" or not node.args:
            raise Other
        operand: Any = node.args[0]
        if keeps_elements(node):
            return operand
        if node.target in _FACTORS:
            if not isinstance(operand, Node) or not leads_to_product(operand):
                operand = node.args[1]
            factor = (find_factor(node, operand)
                      if isinstance(operand, Node) else None)
            if factor is None:
                raise self._unknown(node)
            self.scale *= factor
            return operand
        if node.target is _aten.tanh.default and self.tangent is None and (
                math.isfinite(self.scale) and self.scale != 0):
            self.tangent = node
            self._outer, self.scale = self.scale, 1.0
            self.softcap = abs(self._outer)
            return operand
        if node.target not in _MASKING or not self._may_mask(node):
            raise self._unknown(node)
        if node.target is _aten.add.Tensor and not node.kwargs:
            other: Any = node.args[1]
            if not isinstance(operand, Node) or not leads_to_product(operand):
                operand, other = other, operand
            if not (isinstance(other, Node) and isinstance(operand, Node)
                    and other.meta["val"].is_floating_point()
                    and shape_of(operand) == shape_of(node)):
                raise self._unknown(node)
            self._add_mask(node, other)
            return operand
        if node.target is _aten.where.self:
            tensor, operand, other = node.args
            hidden = number_of(operand) is not None
            if hidden:
                operand, other = other, operand
            number = number_of(other)
            if number is None or not isinstance(operand, Node) or (
                    shape_of(operand) != shape_of(node)):
                raise self._unknown(node)
            if number > LOWEST:
                raise Refused(f"scores are masked with {number}, to which they "
                               "are not nothing")
            self._add_mask(node, tensor, hidden, number)
            return operand
        raise self._unknown(node)

    def clears_hidden(self, node: Node, operand: Node) -> bool:
        """Whether a node puts zeros where a mask hides scores by minus infinity,
        whose probabilities are zero."""
        choice = split_choice(node)
        if choice is None or choice[1] is not operand:
            return False
        return any(mask.hidden is choice[2] and mask.value == -math.inf
                   and are_equal(mask.tensor, choice[0]) for mask in self.masks)

    def _may_mask(self, node: Node) -> bool:
        """Whether rows and columns are the last dimensions."""
        shape = shape_of(node)
        return len(shape) > 2 and shape[-2:] == self._shape[-2:] and (
            math.prod(shape) == math.prod(self._shape))

    def _add_mask(self, place: Node, tensor: Node, hidden: bool | None = None,
                  number: float = 0.0) -> None:
        if self.tangent is not None:
            raise Refused("its mask is bounded with its scores")
        # Scores are followed from their end.
        if not self.scale > 0:
            raise Refused(f"its masked scores are multiplied by {self.scale}")
        self.masks.append(Mask(tensor, hidden, number, self.scale,
                               tuple(shape_of(place))))

    def _unknown(self, node: Node) -> Exception:
        """Whose softmax this is shows in what makes the scores."""
        if leads_to_product(node) and reaches_product(self._softmax):
            return Refused(f"'{node.target}' is applied to its scores")
        return Other()


def follow_probabilities(softmax: Node, scores: Scores) -> tuple[Node, Node, Node | None]:
    """The probabilities as the second product reads them, that product, and
    their transpose, which the gradient of the values reads."""
    node, sink = softmax, scores.sink
    is_cut = sink is None
    while True:
        readers = [user for user in node.users
                   if not (node is softmax and user.target is SOFTMAX_BACKWARD
                           and user.args[1] is node)]
        transposed = [user for user in readers if is_transposed(user, node)]
        products = [user for user in readers if user.target is BMM]
        if products and is_cut:
            if (len(products) != 1 or products[0].args[0] is not node
                    or len(transposed) > 1
                    or len(readers) != 1 + len(transposed)):
                raise Refused("its probabilities are read by others")
            return node, products[0], transposed[0] if transposed else None
        if len(readers) != 1:
            if reaches_product(softmax):
                raise Refused("its probabilities are read by others, such as "
                               "dropout or outputs")
            raise Other
        (user,) = readers
        if not is_cut and sink is not None and sink.is_cut(user):
            is_cut = True
        elif not keeps_elements(user) and not scores.clears_hidden(user, node):
            if reaches_product(user):
                raise Refused(f"'{user.target}' is applied to its probabilities")
            raise Other
        node = user


__all__ = ["SOFTMAX_BACKWARD", "Scores", "Softmax", "find_softmax",
           "follow_probabilities"]
