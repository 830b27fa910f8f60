"""Orders of captured steps beside those of PyTorch's passes, and time.

Captures Llama steps with their collectives, FSDP and FSDP with tensor
parallelism. All systems get the same times of operators and collectives, and
all orders are scored by the same rules: PyTorch's manual plan (a bucket for
each layer), its automatic `schedule_overlap_bucketing`, and ours: buckets and
order as chosen, the order alone, and our order of the buckets of the manual
plan. Ours keep within 1.05 times the peak of the captured step, or the peak of
the manual plan, whichever is more. PyTorch's buckets copy their members in and
out; ours are grouped calls, which copy nothing. Seconds are those of the passes
on one core, without capture.

Bounds hold for every order of a step with these buckets: all computation, all
collectives of the busiest link, the longest path, and all of them together.
Hidden is the part of the communication that the last bound leaves to hide.
Writes docs/benchmarks/schedule.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from plots import FOLDER, bars, lines

HERE = Path(__file__).resolve().parent

STEPS: dict[str, dict[str, Any]] = {
    "debug, FSDP 8": {"config": "debug", "dp": 8},
    "debug, FSDP 64": {"config": "debug", "dp": 64},
    "8B, FSDP 8": {"config": "8B", "dp": 8},
    "8B, FSDP 64": {"config": "8B", "dp": 64},
    "8B, FSDP 8 + TP 8": {"config": "8B", "dp": 8, "tp": 8},
    "70B, FSDP 8": {"config": "70B", "dp": 8},
    "70B, FSDP 64": {"config": "70B", "dp": 64},
    "70B, FSDP 256": {"config": "70B", "dp": 256},
    "70B, FSDP 8 + TP 8": {"config": "70B", "dp": 8, "tp": 8},
}
# Steps that are captured at the same time.
WORKERS = 2
# Half, a quarter and so on of it, too: 36,000 among them.
MAXIMUM_OPERATIONS = 1_152_000


def call(*command: Any) -> list[dict[str, Any]]:
    result = subprocess.run([str(word) for word in command], check=True,
                            stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in result.stdout.splitlines()
            if line.startswith("{")]


def measure(program: Path, config: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each system."""
    with tempfile.TemporaryDirectory() as folder:
        report, = call(sys.executable, HERE / "torch_schedule.py", "--config",
                       json.dumps(config), "--output", folder)
        files = {entry["name"]: (path, entry) for path, entry in report.items()}
        rows, peaks = [], {}
        for name, system in (("captured", "as captured"),
                             ("manual", "PyTorch, manual plan"),
                             ("auto", "PyTorch, automatic")):
            path, entry = files[name]
            score, = call(program, path)
            peaks[name] = score["given"]["peak_bytes"]
            rows.append({"system": system, **score["given"],
                         "collectives": entry["collectives"],
                         "seconds": entry["seconds"]})
        limit = max(int(1.05 * peaks["captured"]), peaks["manual"])
        for name, system, options in (
                ("captured", "ours", ["--buckets"]),
                ("captured", "ours, without buckets", []),
                ("manual", "ours, buckets of the manual plan", [])):
            score, = call(program, "--limit", limit, *options, files[name][0])
            rows.append({"system": system, **score["ours"], **{
                key: score[key] for key in (
                    "collectives", "seconds", "hidden", "bound_ms",
                    "compute_ms", "link_ms", "path_ms")}})
    return rows


def table(steps: dict[str, list[dict[str, Any]]]) -> list[str]:
    text = ["| Step | System | Step ms | Exposed ms | Peak GiB | Collectives | "
            "CPU seconds |", "|---|---|---:|---:|---:|---:|---:|"]
    for step, rows in steps.items():
        for row in rows:
            seconds = row["seconds"]
            text.append(
                f"| {step} | {row['system']} | {row['step_ms']:.2f} | "
                f"{row['exposed_ms']:.2f} | {row['peak_bytes'] / 2**30:.2f} | "
                f"{row['collectives']} | "
                f"{f'{seconds:.3f}' if seconds else ''} |")
    return text


def bounds_table(steps: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What no order can beat, for the steps that are ours."""
    text = ["| Step | System | Compute ms | Links ms | Path ms | Together ms | "
            "Step ms | Above | Hidden |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for step, rows in steps.items():
        for row in rows:
            if "bound_ms" in row:
                text.append(
                    f"| {step} | {row['system']} | {row['compute_ms']:.2f} | "
                    f"{row['link_ms']:.2f} | {row['path_ms']:.2f} | "
                    f"{row['bound_ms']:.2f} | {row['step_ms']:.2f} | "
                    f"{row['step_ms'] / row['bound_ms'] - 1:.2%} | "
                    f"{row['hidden']:.1%} |")
    return text


def growth(rows: list[dict[str, Any]]) -> float:
    """The exponent of the time from 60,000 operations on: a smaller step may
    meet its bound before the search begins."""
    first, last = next(row for row in rows if row["ops"] > 60_000), rows[-1]
    return (math.log(last["seconds"] / first["seconds"])
            / math.log(last["ops"] / first["ops"]))


def report(steps: dict[str, list[dict[str, Any]]],
           scale: list[dict[str, Any]]) -> list[str]:
    """The page, and its plots."""
    # Below, the effort does not depend on the size.
    large = {name: [row for row in scale
                    if row["tensor_parallel"] == parallel
                    and row["ops"] > 25_000]
             for name, parallel in (("FSDP", False), ("FSDP + TP", True))}
    text = ["# Schedules", "", *(__doc__ or "").splitlines()[2:], "",
            *table(steps), "", "![exposed time](schedule.svg)", "",
            *bounds_table(steps), "",
            "Synthetic steps, bucketed and scheduled:", "",
            "| Step | Operations | CPU seconds | of these, buckets | GiB | "
            "Above the bound |", "|---|---:|---:|---:|---:|---:|"]
    for name, rows in large.items():
        for row in rows:
            gap = row["ours"]["step_ms"] / row["bound_ms"] - 1
            text.append(f"| {name} | {row['ops']} | {row['seconds']:.3f} | "
                        f"{row['bucket_seconds']:.3f} | "
                        f"{row['resident_gib']:.2f} | {gap:.2%} |")
        text += [f"| {name} | growth exponent from 60,000 on | "
                 f"{growth(rows):.2f} | | | |"]
    text += ["", "![time](schedule-time.svg)", ""]
    bars("schedule", "Exposed communication", "% of the step as captured",
         [step.replace(", ", "\n").replace(" + ", "\n+ ") for step in steps],
         {system: [100 * next(row["exposed_ms"] for row in rows
                              if row["system"] == system)
                   / rows[0]["step_ms"] for rows in steps.values()]
          for system in ("PyTorch, manual plan", "PyTorch, automatic",
                         "ours")}, inches=11)
    lines("schedule-time", "Time to bucket and schedule a step", "operations",
          "seconds",
          {name: ([row["ops"] for row in rows],
                  [row["seconds"] for row in rows])
           for name, rows in large.items()})
    return text


def main(args: argparse.Namespace) -> int:
    program = args.build_dir / "bin" / "regather-schedule-bench"
    scale = call(program, "--scale", MAXIMUM_OPERATIONS)
    with ThreadPoolExecutor(WORKERS) as pool:
        rows = pool.map(lambda config: measure(program, config),
                        STEPS.values())
        steps = dict(zip(STEPS, rows, strict=True))
    text = report(steps, scale)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "schedule.md").write_text("\n".join(text))
    (FOLDER / "schedule.json").write_text(
        json.dumps({"steps": steps, "scale": scale}, indent=1) + "\n")
    print("\n".join(text))
    return 0
