"""Partitions a captured step with PyTorch's memory budgets, for comparison.

Prints one JSON object per line: budget, solver of the knapsack, CPU seconds,
and what is saved. The step is captured once; each partition has a process of its
own, since the partitioner changes the graph that it is given.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

import torch_partition
from regather.factory import make_step
from regather.fx.capture import capture_step
from torch._functorch import config
from torch_partition import Joint, make_joint


def partition(joint: Joint, budget: float, solver: str, pipe: Any) -> None:
    # Other programs disturb CPU time less than the clock.
    start = time.process_time()
    with config.patch(activation_memory_budget_solver=solver):
        found = torch_partition.partition(joint, budget)
    pipe.send({"budget": budget, "solver": solver, "names": found["names"],
               "seconds": time.process_time() - start,
               "saved_bytes": found["saved_bytes"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--runs", required=True,
                        help="solvers, each with budgets: dp:0.3:0.5,ilp:0.3")
    parser.add_argument("--save", type=Path, required=True,
                        help="where to write the captured graph")
    args = parser.parse_args()
    graph = capture_step(make_step(args.model, args.config))
    graph.save(args.save)
    joint = make_joint(graph)
    fork = multiprocessing.get_context("fork")
    for run in args.runs.split(","):
        solver, *budgets = run.split(":")
        for budget in map(float, budgets):
            ours, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=partition,
                                   args=(joint, budget, solver, theirs))
            process.start()
            theirs.close()
            try:
                print(json.dumps(ours.recv()), flush=True)
            except EOFError:
                sys.exit(f"no partition by {solver} with budget {budget}")
            process.join()


if __name__ == "__main__":
    main()
