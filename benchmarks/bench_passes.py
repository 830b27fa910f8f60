"""Seconds, peak bytes and decisions of the passes about memory, beside PyTorch.

Llama steps under FSDP are captured once each; the same graph goes through our
passes and through PyTorch's `min_cut_rematerialization_partition`. Ours run on
one core; their seconds are wall-clock times of the passes alone, the least of
some rounds. PyTorch's are CPU seconds of the call, once: what other programs
take is in ours, and not in PyTorch's. Saved bytes and recomputed FLOPs are
counted by one program for both: that `match-pytorch` saves exactly what PyTorch
saves is checked first.

REGATHER_PASSES lists models and layers, such as `8B:32`; PyTorch is given up
after REGATHER_PASSES_LIMIT seconds (3600). Writes docs/benchmarks/passes.json,
.md and .svg.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# About 14,400, 36,000 and 57,000 nodes.
MODELS = "8B:45,70B:112,405B:177"
LIMIT = "3600"
RANKS = 8
ROUNDS = 5

MATCH = ("--tg-partition=mode=min-cut match-pytorch=true",)
CUT = ("--tg-partition=mode=min-cut",)
ALL = ("--tg-merge-gathers", "--tg-apply-policy=policy=selective",
       "--tg-reshard-after-forward", "--tg-rematerialize", *CUT)
TITLES = {"match": "ours, match-pytorch", "cut": "ours, min-cut",
          "all": "ours, all five passes"}
TORCHTITAN = (
    "torchtitan's graph trainer (published, not run here: commit b5bcd76c6 of "
    "August 2026, PRs 2911, 3060, 3370) does not partition: it traces one "
    "graph, tags it by a memory policy, and copies what is tagged in front of its "
    "readers. Of its four policies, `full` and `eager` ignore "
    "`fsdp_reshard_after_forward`, and it refuses to recompute random "
    "operations. It publishes no time of these passes; compiling a whole step "
    "takes it 46 to 164 s with regional Inductor.")


@dataclass
class Run:
    """One run of a tool."""

    peak_bytes: int
    stderr: str


def run(command: list[Any]) -> Run:
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(list(map(str, command)), stderr=errors,
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        stderr = errors.read()
    if process.returncode:
        raise SystemExit(f"{command[0]} failed: {stderr[-2000:]}")
    return Run(usage.ru_maxrss << 10, stderr)


def seconds_by_pass(report: str) -> dict[str, float]:
    """What `--mlir-timing` prints for passes."""
    return {name: float(seconds) for seconds, name in re.findall(
        r"^\s+(\d+\.\d+) \([^)]*\)\s+(\w+)Pass$", report, re.MULTILINE)}


def metric(remarks: str, name: str) -> float:
    """The last value that remarks give."""
    values = re.findall(rf"\b{name}=([0-9.e+]+)", remarks)
    return float(values[-1]) if values else 0.0


def measure(tool: Path, step: Path, passes: tuple[str, ...]) -> dict[str, Any]:
    command = [tool, step, *passes, "--mlir-disable-threading",
               "-o", os.devnull]
    timed = [run([*command, "--mlir-timing", "--mlir-timing-display=list"])
             for _ in range(ROUNDS)]
    by_pass = min((seconds_by_pass(one.stderr) for one in timed),
                  key=lambda seconds: sum(seconds.values()))
    # Remarks are text that takes longer than the passes: not while timing.
    remarks = run([*command, "--remark-format=emitRemark",
                   "--remarks-filter=tg-partition"]).stderr
    return {"seconds": sum(by_pass.values()), "seconds_by_pass": by_pass,
            "peak_bytes": min(one.peak_bytes for one in timed),
            "saved_bytes": int(metric(remarks, "saved_bytes")),
            "recomputed_flops": metric(remarks, "recomputed_flops"),
            "cut_value": int(metric(remarks, "weighted_bytes"))}


def measure_ours(args: argparse.Namespace, graph: Path) -> dict[str, Any]:
    bin_dir = args.build_dir / "bin"
    step = graph.with_suffix(".mlir")
    run([bin_dir / "regather-translate", "--import-fx", graph, "-o", step])
    ours = {name: measure(bin_dir / "regather-opt", step, passes)
            for name, passes in (("match", MATCH), ("cut", CUT), ("all", ALL))}
    alone = json.loads(subprocess.run(
        [bin_dir / "regather-cut-bench", step], check=True, text=True,
        capture_output=True).stdout)
    return {**ours, "alone": alone}


def measure_model(args: argparse.Namespace, folder: Path, model: str,
                  layers: int, limit: int) -> dict[str, Any]:
    graph = folder / f"{model}-{layers}.fx.json"
    config = {"config": model, "layers": layers, "dp": RANKS,
              "dtype": "bfloat16"}
    theirs = json.loads(subprocess.run(
        [sys.executable, HERE / "torch_partition.py", "--model",
         f"{ROOT / 'examples' / 'llama3.py'}:sharded_step", "--config",
         json.dumps(config), "--save", graph, "--limit", str(limit)],
        check=True, text=True, stdout=subprocess.PIPE).stdout)
    theirs.pop("names", None)
    row = {"model": model, "layers": layers, "nodes": theirs["nodes"],
           "pytorch": theirs, **measure_ours(args, graph)}
    if "cut_value" in theirs:
        equal = all(theirs[key] == row["match"][key]
                    for key in ("cut_value", "saved_bytes"))
        if not equal:
            raise SystemExit(f"{model}: PyTorch and match-pytorch differ: "
                             f"{theirs}, {row['match']}")
        theirs["recomputed_flops"] = row["match"]["recomputed_flops"]
    return row


def lines_of(row: dict[str, Any]) -> list[str]:
    """Rows of the table."""
    theirs = row["pytorch"]
    lines = []
    head = f"{row['model']}, {row['layers']} layers | {row['nodes']:,}"
    if "cpu_seconds" in theirs:
        lines.append(
            f"| {head} | PyTorch min-cut | {theirs['cpu_seconds']:.1f} "
            f"| {theirs['peak_bytes'] / 2**20:,.0f} "
            f"| {theirs['saved_bytes'] / 2**30:.2f} "
            f"| {theirs['recomputed_flops'] / 1e12:.3f} |")
    else:
        lines.append(f"| {head} | PyTorch min-cut | more than "
                     f"{theirs['limit']} | | | |")
    for key, title in TITLES.items():
        ours = row[key]
        lines.append(
            f"| | | {title} | {ours['seconds']:.3f} "
            f"| {ours['peak_bytes'] / 2**20:,.0f} "
            f"| {ours['saved_bytes'] / 2**30:.2f} "
            f"| {ours['recomputed_flops'] / 1e12:.3f} |")
    return lines


def describe(rows: list[dict[str, Any]]) -> str:
    text = [
        "# Passes about memory, beside PyTorch", "",
        f"Llama training steps under FSDP on {RANKS} ranks, bfloat16. Made by "
        "`./dev bench passes`, which says how it measures.", "",
        "| step | nodes | | seconds | peak MiB | saved GiB | recomputed TFLOP |",
        "|---|---|---|---|---|---|---|"]
    for row in rows:
        text += lines_of(row)
    text += ["", "The minimum cut alone, and PyTorch's rules with their cut, "
             "on flat arrays:", "",
             "| step | nodes of the network | edges | cut, ms | rules and cut "
             "of match-pytorch, ms |", "|---|---|---|---|---|"]
    for row in rows:
        alone = row["alone"]
        text.append(
            f"| {row['model']}, {row['layers']} layers "
            f"| {alone['network_nodes']:,} | {alone['network_edges']:,} "
            f"| {alone['cut_seconds'] * 1e3:.1f} "
            f"| {alone['match_pytorch_seconds'] * 1e3:.1f} |")
    return "\n".join([*text, "", TORCHTITAN, ""])


def plot(rows: list[dict[str, Any]]) -> Path:
    import plots
    series = {}
    for key, title, seconds in (
            ("pytorch", "PyTorch min-cut", "cpu_seconds"),
            *((key, title, "seconds") for key, title in TITLES.items())):
        points = [(row["nodes"], row[key][seconds]) for row in rows
                  if seconds in row[key]]
        if points:
            series[title] = tuple(zip(*points))
    return plots.lines("passes", "Deciding what lives from forward to backward",
                       "nodes of the joint graph", "seconds", series)


def main(args: argparse.Namespace) -> int:
    import plots
    limit = int(os.environ.get("REGATHER_PASSES_LIMIT", LIMIT))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in os.environ.get("REGATHER_PASSES", MODELS).split(","):
            model, layers = entry.split(":")
            rows.append(measure_model(args, Path(folder), model, int(layers),
                                      limit))
            print("\n".join(lines_of(rows[-1])), flush=True)
    plots.FOLDER.mkdir(exist_ok=True)
    (plots.FOLDER / "passes.json").write_text(json.dumps(rows, indent=1) + "\n")
    (plots.FOLDER / "passes.md").write_text(describe(rows))
    print(f"\n{describe(rows)}\nwrote {plot(rows)}")
    return 0
