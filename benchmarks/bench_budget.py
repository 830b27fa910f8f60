"""Recomputation against saved bytes, ours beside PyTorch's memory budgets.

The step of Llama 8B (8,192 tokens, one device) is captured once. PyTorch
partitions it for some values of `activation_memory_budget`, each a part of what
it saves without a budget, and some solvers; what it saves is replayed by
`tg-partition` and so scored by the same costs. Ours gets the bytes that PyTorch
used, and others. There are two costs: seconds by the cost model, operation by
operation, and those of products and attention alone, which is what PyTorch's
solvers weigh.

REGATHER_BUDGET lists solvers and budgets of PyTorch, such as `dp:0.3:0.5,ilp:0.3`.
Writes docs/benchmarks/budget.json, .md and .svg.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plots

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RUNS = "dp:0:0.1:0.2:0.3:0.5:0.7:1,greedy:0.3:0.5,ilp:0.3:0.5"
MODEL = "examples/llama3.py:step"
CONFIG = {"config": "8B", "dtype": "bfloat16"}
# Budgets of ours, in GB.
BUDGETS = (0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60)
# What each cost counts, by the names of the table.
COSTS = {"time": "all operations", "products": "products and attention"}


@dataclass
class Scorer:
    """Runs partitions of one step, by one cost."""

    tool: Path
    step: Path
    cluster: str

    def partition(self, options: str) -> dict[str, float]:
        """What the remarks say, and the CPU seconds of the whole tool."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run(
            [self.tool, self.step, "-o", os.devnull,
             "--remark-format=emitRemark",
             "--remarks-filter=tg-partition",
             f"--tg-partition={options} cluster={self.cluster} split=false"],
            check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = re.findall(r"(budget|total) \| Category:tg-partition \| (.*)",
                           result.stderr)
        values = {name: float(value) for _, line in found for name, value
                  in re.findall(r"(\w+)=([^,\s]+)", line)}
        return {"saved_bytes": values["saved_bytes"],
                "seconds": values["recomputed_seconds"],
                "least_seconds": values.get("least_seconds", 0.0),
                "tool_seconds": after.ru_utime - before.ru_utime}


def make_products_cluster(path: Path) -> None:
    """A device that does everything but products in next to no time."""
    cluster = json.loads((ROOT / "clusters" / "h100-nodes.json").read_text())
    cluster["name"] = "products"
    cluster["device"] |= {"vector_flops_per_second": 1e18,
                          "memory_bandwidth_bytes_per_second": 1e15,
                          "memory_efficiency": 1, "launch_seconds": 0}
    path.write_text(json.dumps(cluster))


def run_torch(folder: Path, runs: str) -> list[dict[str, Any]]:
    points = []
    command = [sys.executable, HERE / "torch_budget.py", "--model", MODEL,
               "--config", json.dumps(CONFIG), "--runs", runs,
               "--save", folder / "step.fx.json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                          env=environment) as process:
        assert process.stdout
        for line in process.stdout:
            points.append(json.loads(line))
            print(f"PyTorch, {points[-1]['solver']}, budget "
                  f"{points[-1]['budget']}: {points[-1]['seconds']:.0f} s",
                  flush=True)
    if process.returncode:
        raise SystemExit("PyTorch's partitioner failed")
    return points


def measure(scorer: Scorer, theirs: Sequence[dict[str, Any]]
            ) -> dict[str, Any]:
    """Points of both, by the cost of `scorer`."""
    scored = []
    for point in theirs:
        # Without any value, there is no record to replay.
        options = (f"mode=replay saved={','.join(point['names'])}"
                   if point["names"] else "mode=budget budget=0")
        score = scorer.partition(options)
        ours = scorer.partition(
            f"mode=budget budget={int(score['saved_bytes'])}")
        scored.append({
            "solver": point["solver"], "budget": point["budget"],
            "saved_bytes": score["saved_bytes"], "seconds": score["seconds"],
            "our_saved_bytes": ours["saved_bytes"],
            "our_seconds": ours["seconds"],
            "our_least_seconds": ours["least_seconds"],
            "their_tool_seconds": point["seconds"],
            "our_tool_seconds": ours["tool_seconds"]})
    curve = [scorer.partition(f"mode=budget budget={int(budget * 1e9)}")
             for budget in BUDGETS]
    return {"points": scored, "curve": curve}


def describe(results: dict[str, Any]) -> str:
    parts = ["Llama 8B, 8,192 tokens, one device: what backward computes "
             "again when forward saves so much. Seconds are those of the cost "
             "model for an H100, of the copies that a partition makes."]
    for cost, result in results.items():
        parts.append(
            f"\nCost: {COSTS[cost]}\n\n"
            "| PyTorch: solver, budget | saved GB | recomputed s | ours: saved "
            "GB | recomputed s | at least s | CPU s: PyTorch | ours, whole tool |\n"
            "|---|---|---|---|---|---|---|---|")
        for point in result["points"]:
            parts.append(
                f"| {point['solver']}, {point['budget']:g} | "
                f"{point['saved_bytes'] / 1e9:.2f} | {point['seconds']:.3f} | "
                f"{point['our_saved_bytes'] / 1e9:.2f} | "
                f"{point['our_seconds']:.3f} | "
                f"{point['our_least_seconds']:.3f} | "
                f"{point['their_tool_seconds']:.0f} | "
                f"{point['our_tool_seconds']:.1f} |")
        parts.append("\n| ours: saved GB | recomputed s | at least s |\n"
                     "|---|---|---|")
        for point in result["curve"]:
            parts.append(f"| {point['saved_bytes'] / 1e9:.2f} | "
                         f"{point['seconds']:.3f} | "
                         f"{point['least_seconds']:.3f} |")
    return "\n".join(parts) + "\n"


def draw(results: dict[str, Any]) -> None:
    panels = {}
    for cost, result in results.items():
        points = result["points"]
        most = max(point["saved_bytes"] for point in points)
        curve = sorted(
            (p["saved_bytes"] / 1e9, p["seconds"]) for p in result["curve"]
            if p["saved_bytes"] <= 1.3 * most)
        series = {"ours": tuple(zip(*curve))}
        for solver in dict.fromkeys(point["solver"] for point in points):
            series[f"PyTorch, {solver}"] = tuple(zip(*sorted(
                (p["saved_bytes"] / 1e9, p["seconds"]) for p in points
                if p["solver"] == solver)))
        panels[COSTS[cost]] = series
    plots.panels("budget", "Llama 8B: recomputation within a budget",
                 "saved GB", "recomputed seconds", panels)


def main(args: argparse.Namespace) -> int:
    tools = args.build_dir / "bin"
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        theirs = run_torch(folder, os.environ.get("REGATHER_BUDGET", RUNS))
        step = folder / "step.mlir"
        subprocess.run([tools / "regather-translate", "--import-fx",
                        folder / "step.fx.json", "-o", step], check=True)
        products = folder / "products.json"
        make_products_cluster(products)
        results = {
            cost: measure(Scorer(tools / "regather-opt", step, cluster), theirs)
            for cost, cluster in (("time", "h100-nodes"),
                                  ("products", str(products)))}
    text = describe(results)
    print(text)
    plots.FOLDER.mkdir(exist_ok=True)
    (plots.FOLDER / "budget.json").write_text(
        json.dumps(results, indent=1) + "\n")
    (plots.FOLDER / "budget.md").write_text(text)
    draw(results)
    return 0
