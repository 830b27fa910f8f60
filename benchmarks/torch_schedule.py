"""Schedules a captured step with PyTorch's passes, for comparison.

Writes the step as it is captured, with the buckets and the order of
`manual_overlap_bucketing` (one bucket for each layer), and with those of
`schedule_overlap_bucketing`, as programs with the times of fx_program.py, which
both passes get as well. Prints one JSON object: CPU seconds and number of
collectives by name of the file.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch._inductor.fx_passes import memory_estimator, overlap_scheduling
from torch._inductor.fx_passes.overlap_manual_scheduling import (
    manual_overlap_bucketing)
from torch.fx import GraphModule, Node

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).resolve().parent),
                str(ROOT / "examples")]

import llama3  # noqa: E402

import regather  # noqa: E402
from fx_program import Program, is_start, node_seconds  # noqa: E402


# What was estimated before: PyTorch asks for a node again and again, and its
# time shall be its own.
estimates: dict[Node, float] = {}


def estimate(node: Node, override_size: int | None = None) -> float | None:
    """Milliseconds, as PyTorch asks for them."""
    if node not in estimates:
        estimates[node] = node_seconds(node) * 1e3
    return estimates[node]


def track_memory_of_cpus() -> None:
    """PyTorch's passes look at the memory of devices alone, and would keep to
    no limit in a graph that was captured without one."""

    class StorageKey(memory_estimator.StorageKey):
        def __init__(self, storage: Any, device: torch.device) -> None:
            super().__init__(storage, torch.device("cuda"))

    memory_estimator.StorageKey = StorageKey


def use_our_times() -> None:
    """Some places ask the device for its bandwidth beside `estimate`."""
    overlap_scheduling.estimate_roofline_runtime_ms = estimate


def capture(config: dict[str, Any]) -> GraphModule:
    model, inputs, loss, targets = llama3.sharded_step(**config)
    graph = regather.capture(model, inputs, loss=loss, targets=targets)
    paths = graph.document["modules"]
    modules = {entry["name"]: paths[entry["module"]]
               for entry in graph.document["nodes"] if "module" in entry}
    mesh = next(p.device_mesh for p in model.parameters()
                if hasattr(p, "device_mesh"))
    for node in graph.module.graph.nodes:
        node.meta["module_path"] = modules.get(node.name, "")
        # Captured graphs call a group after its axis; PyTorch has other names.
        if is_start(node):
            axis = node.args[-1].rsplit(".", 1)[-1]
            node.args = (*node.args[:-1], mesh.get_group(axis).group_name)
            node.meta["mesh_axis"] = axis
    return graph.module


def module_stack(node: Node) -> list[tuple[str, type]]:
    """The modules that a node is in, from the outermost one."""
    parts = node.meta.get("module_path", "").split(".")
    return [(".".join(parts[:i + 1]), torch.nn.Module)
            for i in range(len(parts)) if parts[0]]


def schedule_manually(module: GraphModule) -> GraphModule:
    """A bucket for the embedding, one for each layer, one for the rest."""
    layers = {".".join(path.split(".")[:2])
              for node in module.graph.nodes
              if (path := node.meta.get("module_path", "")).startswith("layers.")}
    ordered = sorted(layers, key=lambda path: int(path.split(".")[1]))
    return manual_overlap_bucketing(
        module, ["embedding", *ordered, ["norm", "output"]],
        module_stack_fn=module_stack)


def schedule_automatically(module: GraphModule) -> GraphModule:
    return overlap_scheduling.schedule_overlap_bucketing(
        module, collective_bucketing=True, compute_estimator="analytical",
        custom_runtime_estimation=estimate)


PASSES = {"manual": schedule_manually, "auto": schedule_automatically}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, type=json.loads)
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    track_memory_of_cpus()
    use_our_times()
    module = capture(args.config)
    report = {}

    def write(name: str, graph: GraphModule, seconds: float) -> None:
        program = Program(graph)
        path = args.output / f"{name}.json"
        path.write_text(json.dumps(program.json()))
        report[str(path)] = {
            "name": name, "seconds": seconds, "nodes": len(graph.graph.nodes),
            "collectives": sum(map(is_start, graph.graph.nodes))}

    write("captured", module, 0.0)
    for name, run in PASSES.items():
        graph = copy.deepcopy(module)
        for node in graph.graph.nodes:
            estimate(node)
        begin = time.process_time()
        graph = run(graph)
        write(name, graph, time.process_time() - begin)
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
