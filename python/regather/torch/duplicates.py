"""Common subexpressions and dead code, as PyTorch removes them, in place.

`fx_graph_cse` copies the graph and hashes all arguments of every call. Calls are
equal to it only if they have the same target and the same input nodes, in the
same order, so that only what agrees in these is looked at more closely here.
Since 2.15, calls that backward needs are not merged with those that it does not,
because the merged value might have to be saved, and floating-point arguments
are compared by their bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node
from torch.multiprocessing.reductions import StorageWeakRef

from regather.torch.private import (compile_utils, get_aten_target,
                                    normalize_argument, pytree, rand_ops)
from regather.torch.targets import EFFECTS, TargetTable


def erase_dead(graph: Graph) -> None:
    """What `Graph.eliminate_dead_code` erases."""
    table = TargetTable()
    for node in reversed(list(graph.nodes)):
        if node.users or node.op in ("placeholder", "output"):
            continue
        if (node.op != "call_function"
                or not table.traits[table.get(node)] & EFFECTS):
            graph.erase_node(node)


def _storage(node: Node) -> Any:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return StorageWeakRef(value.untyped_storage())
    except NotImplementedError:
        return None


class _Merger:
    def __init__(self, graph: Graph, for_backward: set[Node]) -> None:
        self.graph = graph
        self.for_backward = for_backward
        output = next(reversed(graph.nodes))
        self.returned = {_storage(node) for node in output.all_input_nodes}
        self.returned.discard(None)
        # As in fx_graph_cse: of calls with one hash, the first one counts.
        self.tokens: dict[Any, tuple[Any, Node]] = {}

    def _may_merge(self, node: Node) -> bool:
        target = get_aten_target(node)
        return (target not in rand_ops and target is not torch.ops.aten.empty
                and _storage(node) not in self.returned)

    def visit(self, node: Node) -> None:
        """Erases `node` if an earlier call, which was visited, is equal."""
        if not self._may_merge(node):
            return
        args, args_spec = pytree.tree_flatten(node.args)
        kwargs, kwargs_spec = pytree.tree_flatten(node.kwargs)
        args = [normalize_argument(arg) for arg in args]
        kwargs = [normalize_argument(arg) for arg in kwargs]
        key = (node.target, node in self.for_backward,
               hash((tuple((a, type(a)) for a in args),
                     tuple((a, type(a)) for a in kwargs))))
        token = (args, args_spec, kwargs, kwargs_spec, _context_of(node))
        found = self.tokens.setdefault(key, (token, node))
        if found[1] is not node and found[0] == token:
            node.replace_all_uses_with(found[1])
            self.graph.erase_node(node)


def _merges_everything() -> bool:
    """True if the installed PyTorch merges calls of forward and of backward with
    each other, as it did up to 2.14."""
    return compile_utils.fx_graph_cse.__code__.co_argcount == 1


def _context_of(node: Node) -> tuple[Any, ...]:
    """Where a call runs, if somebody has said so."""
    custom = node.meta.get("custom") or {}
    return (custom.get("stream", 0), custom.get("mempool"),
            custom.get("mempool_device"))


def _find_sources(results: list[Any]) -> set[Node]:
    """The nodes that `results` depend on, and these."""
    found: set[Node] = set()
    left = [node for node in results if isinstance(node, Node)]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(node.all_input_nodes)
    return found


def merge_duplicates(graph: Graph, backward_results: list[Any]) -> None:
    """What the partitioner of the installed PyTorch merges in a graph without
    mutations. Linear in the graph, but for calls that agree in target and
    inputs, whose arguments are compared."""
    merger = _Merger(graph, set() if _merges_everything() else
                     _find_sources(backward_results))
    first: dict[Any, Node | None] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        key = (node.target, *node.all_input_nodes)
        if key not in first:
            first[key] = node
            continue
        earlier = first[key]
        if earlier is not None:
            merger.visit(earlier)
            first[key] = None
        merger.visit(node)
