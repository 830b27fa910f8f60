"""The passes for graphs of forward and backward that nobody splits.

Such a graph runs as it is: what is to be recomputed is computed a second time in
front of its first reader in backward, and gathers are among it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from regather.torch.collection import paused_collection
from regather.torch.duplicates import erase_dead
from regather.torch.joint import Joint, check_calls, is_tangent
from regather.torch.options import choose_passes
from regather.torch.overlap import OverlapPass
from regather.torch.partitioner import Partitioner
from regather.torch.plan import PlanLike
from regather.torch.private import pytree
from regather.torch.targets import is_random
from regather.torch.timed import reorder
from regather.torch.unmodelled import Unmodelled, warn_once


def _is_tagged(node: Node) -> bool:
    return (bool(node.meta.get("autograd_backward"))
            or node.meta.get("partitioner_tag") == "is_backward")


def _find_seeds(graph: Graph, results: list[Any]) -> frozenset[Node]:
    """The gradients of the loss, with which backward begins: calls of backward
    that read results of forward alone, or nothing. Where no call says which part
    it is of, the ones that are made for the first result."""
    calls = graph.find_nodes(op="call_function",
                             target=torch.ops.aten.ones_like.default)
    if any(map(_is_tagged, graph.nodes)):
        forward = {node for node in results
                   if isinstance(node, Node) and not _is_tagged(node)}
        return frozenset(node for node in graph.nodes
                         if node.op == "call_function" and _is_tagged(node)
                         and forward.issuperset(node.all_input_nodes))
    return frozenset(node for node in calls if node.args[0] is results[0])


def _read_flat(module: GraphModule) -> Joint:
    graph = module.graph
    nodes = list(graph.nodes)
    results = pytree.arg_tree_leaves(*nodes[-1].args)
    seeds = (frozenset() if any(map(is_tangent, nodes)) else
             _find_seeds(graph, results))
    backward = {node for node in nodes if is_tangent(node)} | seeds
    if not backward:
        raise Unmodelled("nothing tells backward from forward")
    for node in nodes[:-1]:
        if not backward.isdisjoint(node.all_input_nodes):
            backward.add(node)
    arguments = [node for node in nodes
                 if node.op == "placeholder" and not is_tangent(node)]
    # All of them live as long as the graph runs, and may be parameters.
    return Joint(module, nodes,
                 [node for node in results if node not in backward],
                 [node for node in results if node in backward], [], [],
                 frozenset(range(len(arguments))), seeds)


def _repeat(joint: Joint, forward: list[Node], backward: list[Node]) -> int:
    """Lets backward compute again what both parts run, and returns how much
    that is."""
    graph = joint.module.graph
    known = set(forward)
    copies: dict[Node, Node] = {}
    order = [*forward, *(node for node in joint.nodes if node in joint.seeds)]
    if random := [node for node in backward
                  if node in known and is_random(node.target)]:
        raise Unmodelled(f"'{random[0]}' would draw other numbers again")
    with graph.inserting_before(next(reversed(graph.nodes))):
        for node in backward:
            if node not in known:
                node.args, node.kwargs = map_arg(
                    (node.args, node.kwargs), lambda n: copies.get(n, n))
                order.append(node)
                continue
            copies[node] = graph.node_copy(node, lambda n: copies.get(n, n))
            copies[node].meta = {**node.meta, "autograd_backward": True,
                                 "partitioner_tag": "is_backward"}
            copies[node].meta.pop("recompute", None)
            order.append(copies[node])
    reorder(graph, order)
    return len(copies)


class JointPass:
    """Recomputes, merges collectives and orders, in place. See `joint_pass`.
    `last_repeated` is how many calls backward repeats."""

    def __init__(self, partitioner: Partitioner,
                 overlap: OverlapPass | None) -> None:
        self.partitioner = partitioner
        self.overlap = overlap
        self.last_repeated = 0

    def __call__(self, module: GraphModule,
                 example_inputs: Sequence[object] = ()) -> GraphModule:
        try:
            with paused_collection():
                self._recompute(module)
        except Unmodelled as reason:
            warn_once("backward of a joint graph reads what forward computes",
                      reason)
        if self.overlap is not None:
            self.overlap(module.graph)
        module.recompile()
        return module

    def _recompute(self, module: GraphModule) -> None:
        check_calls(module.graph)
        erase_dead(module.graph)
        joint = _read_flat(module)
        partition = self.partitioner.decide(joint)
        self.last_repeated = _repeat(
            joint, [joint.nodes[i] for i in partition.forward],
            [joint.nodes[i] for i in partition.backward])


def joint_pass(*, mode: str | None = None, budget: int | str | None = None,
               policy: str | None = None, reshard: str | None = None,
               record: str | Path | None = None, cluster: str = "h100-nodes",
               bucket: str | None = None, schedule: bool | str = False,
               memory_limit: int | str | None = None, plan: PlanLike | None = None
               ) -> JointPass:
    """A pass `(module, example_inputs) -> module` for one graph of forward, loss
    and backward, such as `make_fx` traces. The arguments are those of
    `regather.torch.options`. Changes the graph in place. What cannot be
    modelled stays as it is, with one warning.
    """
    return JointPass(*choose_passes(
        mode=mode, budget=budget, policy=policy, reshard=reshard,
        record=record, cluster=cluster, bucket=bucket, schedule=schedule,
        memory_limit=memory_limit, plan=plan))
