"""A graph of local tensors and collectives as operations that take time."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.distributed.distributed_c10d import get_process_group_ranks
from torch.fx import Graph, Node

from regather import library
from regather.torch.private import (OpOverload, partitioners,
                                    resolve_process_group, storage_key,
                                    wait_tensor)
from regather.torch.targets import is_random
from regather.torch.unmodelled import Unmodelled

COMPUTE, COLLECTIVE, WAIT = 0, 1, 2

_KINDS = {"all_gather_into_tensor": 0, "reduce_scatter_tensor": 1,
          "all_reduce": 2, "all_to_all_single": 3, "broadcast": 4}

_TYPES = {torch.float32: 1, torch.bfloat16: 2, torch.float16: 3,
          torch.float64: 4}


def size_of(value: Any) -> int:
    """Bytes of a tensor, or of all tensors of a list."""
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    if not isinstance(value, torch.Tensor):
        return 0
    count = value.numel()
    if type(count) is not int:
        raise Unmodelled("sizes are dynamic")
    return count * value.dtype.itemsize


def _storage_of(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return storage_key(value)
    except NotImplementedError:
        return None


class Values:
    """Sizes and memory of what nodes give, each asked for once."""

    def __init__(self) -> None:
        self._sizes: dict[Node, int] = {}
        self._storages: dict[Node, int | None] = {}

    def size(self, node: Node) -> int:
        """Bytes."""
        found = self._sizes.get(node)
        if found is None:
            found = self._sizes[node] = size_of(node.meta.get("val"))
        return found

    def storage(self, node: Node) -> int | None:
        """Equal for nodes that share memory; nothing if it is no tensor."""
        if node in self._storages:
            return self._storages[node]
        found = self._storages[node] = _storage_of(node.meta.get("val"))
        return found


@dataclass(frozen=True)
class _TargetFacts:
    """What calls of one target have in common."""

    kind: int | None
    is_wait: bool
    is_random: bool
    # Nothing where it depends on the call.
    has_effects: bool | None


def _read_target(node: Node) -> _TargetFacts:
    is_call = node.op == "call_function"
    known = isinstance(node.target, OpOverload) or not is_call
    return _TargetFacts(
        kind_of(node), _is_wait(node), is_random(node.target),
        is_call and bool(node.is_impure()) if known else None)


def _flop_key(node: Node) -> tuple[Any, ...]:
    """What the number depends on."""
    return (node.target, *[
        _shapes_of(part.meta["val"]) if type(part) is Node
        else str(torch.fx.node.map_arg(
            part, lambda n: _shapes_of(n.meta["val"])))
        for part in (*node.args, *node.kwargs.items())])


def _shapes_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_shapes_of, value))
    return tuple(value.shape) if isinstance(value, torch.Tensor) else value


def count_flops(node: Node, formula: Callable[..., Any],
                known: dict[tuple[Any, ...], float]) -> float:
    """Of a GEMM, convolution or attention, as PyTorch counts them. `known` are
    those of calls that are alike."""
    key = _flop_key(node)
    if key in known:
        return known[key]
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs),
                                         lambda n: n.meta["val"])
    known[key] = float(formula(*args, **kwargs, out_val=node.meta["val"]))
    return known[key]


def _runs(node: Node) -> bool:
    """Whether the device has to compute something."""
    packet = getattr(node.target, "overloadpacket", node.target)
    return (node.op == "call_function"
            and packet not in partitioners.get_default_op_list().view_ops
            and node.target is not operator.getitem
            and getattr(node.target, "namespace", "") != "_c10d_functional")


def _formula_of(node: Node) -> Callable[..., Any] | None:
    from torch.utils.flop_counter import flop_registry
    formula: Callable[..., Any] | None = flop_registry.get(
        getattr(node.target, "overloadpacket", None))
    return formula


def estimate_seconds(nodes: list[Node], cluster: str,
                     values: Values | None = None) -> array[float]:
    """What each node takes on a device. Views, items and what is no call take
    nothing. `values` are sizes that are known, and takes on new ones."""
    values = Values() if values is None else values
    size_of_node = values.size
    flops, sizes, types = (array(code, bytes(array(code).itemsize * len(nodes)))
                           for code in "ddB")
    known: dict[tuple[Any, ...], float] = {}
    running: dict[int, tuple[bool, Callable[..., Any] | None]] = {}
    for number, node in enumerate(nodes):
        key = id(node.target)
        if key not in running:
            running[key] = (_runs(node), _formula_of(node))
        runs, formula = running[key]
        if not runs:
            continue
        size = size_of_node(node)
        for source in node.args:
            if isinstance(source, Node):
                size += size_of_node(source)
        sizes[number] = size
        if formula is not None:
            flops[number] = work = count_flops(node, formula, known)
            value = node.meta.get("val")
            if work and isinstance(value, torch.Tensor):
                types[number] = _TYPES.get(value.dtype, 0)
    return library.compute_seconds(cluster, flops, sizes, types)


def kind_of(node: Node) -> int | None:
    """The kind of a functional collective; nothing for other nodes."""
    if getattr(node.target, "namespace", "") != "_c10d_functional":
        return None
    return _KINDS.get(node.target.overloadpacket.__name__)


def _is_wait(node: Node) -> bool:
    return node.op == "call_function" and node.target is wait_tensor


@dataclass
class _Collective:
    op: int
    kind: int
    group: str
    received: float


def whole_bytes(node: Node) -> int:
    """Of the tensor that a collective gathers, or reduces."""
    return max(size_of(node.meta["val"]), size_of(node.args[0].meta["val"]))


def received_bytes(node: Node, kind: int, ranks: int) -> float:
    """By each rank, of a ring."""
    whole = whole_bytes(node)
    share = whole * (ranks - 1) / ranks
    return {2: 2 * share, 4: float(whole)}.get(kind, share)


def _ranks_of(group: str) -> list[int]:
    try:
        return get_process_group_ranks(resolve_process_group(group))
    except RuntimeError:
        raise Unmodelled(f"there is no process group '{group}'") from None


class TimedGraph:
    """The calls of a graph, in its order, as the scheduler sees them.

    Operators that write into their arguments or have other effects stay between
    what stands before and behind them, and random operators in their order.
    Raises `Unmodelled` for what cannot be measured. `ranks_of` gives the ranks of
    a process group by its name; PyTorch knows them unless given. `before` is the
    graph as it was before a change: calls that were there take what they took,
    and give what they gave.
    """

    def __init__(self, graph: Graph, cluster: str,
                 ranks_of: Callable[[str], list[int]] | None = None,
                 before: TimedGraph | None = None) -> None:
        self.nodes = [node for node in graph.nodes
                      if node.op in ("call_function", "get_attr")]
        self.numbers = {node: i for i, node in enumerate(self.nodes)}
        # Asked for several times, and lists anew each time.
        self.sources = [node.all_input_nodes for node in self.nodes]
        self.ranks_of = cache(ranks_of or _ranks_of)
        self.kinds = array("B", bytes(len(self.nodes)))
        self.streams = array("I", bytes(4 * len(self.nodes)))
        self.collectives = array("I", bytes(4 * len(self.nodes)))
        self.predecessors = library.Lists()
        self.groups: dict[str, int] = {}
        self._measured: list[_Collective] = []
        self.cluster = cluster
        self.values = Values() if before is None else before.values
        # By the address of a target, which hashes more slowly.
        self.targets: dict[int, _TargetFacts] = (
            {} if before is None else before.targets)
        self._facts = [self._facts_of(node) for node in self.nodes]
        self.seconds = self._estimate(before)
        for number, facts in enumerate(self._facts):
            if facts.kind is not None:
                self._add_collective(number, facts.kind)
        self._measure(cluster)
        self._add_dependencies()
        self.conflicts = self._find_conflicts()
        self._add_buffers(next(reversed(graph.nodes)))

    def _facts_of(self, node: Node) -> _TargetFacts:
        key = id(node.target)
        facts = self.targets.get(key)
        if facts is None:
            facts = self.targets[key] = _read_target(node)
        return facts

    def _estimate(self, before: TimedGraph | None) -> array[float]:
        if before is None:
            return estimate_seconds(self.nodes, self.cluster, self.values)
        known = before.numbers
        fresh = [node for node in self.nodes if node not in known]
        found = dict(zip(fresh, estimate_seconds(fresh, self.cluster,
                                                 self.values)))
        return array("d", [found[node] if node in found
                           else before.seconds[known[node]]
                           for node in self.nodes])

    def _add_collective(self, number: int, kind: int) -> None:
        """A collective that one wait waits for runs beside computation; others
        hold it up."""
        node = self.nodes[number]
        group = node.args[-1]
        if not isinstance(group, str):
            raise Unmodelled("a process group is an argument")
        received = received_bytes(node, kind, len(self.ranks_of(group)))
        self._measured.append(_Collective(number, kind, group, received))
        users = list(node.users)
        if len(users) != 1 or not _is_wait(users[0]):
            return
        wait = self.numbers[users[0]]
        stream = self.groups.setdefault(group, len(self.groups))
        self.kinds[number], self.kinds[wait] = COLLECTIVE, WAIT
        self.streams[number] = self.streams[wait] = stream
        self.collectives[wait] = number

    def has_effects(self, node: Node) -> bool:
        """Of a call. Operators have them or not, whatever their arguments."""
        known = self._facts_of(node).has_effects
        return bool(node.is_impure()) if known is None else known

    def _measure(self, cluster: str) -> None:
        for group in sorted({one.group for one in self._measured}):
            ours = [one for one in self._measured if one.group == group]
            seconds = library.collective_seconds(
                cluster, self.ranks_of(group), [one.kind for one in ours],
                [one.received for one in ours])
            for one, taken in zip(ours, seconds):
                self.seconds[one.op] = taken

    def _add_dependencies(self) -> None:
        barrier, random = None, None
        since: list[int] = []
        numbers, kinds = self.numbers, self.kinds
        lists: list[list[int]] = []
        for number, (facts, sources) in enumerate(zip(self._facts,
                                                      self.sources)):
            before = [numbers[source] for source in sources
                      if source in numbers]
            lists.append(before)
            if kinds[number] == WAIT:
                since.append(number)
                continue
            if barrier is not None:
                before.append(barrier)
            if facts.is_random:
                if random is not None:
                    before.append(random)
                random = number
            if facts.has_effects is not False and (
                    kinds[number] == COMPUTE and not facts.is_wait
                    and self.has_effects(self.nodes[number])):
                before.extend(since)
                barrier, since = number, []
            else:
                since.append(number)
            if len(before) > 1:
                lists[-1] = sorted(set(before))
        self.predecessors = library.Lists.of(lists)

    def _find_conflicts(self) -> library.Lists:
        """Collectives of groups that share more than one rank wait for each
        other."""
        conflicts = library.Lists()
        members = [set(self.ranks_of(group)) for group in self.groups]
        for i, first in enumerate(members):
            conflicts.push([j for j, second in enumerate(members)
                            if i != j and len(first & second) > 1])
        return conflicts

    def _add_buffers(self, output: Node) -> None:
        """One for each storage that a call makes. What a wait gives is the
        buffer of its collective."""
        self.buffer_bytes, self.writers = array("q"), array("I")
        storage_of, kinds = self.values.storage, self.kinds
        owner: dict[Node, int] = {}
        by_storage: dict[int, int] = {}
        uses: list[list[int]] = []
        # What a collective has touched is in use until the wait.
        held: dict[int, list[int]] = {}
        for number, (node, sources) in enumerate(zip(self.nodes, self.sources)):
            storage = storage_of(node)
            touched = [owner[source] for source in sources if source in owner]
            if kinds[number] == WAIT:
                buffer = owner.get(self.nodes[self.collectives[number]])
                touched.extend(held[self.collectives[number]])
            else:
                buffer = by_storage.get(storage) if storage else None
            if buffer is None and storage is not None and storage not in map(
                    storage_of, sources):
                buffer = len(uses)
                self.buffer_bytes.append(self.values.size(node))
                self.writers.append(number)
                uses.append([])
            if buffer is not None:
                owner[node] = buffer
                touched.append(buffer)
                if storage is not None:
                    by_storage[storage] = buffer
            if kinds[number] == COLLECTIVE:
                held[number] = touched
            for one in touched:
                users = uses[one]
                # A wait of several values of one buffer uses it once.
                if not users or users[-1] != number:
                    users.append(number)
        returned = {owner[node] for node in output.all_input_nodes
                    if node in owner}
        self.live_out = array("B", [i in returned for i in range(len(uses))])
        self.users = library.Lists.of(uses)

    def measure_again(self, graph: Graph) -> TimedGraph:
        """The graph after a change, which has left alone what calls give."""
        return TimedGraph(graph, self.cluster, self.ranks_of, self)

    def to_arrays(self) -> library.TimedArrays:
        return library.TimedArrays(
            self.kinds, self.seconds, self.streams, self.collectives,
            self.predecessors, self.conflicts, self.buffer_bytes, self.writers,
            self.live_out, self.users)


def reorder(graph: Graph, nodes: list[Node]) -> None:
    """Gives all calls of a graph this order, behind its arguments."""
    output = next(reversed(graph.nodes))
    for node in nodes:
        output.prepend(node)
