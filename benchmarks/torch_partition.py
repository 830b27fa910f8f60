"""Partitions a captured step with PyTorch's min-cut, for comparison.

Prints one JSON object: seconds, peak bytes of the process, the value of the
cut, what is saved, and the products that backward repeats. The captured graph is
turned into the joint graph that AOTAutograd would hand to
`min_cut_rematerialization_partition`: arguments are named `primals_N`, the
gradient of the loss, a constant in the capture, is an argument `tangents_1`,
results of forward come first, and parameters and buffers are static inputs.
"""

from __future__ import annotations

import argparse
import json
import operator
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import networkx
import torch
from torch._functorch import config, partitioners
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext, tracing
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy
from torch.utils.flop_counter import flop_registry

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

_SEEDS = (torch.ops.aten.full_like.default, torch.ops.aten.ones_like.default)


@dataclass
class Joint:
    """A joint graph, with what the partitioner is told beside it."""

    module: GraphModule
    forward_outputs: int
    static_inputs: list[int]


def make_joint(graph: Any) -> Joint:
    """The joint graph of a captured step, whose module it takes."""
    module, document = graph.module, graph.document
    nodes = list(module.graph.nodes)
    records = {node["name"]: node for node in document["nodes"]}
    for node in nodes:
        _annotate(node, records)
    arguments = [node for node in nodes if node.op == "placeholder"]
    state = {record["node"] for kind in ("parameters", "buffers")
             for record in document[kind]}
    static = [i for i, node in enumerate(arguments) if node.name in state]
    # Names must be free before they are given again.
    for i, node in enumerate(arguments):
        node._rename(f"primals_{i + 1}")
        node.target = node.name
    output = nodes[-1]
    results = list(zip(output.args[0], document["outputs"]))
    forward = [node for node, record in results if record["role"] != "gradient"]
    gradients = [node for node, record in results
                 if record["role"] == "gradient"]
    output.args = ((*forward, *gradients),)
    _add_tangent(module, forward, arguments[-1])
    module.recompile()
    return Joint(module, len(forward), static)


def _annotate(node: Node, records: dict[str, Any]) -> None:
    source = node.args[0] if node.target is operator.getitem else node
    record = records.get(source.name, {})
    backward = record.get("phase") == "backward"
    node.meta["partitioner_tag"] = "is_backward" if backward else "is_forward"
    if policy := record.get("recompute"):
        node.meta["recompute"] = CheckpointPolicy[policy.upper()]


def _add_tangent(module: GraphModule, forward: list[Node], last: Node) -> None:
    seed = next(node for node in module.graph.nodes
                if node.target in _SEEDS and node.args[0] in forward
                and node.meta["partitioner_tag"] == "is_backward")
    with module.graph.inserting_after(last):
        tangent = module.graph.placeholder("tangents_1")
    tangent.meta["val"] = seed.meta["val"]
    seed.replace_all_uses_with(tangent)
    module.graph.erase_node(seed)


def size_of(node: Node) -> int:
    value = node.meta.get("val")
    return (value.numel() * value.element_size()
            if isinstance(value, torch.Tensor) else 0)


def flops_of(node: Node) -> int:
    """Of products, convolutions and attention, as PyTorch counts them."""
    formula = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if formula is None:
        return 0
    args, kwargs = torch.fx.node.map_arg(
        (node.args, node.kwargs), lambda n: n.meta["val"])
    return int(formula(*args, **kwargs, out_val=node.meta["val"]))


@contextmanager
def _recorded_cut() -> Iterator[list[Any]]:
    """Values of the minimum cuts that are found in a `with` block."""
    values: list[Any] = []
    # PyTorch 2.15 has a solver of its own, under a name that it imports.
    owner = partitioners if hasattr(partitioners, "minimum_cut") else networkx
    cut = owner.minimum_cut

    def record(*args: Any, **kwargs: Any) -> Any:
        value, parts = cut(*args, **kwargs)
        values.append(value)
        return value, parts

    with mock.patch.object(owner, "minimum_cut", record):
        yield values


def partition(joint: Joint, budget: float = 1.0) -> dict[str, Any]:
    """Partitions `joint` and measures it."""
    module = joint.module
    inputs = [node.meta["val"] for node in module.graph.nodes
              if node.op == "placeholder"]
    known = {node.name for node in module.graph.nodes}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Random operators that are recomputed look for the mode.
    with (tracing(TracingContext(inputs[0].fake_mode)),
          config.patch(activation_memory_budget=budget),
          _recorded_cut() as cuts):
        start, cpu_start = time.perf_counter(), time.process_time()
        forward, backward = min_cut_rematerialization_partition(
            module, inputs, num_fwd_outputs=joint.forward_outputs,
            static_lifetime_input_indices=joint.static_inputs)
        seconds = time.perf_counter() - start
        cpu_seconds = time.process_time() - cpu_start
    arguments = {node.name for node in forward.graph.nodes
                 if node.op == "placeholder"}
    outputs = [node for node in list(forward.graph.nodes)[-1].args[0]
               if isinstance(node, Node)]
    # States of generators, which PyTorch saves besides, are left out.
    saved = [node for node in outputs[joint.forward_outputs:]
             if node.name in known and node.name not in arguments]
    computed = {node.name for node in forward.graph.nodes
                if node.op == "call_function"}
    again = [node for node in backward.graph.nodes
             if node.op == "call_function" and node.name in computed]
    return {
        "nodes": len(module.graph.nodes), "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        "peak_bytes_before": before << 10,
        "cut_value": int(cuts[0]) if cuts else 0,
        "saved": len(saved), "saved_bytes": sum(map(size_of, saved)),
        "recomputed": len(again), "recomputed_flops": sum(map(flops_of, again)),
        "forward_nodes": len(forward.graph.nodes),
        "backward_nodes": len(backward.graph.nodes),
        "names": [_document_name(node) for node in saved]}


def _document_name(node: Node) -> str:
    """`ID`, or `ID:result` for one of several results."""
    if node.target is operator.getitem:
        return f"{node.args[0].name}:{node.args[1]}"
    return node.name


def _give_up(number: int, frame: Any) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--save", type=Path,
                        help="where to write the captured graph")
    parser.add_argument("--limit", type=int, default=0,
                        help="seconds after which PyTorch is given up")
    args = parser.parse_args()
    graph = capture_step(make_step(args.model, args.config))
    if args.save:
        graph.save(args.save)
    joint = make_joint(graph)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(args.limit)
    try:
        print(json.dumps(partition(joint, args.budget)))
    except TimeoutError:
        print(json.dumps({"nodes": len(joint.module.graph.nodes),
                          "limit": args.limit}))


if __name__ == "__main__":
    main()
