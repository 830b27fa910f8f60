"""Masks of attentions: what they hide, and one node for all that share one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from regather.fx.attention_biases import USUAL, UsualNumbers
from regather.fx.attention_nodes import (Maker, Refused, dtype_of, is_copy,
                                         number_of, shape_of)
from regather.fx.evaluate import Evaluator
from regather.fx.position_masks import LOWEST, Known, PositionMasks
from regather.fx.private import FLASH, unset_fake_temporarily

_aten = torch.ops.aten


@dataclass(frozen=True)
class Mask:
    """What is added to scores of the shape ``place``: ``tensor``, or ``value``
    where that is ``hidden`` and nothing elsewhere; times ``factor``, since scores
    may be scaled behind it."""

    tensor: Node
    hidden: bool | None = None
    value: float = 0.0
    factor: float = 1.0
    place: tuple[int, ...] = ()

    def make(self, made: Maker, sizes: list[int], dtype: torch.dtype) -> Node:
        """With four dimensions, for scores of these ``sizes``."""
        mask = self.tensor
        if self.hidden is not None:
            zero, value = (made.call(_aten.full.default, ([], number), {
                "dtype": dtype, "layout": torch.strided,
                "device": mask.meta["val"].device, "pin_memory": False})
                for number in (0.0, self.value * self.factor))
            both = (value, zero) if self.hidden else (zero, value)
            mask = made.call(_aten.where.self, (mask, *both))
        elif self.factor != 1:
            mask = made.call(_aten.mul.Tensor, (mask, self.factor))
        return self._fit(mask, made, sizes)

    def _fit(self, mask: Node, made: Maker, sizes: list[int]) -> Node:
        shape = shape_of(mask)
        shape = [1] * (len(self.place) - len(shape)) + shape
        outer = list(self.place[:-2])
        if outer == sizes[:2]:
            fitting = shape
        elif all(size == 1 for size in shape[:-2]):
            fitting = [1, 1, *shape[-2:]]
        elif outer[-1] == sizes[1] and len(outer) > 1 and shape[-3] == 1:
            # The same for all heads, for each of several parts of the batch.
            fitting = [sizes[0], 1, *shape[-2:]]
            shape = [*outer[:-1], *shape[-3:]]
        else:
            fitting = [*sizes[:2], *shape[-2:]]
            shape = [*outer, *shape[-2:]]
        if math.prod(shape) != math.prod(shape_of(mask)):
            mask = made.call(_aten.expand.default, (mask, shape))
        if fitting != shape_of(mask):
            mask = made.call(_aten.view.default, (made.contiguous(mask), fitting))
        return mask


def _terms_of(mask: Mask) -> list[Mask]:
    """Masks that together add what ``mask`` does."""
    terms, found = [mask.tensor], []
    while terms and mask.hidden is None:
        node = terms.pop()
        while is_copy(node):
            node = node.args[0]
        if node.target is _aten.add.Tensor and not node.kwargs and all(
                isinstance(arg, Node) for arg in node.args):
            terms += reversed(node.args)
        elif (hiding := _find_hiding(node)) is not None:
            kept, hidden, value = hiding
            terms.append(kept)
            found.append(replace(mask, tensor=node.args[0], hidden=hidden,
                                 value=value))
        else:
            found.append(replace(mask, tensor=node))
        if len(found) + len(terms) > _MOST_TERMS:
            return [mask]
    return found or [mask]


def _find_hiding(node: Node) -> tuple[Node, bool, float] | None:
    """What a choice keeps, for which truth value it does not, and the number that
    it takes then, if that is very low."""
    if node.target is not _aten.where.self:
        return None
    for kept, number, hidden in ((*node.args[1:], False), (*node.args[:0:-1], True)):
        value = number_of(number)
        if value is not None and value <= LOWEST and isinstance(kept, Node) and (
                number_of(kept) is None):
            return kept, hidden, value
    return None


# Of a sum that is a mask.
_MOST_TERMS = 8


def _make_shared(known: Known, mask: Node) -> Node:
    """The mask of which ``known`` says what is at a row and a column, with one
    element in all other dimensions."""
    made = Maker(mask)
    shape = shape_of(mask)
    device, dtype = mask.meta["val"].device, dtype_of(mask)

    def place(dim: int) -> Node:
        count = made.call(_aten.arange.start_step, (0, shape[dim - 2]), {
            "dtype": torch.int64, "layout": torch.strided, "device": device,
            "pin_memory": False})
        return made.call(_aten.unsqueeze.default, (count, 1 - dim))

    places = [place(0), place(1)]
    truth: Node | None = None
    for linear in known.linears:
        terms = [made.call(_aten.mul.Tensor, (node, factor))
                 for node, factor in zip(places, linear.factors)]
        total = made.call(_aten.add.Tensor, tuple(terms))
        is_low = made.call(_aten.le.Scalar, (total, -linear.constant))
        truth = is_low if truth is None else made.call(
            _aten.bitwise_and.Tensor, (truth, is_low))
    assert truth is not None and known.numbers is not None
    # As the mask had them: a cast may have made a number infinite.
    with unset_fake_temporarily():
        values = [torch.tensor(number).to(dtype).item()
                  for number in known.numbers]
    numbers = [made.call(_aten.full.default, ([], value), {
        "dtype": dtype, "layout": torch.strided, "device": device,
        "pin_memory": False}) for value in values]
    result = made.call(_aten.where.self, (truth, *numbers))
    return made.call(_aten.view.default,
                     (result, [1] * (len(shape) - 2) + shape[-2:]))


class Masks:
    """Masks of a graph, each of which is made and looked at once."""

    def __init__(self, constants: Mapping[Node, torch.Tensor],
                 parameters: Set[Node] = frozenset()) -> None:
        self._evaluator = Evaluator(constants.get)
        self._usual = UsualNumbers(parameters, self._evaluate_node)
        self._positions = PositionMasks()
        self._made: dict[tuple[Any, ...], Node] = {}
        # What a mask that depends on nothing adds, in the shape of its tensor.
        self._values: dict[Mask, torch.Tensor | None] = {}
        self._shared: dict[Node, Node] = {}

    def make(self, masks: Sequence[Mask], made: Maker, sizes: list[int],
             scores: torch.dtype, dtype: torch.dtype) -> Node:
        """What ``masks`` add to scores of these ``sizes``, for operands of type
        ``dtype``. Numbers that take the place of scores have the type of
        ``scores``."""
        key = (*masks, *sizes[:2], scores, dtype)
        if key not in self._made:
            total: Node | None = None
            for mask in masks:
                mask = replace(mask, tensor=self._share(mask.tensor))
                node = mask.make(made, sizes, scores)
                total = node if total is None else made.call(
                    _aten.add.Tensor, (total, node))
            assert total is not None
            if dtype_of(total) not in (dtype, torch.float32):
                total = made.call(_aten._to_copy.default, (total,),
                                  {"dtype": dtype})
            self._made[key] = total
        return self._made[key]

    def _share(self, mask: Node) -> Node:
        """One mask for all sequences and heads, if it is known to be the same
        for them."""
        if mask not in self._shared:
            known = (self._positions.find_shared(mask)
                     if math.prod(shape_of(mask)[:-2]) > 1 else None)
            self._shared[mask] = (mask if known is None
                                  else _make_shared(known, mask))
        return self._shared[mask]

    def simplify(self, attention: Node) -> None:
        """Has the operator hide what comes later, if its mask does just that,
        and have no mask of its own for each sequence."""
        mask = attention.kwargs.get("attn_mask")
        if not isinstance(mask, Node):
            return
        if not self._positions.hides_later(mask):
            attention.kwargs = {**attention.kwargs, "attn_mask": self._share(mask)}
            return
        # Numbers of dropout and of what comes behind it.
        dropout = 3 if attention.target is FLASH else 6
        attention.args = (*attention.args, 0.0)[:dropout + 1] + (True,)
        attention.kwargs = {name: value for name, value
                            in attention.kwargs.items() if name != "attn_mask"}

    def _hides_later(self, mask: Mask) -> bool:
        if mask.hidden is not None and mask.value > LOWEST:
            return False
        return self._positions.hides_later(mask.tensor, mask.hidden)

    def _evaluate_node(self, node: Node) -> torch.Tensor | None:
        # A compiler of PyTorch's may have a mode of fake tensors active.
        with unset_fake_temporarily():
            return self._evaluator.value(node)

    def _evaluate(self, mask: Mask) -> torch.Tensor | None:
        mask = replace(mask, tensor=self._share(mask.tensor))
        if mask not in self._values:
            with unset_fake_temporarily():
                value = self._evaluator.value(mask.tensor)
                if value is not None and mask.hidden is not None:
                    value = torch.where(value.bool() == mask.hidden, mask.value, 0.0)
            self._values[mask] = value
        return self._values[mask]

    def _hides_nothing(self, mask: Mask) -> bool:
        if mask.hidden is not None:
            return False
        if self._usual.has(mask.tensor):
            return True
        value = self._evaluate(mask)
        with unset_fake_temporarily():
            return value is not None and bool((value >= -USUAL).all())

    def _is_infinite(self, mask: Mask) -> bool:
        return mask.hidden is not None and mask.value == -math.inf

    def check(self, masks: Sequence[Mask]) -> None:
        """Raises ``Refused`` if a row may be hidden as a whole by finite
        numbers."""
        hiding = [term for mask in masks for term in _terms_of(mask)
                  if not self._hides_nothing(term)]
        if all(self._is_infinite(mask) for mask in hiding):
            return
        if len(hiding) == 1:
            if self._hides_later(hiding[0]):
                return
            value = self._evaluate(hiding[0])
            with unset_fake_temporarily():
                if value is not None and bool((value > LOWEST).any(-1).all()):
                    return
            raise Refused("its mask might hide whole rows by a finite number")
        raise Refused("two masks together might hide whole rows by a finite number")

    def find_causal(self, masks: Sequence[Mask], sizes: list[int]
                    ) -> tuple[list[Mask], bool]:
        """The masks without those that hide just what comes later, and whether
        there are any; and without those that are zero."""
        kept: list[Mask] = []
        is_causal = False
        for mask in masks:
            terms = _terms_of(mask)
            causal = [self._is_causal(term, sizes) for term in terms]
            is_causal |= any(causal)
            left = [term for term, is_so in zip(terms, causal)
                    if not is_so and not self._is_zero(term)]
            kept += [mask] if len(left) == len(terms) else left
        return kept, is_causal

    def _is_zero(self, mask: Mask) -> bool:
        value = None if mask.hidden is not None else self._evaluate(mask)
        with unset_fake_temporarily():
            return value is not None and not bool(value.any())

    def _is_causal(self, mask: Mask, sizes: list[int]) -> bool:
        """Whether a mask depends on nothing and hides just what comes later."""
        if self._hides_later(mask):
            return sizes[0] == sizes[1]
        value = self._evaluate(mask)
        if value is None or sizes[0] != sizes[1] or list(value.shape[-2:]) != sizes:
            return False
        with unset_fake_temporarily():
            later = torch.ones(sizes, dtype=torch.bool).triu(1)
            return bool(torch.where(later, value <= LOWEST, value == 0).all())


__all__ = ["Mask", "Masks"]
