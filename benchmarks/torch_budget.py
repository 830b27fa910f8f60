"""Partitions a captured step with PyTorch's memory budgets, for comparison.

Prints one JSON object per line: budget, solver of the knapsack, seconds, and
what is saved. The step is captured once; each partition has a process of its
own, since the partitioner changes the graph that it is given.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from pathlib import Path
from typing import Any

import torch_partition
from regather.factory import make_step
from regather.fx.capture import capture_step
from torch._functorch import config
from torch_partition import Joint, make_joint


def partition(joint: Joint, budget: float, solver: str, queue: Any) -> None:
    with config.patch(activation_memory_budget_solver=solver):
        found = torch_partition.partition(joint, budget)
    queue.put({"budget": budget, "solver": solver, "names": found["names"],
               "seconds": found["seconds"],
               "saved_bytes": found["saved_bytes"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--budgets", required=True,
                        help="parts of what is saved without a budget")
    parser.add_argument("--solvers", required=True)
    parser.add_argument("--save", type=Path, required=True,
                        help="where to write the captured graph")
    args = parser.parse_args()
    graph = capture_step(make_step(args.model, args.config))
    graph.save(args.save)
    joint = make_joint(graph)
    fork = multiprocessing.get_context("fork")
    for solver in args.solvers.split(","):
        for budget in map(float, args.budgets.split(",")):
            queue = fork.Queue()
            process = fork.Process(target=partition,
                                   args=(joint, budget, solver, queue))
            process.start()
            print(json.dumps(queue.get()), flush=True)
            process.join()
            if process.exitcode:
                sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
