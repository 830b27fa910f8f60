"""An FX graph with collectives as a program with times, for the scheduler.

Times are functions of shapes alone, so that graphs that compute the same take
the same: GEMMs and attention by their arithmetic, other operators by
the bytes that they move, collectives by the bytes that a rank receives. Memory
belongs to storages: views and waits have that of what they read.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

# One H100: products, other arithmetic, memory; bytes or operations per second.
PRODUCT_FLOPS = 989e12 * 0.78
MEMORY_BYTES = 3.35e12 * 0.9
LAUNCH_SECONDS = 4e-6
# Inside of a node of 8 ranks and beyond it: seconds, bytes per second.
NODE_LINK = (30e-6, 330e9)
NETWORK_LINK = (90e-6, 45e9)
RANKS_PER_NODE = 8

STARTS = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce",
          "all_gather_into_tensor_out", "all_gather_into_tensor_coalesced",
          "reduce_scatter_tensor_coalesced")


def operator_name(node: Node) -> str:
    return getattr(node.target, "_opname", "") if node.op == "call_function" \
        else ""


def is_start(node: Node) -> bool:
    return operator_name(node) in STARTS


def is_wait(node: Node) -> bool:
    return operator_name(node) == "wait_tensor"


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value)
            if isinstance(leaf, torch.Tensor)]


def size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def group_of(node: Node) -> str:
    return str(node.args[-1])


def group_size(node: Node) -> int:
    from torch.distributed.distributed_c10d import _resolve_process_group
    return _resolve_process_group(group_of(node)).size()


def spans_nodes(node: Node) -> bool:
    from torch.distributed.distributed_c10d import (_resolve_process_group,
                                                    get_process_group_ranks)
    ranks = get_process_group_ranks(_resolve_process_group(group_of(node)))
    return min(ranks) // RANKS_PER_NODE != max(ranks) // RANKS_PER_NODE


def received_bytes(node: Node) -> float:
    """By each rank, of an algorithm that moves no byte twice."""
    sent = sent_bytes(node)
    name, ranks = operator_name(node), group_size(node)
    return {"all_gather": sent * (ranks - 1),
            "reduce_scatter": sent * (ranks - 1) / ranks,
            "all_reduce": 2 * sent * (ranks - 1) / ranks}[
                next(kind for kind in ("all_gather", "reduce_scatter",
                                       "all_reduce")
                     if name.startswith(kind))]


def sent_bytes(node: Node) -> int:
    return sum(size(t) for t in tensors(torch.fx.node.map_arg(
        node.args[0], lambda n: n.meta["val"])))


def link_of(node: Node) -> tuple[float, float]:
    return NETWORK_LINK if spans_nodes(node) else NODE_LINK


def collective_seconds(node: Node) -> float:
    latency, bandwidth = link_of(node)
    return latency + received_bytes(node) / bandwidth


def bucket_entry(node: Node) -> dict[str, Any] | None:
    """What a gather of a parameter or a reduction of a gradient carries, and
    what it may start as one with: those with an equal key."""
    is_gather = operator_name(node).startswith("all_gather")
    if node.meta.get("mesh_axis") != "dp" or not (
            is_gather or operator_name(node).startswith("reduce_scatter")):
        return None
    latency, bandwidth = link_of(node)
    sent = sent_bytes(node)
    types = "" if is_gather else str([n.meta["val"].dtype
                                      for n in node.all_input_nodes])
    unit = ".".join(node.meta["module_path"].split(".")[:2])
    return {"key": f"{operator_name(node)} {types}", "gather": is_gather,
            "unit": f"{operator_name(node)} {unit}",
            "received": received_bytes(node),
            "whole": sent * group_size(node) if is_gather else sent,
            "latency": latency, "bandwidth": bandwidth}


def compute_seconds(node: Node) -> float:
    if node.op != "call_function" or is_view(node):
        return 0.0
    operands = tree_leaves((node.args, node.kwargs))
    inputs = [t for operand in operands if isinstance(operand, Node)
              for t in tensors(operand.meta.get("val"))]
    outputs = tensors(node.meta.get("val"))
    seconds = sum(map(size, inputs + outputs)) / MEMORY_BYTES
    packet = getattr(node.target, "_overloadpacket", None)
    if packet in flop_registry:
        args, kwargs = torch.fx.node.map_arg(
            (node.args, node.kwargs), lambda n: n.meta["val"])
        flops = flop_registry[packet](*args, **kwargs,
                                      out_val=node.meta["val"])
        seconds = max(seconds, flops / PRODUCT_FLOPS)
    return LAUNCH_SECONDS + seconds


def is_view(node: Node) -> bool:
    """True if all that it gives lies in the memory of what it reads."""
    outputs = tensors(node.meta.get("val"))
    mine = set(map(storage, outputs))
    theirs = {storage(t) for n in node.all_input_nodes
              for t in tensors(n.meta.get("val"))}
    return not outputs or (mine <= theirs and not is_mutating(node)
                           and not is_start(node))


def storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def is_mutating(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def node_seconds(node: Node) -> float:
    if is_start(node):
        return collective_seconds(node)
    return 0.0 if is_wait(node) else compute_seconds(node)


class Program:
    """What regather-schedule-bench reads."""

    def __init__(self, module: GraphModule) -> None:
        self.numbers: dict[Node, int] = {}
        self.ops: list[list[Any]] = []
        self.buffers: list[list[Any]] = []
        self.buffer_of: dict[int, int] = {}
        self.resident: dict[int, int] = {}
        self.streams: dict[str, int] = {}
        self.started_with: dict[int, list[int]] = {}
        self.waited: set[int] = set()
        # By storage: its last writer, and who has read it since.
        self.writer: dict[int, int] = {}
        self.readers: dict[int, list[int]] = {}
        for node in module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                for tensor in tensors(node.meta.get("val")):
                    self.resident[storage(tensor)] = size(tensor)
            elif node.op == "call_function":
                self.add(node)
            elif node.op == "output":
                for result in node.all_input_nodes:
                    for tensor in tensors(result.meta.get("val")):
                        buffer = self.buffer_of.get(storage(tensor))
                        if buffer is not None:
                            self.buffers[buffer][2] = True

    def inputs(self, node: Node) -> list[int]:
        return sorted({storage(t) for n in node.all_input_nodes
                       for t in tensors(n.meta.get("val"))})

    def add(self, node: Node) -> None:
        number = self.numbers[node] = len(self.ops)
        read = self.inputs(node)
        needed = {self.numbers[n] for n in node.all_input_nodes
                  if n in self.numbers}
        needed |= {self.writer[s] for s in read if s in self.writer}
        if is_mutating(node):
            for s in read:
                needed |= set(self.readers.get(s, ()))
                self.writer[s] = number
                self.readers[s] = []
        for s in read:
            self.readers.setdefault(s, []).append(number)
        if is_start(node):
            stream = self.streams.setdefault(group_of(node), len(self.streams))
            self.ops.append(["collective", node_seconds(node), stream,
                             sorted(needed), bucket_entry(node)])
        elif is_wait(node) and (start := self.find_start(node)) is not None:
            self.ops.append(["wait", 0.0, start, [start]])
            # What the collective reads and writes is in use until here.
            read = sorted({*read, *self.started_with[start]})
        else:
            self.ops.append(["compute", node_seconds(node), 0,
                             sorted(needed)])
        if is_start(node):
            self.started_with[number] = read
        for tensor in tensors(node.meta.get("val")):
            s = storage(tensor)
            if is_wait(node) and s not in self.buffer_of:
                source = read[0] if read else s
                if source in self.buffer_of:
                    self.buffer_of[s] = self.buffer_of[source]
            elif s not in self.buffer_of and s not in self.resident:
                self.buffer_of[s] = len(self.buffers)
                self.buffers.append([size(tensor), number, False, []])
        for s in read:
            if s in self.buffer_of:
                self.buffers[self.buffer_of[s]][3].append(number)

    def find_start(self, node: Node) -> int | None:
        """The collective that a wait is for; a second wait is no wait."""
        source = node.args[0]
        while isinstance(source, Node) and not is_start(source):
            source = source.args[0] if source.args else None
        number = self.numbers.get(source)
        if number is None or number in self.waited:
            return None
        self.waited.add(number)
        return number

    def json(self) -> dict[str, Any]:
        return {"ops": self.ops, "buffers": self.buffers,
                "streams": len(self.streams),
                "resident_bytes": sum(self.resident.values())}
