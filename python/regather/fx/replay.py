"""Running a captured graph in PyTorch, with the random numbers of eager."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter

from regather.fx import private
from regather.fx.operators.drawing import permutation

_aten = torch.ops.aten


class _Interpreter(Interpreter):
    """Results are values here: kernels may lay them out as they like."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is _aten.view.default:
            target = _aten.reshape.default
        return super().call_function(target, args, kwargs)


def replay(module: GraphModule, arguments: Sequence[torch.Tensor]) -> list[Any]:
    """Results of the graph on the values of its placeholders."""
    with torch.no_grad():
        return list(_Interpreter(module, garbage_collect_values=True).run(*arguments))


class SameDraws(private.TorchDispatchMode):
    """Makes the n-th random operator draw the same wherever it runs.

    Eager PyTorch and the graph draw with other operators: a dropout is a
    Bernoulli draw in place there, and one node here.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not draws(func):
            return func(*args, **kwargs)
        self._count += 1
        torch.manual_seed((self._seed << 20) + self._count)
        if func is _aten.native_dropout.default:
            value, rate, trains = args
            if trains is False:
                return func(*args, **kwargs)
            mask = _bernoulli(value, 1 - rate)
            scale = 1 / (1 - rate) if rate < 1 else 0.0
            return value * mask.to(value.dtype) * scale, mask.bool()
        if func is _aten.bernoulli_.float:
            rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
            return args[0].copy_(_bernoulli(args[0], rate))
        if func is _aten.bernoulli.p:
            return _bernoulli(args[0], args[1]).to(args[0].dtype)
        if func is _aten.randperm.default:
            return permutation(*args, **kwargs)
        return func(*args, **kwargs)


def _bernoulli(like: torch.Tensor, rate: float) -> torch.Tensor:
    return torch.empty(like.shape).bernoulli_(rate)


def draws(target: Any) -> bool:
    """Whether an operator draws random numbers.

    Attention in one node could, but ours has no dropout.
    """
    return torch.Tag.nondeterministic_seeded in getattr(
        target, "tags", ()
    ) and "_scaled_dot_product" not in str(target)


def work(module: GraphModule) -> float:
    """About how many floating-point operations the graph takes."""
    total = 0.0
    for node in module.graph.nodes:
        leaves = [
            v
            for v in private.pytree.tree_leaves(node.meta.get("val"))
            if isinstance(v, torch.Tensor)
        ]
        total += sum(v.numel() for v in leaves)
        # A node may read one value twice: attention of a tensor with itself.
        shapes = [
            tuple(n.meta["val"].shape)
            for n in private.pytree.tree_leaves((node.args, node.kwargs))
            if isinstance(n, torch.fx.Node)
            and isinstance(n.meta.get("val"), torch.Tensor)
        ]
        name = str(node.target)
        if any(part in name for part in (".mm.", ".addmm.", ".bmm.", ".baddbmm.")):
            total += 2 * leaves[0].numel() * shapes[-1][-2]
        elif ".convolution" in name:
            # A weight meets each place of the output, or of its gradient.
            weight = shapes[2 if "backward" in name else 1]
            places = shapes[0] if "backward" in name else leaves[0].shape
            total += 2 * math.prod(weight) * places[0] * math.prod(places[2:]) * (
                2 if "backward" in name else 1
            )
        elif "_scaled_dot_product" in name:
            query, key = shapes[:2] if "backward" not in name else shapes[1:3]
            total += 4 * math.prod(query) * key[-2] * (
                2.5 if "backward" in name else 1
            )
    return total
