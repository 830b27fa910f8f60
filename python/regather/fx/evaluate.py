"""Values of nodes that depend on no input of a step.

A mask that a model makes of sizes holds the same in each step, so what the
model asks about it can be answered while the step is traced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from regather.fx import private

_aten = torch.ops.aten

#: Read nothing of their first argument but its type and shape.
_LIKE = {
    _aten.full_like.default,
    _aten.ones_like.default,
    _aten.zeros_like.default,
    _aten.new_full.default,
    _aten.new_ones.default,
    _aten.new_zeros.default,
}
#: Leave elements as they find them in memory.
_UNSET = {
    _aten.empty.memory_format,
    _aten.empty_like.default,
    _aten.empty_permuted.default,
    _aten.empty_strided.default,
    _aten.new_empty.default,
    _aten.new_empty_strided.default,
}
#: Elements that are held at once, before what was computed is forgotten.
_HELD = 1 << 24


class Evaluator:
    """Computes values of nodes on the CPU, each once.

    ``leaf`` gives the value of a node that calls nothing, or None.
    """

    def __init__(self, leaf: Callable[[Node], torch.Tensor | None]) -> None:
        self._leaf = leaf
        self._values: dict[Node, Any] = {}
        self._held = 0

    def value(self, node: Node) -> torch.Tensor | None:
        """What ``node`` gives in each step, if nothing else decides it.

        None for a node with too many elements, too.
        """
        if self._held > _HELD:
            self._values.clear()
            self._held = 0
        waiting = [node]
        while waiting:
            one = waiting[-1]
            if one in self._values:
                waiting.pop()
                continue
            operands = _operands(one)
            values = [self._values[o] for o in operands if o in self._values]
            if any(value is None for value in values):
                self._set(one, None)
            elif len(values) < len(operands):
                waiting += [o for o in operands if o not in self._values]
            else:
                self._set(one, self._compute(one))
        result = self._values[node]
        return result if isinstance(result, torch.Tensor) else None

    def _set(self, node: Node, value: Any) -> None:
        self._values[node] = value
        if isinstance(value, torch.Tensor):
            self._held += value.numel()

    def _compute(self, node: Node) -> Any:
        if node.op != "call_function":
            leaf = self._leaf(node)
            return None if leaf is None else leaf.detach().cpu()
        if not _is_pure(node.target) or _size(node) > _HELD:
            return None
        if node.target in _LIKE:
            args: Any = (_blank(node.args[0].meta["val"]), *node.args[1:])
            kwargs: Any = dict(node.kwargs)
        else:
            args, kwargs = torch.fx.node.map_arg(
                (node.args, dict(node.kwargs)), self._values.__getitem__)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": "cpu"}
        return node.target(*args, **kwargs)


def _operands(node: Node) -> list[Node]:
    """What the value of a node is computed from."""
    if node.op != "call_function" or node.target in _LIKE:
        return []
    return node.all_input_nodes


def _is_pure(target: Any) -> bool:
    """Whether equal arguments always give the same result, and only that."""
    if target is operator.getitem:
        return True
    return (
        isinstance(target, private.OpOverload)
        and target.namespace in ("aten", "prims")
        and target not in _UNSET
        and not private.schema(target).is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
    )


def _size(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() if isinstance(value, torch.Tensor) else 0


def _blank(like: torch.Tensor) -> torch.Tensor:
    """A tensor of that type and shape, whose elements nobody reads."""
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)


__all__ = ["Evaluator"]
