"""Brings a traced graph into the form that is written down."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from regather.fx.errors import CaptureError, at
from regather.fx.origin import KEY, Origin
from regather.fx.private import OpOverload, pytree, rename, schema

_aten = torch.ops.aten

# In a graph without mutation these return their operand.
_ALIASES = {
    _aten.alias.default,
    _aten.detach.default,
    _aten.lift.default,
    _aten.lift_fresh.default,
    _aten.lift_fresh_copy.default,
}
_STRIDED = {_aten.as_strided.default, _aten.as_strided_scatter.default}
_SHAPED = {_aten.view.default, _aten._unsafe_view.default, _aten.expand.default}


def clean(module: GraphModule) -> list[tuple[Node, torch.Tensor]]:
    """Removes what computes nothing, and takes constants out of the module.

    Returns the placeholders that were added for constants, after all others,
    with their values. A constant with one element becomes an ``aten.full``.
    """
    graph = module.graph
    constants = _lift_constants(module)
    for node in list(graph.nodes):
        if node.target in _ALIASES:
            _replace(node, node.args[0])
        elif node.target in _SHAPED:
            # A size of -1 says less than the size.
            node.update_arg(1, list(node.meta["val"].shape))
        elif node.target is _aten.cat.default:
            _simplify_cat(node)
        elif node.target is _aten.as_strided.default:
            _read_rows(node)
    erase_dead(graph)
    kept = []
    for node, value in constants:
        if node.users:
            kept.append((node, value))
        else:
            graph.erase_node(node)
    return kept


def _replace(node: Node, value: Node) -> None:
    node.replace_all_uses_with(value)
    node.graph.erase_node(node)


def _read_rows(node: Node) -> None:
    """Turns what ``node`` reads the memory of until that is row by row, if it
    is what was permuted from such a tensor."""
    order = _memory_order(node.args[0].meta["val"])
    if order is None or order == sorted(order):
        return
    with node.graph.inserting_before(node):
        rows = node.graph.call_function(_aten.permute.default, (node.args[0], order))
    rows.meta["val"] = node.args[0].meta["val"].permute(order)
    if KEY in node.meta:
        rows.meta[KEY] = node.meta[KEY]
    node.update_arg(0, rows)


def _memory_order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the outermost in memory to the innermost, if elements
    lie there without gaps, once each and from its beginning."""
    order = sorted(range(value.dim()),
                   key=lambda d: (-value.stride(d), value.shape[d] != 1))
    if value.storage_offset() or not value.permute(order).is_contiguous():
        return None
    return order


def _simplify_cat(node: Node) -> None:
    """Drops operands of shape [0], which concatenation passes over.

    Caches start as such a tensor.
    """
    operands = node.args[0]
    kept = [n for n in operands if list(n.meta["val"].shape) != [0]]
    if len(kept) == len(operands) or not kept:
        return
    same = kept[0].meta["val"].dtype == node.meta["val"].dtype
    if len(kept) == 1 and same:
        _replace(node, kept[0])
    elif same:
        node.update_arg(0, kept)


def _lift_constants(module: GraphModule) -> list[tuple[Node, torch.Tensor]]:
    graph = module.graph
    last = None
    for node in graph.nodes:
        if node.op == "placeholder":
            last = node
    added: list[tuple[Node, torch.Tensor]] = []
    placed: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if node.op != "get_attr":
            continue
        value = getattr(module, node.target)
        if not isinstance(value, torch.Tensor):
            raise CaptureError(
                f"expects only tensors as constants, got {type(value).__name__}"
            )
        value = real(value)
        if value is None:
            raise CaptureError(
                "the model holds a tensor without data that is neither a "
                f"parameter nor a buffer, of shape {list(node.meta['val'].shape)}"
            )
        if value.numel() == 1 and not value.dtype.is_complex:
            with graph.inserting_before(node):
                new = graph.call_function(
                    _aten.full.default,
                    (list(value.shape), value.item()),
                    {
                        "dtype": value.dtype,
                        "layout": torch.strided,
                        "device": value.device,
                        "pin_memory": False,
                    },
                )
        elif _key(value) in placed:
            new = placed[_key(value)]
        else:
            # A step has a parameter, so there is a placeholder to follow.
            place = graph.inserting_after(last)
            with place:
                last = new = graph.placeholder(f"constant_{len(added)}")
            placed[_key(value)] = new
            added.append((new, value))
        if "val" not in new.meta:
            new.meta["val"] = value.to("meta")
            new.meta[KEY] = _users_origin(node)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    return added


