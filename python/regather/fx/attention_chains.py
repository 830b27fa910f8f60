"""Attention that a model writes out, as one node forward and one backward.

    scores = bmm(query, transposed key), scaled, with a mask added
    probabilities = softmax(scores)
    result = bmm(probabilities, value)

and the gradients of these become the operators that ``attention.py`` makes of
PyTorch's attention, so that no tensor has an element for each pair of a row and
a key. The arithmetic is the same up to rounding, but for a row that is masked
with -inf as a whole, of which PyTorch makes NaN here and 0 there. A row that
finite numbers mask as a whole is a mean of all values, whose gradients those
operators do not get right, so masks that might do so stay as they are. So does a
chain of which anything else reads an intermediate value.

One pass over the graph; each chain is followed once.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node

from regather.fx.position_masks import LOWEST, Known, PositionMasks
from regather.fx.evaluate import Evaluator
from regather.fx.private import (FLASH, FLASH_BACKWARD, rename,
                                  unset_fake_temporarily)

_aten = torch.ops.aten
_BMM = _aten.bmm.default
_VIEWS = {_aten.view.default, _aten._unsafe_view.default}
_UNIT_DIMENSIONS = {_aten.unsqueeze.default, _aten.squeeze.dim, _aten.squeeze.dims}
_COPIES = {_aten.clone.default, _aten.expand.default}
_ALIASES = {_aten.alias.default, _aten.detach.default}
_CONSTANTS = {_aten.full.default, _aten.scalar_tensor.default}
_SOFTMAX = _aten._softmax.default
_SOFTMAX_BACKWARD = _aten._softmax_backward_data.default


class _Refused(Exception):
    """A chain is attention, but not one that can be replaced."""


class _Other(Exception):
    """A softmax is not that of attention."""


class Fused(NamedTuple):
    """How many chains were replaced, and sentences about them and others."""

    count: int
    notes: list[str]


def fuse_attention(graph: Graph,
                   constants: Mapping[Node, torch.Tensor] | None = None) -> Fused:
    """Replaces all chains that can be. Nodes that are read no more stay.
    ``constants`` are placeholders whose value is known."""
    if FLASH is None or FLASH_BACKWARD is None:
        return Fused(0, [])
    place = {node: i for i, node in enumerate(graph.nodes)}
    masks = _Masks(constants or {})
    for node in graph.nodes:
        if node.target in (FLASH, FLASH_BACKWARD):
            masks.simplify(node)
    fused = 0
    refused: Counter[str] = Counter()
    for node in list(graph.nodes):
        if node.target is not _SOFTMAX:
            continue
        _pass_over_aliases(node)
        try:
            chain = _Chain.find(node)
            masks.check(chain.mask)
        except _Refused as reason:
            refused[str(reason)] += 1
        except _Other:
            continue
        else:
            chain.replace(place, masks)
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


def _shape(node: Node) -> list[int]:
    return list(node.meta["val"].shape)


def _size(node: Node) -> int:
    """Elements of the first result."""
    value = node.meta.get("val")
    if isinstance(value, tuple | list) and value:
        value = value[0]
    return value.numel() if isinstance(value, torch.Tensor) else -1


def _dtype(node: Node) -> torch.dtype:
    dtype: torch.dtype = node.meta["val"].dtype
    return dtype


def _number(value: Any) -> float | None:
    """A constant, as a number or as a tensor of one element."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Node) and value.target in _CONSTANTS:
        number = value.args[value.target is _aten.full.default]
        if isinstance(number, int | float) and value.meta["val"].numel() == 1:
            return float(number)
    return None


def _is_copy(node: Node) -> bool:
    """Whether a node gives its operand, of which it may change the layout."""
    return node.target in _COPIES and _shape(node) == _shape(node.args[0])


def _is_view(node: Node) -> bool:
    """Whether a node gives the elements of its operand in their order. Einsum
    moves dimensions of size 1."""
    if node.target is _aten.permute.default:
        sizes = _shape(node.args[0])
        moved = [d % len(sizes) for d in node.args[1] if sizes[d] != 1]
        return moved == sorted(moved)
    return node.target in _VIEWS or node.target in _UNIT_DIMENSIONS


