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
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node

from regather.fx.attention_masks import Mask, Masks, Refused
from regather.fx.attention_nodes import (VIEWS, Maker, dtype_of, is_copy,
                                         shape_of)
from regather.fx.position_masks import LOWEST
from regather.fx.private import FLASH, FLASH_BACKWARD

_aten = torch.ops.aten
_BMM = _aten.bmm.default
_UNIT_DIMENSIONS = {_aten.unsqueeze.default, _aten.squeeze.dim, _aten.squeeze.dims}
_ALIASES = {_aten.alias.default, _aten.detach.default}
_CONSTANTS = {_aten.full.default, _aten.scalar_tensor.default}
_SOFTMAX = _aten._softmax.default
_SOFTMAX_BACKWARD = _aten._softmax_backward_data.default


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
    masks = Masks(constants or {})
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
        except Refused as reason:
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


def _size(node: Node) -> int:
    """Elements of the first result."""
    value = node.meta.get("val")
    if isinstance(value, tuple | list) and value:
        value = value[0]
    return value.numel() if isinstance(value, torch.Tensor) else -1


def _number(value: Any) -> float | None:
    """A constant, as a number or as a tensor of one element."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Node) and value.target in _CONSTANTS:
        number = value.args[value.target is _aten.full.default]
        if isinstance(number, int | float) and value.meta["val"].numel() == 1:
            return float(number)
    return None


def _is_view(node: Node) -> bool:
    """Whether a node gives the elements of its operand in their order. Einsum
    moves dimensions of size 1."""
    if node.target is _aten.permute.default:
        sizes = shape_of(node.args[0])
        moved = [d % len(sizes) for d in node.args[1] if sizes[d] != 1]
        return moved == sorted(moved)
    return node.target in VIEWS or node.target in _UNIT_DIMENSIONS


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
    mask: Mask | None
    backward: _Backward | None

    @staticmethod
    def find(softmax: Node) -> _Chain:
        shape = shape_of(softmax)
        if any(not isinstance(size, int) for size in shape):
            raise _Other
        if len(shape) not in (3, 4) or softmax.args[1] % len(shape) != len(shape) - 1:
            raise _Other
        scores, scale, mask = _Scores(softmax).follow()
        last, result, transposed = _follow_probabilities(softmax)
        if shape_of(last) != [math.prod(shape[:-2]), *shape[-2:]]:
            raise Refused("its probabilities are multiplied in another shape")
        query, key = scores.args
        value = result.args[1]
        sizes = shape_of(query), shape_of(value)
        if len({dtype_of(query), dtype_of(key), dtype_of(value)}) != 1:
            raise Refused("query, key and value differ in type")
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
                raise Refused(f"its probabilities are read by '{product.target}'")
            found = _Backward(product.args[1], value=product)
        softmax = next((user for user in self.softmax.users
                        if user.target is _SOFTMAX_BACKWARD), None)
        if softmax is None:
            return found
        gradient = self._find_gradient(softmax)
        if found is None:
            found = _Backward(gradient)
        elif found.gradient is not gradient:
            raise Refused("its gradients are those of two results")
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
            if not (_is_view(node) or is_copy(node) or _is_cast(node)):
                raise Refused(f"'{node.target}' makes the gradient of its "
                               "probabilities")
            node = node.args[0]
        if not _is_transposed(node.args[1], self.value):
            raise Refused("the gradient of its probabilities is no product "
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
            if _is_view(user) or is_copy(user) or _is_cast(user):
                pass
            elif (factor := _find_factor(user, node)) is not None:
                scale *= factor
            elif not self._is_masking(user, node):
                raise Refused(f"the gradient of its scores is read by "
                               f"'{user.target}'")
            node = user
        if not math.isclose(scale, self.scale, rel_tol=1e-9):
            raise Refused(f"its scores are scaled by {self.scale}, their "
                           f"gradient by {scale}")
        for user in node.users:
            if user.target is _BMM and user.args[0] is node and _is_transposed(
                    user.args[1], self.key):
                found.query = user
            elif user.target is _BMM and user.args[1] is node and _is_transposed(
                    user.args[0], self.query):
                found.key = user
            else:
                raise Refused("the gradient of its scores is read by "
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

    def replace(self, place: dict[Node, int], masks: Masks) -> None:
        """``place`` numbers the nodes that were there."""
        made = Maker(self.result)
        sizes = shape_of(self.softmax)
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
                mask = masks.make(self.mask, Maker(self.softmax),
                                  self.softmax.args[0], dtype_of(self.query))
        named: dict[str, Any] = {"scale": self.scale}
        if mask is not None:
            named["attn_mask"] = mask
        shared = self._find_shared_heads(key, value)
        if shared is not None:
            key, value = shared.key, shared.value
        own = shape_of(query)[3], shape_of(value)[3]
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
        back = Maker(min(starts, key=place.__getitem__))
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
                shape_of(narrow[0])[1] != shape_of(narrow[1])[1]):
            return None
        sums: list[Node | None] = [None, None]
        if self.backward is not None:
            for i, gradient in enumerate((self.backward.key,
                                          self.backward.value)):
                if gradient is not None:
                    sums[i] = _find_sum(gradient, shape_of((key, value)[i]),
                                        shape_of(narrow[i]), is_transposed=i == 0)
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
    if node.target not in VIEWS:
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
    batch, heads, *rest = shape_of(node)
    shape = shape_of(narrow)
    if len(shape) != 4 or [shape[0], *shape[2:]] != [batch, *rest] or (
            shape_of(wide) != [*shape[:2], heads // max(shape[1], 1), *shape[2:]]):
        return None
    return narrow


def _find_sum(gradient: Node, shape: list[int], narrow: list[int],
              is_transposed: bool) -> Node | None:
    """The sum of a gradient over the heads that share one, of shape ``narrow``,
    if there is nothing but that behind ``gradient``."""
    steps: list[Callable[[Node], bool]] = [
        lambda n: (n.target in VIEWS and len(shape_of(n)) == 4
                   and shape_of(n)[2:] == shape_of(gradient)[1:]),
        lambda n: n.target in VIEWS and shape_of(n) == [
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
    if shape_of(node) == narrow:
        return node
    if len(node.users) != 1:
        return None
    user = next(iter(node.users))
    squeezes = {_aten.squeeze.dim, _aten.squeeze.dims, *VIEWS}
    return user if user.target in squeezes and shape_of(user) == narrow else None


def _only(node: Node, what: str) -> list[Node]:
    """The only node that reads ``node``."""
    users = list(node.users)
    if len(users) != 1:
        raise Refused(f"more than one node reads {what.rstrip(',')}"
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
        self._mask: Mask | None = None

    def follow(self) -> tuple[Node, float, Mask | None]:
        node, reader = self._softmax.args[0], self._softmax
        before: list[tuple[Node, Node]] = []
        while node.target is not _BMM:
            before.append((node, reader))
            node, reader = self._step(node), node
        before.append((node, reader))
        shape, product = shape_of(self._softmax), shape_of(node)
        if product[1:] != shape[-2:] or product[0] != math.prod(shape[:-2]):
            raise _Other
        for value, reader in before:
            if list(value.users) != [reader]:
                raise Refused("its scores are read by others")
        return node, self._scale, self._mask

    def _step(self, node: Node) -> Node:
        """The operand of ``node`` that holds scores."""
        if node.op != "call_function" or not node.args:
            raise _Other
        operand: Any = node.args[0]
        if _is_view(node) or is_copy(node) or _is_cast(node):
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
        if shape_of(node) != shape_of(self._softmax):
            raise self._unknown(node)
        if node.target is _aten.add.Tensor and not node.kwargs:
            other: Any = node.args[1]
            if not isinstance(operand, Node) or not _leads_to_product(operand):
                operand, other = other, operand
            if not (isinstance(other, Node) and isinstance(operand, Node)
                    and other.meta["val"].is_floating_point()):
                raise self._unknown(node)
            self._set_mask(Mask(other))
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
                raise Refused(f"scores are masked with {number}, to which they "
                               "are not nothing")
            self._set_mask(Mask(tensor, hidden, number))
            return operand
        raise self._unknown(node)

    def _set_mask(self, mask: Mask) -> None:
        if self._mask is not None:
            raise Refused("it has two masks")
        if not self._scale > 0:
            raise Refused(f"its masked scores are multiplied by {self._scale}")
        # Scores are followed from their end.
        self._mask = replace(mask, factor=self._scale)

    def _unknown(self, node: Node) -> Exception:
        """Whose softmax this is shows in what makes the scores."""
        if _leads_to_product(node) and _reaches_product(self._softmax):
            return Refused(f"'{node.target}' is applied to its scores")
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
                raise Refused("its probabilities are read by others")
            return node, products[0], transposed[0] if transposed else None
        if len(readers) != 1:
            if _reaches_product(softmax):
                raise Refused("its probabilities are read by others, such as "
                               "dropout or outputs")
            raise _Other
        (user,) = readers
        if not (_is_view(user) or is_copy(user) or _is_cast(user)):
            if _reaches_product(user):
                raise Refused(f"'{user.target}' is applied to its probabilities")
            raise _Other
        node = user


__all__ = ["fuse_attention"]
