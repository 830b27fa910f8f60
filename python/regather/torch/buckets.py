"""Collectives of a graph merged into buckets.

What is gathered lies in one buffer, shard behind shard; a rank gets one row of
the others' shards from each, and each whole tensor is copied out of the rows.
Reductions are the other way round, and their results stay where they are. Bytes
move, and nothing else: where reductions add in an order that does not depend on
the place in the buffer, results keep their bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

from regather import library
from regather.torch.mergeable import (ALL_GATHER, REDUCE_SCATTER, Collective,
                                      choose_parts, find_mergeable)
from regather.torch.modules import module_of
from regather.torch.private import (FakeTensor, new_call,
                                    unset_fake_temporarily, wait_tensor)
from regather.torch.timed import TimedGraph, reorder
from regather.torch.unmodelled import Unmodelled

aten = torch.ops.aten

# What a new call takes over from the one that it stands for.
_META = ("nn_module_stack", "fwd_nn_module_stack", "stack_trace", "seq_nr",
         "partitioner_tag", "autograd_backward", "custom")


class _Writer:
    """Adds calls to a graph, and to a list in the order in which they run.

    What a call gives is found with tensors on the meta device, a tenth of what
    fake tensors take. Views of what was there share its memory.
    """

    def __init__(self, graph: Graph, order: list[Node]) -> None:
        self.graph = graph
        self.order = order
        self.twins: dict[Node, torch.Tensor] = {}

    def _twin_of(self, node: Node) -> torch.Tensor:
        if node not in self.twins:
            value = node.meta["val"]
            self.twins[node] = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta")
        return self.twins[node]

    def _append(self, origin: Node, target: Any, args: Any, kwargs: Any
                ) -> Node:
        node = new_call(self.graph, target, args, kwargs)
        node.meta = {key: origin.meta[key] for key in _META
                     if key in origin.meta}
        self.order.append(node)
        return node

    def call(self, origin: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
        node = self._append(origin, target, args, kwargs)
        values = torch.fx.node.map_arg(args, self._twin_of)
        return self._set_value(node, origin, target(*values, **kwargs))

    def _set_value(self, node: Node, origin: Node, twin: torch.Tensor) -> Node:
        like = origin.meta["val"]
        self.twins[node] = twin
        node.meta["val"] = FakeTensor(like.fake_mode, twin, like.device)
        return node

    def concatenate(self, origin: Node, parts: list[Node], dim: int) -> Node:
        """Of dense parts that agree in all other dimensions; a hundred times as
        fast as to ask PyTorch for the shape."""
        node = self._append(origin, aten.cat.default,
                            (parts, dim) if dim else (parts,), {})
        values = [part.meta["val"] for part in parts]
        shape = list(values[0].shape)
        shape[dim] = sum(value.shape[dim] for value in values)
        return self._set_value(node, origin, torch.empty(
            shape, dtype=values[0].dtype, device="meta"))

    def shape(self, origin: Node, source: Node, shape: list[int]) -> Node:
        """`source` with another shape, its elements in row-major order."""
        value = source.meta["val"]
        if list(value.shape) == shape:
            return source
        if source in self.twins:
            return self.call(origin, aten.reshape.default, source, shape)
        node = self._append(origin, aten.reshape.default, (source, shape), {})
        if not value.is_contiguous():
            with value.fake_mode:
                node.meta["val"] = value.reshape(shape)
            return node
        view = torch.empty(0, dtype=value.dtype, device="meta").set_(
            value.untyped_storage(), value.storage_offset(), shape)
        self.twins[node] = view
        node.meta["val"] = FakeTensor(value.fake_mode, view, value.device)
        return node


def _start_bucket(writer: _Writer, members: list[Collective]) -> Node:
    first = members[0].start
    sources = [(one.start, one.start.args[0]) for one in members]
    if members[0].kind == REDUCE_SCATTER:
        ranks = first.args[2]
        rows = [writer.shape(start, source,
                             [ranks, source.meta["val"].numel() // ranks])
                for start, source in sources]
        buffer = writer.concatenate(first, rows, 1)
    else:
        flat = [writer.shape(start, source, [source.meta["val"].numel()])
                for start, source in sources]
        buffer = writer.concatenate(first, flat, 0)
    return writer.call(first, first.target, buffer, *first.args[1:],
                       **first.kwargs)


def _wait_for_bucket(writer: _Writer, start: Node, members: list[Collective]
                     ) -> list[Node]:
    """What each member gives."""
    first = members[0]
    arrived = writer.call(first.wait, wait_tensor, start)
    if first.kind == ALL_GATHER:
        ranks = first.start.args[1]
        arrived = writer.shape(first.wait, arrived, [
            ranks, arrived.meta["val"].numel() // ranks])
    results, begin = [], 0
    dim = arrived.meta["val"].dim() - 1
    for one in members:
        value = one.wait.meta["val"]
        size = (value.numel() // first.start.args[1]
                if first.kind == ALL_GATHER else value.numel())
        part = writer.call(one.wait, aten.slice.Tensor, arrived, dim, begin,
                           begin + size)
        begin += size
        # Copies what has gaps, and views the rest.
        results.append(writer.shape(one.wait, part, list(value.shape)))
    return results


class _Applier:
    """Replaces collectives by buckets."""

    def __init__(self, graph: Graph, collectives: list[Collective],
                 parts: list[int]) -> None:
        self.graph = graph
        self.collectives = collectives
        members: dict[int, list[Collective]] = {}
        for one, leader in zip(collectives, parts):
            members.setdefault(leader, []).append(one)
        self.buckets = {leader: sorted(ones, key=lambda one: one.place)
                        for leader, ones in members.items() if len(ones) > 1}

    def run(self, left: list[Node]) -> None:
        starts = {self.collectives[i].start: i for i in self.buckets}
        waits = {self.collectives[i].wait: i for i in self.buckets}
        begun: dict[int, Node] = {}
        order: list[Node] = []
        writer = _Writer(self.graph, order)
        output = next(reversed(self.graph.nodes))
        with unset_fake_temporarily(), self.graph.inserting_before(output):
            for node in left:
                if node in starts:
                    bucket = starts[node]
                    begun[bucket] = _start_bucket(writer, self.buckets[bucket])
                elif node in waits:
                    members = self.buckets[waits[node]]
                    results = _wait_for_bucket(writer, begun[waits[node]],
                                               members)
                    for one, result in zip(members, results):
                        one.wait.replace_all_uses_with(result)
                else:
                    order.append(node)
        reorder(self.graph, order)
        for members in self.buckets.values():
            for one in members:
                self.graph.erase_node(one.wait)
                self.graph.erase_node(one.start)


def _plan(plan: str, graph: Graph, collectives: list[Collective]) -> list[int]:
    """By collective, the number of its bucket. Raises `RegatherError` for
    patterns that match no module of the graph."""
    paths = [one.module for one in collectives]
    others = dict.fromkeys(module_of(node) for node in graph.nodes
                           if node.op == "call_function")
    return library.plan_buckets(plan, "module of the graph",
                                [*paths, *others])[:len(paths)]


def bucket_collectives(graph: Graph, timed: TimedGraph,
                       options: library.BucketOptions, plan: str | None
                       ) -> tuple[int, int]:
    """Merges collectives as `plan` says or, without one, as schedules tell.
    Returns the numbers of those that were merged, and of their buckets."""
    mergeable = find_mergeable(graph, timed)
    collectives = mergeable.collectives
    if plan is not None:
        planned = _plan(plan, graph, collectives)
    if not collectives:
        return 0, 0
    if not all(isinstance(one.start.meta["val"], FakeTensor)
               for one in collectives):
        raise Unmodelled("values of the graph are no fake tensors")
    parts, order = choose_parts(timed, mergeable, options,
                                None if plan is None else planned)
    applier = _Applier(graph, collectives, parts)
    applier.run([timed.nodes[i] for i in order])
    return sum(map(len, applier.buckets.values())), len(applier.buckets)