def _is_cast(node: Node) -> bool:
    return (node.target is _aten._to_copy.default
            and node.meta["val"].is_floating_point()
            and node.args[0].meta["val"].is_floating_point())


def _is_transposed(node: Any, of: Node) -> bool:
    """Whether ``node`` is ``of`` with its last two of three dimensions swapped."""
    if not isinstance(node, Node) or not node.args or node.args[0] is not of:
        return False
    if node.target is _aten.permute.default:
        return [d % 3 for d in node.args[1]] == [0, 2, 1]
    return (node.target is _aten.transpose.int
            and {d % 3 for d in node.args[1:3]} == {1, 2})


@dataclass(frozen=True)
class _Mask:
    """What is added to scores: ``tensor``, or ``value`` where that is ``hidden``
    and nothing elsewhere; times ``factor``, since scores may be scaled behind
    it."""

    tensor: Node
    hidden: bool | None = None
    value: float = 0.0
    factor: float = 1.0

    def make(self, made: _Maker, scores: Node, dtype: torch.dtype) -> Node:
        """With four dimensions, for scores of a softmax."""
        mask, rank = self.tensor, len(_shape(scores))
        if self.hidden is not None:
            zero, value = (made.call(_aten.full.default, ([], number), {
                "dtype": _dtype(scores), "layout": torch.strided,
                "device": scores.meta["val"].device, "pin_memory": False})
                for number in (0.0, self.value * self.factor))
            both = (value, zero) if self.hidden else (zero, value)
            mask = made.call(_aten.where.self, (mask, *both))
        elif self.factor != 1:
            mask = made.call(_aten.mul.Tensor, (mask, self.factor))
        shape = _shape(mask)
        shape = [1] * (rank - len(shape)) + shape
        if rank == 3:
            shape.insert(1, 1)
        if shape != _shape(mask):
            mask = made.call(_aten.view.default, (made.contiguous(mask), shape))
        if _dtype(mask) not in (dtype, torch.float32):
            mask = made.call(_aten._to_copy.default, (mask,), {"dtype": dtype})
        return mask


def _make_shared(known: Known, mask: Node) -> Node:
    """The mask of which ``known`` says what is at a row and a column, with one
    element in all other dimensions."""
    made = _Maker(mask)
    shape = _shape(mask)
    device, dtype = mask.meta["val"].device, _dtype(mask)

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
    numbers = [made.call(_aten.full.default, ([], number), {
        "dtype": dtype, "layout": torch.strided, "device": device,
        "pin_memory": False}) for number in known.numbers]
    result = made.call(_aten.where.self, (truth, *numbers))
    return made.call(_aten.view.default,
                     (result, [1] * (len(shape) - 2) + shape[-2:]))


class _Masks:
    """Masks of a graph, each of which is made and looked at once."""

    def __init__(self, constants: Mapping[Node, torch.Tensor]) -> None:
        self._evaluator = Evaluator(constants.get)
        self._positions = PositionMasks()
        self._made: dict[tuple[_Mask, int, torch.dtype], Node] = {}
        # What a mask that depends on nothing adds, in the shape of its tensor.
        self._values: dict[_Mask, torch.Tensor | None] = {}
        self._shared: dict[Node, Node] = {}

    def make(self, mask: _Mask, made: _Maker, scores: Node, dtype: torch.dtype
             ) -> Node:
        key = mask, len(_shape(scores)), dtype
        if key not in self._made:
            mask = replace(mask, tensor=self._share(mask.tensor))
            self._made[key] = mask.make(made, scores, dtype)
        return self._made[key]

    def _share(self, mask: Node) -> Node:
        """One mask for all sequences and heads, if it is known to be the same
        for them."""
        if mask not in self._shared:
            known = (self._positions.find_shared(mask)
                     if math.prod(_shape(mask)[:-2]) > 1 else None)
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

    def _hides_later(self, mask: _Mask) -> bool:
        if mask.hidden is not None and mask.value > LOWEST:
            return False
        return self._positions.hides_later(mask.tensor, mask.hidden)

    def _evaluate(self, mask: _Mask) -> torch.Tensor | None:
        mask = replace(mask, tensor=self._share(mask.tensor))
        if mask not in self._values:
            # A compiler of PyTorch's may have a mode of fake tensors active.
            with unset_fake_temporarily():
                value = self._evaluator.value(mask.tensor)
                if value is not None and mask.hidden is not None:
                    value = torch.where(value.bool() == mask.hidden, mask.value, 0.0)
            self._values[mask] = value
        return self._values[mask]

    def check(self, mask: _Mask | None) -> None:
        """Raises ``_Refused`` for a mask of which a row may be hidden as a whole
        by finite numbers."""
        if mask is None or mask.hidden is not None and mask.value == -math.inf:
            return
        if self._hides_later(mask):
            return
        value = self._evaluate(mask)
        with unset_fake_temporarily():
            if value is not None and bool((value > LOWEST).any(-1).all()):
                return
        raise _Refused("its mask might hide whole rows by a finite number")

    def are_causal(self, mask: _Mask, sizes: list[int]) -> bool:
        """Whether a mask depends on nothing and hides just what comes later."""
        if self._hides_later(mask):
            return sizes[0] == sizes[1]
        value = self._evaluate(mask)
        if value is None or sizes[0] != sizes[1] or list(value.shape[-2:]) != sizes:
            return False
        with unset_fake_temporarily():
            later = torch.ones(sizes, dtype=torch.bool).triu(1)
            return bool(torch.where(later, value <= LOWEST, value == 0).all())


