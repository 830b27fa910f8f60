"""Orders of captured steps beside those of PyTorch's passes, and time.

Captures Llama steps with their collectives, FSDP and FSDP with tensor
parallelism. All systems get the same times of operators and collectives, and
all orders are scored by the same rules: PyTorch's manual plan (a bucket for
each layer), its automatic `schedule_overlap_bucketing`, and ours: the buckets of
the manual plan in our order, within 1.05 times the peak of the captured step or
the peak of the manual plan, whichever is more. Seconds are those of one core.
Writes docs/benchmarks/schedule.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from plots import FOLDER, bars, lines

HERE = Path(__file__).resolve().parent

STEPS: dict[str, dict[str, Any]] = {
    "debug, FSDP 8": {"config": "debug", "dp": 8},
    "8B, FSDP 8": {"config": "8B", "dp": 8},
    "8B, FSDP 64": {"config": "8B", "dp": 64},
    "8B, FSDP 8 + TP 8": {"config": "8B", "dp": 8, "tp": 8},
}
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
        scores = {name: call(program, path)[0]
                  for name, (path, _) in files.items()}
        # Our order of the step as it is captured, and with the buckets of the
        # manual plan.
        limit = max(int(1.05 * scores["captured"]["given"]["peak_bytes"]),
                    *(scores[name]["given"]["peak_bytes"]
                      for name in files if name == "manual"), 0)
        ours = {name: call(program, "--limit", limit, path)[0]
                for name, (path, _) in files.items() if name != "auto"}
    rows = []
    for name, (_, entry) in files.items():
        rows.append({"system": {"captured": "as captured",
                                "manual": "PyTorch, manual plan",
                                "auto": "PyTorch, automatic"}[name],
                     **scores[name]["given"],
                     "collectives": entry["collectives"],
                     "seconds": entry["seconds"]})
    for name, score in ours.items():
        rows.append({"system": "ours" if name == "captured"
                     else "ours, buckets of the manual plan",
                     **score["ours"], "bound_ms": score["bound_ms"],
                     "collectives": files[name][1]["collectives"],
                     "seconds": score["seconds"]})
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
                f"{'' if not seconds else f'{seconds:.3f}'} |")
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
            "Synthetic steps:", "",
            "| Step | Operations | CPU seconds | GiB | Above the bound |",
            "|---|---:|---:|---:|---:|"]
    for name, rows in large.items():
        for row in rows:
            gap = row["ours"]["step_ms"] / row["bound_ms"] - 1
            text.append(f"| {name} | {row['ops']} | {row['seconds']:.3f} | "
                        f"{row['resident_gib']:.2f} | {gap:.2%} |")
        text += [f"| {name} | growth exponent from 60,000 on | {growth(rows):.2f} | | |"]
    text += ["", "![time](schedule-time.svg)", ""]
    bars("schedule", "Exposed communication", "% of the step as captured",
         list(steps),
         {system: [100 * next(row["exposed_ms"] for row in rows
                              if row["system"] == system)
                   / rows[0]["step_ms"] for rows in steps.values()]
          for system in ("PyTorch, manual plan", "PyTorch, automatic", "ours",
                         "ours, buckets of the manual plan")})
    lines("schedule-time", "Time to schedule a step", "operations", "seconds",
          {name: ([row["ops"] for row in rows],
                  [row["seconds"] for row in rows])
           for name, rows in large.items()})
    return text


def main(args: argparse.Namespace) -> int:
    program = args.build_dir / "bin" / "regather-schedule-bench"
    steps = {name: measure(program, config) for name, config in STEPS.items()}
    scale = call(program, "--scale", MAXIMUM_OPERATIONS)
    text = report(steps, scale)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "schedule.md").write_text("\n".join(text))
    (FOLDER / "schedule.json").write_text(
        json.dumps({"steps": steps, "scale": scale}, indent=1) + "\n")
    print("\n".join(text))
    return 0
