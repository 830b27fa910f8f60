"""A pass on the graphs that Inductor compiles: communication behind
computation."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from torch.fx import Graph, Node

from regather import library
from regather.torch.buckets import bucket_collectives
from regather.torch.collection import paused_collection
from regather.torch.identity import make_uuid
from regather.torch.plan import Plan, PlanLike, read_bytes, read_plan, refuse
from regather.torch.private import CustomGraphPass, OpOverload
from regather.torch.timed import TimedGraph, reorder
from regather.torch.unmodelled import Unmodelled, warn_once

log = logging.getLogger("regather.torch")


class OverlapPass(CustomGraphPass):
    """Merges collectives of a graph into buckets, and orders it so that they run
    while the device computes.

    bucket        none (default): as they are; "auto": as schedules tell; a list
                  of modules such as "[embedding],[layers.*]each"; or another
                  option `--bucket` of `regather`.
    schedule      an option `--schedule` of `regather`; none: the next two.
    memory_limit  most bytes of what the graph computes, at any place, a number
                  or text such as "2GB"; the peak of the order of the graph if
                  absent.
    in_flight     most collectives of one group at the same time; 0 for any
                  number.
    plan          a plan of `regather`, as file or dict, instead of `bucket` and
                  `schedule`.
    cluster       what times are estimated for: a name or a file.

    The result is a function of the graph, the same on all ranks. Inductor keeps
    the order with `reorder_for_peak_memory=False` and, since 2.14,
    `enable_simple_overlap=False`, which `regather.torch.options` sets.
    `last_score` and `last_given` hold what the last graph takes by the
    estimates, in our order and in the one that it had with the buckets;
    `last_merged` how many collectives were merged into how many. Graphs without
    collectives stay as they are, as do, with one warning, those that cannot be
    measured. A plan that names modules that a graph does not have is a
    `RegatherError`.
    """

    def __init__(self, *, cluster: str = "h100-nodes",
                 memory_limit: int | str | None = None,
                 in_flight: int | None = None, bucket: str | None = None,
                 schedule: str | None = None, plan: PlanLike | None = None
                 ) -> None:
        memory_limit = read_bytes("memory_limit", memory_limit)
        if (in_flight or 0) < 0:
            raise ValueError("in_flight must not be negative")
        self._plan = read_plan(plan, bucket=bucket, schedule=schedule)
        if self._plan.schedule is not None and not (
                memory_limit is None and in_flight is None):
            raise ValueError("limits are options of the schedule, where there "
                             "is one")
        self.cluster = cluster
        self._orders = True
        self._schedule = library.ScheduleOptions(
            memory_limit, in_flight=16 if in_flight is None else in_flight)
        if self._plan.schedule is not None:
            self._read_schedule(self._plan.schedule)
        self._buckets: library.BucketOptions | None = None
        self._modules: str | None = None
        if self._plan.bucket is not None:
            self._read_buckets(self._plan.bucket)
        self.last_score: library.Score | None = None
        self.last_given: library.Score | None = None
        self.last_merged = (0, 0)

    def _read_schedule(self, options: dict[str, Any]) -> None:
        self._orders = options["mode"] != "none"
        if self._orders:
            refuse("tg-schedule", options, {"mode": "auto", "prefetch": 1})
        self.cluster = options["cluster"] or self.cluster
        text = options["memory-limit"]
        ratio, limit = 1.0, None
        try:
            if text.endswith("x"):
                ratio = float(text[:-1])
            else:
                limit = int(text)
        except ValueError:
            ratio = 0.0
        if ratio < 1 or (limit or 0) < 0:
            raise ValueError("memory-limit of tg-schedule expects a number of "
                             "bytes, or a multiple from 1x up, got "
                             f"{text!r}")
        self._schedule = library.ScheduleOptions(
            limit, ratio, options["in-flight"], options["effort"],
            options["overlap-groups"])

    def _read_buckets(self, options: dict[str, Any]) -> None:
        cluster = options["cluster"] or self.cluster
        if options["mode"] == "plan":
            self._modules = options["plan"]
        elif options["plan"]:
            raise ValueError("'plan' of tg-bucket-collectives has no effect "
                             "with 'mode=auto'")
        self._buckets = library.BucketOptions(
            cluster, self._schedule.memory_limit, options["max-bytes"],
            options["saturation"], options["max-compute"])

    def uuid(self) -> str:
        modules = (self._modules or "").strip()
        paths = [Path(self.cluster), *self._plan.files]
        if self._buckets is not None:
            paths.append(Path(self._buckets.cluster))
        if modules.startswith("@"):
            paths.append(Path(modules[1:]))
        return make_uuid(
            "overlap", {"cluster": self.cluster, "plan": self._plan.key,
                        "limit": self._schedule.memory_limit,
                        "in_flight": self._schedule.in_flight},
            [path if path.is_file() else None for path in paths])

    def __call__(self, graph: Graph) -> None:
        if not any(_is_collective(node) for node in graph.nodes):
            return
        try:
            with paused_collection():
                self._run(graph, TimedGraph(graph, self.cluster))
        except Unmodelled as reason:
            warn_once("PyTorch's own order stays", reason)

    def _run(self, graph: Graph, timed: TimedGraph) -> None:
        if self._buckets is not None:
            self.last_merged = bucket_collectives(graph, timed, self._buckets,
                                                  self._modules)
            log.info("%d collectives are %d", *self.last_merged)
            if self._orders and self.last_merged[0]:
                timed = timed.measure_again(graph)
        if not self._orders:
            return
        order, self.last_score, self.last_given = library.schedule(
            timed.to_arrays(), self._schedule)
        log.info("takes %.3g s instead of %.3g s", self.last_score.seconds,
                 self.last_given.seconds)
        reorder(graph, [timed.nodes[number] for number in order])


def _is_collective(node: Node) -> bool:
    target: Any = node.target
    return (isinstance(target, OpOverload)
            and target.namespace == "_c10d_functional")