@dataclass
class _Backward:
    """Gradients: of the result, and the nodes that make those of the operands,
    which may be missing."""

    gradient: Node
    softmax: Node | None = None
    query: Node | None = None
    key: Node | None = None
    value: Node | None = None


@dataclass
class _Chain:
    """An attention. Operands have the dimensions of ``bmm``, the key that of
    its second operand."""

    query: Node
    key: Node
    value: Node
    softmax: Node
    result: Node
    scale: float
    mask: _Mask | None
    backward: _Backward | None

    @staticmethod
    def find(softmax: Node) -> _Chain:
        shape = _shape(softmax)
        if any(not isinstance(size, int) for size in shape):
            raise _Other
        if len(shape) not in (3, 4) or softmax.args[1] % len(shape) != len(shape) - 1:
            raise _Other
        scores, scale, mask = _Scores(softmax).follow()
        last, result, transposed = _follow_probabilities(softmax)
        if _shape(last) != [math.prod(shape[:-2]), *shape[-2:]]:
            raise _Refused("its probabilities are multiplied in another shape")
        query, key = scores.args
        value = result.args[1]
        sizes = _shape(query), _shape(value)
        if len({_dtype(query), _dtype(key), _dtype(value)}) != 1:
            raise _Refused("query, key and value differ in type")
        if 0 in (*shape, *sizes[0], *sizes[1]):
            raise _Other
        chain = _Chain(query, key, value, softmax, result, scale, mask, None)
        chain.backward = chain.find_backward(last, transposed)
        return chain

    # Gradients

    def find_backward(self, last: Node, transposed: Node | None
                      ) -> _Backward | None:
        found = None
        if transposed is not None:
            (product,) = _only(transposed, "its probabilities")
            if product.target is not _BMM or product.args[0] is not transposed:
                raise _Refused(f"its probabilities are read by '{product.target}'")
            found = _Backward(product.args[1], value=product)
        softmax = next((user for user in self.softmax.users
                        if user.target is _SOFTMAX_BACKWARD), None)
        if softmax is None:
            return found
        gradient = self._find_gradient(softmax)
        if found is None:
            found = _Backward(gradient)
        elif found.gradient is not gradient:
            raise _Refused("its gradients are those of two results")
        found.softmax = softmax
        self._find_products(found)
        return found

    def _find_gradient(self, softmax: Node) -> Node:
        """The gradient of the result, of which ``softmax`` gets the product
        with the values."""
        node = softmax.args[0]
        while True:
            _only(node, "the gradient of its probabilities")
            if node.target is _BMM:
                break
            if not (_is_view(node) or _is_copy(node) or _is_cast(node)):
                raise _Refused(f"'{node.target}' makes the gradient of its "
                               "probabilities")
            node = node.args[0]
        if not _is_transposed(node.args[1], self.value):
            raise _Refused("the gradient of its probabilities is no product "
                           "with its values")
        gradient: Node = node.args[0]
        return gradient

    def _find_products(self, found: _Backward) -> None:
        """The gradients of query and key, from that of the scores."""
        node, scale = found.softmax, 1.0
        assert node is not None
        while not any(user.target is _BMM for user in node.users):
            (user,) = _only(node, "the gradient of its scores, such as that of a "
                                  "mask,")
            if _is_view(user) or _is_copy(user) or _is_cast(user):
                pass
            elif (factor := _find_factor(user, node)) is not None:
                scale *= factor
            elif not self._is_masking(user, node):
                raise _Refused(f"the gradient of its scores is read by "
                               f"'{user.target}'")
            node = user
        if not math.isclose(scale, self.scale, rel_tol=1e-9):
            raise _Refused(f"its scores are scaled by {self.scale}, their "
                           f"gradient by {scale}")
        for user in node.users:
            if user.target is _BMM and user.args[0] is node and _is_transposed(
                    user.args[1], self.key):
                found.query = user
            elif user.target is _BMM and user.args[1] is node and _is_transposed(
                    user.args[0], self.query):
                found.key = user
            else:
                raise _Refused("the gradient of its scores is read by "
                               f"'{user.target}'")

    def _is_masking(self, node: Node, gradient: Node) -> bool:
        """Whether a node sets the gradient to zero where a mask set scores."""
        mask = self.mask
        if mask is None or mask.hidden is None or (
                node.target is not _aten.where.self):
            return False
        zero, kept = node.args[1:] if mask.hidden else node.args[:0:-1]
        return (node.args[0] is mask.tensor and kept is gradient
                and _number(zero) == 0)

    # Replacing

    def replace(self, place: dict[Node, int], masks: _Masks) -> None:
        """``place`` numbers the nodes that were there."""
        made = _Maker(self.result)
        sizes = _shape(self.softmax)
        if len(sizes) == 3:
            sizes.insert(1, 1)
        query = made.with_heads(self.query, sizes[:2])
        key = made.transpose(made.with_heads(self.key, sizes[:2]))
        value = made.with_heads(self.value, sizes[:2])
        mask, is_causal = None, False
        if self.mask is not None:
            is_causal = masks.are_causal(self.mask, sizes[2:])
            if not is_causal:
                # Chains are found in the order of their softmaxes, so that those
                # that have the same mask come behind it.
                mask = masks.make(self.mask, _Maker(self.softmax),
                                  self.softmax.args[0], _dtype(self.query))
        named: dict[str, Any] = {"scale": self.scale}
        if mask is not None:
            named["attn_mask"] = mask
        shared = self._find_shared_heads(key, value)
        if shared is not None:
            key, value = shared.key, shared.value
        own = _shape(query)[3], _shape(value)[3]
        wide = max(own)
        # Zeros fill the narrower heads: the operators take those of one width.
        query, key, value = (made.in_rows(made.widen(node, wide))
                             for node in (query, key, value))
        both = made.call(FLASH, (query, key, value, 0.0, is_causal), named)
        result, sums = made.item(both, 0), made.item(both, 1)
        made.give(self.result, made.narrow(result, own[1]))
        if self.backward is None:
            return
        found = self.backward
        starts = [n for n in (found.value, found.softmax and _producer(
            found.softmax)) if n is not None]
        back = _Maker(min(starts, key=place.__getitem__))
        gradient = back.in_rows(back.widen(
            back.with_heads(found.gradient, sizes[:2]), wide))
        three = back.call(FLASH_BACKWARD, (gradient, query, key, value, result,
                                           sums, 0.0, is_causal), named)
        if found.query is not None:
            back.give(found.query, back.narrow(back.item(three, 0), own[0]))
        key = back.narrow(back.item(three, 1), own[0])
        value = back.narrow(back.item(three, 2), own[1])
        if shared is not None:
            for old, new in ((shared.key_sum, key), (shared.value_sum, value)):
                if old is not None:
                    old.replace_all_uses_with(back.contiguous(new))
            return
        if found.key is not None:
            back.give(found.key, back.transpose(key))
        if found.value is not None:
            back.give(found.value, value)

    def _find_shared_heads(self, key: Node, value: Node) -> _SharedHeads | None:
        """What ``key`` and ``value`` repeat, if their gradients, where there are
        any, are summed accordingly."""
        narrow = _find_repeated(key), _find_repeated(value)
        if narrow[0] is None or narrow[1] is None or (
                _shape(narrow[0])[1] != _shape(narrow[1])[1]):
            return None
        sums: list[Node | None] = [None, None]
        if self.backward is not None:
            for i, gradient in enumerate((self.backward.key,
                                          self.backward.value)):
                if gradient is not None:
                    sums[i] = _find_sum(gradient, _shape((key, value)[i]),
                                        _shape(narrow[i]), is_transposed=i == 0)
                    if sums[i] is None:
                        return None
        return _SharedHeads(narrow[0], narrow[1], *sums)


