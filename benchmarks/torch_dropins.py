"""Times our passes for PyTorch against PyTorch's own, on one graph.

Prints one JSON object: nodes, CPU seconds of the partitioners, whether the
modules have the same text, and CPU seconds of our order of the step. Ours
include both conversions. Modules are lazy, as under Inductor, for both.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext, tracing
from torch.fx._lazy_graph_module import _use_lazy_graph_module
from torch_partition import Joint, make_joint

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402
from regather.torch import Partitioner  # noqa: E402
from regather.torch.overlap import reorder  # noqa: E402
from regather.torch.timed import TimedGraph  # noqa: E402


def run(joint: Joint, partition: Callable[..., Any]) -> tuple[float, Any]:
    """CPU seconds, and the two modules, of a partition of a copy."""
    module = torch.fx.GraphModule(joint.module, copy_graph(joint.module.graph))
    inputs = [node.meta["val"] for node in module.graph.nodes
              if node.op == "placeholder"]
    with (tracing(TracingContext(inputs[0].fake_mode)),
          _use_lazy_graph_module(True)):
        start = time.process_time()
        parts = partition(module, inputs, num_fwd_outputs=joint.forward_outputs,
                          static_lifetime_input_indices=joint.static_inputs)
        return time.process_time() - start, parts


def copy_graph(graph: torch.fx.Graph) -> torch.fx.Graph:
    """Partitioners write into metadata."""
    copied, copies = torch.fx.Graph(), {}
    for node in graph.nodes:
        copies[node] = copied.node_copy(node, copies.__getitem__)
        copies[node].meta = copy.copy(node.meta)
    return copied


def schedule_graph(graph: torch.fx.Graph) -> None:
    """What `OverlapPass` does; the groups of a capture exist no longer."""
    timed = TimedGraph(graph, "h100-nodes", lambda group: list(range(8)))
    order, _, _ = timed.schedule(None, 16)
    reorder(graph, [timed.nodes[number] for number in order])


def texts(parts: Any) -> list[str]:
    return [str(part.graph) for part in parts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    captured = capture_step(make_step(args.model, args.config))
    schedule = []
    for _ in range(args.runs):
        graph = copy_graph(captured.module.graph)
        start = time.process_time()
        schedule_graph(graph)
        schedule.append(time.process_time() - start)
    joint = make_joint(captured)
    partitions: dict[str, Callable[..., Any]] = {
        "PyTorch": min_cut_rematerialization_partition,
        "match-pytorch": Partitioner(mode="match-pytorch"),
        "min-cut": Partitioner()}
    seconds: dict[str, list[float]] = {name: [] for name in partitions}
    made = {}
    for _ in range(args.runs):
        for name, partition in partitions.items():
            taken, parts = run(joint, partition)
            seconds[name].append(taken)
            made[name] = texts(parts)
    print(json.dumps({
        "torch": torch.__version__,
        "nodes": len(joint.module.graph.nodes),
        "seconds": {name: statistics.median(taken)
                    for name, taken in seconds.items()},
        "schedule_seconds": statistics.median(schedule),
        "same_text": made["PyTorch"] == made["match-pytorch"]}))


if __name__ == "__main__":
    main()
