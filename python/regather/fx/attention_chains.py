"""Attention that a model writes out, as one node forward and one backward.

    scores = bmm(query, transposed key), scaled, bounded, with masks added
    probabilities = softmax(scores)
    result = bmm(probabilities, value)

and the gradients of these become the operators that ``attention.py`` makes of
PyTorch's attention, or, with a bound or the gradient of what is added, those of
``attention_operators.py``, so that no tensor but for masks and their gradients has
an element for each pair of a row and a key. The arithmetic is the same up to rounding, but for a row that is masked
with -inf as a whole, of which PyTorch makes NaN here and 0 there. A row that
finite numbers mask as a whole is a mean of all values, whose gradients those
operators do not get right, so masks that might do so stay as they are. So does a
chain of which anything else reads an intermediate value.

One pass over the graph; each chain is followed once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node

from regather.fx.attention_gradients import Backward, Gradients, find_total
from regather.fx.attention_heads import find_shared_heads
from regather.fx.attention_masks import Mask, Masks
from regather.fx.attention_nodes import (BMM, Maker, Other, Refused, dtype_of,
                                         shape_of, split_choice)
from regather.fx.attention_operators import (ATTENTION, ATTENTION_BACKWARD,
                                             BIASED_BACKWARD, is_per_sequence)
from regather.fx.attention_scores import (Scores, find_softmax,
                                          follow_probabilities)
from regather.fx.attention_sinks import find_sink
from regather.fx.private import FLASH, FLASH_BACKWARD

_aten = torch.ops.aten
_ALIASES = {_aten.alias.default, _aten.detach.default}
_SOFTMAX = _aten._softmax.default
# What backward of an attention reads of forward.
_SAVED = {_SOFTMAX, _aten.tanh.default, _aten.where.self}


class Fused(NamedTuple):
    """How many chains were replaced, and sentences about them and others."""

    count: int
    notes: list[str]


def fuse_attention(graph: Graph,
                   constants: Mapping[Node, torch.Tensor] | None = None,
                   parameters: Set[Node] = frozenset()) -> Fused:
    """Replaces all chains that can be. Nodes that are read no more stay.
    ``constants`` are placeholders whose value is known, ``parameters`` those of
    the model."""
    if FLASH is None or FLASH_BACKWARD is None:
        return Fused(0, [])
    place = {node: i for i, node in enumerate(graph.nodes)}
    masks = Masks(constants or {}, parameters)
    for node in list(graph.nodes):
        if node.target in (FLASH, FLASH_BACKWARD):
            masks.simplify(node)
        elif node.target in _SAVED:
            _pass_over_aliases(node)
    fused = 0
    refused: Counter[str] = Counter()
    for node in list(graph.nodes):
        if node.target is not _SOFTMAX:
            continue
        try:
            chain = _Chain.find(node)
            masks.check(chain.scores.masks)
            chain.choose_masks(masks)
        except Refused as reason:
            refused[str(reason)] += 1
        except Other:
            continue
        else:
            chain.replace(place)
            fused += 1
    notes = []
    if fused:
        notes.append(f"{_count(fused)} written as products and a softmax "
                     f"{'is' if fused == 1 else 'are'} carried out without "
                     "storing scores")
    notes += [f"{_count(count)} {'stays' if count == 1 else 'stay'} as written: "
              f"{reason}" for reason, count in refused.items()]
    return Fused(fused, notes)


def _pass_over_aliases(node: Node) -> None:
    """Lets backward read ``node`` itself. AOTAutograd has it read an alias."""
    for alias in [user for user in node.users if user.target in _ALIASES]:
        _pass_over_aliases(alias)
        for user in list(alias.users):
            if user.op == "call_function":
                user.replace_input_with(alias, node)
        if not alias.users:
            alias.graph.erase_node(alias)


def _count(number: int) -> str:
    return f"{number} attention{'' if number == 1 else 's'}"


@dataclass
class _Chain:
    """An attention. Operands have the dimensions of ``bmm``, the key that of
    its second operand."""

    softmax: Node
    scores: Scores
    value: Node
    result: Node
    backward: Backward | None
    mask: Node | None = None
    is_causal: bool = False

    @property
    def query(self) -> Any:
        return self.scores.product.args[0]

    @property
    def key(self) -> Any:
        return self.scores.product.args[1]

    @property
    def sizes(self) -> list[int]:
        """Of the scores, with batch and heads apart."""
        *outer, rows, columns = shape_of(self.softmax)
        if self.scores.sink is not None:
            columns = self.scores.sink.columns
        return [*outer, *[1] * (2 - len(outer)), rows, columns]

    @staticmethod
    def find(softmax: Node) -> _Chain:
        shape = shape_of(softmax)
        if any(not isinstance(size, int) for size in shape):
            raise Other
        if len(shape) not in (3, 4) or softmax.args[1] % len(shape) != len(shape) - 1:
            raise Other
        sink = find_sink(softmax)
        written = find_softmax(softmax)
        scores = Scores(written, sink)
        last, result, transposed = follow_probabilities(
            written.probabilities, scores)
        if sink is not None:
            shape[-1] = sink.columns
        if shape_of(last) != [math.prod(shape[:-2]), *shape[-2:]]:
            raise Refused("its probabilities are multiplied in another shape")
        query, key = scores.product.args
        value = result.args[1]
        sizes = shape_of(query), shape_of(value)
        if len({dtype_of(query), dtype_of(key), dtype_of(value)}) != 1:
            raise Refused("query, key and value differ in type")
        if 0 in (*shape, *sizes[0], *sizes[1]):
            raise Other
        backward = Gradients(written.probabilities, scores, value).find(transposed)
        return _Chain(softmax, scores, value, result, backward)

    def choose_masks(self, masks: Masks) -> None:
        """What is added to the scores, and by which form of backward its gradient
        is known, if it has one."""
        sizes = self.sizes
        kept, self.is_causal = masks.find_causal(self.scores.masks, sizes[2:])
        if kept:
            # Chains are found in the order of their softmaxes, so that those that
            # have the same mask come behind it.
            self.mask = masks.make(
                kept[::-1], Maker(self.softmax), sizes,
                dtype_of(self.softmax.args[0]), dtype_of(self.query))
        if self.backward is None or not self.backward.biases:
            return
        if self.mask is None:
            raise Refused("the gradient of its scores is read by others")
        if not is_per_sequence(self.mask.meta["val"]) and sizes[0] != 1:
            self.backward.biases = [find_total(bias, sizes)
                                    for bias in self.backward.biases]

    # Replacing

    def _options(self) -> dict[str, Any]:
        named: dict[str, Any] = {"scale": self.scores.scale}
        if self.mask is not None:
            named["attn_mask"] = self.mask
        if self.scores.softcap is not None:
            named["softcap"] = self.scores.softcap
        return named

    def replace(self, place: dict[Node, int]) -> None:
        """``place`` numbers the nodes that were there."""
        made = Maker(self.result)
        sizes = self.sizes
        query = made.with_heads(self.query, sizes[:2])
        key = made.transpose(made.with_heads(self.key, sizes[:2]))
        value = made.with_heads(self.value, sizes[:2])
        found = self.backward
        shared = find_shared_heads(key, value, found and found.key,
                                   found and found.value)
        if shared is not None:
            key, value = shared.key, shared.value
        own = shape_of(query)[3], shape_of(value)[3]
        wide = max(own)
        # Zeros fill the narrower heads: the operators take those of one width.
        query, key, value = (made.in_rows(made.widen(node, wide))
                             for node in (query, key, value))
        is_bounded = self.scores.softcap is not None
        both = made.call(ATTENTION if is_bounded else FLASH,
                         (query, key, value, 0.0, self.is_causal), self._options())
        result, sums = made.item(both, 0), made.item(both, 1)
        sink = self.scores.sink
        if sink is not None:
            result, sums = sink.with_sink(result, sums, made)
        made.give(self.result, made.narrow(result, own[1]))
        if found is None:
            return
        starts = [n for n in (found.value, found.softmax and _producer(
            found.softmax)) if n is not None]
        back = Maker(min(starts, key=place.__getitem__))
        gradient = back.in_rows(back.widen(
            back.with_heads(found.gradient, sizes[:2]), wide))
        operator = (BIASED_BACKWARD if found.biases
                    else ATTENTION_BACKWARD if is_bounded else FLASH_BACKWARD)
        all_of = back.call(operator, (gradient, query, key, value, result, sums, 0.0,
                                      self.is_causal), self._options())
        if found.biases:
            of_mask = back.item(all_of, 3)
            for bias in found.biases:
                bias.give(of_mask, back)
        if sink is not None and found.sinks is not None:
            sink.make_gradient(found.sinks, gradient, result, sums, back)
        if found.query is not None:
            back.give(found.query, back.narrow(back.item(all_of, 0), own[0]))
        key = back.narrow(back.item(all_of, 1), own[0])
        value = back.narrow(back.item(all_of, 2), own[1])
        if shared is not None:
            for old, new in ((shared.key_sum, key), (shared.value_sum, value)):
                if old is not None:
                    old.replace_all_uses_with(back.contiguous(new))
            return
        if found.key is not None:
            back.give(found.key, back.transpose(key))
        if found.value is not None:
            back.give(found.value, value)


def _producer(softmax: Node) -> Node:
    """The product at the beginning of what makes the gradient of a softmax."""
    node = softmax.args[0]
    while node.target is not BMM:
        choice = split_choice(node)
        node = (choice[1] if choice is not None
                else node.args[node.target is _aten.slice_scatter.default])
    return node


__all__ = ["fuse_attention"]