@dataclass
class _SharedHeads:
    """Key and value of which several heads of the query share one, and their
    gradients, summed over these."""

    key: Node
    value: Node
    key_sum: Node | None
    value_sum: Node | None


def _find_repeated(node: Node) -> Node | None:
    """``[B, H, T, E]`` of which ``node`` repeats each head."""
    if node.target not in _VIEWS:
        return None
    wide: Node = node.args[0]
    while wide.target is _aten.clone.default:
        wide = wide.args[0]
    if wide.target is not _aten.expand.default:
        return None
    column: Node = wide.args[0]
    if column.target is not _aten.unsqueeze.default or column.args[1] != 2:
        return None
    narrow: Node = column.args[0]
    batch, heads, *rest = _shape(node)
    shape = _shape(narrow)
    if len(shape) != 4 or [shape[0], *shape[2:]] != [batch, *rest] or (
            _shape(wide) != [*shape[:2], heads // max(shape[1], 1), *shape[2:]]):
        return None
    return narrow


def _find_sum(gradient: Node, shape: list[int], narrow: list[int],
              is_transposed: bool) -> Node | None:
    """The sum of a gradient over the heads that share one, of shape ``narrow``,
    if there is nothing but that behind ``gradient``."""
    steps: list[Callable[[Node], bool]] = [
        lambda n: (n.target in _VIEWS and len(_shape(n)) == 4
                   and _shape(n)[2:] == _shape(gradient)[1:]),
        lambda n: n.target in _VIEWS and _shape(n) == [
            *narrow[:2], shape[1] // narrow[1], *narrow[2:]],
        lambda n: (n.target is _aten.sum.dim_IntList and list(n.args[1]) == [2]
                   and not n.kwargs),
    ]
    if is_transposed:
        steps.insert(1, lambda n: n.target is _aten.permute.default and [
            d % 4 for d in n.args[1]] == [0, 1, 3, 2])
    node = gradient
    for is_next in steps:
        if len(node.users) != 1 or not is_next(user := next(iter(node.users))):
            return None
        node = user
    if _shape(node) == narrow:
        return node
    if len(node.users) != 1:
        return None
    user = next(iter(node.users))
    squeezes = {_aten.squeeze.dim, _aten.squeeze.dims, *_VIEWS}
    return user if user.target in squeezes and _shape(user) == narrow else None


def _only(node: Node, what: str) -> list[Node]:
    """The only node that reads ``node``."""
    users = list(node.users)
    if len(users) != 1:
        raise _Refused(f"more than one node reads {what.rstrip(',')}"
                       if users else f"nothing reads {what.rstrip(',')}")
    return users


def _producer(softmax: Node) -> Node:
    """The product at the beginning of what ``_find_gradient`` followed."""
    node = softmax.args[0]
    while node.target is not _BMM:
        node = node.args[0]
    return node


def _find_factor(node: Node, operand: Node) -> float | None:
    """By what a node multiplies an operand, if it is a constant."""
    if node.kwargs or len(node.args) != 2:
        return None
    if node.target in (_aten.mul.Tensor, _aten.mul.Scalar):
        other = node.args[1] if node.args[0] is operand else node.args[0]
        return _number(other)
    if node.target in (_aten.div.Tensor, _aten.div.Scalar):
        if node.args[0] is operand and (number := _number(node.args[1])):
            return 1 / number
    return None


class _Scores:
    """From a softmax back to the product that makes its scores."""

    def __init__(self, softmax: Node) -> None:
        self._softmax = softmax
        self._scale = 1.0
        self._mask: _Mask | None = None

    def follow(self) -> tuple[Node, float, _Mask | None]:
        node, reader = self._softmax.args[0], self._softmax
        before: list[tuple[Node, Node]] = []
        while node.target is not _BMM:
            before.append((node, reader))
            node, reader = self._step(node), node
        before.append((node, reader))
        shape, product = _shape(self._softmax), _shape(node)
        if product[1:] != shape[-2:] or product[0] != math.prod(shape[:-2]):
            raise _Other
        for value, reader in before:
            if list(value.users) != [reader]:
                raise _Refused("its scores are read by others")
        return node, self._scale, self._mask

    def _step(self, node: Node) -> Node:
        """The operand of ``node`` that holds scores."""
        if node.op != "call_function" or not node.args:
            raise _Other
        operand: Any = node.args[0]
        if _is_view(node) or _is_copy(node) or _is_cast(node):
            return operand
        if node.target in (_aten.mul.Tensor, _aten.mul.Scalar, _aten.div.Tensor,
                           _aten.div.Scalar):
            if not isinstance(operand, Node) or not _leads_to_product(operand):
                operand = node.args[1]
            factor = (_find_factor(node, operand)
                      if isinstance(operand, Node) else None)
            if factor is None:
                raise self._unknown(node)
            self._scale *= factor
            return operand
        if _shape(node) != _shape(self._softmax):
            raise self._unknown(node)
        if node.target is _aten.add.Tensor and not node.kwargs:
            other: Any = node.args[1]
            if not isinstance(operand, Node) or not _leads_to_product(operand):
                operand, other = other, operand
            if not (isinstance(other, Node) and isinstance(operand, Node)
                    and other.meta["val"].is_floating_point()):
                raise self._unknown(node)
            self._set_mask(_Mask(other))
            return operand
        if node.target is _aten.where.self:
            tensor, operand, other = node.args
            hidden = _number(operand) is not None
            if hidden:
                operand, other = other, operand
            number = _number(other)
            if number is None or not isinstance(operand, Node):
                raise self._unknown(node)
            if number > LOWEST:
                raise _Refused(f"scores are masked with {number}, to which they "
                               "are not nothing")
            self._set_mask(_Mask(tensor, hidden, number))
            return operand
        raise self._unknown(node)

    def _set_mask(self, mask: _Mask) -> None:
        if self._mask is not None:
            raise _Refused("it has two masks")
        if not self._scale > 0:
            raise _Refused(f"its masked scores are multiplied by {self._scale}")
        # Scores are followed from their end.
        self._mask = replace(mask, factor=self._scale)

    def _unknown(self, node: Node) -> Exception:
        """Whose softmax this is shows in what makes the scores."""
        if _leads_to_product(node) and _reaches_product(self._softmax):
            return _Refused(f"'{node.target}' is applied to its scores")
        return _Other()


# How far from a softmax the products of an attention are looked for.
_REACH = 12


def _leads_to_product(node: Node) -> bool:
    """Whether a product of matrices makes what ``node`` makes elementwise."""
    for _ in range(_REACH):
        if node.target is _BMM:
            return True
        operands = [n for n in node.all_input_nodes if _size(n) == _size(node)]
        if not operands:
            return False
        node = operands[0]
    return False


def _reaches_product(node: Node) -> bool:
    """Whether a product of matrices reads what is made of ``node``
    elementwise."""
    size = _size(node)
    nodes = [node]
    for _ in range(_REACH):
        readers = dict.fromkeys(user for node in nodes for user in node.users)
        if any(user.target is _BMM for user in readers):
            return True
        nodes = [user for user in readers if _size(user) == size]
    return False


def _follow_probabilities(softmax: Node) -> tuple[Node, Node, Node | None]:
    """The probabilities as the second product reads them, that product, and
    their transpose, which the gradient of the values reads."""
    node = softmax
    while True:
        readers = [user for user in node.users
                   if not (node is softmax and user.target is _SOFTMAX_BACKWARD
                           and user.args[1] is node)]
        transposed = [user for user in readers if _is_transposed(user, node)]
        products = [user for user in readers if user.target is _BMM]
        if products:
            if (len(products) != 1 or products[0].args[0] is not node
                    or len(transposed) > 1
                    or len(readers) != 1 + len(transposed)):
                raise _Refused("its probabilities are read by others")
            return node, products[0], transposed[0] if transposed else None
        if len(readers) != 1:
            if _reaches_product(softmax):
                raise _Refused("its probabilities are read by others, such as "
                               "dropout or outputs")
            raise _Other
        (user,) = readers
        if not (_is_view(user) or _is_copy(user) or _is_cast(user)):
            if _reaches_product(user):
                raise _Refused(f"'{user.target}' is applied to its probabilities")
            raise _Other
        node = user


class _Maker:
    """Makes nodes in front of one, with what is known of it."""

    def __init__(self, before: Node) -> None:
        self._before = before
        self._device = before.meta["val"].device

    def call(self, target: Callable[..., Any], args: tuple[Any, ...],
             kwargs: dict[str, Any] | None = None) -> Node:
        kwargs = kwargs or {}
        graph = self._before.graph
        with graph.inserting_before(self._before):
            node = graph.call_function(target, args, kwargs)
        # As the tracer calls it.
        rename(node, getattr(target, "overloadpacket", target).__name__)
        node.meta = dict(self._before.meta)
        # Of AOTAutograd: it is about the value of the other node.
        node.meta.pop("tensor_meta", None)
        mode = self._before.meta["val"].fake_mode

        def fake(operand: Node) -> Any:
            value = operand.meta["val"]
            if not isinstance(value, torch.Tensor) or hasattr(value, "fake_mode"):
                return value
            # A constant of the model.
            return torch.empty_strided(value.shape, value.stride(),
                                       dtype=value.dtype, device=self._device)

        with mode:
            values = torch.fx.node.map_arg((args, kwargs), fake)
            node.meta["val"] = target(*values[0], **values[1])
        return node

    def item(self, node: Node, index: int) -> Node:
        return self.call(operator.getitem, (node, index))

    def contiguous(self, node: Node) -> Node:
        if node.meta["val"].is_contiguous():
            return node
        return self.call(_aten.clone.default, (node,),
                         {"memory_format": torch.contiguous_format})

    def in_rows(self, node: Node) -> Node:
        """With neighbours along the last dimension beside each other, which
        PyTorch's operators rely on without a check."""
        value = node.meta["val"]
        return node if value.stride()[-1] == 1 else self.contiguous(node)

    def widen(self, node: Node, width: int) -> Node:
        """With zeros behind the last dimension, up to ``width``."""
        missing = width - _shape(node)[-1]
        return (self.call(_aten.constant_pad_nd.default, (node, [0, missing]))
                if missing else node)

    def narrow(self, node: Node, width: int) -> Node:
        """The first ``width`` of the last of four dimensions."""
        return (node if _shape(node)[-1] == width
                else self.call(_aten.slice.Tensor, (node, 3, 0, width)))

    def with_heads(self, node: Node, sizes: list[int]) -> Node:
        """With batch and heads in two dimensions instead of one."""
        shape = [*sizes, *_shape(node)[1:]]
        if node.target in _VIEWS and _shape(node.args[0]) == shape:
            node = node.args[0]
            while _is_copy(node):
                node = node.args[0]
            return node
        return self.call(_aten.view.default, (node, shape))

    def transpose(self, node: Node) -> Node:
        """Swaps the last two of four dimensions."""
        if (node.target is _aten.permute.default
                and [d % 4 for d in node.args[1]] == [0, 1, 3, 2]):
            operand: Node = node.args[0]
            return operand
        return self.call(_aten.permute.default, (node, [0, 1, 3, 2]))

    def give(self, old: Node, new: Node) -> None:
        """Lets all that read ``old`` read ``new``, which has heads in a
        dimension of their own."""
        new = self.contiguous(new)
        for user in list(old.users):
            if user.target in _VIEWS and _shape(user) == _shape(new):
                user.replace_all_uses_with(new)
        if any(user.users or user.target not in _VIEWS for user in old.users):
            flat = self.call(_aten.view.default, (new, _shape(old)))
            old.replace_all_uses_with(flat)


__all__ = ["fuse_attention"]
