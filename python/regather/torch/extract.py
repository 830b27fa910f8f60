"""Forward and backward as modules of their own, made of a joint graph.

The contract is that of PyTorch's `_extract_fwd_bwd_modules`: order and names of
inputs and outputs, descriptions and metadata. Nodes are made directly, without
the copies between graphs that PyTorch goes through.
"""

from __future__ import annotations

from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from regather.torch.joint import Joint, is_tangent
from regather.torch.private import (SavedForBackwardsAOTOutput,
                                    SavedForBackwardsNoVcCheckAOTOutput,
                                    append_node, is_opaque_node,
                                    make_graph_module, name_counts)


class _GraphBuilder:
    """A graph that computes nodes of another one."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.copies: dict[Node, Node] = {}

    def _append(self, node: Node, op: str, target: Any, args: Any,
                kwargs: Any) -> Node:
        graph, name = self.graph, node.name
        copy = Node(graph, name, op, target, args, kwargs, node.type)
        append_node(graph, copy)
        copy.meta = node.meta.copy()
        self.copies[node] = copy
        return copy

    def add_input(self, node: Node) -> None:
        self._append(node, "placeholder", node.name, (), {})

    def add_copy(self, node: Node, marks_backward: bool) -> None:
        find = self.copies.__getitem__
        copy = self._append(node, node.op, node.target,
                            map_arg(node.args, find),
                            map_arg(node.kwargs, find))
        if marks_backward:
            copy.meta["autograd_backward"] = True

    def finish(self, results: list[Any], descs: list[Any]) -> Graph:
        values = tuple(self.copies[node] if isinstance(node, Node) else node
                       for node in results)
        output = self.graph.output(values)
        output.meta["desc"] = descs
        output.meta["output_stack_traces"] = [
            value.meta.get("stack_trace") if isinstance(value, Node) else None
            for value in values]
        return self.graph


def count_names(graph: Graph, order: dict[str, int]) -> None:
    """Lets names that are made up from now on be those that PyTorch makes up,
    which counts as it copies nodes in the order of the joint graph."""
    counts = name_counts(graph)
    for name in sorted((node.name for node in graph.nodes),
                       key=lambda name: order.get(name, -1)):
        base, _, number = name.rpartition("_")
        if number.isdigit():
            counts[base] = int(number)
        else:
            counts[name] = 0


def sort_saved(saved: list[Node]) -> tuple[list[Node], list[Node], int]:
    """Tensors, those without a version check last, and opaque objects; and how
    many of the tensors have a version check."""
    opaque = [node for node in saved if is_opaque_node(node)]
    tensors = [node for node in saved if not is_opaque_node(node)]
    checked = [node for node in tensors
               if not node.meta.get("saved_tensor_with_no_vc_check", False)]
    unchecked = [node for node in tensors
                 if node.meta.get("saved_tensor_with_no_vc_check", False)]
    return checked + unchecked, opaque, len(checked)


def extract(joint: Joint, saved: list[Node], forward: list[Node],
            backward: list[Node]) -> tuple[GraphModule, GraphModule]:
    """The modules that run these nodes, in this order."""
    tensors, opaque, num_checked = sort_saved(saved)
    arguments = joint.placeholders
    descs = [SavedForBackwardsNoVcCheckAOTOutput(i)
             if num_checked <= i < len(tensors)
             else SavedForBackwardsAOTOutput(i)
             for i in range(len(saved))]
    builder = _GraphBuilder()
    primals = [node for node in arguments if not is_tangent(node)]
    for position, node in enumerate(primals):
        # Inductor reads it since 2.15, of the arguments of backward.
        node.meta["is_static_input"] = position in joint.static
        builder.add_input(node)
    for node in forward:
        builder.add_copy(node, marks_backward=False)
    forward_graph = builder.finish(
        [*joint.forward_results, *tensors, *opaque],
        [*joint.forward_descs, *descs])
    builder = _GraphBuilder()
    tangents = [node for node in arguments if is_tangent(node)]
    for node in [*tensors, *opaque, *tangents]:
        builder.add_input(node)
    for node in backward:
        builder.add_copy(node, marks_backward=True)
    backward_graph = builder.finish(joint.backward_results,
                                    joint.backward_descs)
    return (make_graph_module(joint.module, forward_graph),
            make_graph_module(joint.module, backward_graph))
