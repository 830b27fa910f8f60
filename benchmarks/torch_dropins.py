"""Times our passes for PyTorch against PyTorch's own, on one graph.

Prints one JSON object: nodes, CPU seconds of the partitioners, whether the
modules have the same text, and CPU seconds of our buckets and order of the step,
with the collectives that are left. Ours include both conversions. Modules are
lazy, as under Inductor, for both.
"""

from __future__ import annotations

import argparse
import copy
import gc
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
from regather.torch import OverlapPass, Partitioner  # noqa: E402
from regather.torch.collection import paused_collection  # noqa: E402
from regather.torch.timed import TimedGraph, kind_of  # noqa: E402


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


def name_modules(captured: Any) -> None:
    """Puts the modules of a capture where AOTAutograd puts them."""
    paths = captured.document["modules"]
    modules = {entry["name"]: paths[entry["module"]]
               for entry in captured.document["nodes"] if "module" in entry}
    for node in captured.module.graph.nodes:
        if path := modules.get(node.name):
            node.meta["nn_module_stack"] = {path: (path, torch.nn.Module)}


def count_collectives(graph: torch.fx.Graph) -> int:
    return sum(kind_of(node) is not None for node in graph.nodes)


class Overlap(OverlapPass):
    """The pass; the groups of a capture exist no longer."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        with paused_collection():
            self._run(graph, TimedGraph(graph, self.cluster,
                                        lambda group: list(range(8))))


LAYERS = "[embedding],[layers.*]each,[norm,output]"
OVERLAPS = {"order": {}, "buckets by layer, order": {"bucket": LAYERS},
            "automatic buckets, order": {"bucket": "auto"}}


def time_overlap(graph: torch.fx.Graph, options: dict[str, Any]
                 ) -> tuple[float, dict[str, Any]]:
    """CPU seconds of the pass on a copy, and what it says of the result."""
    graph = copy_graph(graph)
    overlap = Overlap(**options)
    gc.collect()
    start = time.process_time()
    overlap(graph)
    taken = time.process_time() - start
    assert overlap.last_score is not None
    return taken, {"collectives": count_collectives(graph),
                   "step_seconds": overlap.last_score.seconds,
                   "exposed_seconds": overlap.last_score.exposed_seconds}


def texts(parts: Any) -> list[str]:
    return [str(part.graph) for part in parts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only-overlap", action="store_true")
    args = parser.parse_args()
    captured = capture_step(make_step(args.model, args.config))
    name_modules(captured)
    overlaps = {}
    for name, options in OVERLAPS.items():
        runs = [time_overlap(captured.module.graph, options)
                for _ in range(args.runs)]
        overlaps[name] = {"seconds": statistics.median(run[0] for run in runs),
                          **runs[0][1]}
    if args.only_overlap:
        print(json.dumps(overlaps))
        return
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
        "overlaps": overlaps,
        "same_text": made["PyTorch"] == made["match-pytorch"]}))


if __name__ == "__main__":
    main()
