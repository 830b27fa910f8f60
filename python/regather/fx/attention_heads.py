"""Heads of key and value of which several heads of the query share one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.fx import Node

from regather.fx.attention_nodes import VIEWS, shape_of

_aten = torch.ops.aten


@dataclass
class SharedHeads:
    """Key and value before they are repeated, and their gradients, where there
    are any, summed over the heads that share one."""

    key: Node
    value: Node
    key_sum: Node | None
    value_sum: Node | None


def find_shared_heads(key: Node, value: Node, key_gradient: Node | None,
                      value_gradient: Node | None) -> SharedHeads | None:
    """What ``key`` and ``value`` repeat, if their gradients are summed
    accordingly."""
    narrow = _find_repeated(key), _find_repeated(value)
    if narrow[0] is None or narrow[1] is None or (
            shape_of(narrow[0])[1] != shape_of(narrow[1])[1]):
        return None
    sums: list[Node | None] = [None, None]
    for i, gradient in enumerate((key_gradient, value_gradient)):
        if gradient is not None:
            sums[i] = _find_sum(gradient, shape_of((key, value)[i]),
                                shape_of(narrow[i]), is_transposed=i == 0)
            if sums[i] is None:
                return None
    return SharedHeads(narrow[0], narrow[1], *sums)


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


__all__ = ["SharedHeads", "find_shared_heads"]
