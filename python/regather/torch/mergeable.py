"""Gathers of parameters and reductions of gradients: the collectives of a graph
that may start as one."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

from torch.fx import Graph, Node

from regather import library
from regather.torch.modules import module_of
from regather.torch.private import wait_tensor
from regather.torch.targets import is_random
from regather.torch.timed import (COLLECTIVE, TimedGraph, kind_of,
                                  received_bytes, whole_bytes)

ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE = 0, 1, 2


@dataclass(frozen=True)
class Collective:
    """One that may be merged, the call that waits for it, and the place of its
    parameter among the arguments, or of its gradient among the results."""

    start: Node
    wait: Node
    kind: int
    module: str
    place: int


@dataclass
class MergeableCollectives:
    collectives: list[Collective]
    # By operation of the timed graph.
    is_early: array[int]


def _is_pure(timed: TimedGraph, node: Node) -> bool:
    return (node.op == "call_function" and kind_of(node) is None
            and node.target is not wait_tensor and not is_random(node.target)
            and not timed.has_effects(node))


def _find_parameters(graph: Graph) -> dict[Node, int]:
    """The place among the arguments of what may be a parameter: backward calls
    those of forward `primals`, and other values that it is given by other
    names."""
    arguments = graph.find_nodes(op="placeholder")
    is_backward = any("tangents" in str(node.target) for node in arguments)
    return {node: i for i, node in enumerate(arguments)
            if not is_backward or str(node.target).startswith("primals")}


def _find_early(timed: TimedGraph, parameters: dict[Node, int]
                ) -> dict[Node, int | None]:
    """What is made of one parameter alone, with its place, or of nothing."""
    early: dict[Node, int | None] = dict(parameters)
    for node, sources in zip(timed.nodes, timed.sources):
        if node.op == "get_attr" or (not sources and _is_pure(timed, node)):
            early[node] = None
        elif len(sources) == 1 and (
                source := sources[0]) in early and _is_pure(timed, node):
            early[node] = early[source]
    return early


def _find_ends(timed: TimedGraph, output: Node) -> dict[Node, int]:
    """What only results are made of, one operand at a time, with the place of
    the first result."""
    ends: dict[Node, int] = {}
    places: dict[Node, int] = {}
    for place, node in enumerate(output.all_input_nodes):
        places.setdefault(node, place)
    for node in reversed(timed.nodes):
        found = [places[node]] if node in places else []
        for user in node.users:
            if user is output:
                continue
            if user not in ends or len(user.all_input_nodes) != 1:
                break
            found.append(ends[user])
        else:
            if found:
                ends[node] = min(found)
    return ends


def find_mergeable(graph: Graph, timed: TimedGraph) -> MergeableCollectives:
    """Collectives with a wait of their own, in the order of the graph. Gathers
    are of what is made of one argument alone; reductions are of what becomes
    results. Linear."""
    early = _find_early(timed, _find_parameters(graph))
    ends = _find_ends(timed, next(reversed(graph.nodes)))
    found = []
    for number, node in enumerate(timed.nodes):
        if timed.kinds[number] != COLLECTIVE:
            continue
        kind, place = kind_of(node), None
        wait = next(iter(node.users))
        if kind == ALL_GATHER:
            place = early.get(node.args[0])
        elif kind in (REDUCE_SCATTER, ALL_REDUCE):
            place = ends.get(wait)
        if kind is not None and place is not None:
            found.append(Collective(node, wait, kind, module_of(node), place))
    return MergeableCollectives(
        found, array("B", [node in early for node in timed.nodes]))


def _key_of(collective: Collective) -> tuple[Any, ...]:
    """What the members of one collective have in common: all arguments but the
    tensor, element type, device, and the part of a joint graph."""
    start = collective.start
    value = start.meta["val"]
    return (start.target, *start.args[1:], value.dtype, value.device,
            start.meta.get("partitioner_tag"))


def _largest_unit(collectives: list[Collective], timed: TimedGraph) -> int:
    """Bytes of the largest unit, of one kind of collective."""
    paths = [one.module for one in collectives]
    uses = [min((timed.numbers[user] for user in one.wait.users
                 if user in timed.numbers), default=library.NONE)
            for one in collectives]
    sizes: dict[tuple[Any, ...], int] = {}
    for one, unit in zip(collectives, library.find_units(paths, uses)):
        key = (unit, one.kind, one.start.meta.get("partitioner_tag"))
        sizes[key] = sizes.get(key, 0) + whole_bytes(one.start)
    return max(sizes.values(), default=0)


def choose_parts(timed: TimedGraph, mergeable: MergeableCollectives,
                 options: library.BucketOptions, planned: list[int] | None
                 ) -> tuple[list[int], list[int]]:
    """By collective, the first of those that start as one with it; and an order
    of the operations that are left, by number. `planned` are buckets of a
    plan."""
    collectives = mergeable.collectives
    arrays = library.Mergeable()
    keys: dict[tuple[Any, ...], int] = {}
    for one in collectives:
        number = timed.numbers[one.start]
        ranks = len(timed.ranks_of(one.start.args[-1]))
        arrays.starts.append(number)
        arrays.keys.append(keys.setdefault(_key_of(one), len(keys)))
        arrays.kinds.append(one.kind)
        arrays.received_bytes.append(received_bytes(one.start, one.kind, ranks))
        arrays.whole_bytes.append(whole_bytes(one.start))
    groups = library.Lists()
    for group in timed.groups:
        groups.push(timed.ranks_of(group))
    return library.bucket_collectives(
        timed.to_arrays(), arrays, groups, mergeable.is_early, options,
        _largest_unit(collectives, timed), planned)
