"""Masks of attentions: what they hide, and one node for all that share one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch.fx import Node

from regather.fx.attention_nodes import Maker, dtype_of, shape_of
from regather.fx.evaluate import Evaluator
from regather.fx.position_masks import LOWEST, Known, PositionMasks
from regather.fx.private import FLASH, unset_fake_temporarily

_aten = torch.ops.aten


class Refused(Exception):
    """A chain is attention, but not one that can be replaced."""


@dataclass(frozen=True)
class Mask:
    """What is added to scores: ``tensor``, or ``value`` where that is ``hidden``
    and nothing elsewhere; times ``factor``, since scores may be scaled behind
    it."""

    tensor: Node
    hidden: bool | None = None
    value: float = 0.0
    factor: float = 1.0

    def make(self, made: Maker, scores: Node, dtype: torch.dtype) -> Node:
        """With four dimensions, for scores of a softmax."""
        mask, rank = self.tensor, len(shape_of(scores))
        if self.hidden is not None:
            zero, value = (made.call(_aten.full.default, ([], number), {
                "dtype": dtype_of(scores), "layout": torch.strided,
                "device": scores.meta["val"].device, "pin_memory": False})
                for number in (0.0, self.value * self.factor))
            both = (value, zero) if self.hidden else (zero, value)
            mask = made.call(_aten.where.self, (mask, *both))
        elif self.factor != 1:
            mask = made.call(_aten.mul.Tensor, (mask, self.factor))
        shape = shape_of(mask)
        shape = [1] * (rank - len(shape)) + shape
        if rank == 3:
            shape.insert(1, 1)
        if shape != shape_of(mask):
            mask = made.call(_aten.view.default, (made.contiguous(mask), shape))
        if dtype_of(mask) not in (dtype, torch.float32):
            mask = made.call(_aten._to_copy.default, (mask,), {"dtype": dtype})
        return mask


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

    def __init__(self, constants: Mapping[Node, torch.Tensor]) -> None:
        self._evaluator = Evaluator(constants.get)
        self._positions = PositionMasks()
        self._made: dict[tuple[Mask, int, torch.dtype], Node] = {}
        # What a mask that depends on nothing adds, in the shape of its tensor.
        self._values: dict[Mask, torch.Tensor | None] = {}
        self._shared: dict[Node, Node] = {}

    def make(self, mask: Mask, made: Maker, scores: Node, dtype: torch.dtype
             ) -> Node:
        key = mask, len(shape_of(scores)), dtype
        if key not in self._made:
            mask = replace(mask, tensor=self._share(mask.tensor))
            self._made[key] = mask.make(made, scores, dtype)
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

    def _evaluate(self, mask: Mask) -> torch.Tensor | None:
        mask = replace(mask, tensor=self._share(mask.tensor))
        if mask not in self._values:
            # A compiler of PyTorch's may have a mode of fake tensors active.
            with unset_fake_temporarily():
                value = self._evaluator.value(mask.tensor)
                if value is not None and mask.hidden is not None:
                    value = torch.where(value.bool() == mask.hidden, mask.value, 0.0)
            self._values[mask] = value
        return self._values[mask]

    def check(self, mask: Mask | None) -> None:
        """Raises ``Refused`` for a mask of which a row may be hidden as a whole
        by finite numbers."""
        if mask is None or mask.hidden is not None and mask.value == -math.inf:
            return
        if self._hides_later(mask):
            return
        value = self._evaluate(mask)
        with unset_fake_temporarily():
            if value is not None and bool((value > LOWEST).any(-1).all()):
                return
        raise Refused("its mask might hide whole rows by a finite number")

    def are_causal(self, mask: Mask, sizes: list[int]) -> bool:
        """Whether a mask depends on nothing and hides just what comes later."""
        if self._hides_later(mask):
            return sizes[0] == sizes[1]
        value = self._evaluate(mask)
        if value is None or sizes[0] != sizes[1] or list(value.shape[-2:]) != sizes:
            return False
        with unset_fake_temporarily():
            later = torch.ones(sizes, dtype=torch.bool).triu(1)
            return bool(torch.where(later, value <= LOWEST, value == 0).all())


__all__ = ["Mask", "Masks", "Refused"]