def _key(value: torch.Tensor) -> Any:
    """Equal for constants of equal type, shape and content."""
    flat = value.cpu().contiguous().reshape(-1).view(torch.uint8)
    return value.dtype, tuple(value.shape), flat.numpy().tobytes()


def real(value: torch.Tensor) -> torch.Tensor | None:
    """The data of a constant, or None if it has none."""
    constant = getattr(value, "constant", None)
    if constant is not None:
        value = constant
    if value.is_meta or hasattr(value, "fake_mode"):
        return None
    return value.detach()


def _users_origin(node: Node) -> Origin | None:
    return next((u.meta[KEY] for u in node.users if KEY in u.meta), None)


def has_effects(node: Node) -> bool:
    """Whether a node is called for what it does, not for its result.

    Assertions and printing are; collectives and random numbers are not.
    """
    if node.op != "call_function" or not isinstance(
        node.target, OpOverload
    ):
        return False
    return len(schema(node.target).returns) == 0


def erase_dead(graph: Graph, kept: Collection[Any] = ()) -> None:
    """Removes what nothing needs, but calls of the operators ``kept``."""
    for node in reversed(list(graph.nodes)):
        if (node.op in ("placeholder", "output") or node.users
                or node.target in kept):
            continue
        # What marks a region for the profiler computes nothing.
        is_mark = getattr(node.target, "namespace", None) == "profiler"
        if is_mark or not has_effects(node):
            graph.erase_node(node)


def check(graph: Graph) -> None:
    """Raises CaptureError for what a captured graph must not hold.

    That is operators that write into their arguments, shapes that depend on
    data, views of memory whose layout the graph does not tell, and anything
    but operators.
    """
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or node.target is operator.getitem:
            continue
        origin = node.meta.get(KEY)
        line = origin.line if origin else None
        target = node.target
        if str(target).startswith("auto_functionalized"):
            # PyTorch's wrapper around a mutating operator it does not know.
            target = node.args[0]
        if node.op != "call_function" or not isinstance(
            target, OpOverload
        ):
            name = target if isinstance(target, str) else getattr(
                target, "__name__", str(target)
            )
            raise CaptureError(
                at(f"node '{node.name}' is no operator but '{name}'", line)
            )
        if schema(target).is_mutable:
            raise CaptureError(
                at(f"operator '{target}' writes into its arguments", line)
            )
        if target in _STRIDED and not _is_row_major(node.args[0]):
            raise CaptureError(
                at(f"operator '{target}' reads the memory of a tensor that is "
                   "not laid out row by row", line)
            )
        for value in pytree.tree_leaves(node.meta.get("val")):
            symbolic = isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)
            if isinstance(value, torch.Tensor):
                symbolic = any(not isinstance(s, int) for s in value.shape)
            if symbolic:
                raise CaptureError(
                    at(f"the shape of the result of '{target}' depends on data", line)
                )


def _is_row_major(node: Node) -> bool:
    """Whether places in memory are places in row-major order."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_contiguous()


def name_placeholders(nodes: Iterable[tuple[Node, str]]) -> None:
    """Names placeholder nodes after what they stand for."""
    for node, name in nodes:
        rename(node, re.sub(r"\W", "_", name))
