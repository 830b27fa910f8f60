"""What the search for attention asks of nodes, and how it makes others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from regather.fx.private import rename

_aten = torch.ops.aten
BMM = _aten.bmm.default
VIEWS = {_aten.view.default, _aten._unsafe_view.default}
COPIES = {_aten.clone.default, _aten.expand.default}
_UNIT_DIMENSIONS = {_aten.unsqueeze.default, _aten.squeeze.dim, _aten.squeeze.dims}
_CONSTANTS = {_aten.full.default, _aten.scalar_tensor.default}
# How far from a softmax the products of an attention are looked for.
REACH = 12


class Refused(Exception):
    """A chain is attention, but not one that can be replaced."""


class Other(Exception):
    """A softmax is not that of attention."""


def shape_of(node: Node) -> list[int]:
    return list(node.meta["val"].shape)


def dtype_of(node: Node) -> torch.dtype:
    dtype: torch.dtype = node.meta["val"].dtype
    return dtype


def is_copy(node: Node) -> bool:
    """Whether a node gives its operand, of which it may change the layout."""
    return node.target in COPIES and shape_of(node) == shape_of(node.args[0])


def size_of(node: Node) -> int:
    """Elements of the first result."""
    value = node.meta.get("val")
    if isinstance(value, tuple | list) and value:
        value = value[0]
    return value.numel() if isinstance(value, torch.Tensor) else -1


def number_of(value: Any) -> float | None:
    """A constant, as a number or as a tensor of one element."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Node) and value.target in _CONSTANTS:
        number = value.args[value.target is _aten.full.default]
        if isinstance(number, int | float) and value.meta["val"].numel() == 1:
            return float(number)
    return None


def is_view(node: Node) -> bool:
    """Whether a node gives the elements of its operand in their order. Einsum
    moves dimensions of size 1."""
    if node.target is _aten.permute.default:
        sizes = shape_of(node.args[0])
        moved = [d % len(sizes) for d in node.args[1] if sizes[d] != 1]
        return moved == sorted(moved)
    return node.target in VIEWS or node.target in _UNIT_DIMENSIONS


def is_cast(node: Node) -> bool:
    return (node.target is _aten._to_copy.default
            and node.meta["val"].is_floating_point()
            and node.args[0].meta["val"].is_floating_point())


def keeps_elements(node: Node) -> bool:
    """Whether a node gives the elements of its operand, up to rounding."""
    return is_view(node) or is_copy(node) or is_cast(node)


def is_transposed(node: Any, of: Node) -> bool:
    """Whether ``node`` is ``of`` with its last two of three dimensions swapped."""
    if not isinstance(node, Node) or not node.args or node.args[0] is not of:
        return False
    if node.target is _aten.permute.default:
        return [d % 3 for d in node.args[1]] == [0, 2, 1]
    return (node.target is _aten.transpose.int
            and {d % 3 for d in node.args[1:3]} == {1, 2})


def find_factor(node: Node, operand: Node) -> float | None:
    """By what a node multiplies an operand, if it is a constant."""
    if node.kwargs or len(node.args) != 2:
        return None
    if node.target in (_aten.mul.Tensor, _aten.mul.Scalar):
        other = node.args[1] if node.args[0] is operand else node.args[0]
        return number_of(other)
    if node.target in (_aten.div.Tensor, _aten.div.Scalar) and (
            node.args[0] is operand):
        number = number_of(node.args[1])
        return None if not number else 1 / number
    return None


def are_equal(first: Any, second: Any, depth: int = 4) -> bool:
    """Whether two values are made in the same way, within a few nodes."""
    if first is second:
        return True
    if not (isinstance(first, Node) and isinstance(second, Node)):
        return bool(first == second) and type(first) is type(second)
    return (depth > 0 and first.op == "call_function"
            and first.target is second.target and first.kwargs == second.kwargs
            and len(first.args) == len(second.args)
            and all(are_equal(a, b, depth - 1)
                    for a, b in zip(first.args, second.args)))


def split_choice(node: Node) -> tuple[Any, Node, bool] | None:
    """Of a choice between a tensor and zero: the condition, the tensor, and for
    which truth value it is zero."""
    if node.target is not _aten.where.self:
        return None
    condition, first, second = node.args
    if number_of(first) == 0 and isinstance(second, Node):
        return condition, second, True
    return ((condition, first, False)
            if number_of(second) == 0 and isinstance(first, Node) else None)


def leads_to_product(node: Node) -> bool:
    """Whether a product of matrices makes what ``node`` makes elementwise."""
    for _ in range(REACH):
        if node.target is BMM:
            return True
        operands = [n for n in node.all_input_nodes if size_of(n) == size_of(node)]
        if not operands:
            return False
        node = operands[0]
    return False


def reaches_product(node: Node) -> bool:
    """Whether a product of matrices reads what is made of ``node``
    elementwise."""
    size = size_of(node)
    nodes = [node]
    for _ in range(REACH):
        readers = dict.fromkeys(user for node in nodes for user in node.users)
        if any(user.target is BMM for user in readers):
            return True
        nodes = [user for user in readers if size_of(user) == size]
    return False


def only_user(node: Node, what: str) -> Node:
    """The only node that reads ``node``."""
    users = list(node.users)
    if len(users) != 1:
        raise Refused(f"more than one node reads {what}"
                       if users else f"nothing reads {what}")
    return users[0]


class Maker:
    """Makes nodes in front of one, or of ``before``, with what is known of it."""

    def __init__(self, model: Node, before: Node | None = None) -> None:
        self._model, self._before = model, before or model
        self._device = model.meta["val"].device

    def call(self, target: Callable[..., Any], args: tuple[Any, ...],
             kwargs: dict[str, Any] | None = None) -> Node:
        kwargs = kwargs or {}
        graph = self._before.graph
        with graph.inserting_before(self._before):
            node = graph.call_function(target, args, kwargs)
        # As the tracer calls it.
        rename(node, getattr(target, "overloadpacket", target).__name__)
        node.meta = dict(self._model.meta)
        # Of AOTAutograd: it is about the value of the other node.
        node.meta.pop("tensor_meta", None)
        mode = self._model.meta["val"].fake_mode

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
        missing = width - shape_of(node)[-1]
        return (self.call(_aten.constant_pad_nd.default, (node, [0, missing]))
                if missing else node)

    def narrow(self, node: Node, width: int) -> Node:
        """The first ``width`` of the last of four dimensions."""
        return (node if shape_of(node)[-1] == width
                else self.call(_aten.slice.Tensor, (node, 3, 0, width)))

    def with_heads(self, node: Node, sizes: list[int]) -> Node:
        """With batch and heads in two dimensions instead of one."""
        shape = [*sizes, *shape_of(node)[1:]]
        if node.target in VIEWS and shape_of(node.args[0]) == shape:
            node = node.args[0]
            while is_copy(node):
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
            if user.target in VIEWS and shape_of(user) == shape_of(new):
                user.replace_all_uses_with(new)
        if any(user.users or user.target not in VIEWS for user in old.users):
            flat = self.call(_aten.view.default, (new, shape_of(old)))
            old.replace_all_uses_with(flat)


__all__ = ["BMM", "COPIES", "VIEWS", "Maker", "Other", "Refused", "are_equal",
           "dtype_of", "find_factor", "is_cast", "is_copy", "is_transposed", "is_view",
           "keeps_elements", "leads_to_product", "number_of", "only_user",
           "reaches_product", "shape_of", "size_of", "split_choice"]
