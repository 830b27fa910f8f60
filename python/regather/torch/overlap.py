"""A pass on the graphs that Inductor compiles: communication behind
computation."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
from torch.fx import Graph, Node

from regather import library
from regather.torch.identity import make_uuid
from regather.torch.private import CustomGraphPass, OpOverload
from regather.torch.timed import TimedGraph
from regather.torch.unmodelled import Unmodelled, warn_once

log = logging.getLogger("regather.torch")


class OverlapPass(CustomGraphPass):
    """Orders a graph so that its collectives run while the device computes.

    cluster       what times are estimated for: a name or a file.
    memory_limit  most bytes of what the graph computes, at any place; the peak
                  of the order of the graph if absent.
    in_flight     most collectives of one group at the same time; 0 for any
                  number.

    The order is a function of the graph, the same on all ranks. Inductor keeps
    it with `reorder_for_peak_memory=False` and, since 2.14,
    `enable_simple_overlap=False`, which `regather.torch.options` sets. `last_score` and `last_given` hold what the last graph takes by the
    estimates, in our order and in its own. Graphs without collectives stay as
    they are, as do, with one warning, those that cannot be measured.
    """

    def __init__(self, *, cluster: str = "h100-nodes",
                 memory_limit: int | None = None, in_flight: int = 16) -> None:
        if in_flight < 0 or (memory_limit is not None and memory_limit < 0):
            raise ValueError("limits must not be negative")
        self.cluster = cluster
        self.memory_limit = memory_limit
        self.in_flight = in_flight
        self.last_score: library.Score | None = None
        self.last_given: library.Score | None = None

    def uuid(self) -> str:
        path = Path(self.cluster)
        return make_uuid(
            "overlap", {"cluster": self.cluster, "limit": self.memory_limit,
                        "in_flight": self.in_flight},
            [path if path.is_file() else None])

    def __call__(self, graph: Graph) -> None:
        if not any(_is_collective(node) for node in graph.nodes):
            return
        try:
            timed = TimedGraph(graph, self.cluster)
        except Unmodelled as reason:
            return warn_once("order", reason)
        order, self.last_score, self.last_given = timed.schedule(
            self.memory_limit, self.in_flight)
        log.info("takes %.3g s instead of %.3g s", self.last_score.seconds,
                 self.last_given.seconds)
        reorder(graph, [timed.nodes[number] for number in order])


def _is_collective(node: Node) -> bool:
    target: Any = node.target
    return (isinstance(target, OpOverload)
            and target.namespace == "_c10d_functional")


def reorder(graph: Graph, nodes: list[Node]) -> None:
    """Gives all calls of a graph this order, behind its arguments."""
    output = next(reversed(graph.nodes))
    for node in nodes:
        output.prepend(node)
