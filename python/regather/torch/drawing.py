"""Random numbers of the backend: drawn by PyTorch's generator, so that a seed
gives what it gives in eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

from regather.fx.decompositions import decompositions
from regather.torch.targets import is_random
from regather.torch.unmodelled import Unmodelled

_aten = torch.ops.aten

# What they draw depends on the shape and the type of the first argument only.
_SHAPE_ONLY = {
    _aten.rand_like.default, _aten.randn_like.default,
    _aten.randint_like.default, _aten.randint_like.low_dtype,
    _aten.bernoulli.p, _aten.uniform.default, _aten.exponential.default,
    _aten.normal_functional.default, _aten.geometric.default,
    _aten.log_normal.default, _aten.cauchy.default, _aten.random.default,
    _aten.random.to, getattr(_aten.random, "from")}

_ATTENTION = _aten._scaled_dot_product_flash_attention_for_cpu.default

Draw = Callable[[], torch.Tensor]


def _bernoulli(self: torch.Tensor, *, generator: torch.Generator | None = None
               ) -> Any:
    if generator is not None:
        return NotImplemented
    drawn = torch.rand(self.shape, device=self.device, dtype=torch.promote_types(
        self.dtype, torch.float32))
    return (drawn < self).to(self.dtype)


def _multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Rounded twice, as eager PyTorch computes on CPUs what Dynamo writes so."""
    return a * b + c


def eager_decompositions() -> dict[Any, Callable[..., Any]]:
    """Those that draw the numbers that PyTorch's own operators draw."""
    table = {**decompositions(), _aten.bernoulli.default: _bernoulli}
    del table[_aten.randperm.default]
    # Known once Dynamo has written one: in optimizers.
    if (fma := getattr(torch.ops.prims, "fma", None)) is not None:
        table[fma.default] = _multiply_add
    return table


def _draws(node: Node) -> bool:
    """Attention is random in name alone if nothing is dropped."""
    if node.target is _ATTENTION:
        return bool(node.args[3:] and node.args[3]
                    or node.kwargs.get("dropout_p"))
    return is_random(node.target)


def lift_random(graph: Graph) -> list[tuple[Node, Draw]]:
    """Takes out of the graph what PyTorch's generator draws: it becomes
    arguments, drawn in the order of the graph."""
    drawn: list[tuple[Node, Draw]] = []
    nodes = list(graph.nodes)
    arguments = graph.find_nodes(op="placeholder")
    place = arguments[-1] if arguments else None
    for node in nodes:
        if node.op != "call_function" or not _draws(node):
            continue
        if node.target is _aten.native_dropout.default:
            if not node.args[2]:
                continue
            value, draw = _mask_of(node)
        elif (draws := _draw_of(node)) is not None:
            value, draw = node.meta["val"], draws
        else:
            raise Unmodelled(f"what '{node.target}' draws depends on the graph")
        with (graph.inserting_after(place) if place
              else graph.inserting_before(nodes[0])):
            place = graph.placeholder(f"drawn_{len(drawn)}")
        place.meta["val"] = value
        if node.target is _aten.native_dropout.default:
            _apply_mask(node, place)
        else:
            node.replace_all_uses_with(place)
        graph.erase_node(node)
        drawn.append((place, draw))
    return drawn


def _like(value: torch.Tensor, dtype: torch.dtype | None = None) -> Draw:
    """Makes what `empty_like` makes: numbers are drawn in the order in which
    the elements lie in memory, which is that of the value."""
    shape, dtype = tuple(value.shape), dtype or value.dtype
    strides = torch.empty_like(torch.empty_strided(
        shape, value.stride(), device="meta")).stride()
    return lambda: torch.empty_strided(shape, strides, dtype=dtype,
                                       device="cpu")


def _draw_of(node: Node) -> Draw | None:
    target, args, kwargs = node.target, node.args, dict(node.kwargs)
    if node.all_input_nodes:
        if target not in _SHAPE_ONLY or node.all_input_nodes != [args[0]]:
            return None
        make, rest = _like(args[0].meta["val"]), args[1:]
        return lambda: target(make(), *rest, **kwargs)
    return lambda: target(*args, **kwargs)


def _mask_of(node: Node) -> tuple[torch.Tensor, Draw]:
    value, kept = node.args[0].meta["val"], 1 - node.args[1]
    make = _like(value, torch.bool)
    return (torch.empty(value.shape, dtype=torch.bool, device="meta"),
            lambda: make().bernoulli_(kept))


def _apply_mask(node: Node, mask: Node) -> None:
    graph, value = node.graph, node.args[0].meta["val"]
    p = node.args[1]
    with graph.inserting_before(node):
        kept = graph.call_function(_aten.mul.Tensor, (node.args[0], mask))
        scaled = graph.call_function(
            _aten.mul.Scalar, (kept, 0.0 if p == 1 else 1 / (1 - p)))
    for new in (kept, scaled):
        new.meta = {**node.meta, "val": value.to("meta")}
    for user in list(node.users):
        user.replace_all_uses_with(scaled if user.args[1] == 0 else mask)
        graph.erase_node(user)
