"""Partitions a captured step with PyTorch's min-cut, for comparison.

Prints one JSON object: seconds, peak bytes of the process, and what is saved.
The captured graph is turned into the joint graph that AOTAutograd would hand to
`min_cut_rematerialization_partition`: arguments are named `primals_N`, and the
gradient of the loss, a constant in the capture, is an argument `tangents_1`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch._functorch import config
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402


def make_joint(graph: Any) -> GraphModule:
    module = graph.module
    phases = {node["name"]: node.get("phase")
              for node in graph.document["nodes"]}
    nodes = list(module.graph.nodes)
    arguments = [node for node in nodes if node.op == "placeholder"]
    loss = nodes[-1].args[0][0]
    # Names must be free before they are given again.
    for i, node in enumerate(arguments):
        node._rename(f"primals_{i + 1}")
        node.target = node.name
    seed = next(node for node in nodes
                if node.target == torch.ops.aten.full_like.default
                and node.args[0] is loss)
    with module.graph.inserting_after(arguments[-1]):
        tangent = module.graph.placeholder("tangents_1")
    tangent.meta["val"] = seed.meta["val"]
    seed.replace_all_uses_with(tangent)
    module.graph.erase_node(seed)
    for node in module.graph.nodes:
        backward = phases.get(node.name) == "backward"
        node.meta["partitioner_tag"] = \
            "is_backward" if backward else "is_forward"
    module.recompile()
    return module


def size_of(node: Any) -> int:
    value = node.meta.get("val")
    return (value.numel() * value.element_size()
            if isinstance(value, torch.Tensor) else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--budget", type=float, default=1.0)
    args = parser.parse_args()
    joint = make_joint(capture_step(make_step(args.model, args.config)))
    inputs = [node.meta["val"] for node in joint.graph.nodes
              if node.op == "placeholder"]
    config.activation_memory_budget = args.budget
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    forward, backward = min_cut_rematerialization_partition(
        joint, inputs, num_fwd_outputs=1)
    seconds = time.perf_counter() - start
    arguments = {node.name for node in forward.graph.nodes
                 if node.op == "placeholder"}
    outputs = [node for node in list(forward.graph.nodes)[-1].args[0]
               if isinstance(node, torch.fx.Node)]
    saved = [node for node in outputs[1:] if node.name not in arguments]
    print(json.dumps({
        "nodes": len(joint.graph.nodes), "seconds": seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        "peak_bytes_before": before << 10,
        "saved": len(saved), "saved_bytes": sum(map(size_of, saved)),
        "forward_nodes": len(forward.graph.nodes),
        "backward_nodes": len(backward.graph.nodes),
        "names": [node.name for node in saved]}))


if __name__ == "__main__":
    main()
