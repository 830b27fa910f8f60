"""What the search for attention asks of nodes, and how it makes others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from regather.fx.private import rename

_aten = torch.ops.aten
VIEWS = {_aten.view.default, _aten._unsafe_view.default}
COPIES = {_aten.clone.default, _aten.expand.default}


def shape_of(node: Node) -> list[int]:
    return list(node.meta["val"].shape)


def dtype_of(node: Node) -> torch.dtype:
    dtype: torch.dtype = node.meta["val"].dtype
    return dtype


def is_copy(node: Node) -> bool:
    """Whether a node gives its operand, of which it may change the layout."""
    return node.target in COPIES and shape_of(node) == shape_of(node.args[0])


class Maker:
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


__all__ = ["COPIES", "VIEWS", "Maker", "dtype_of", "is_copy", "shape_of"]
