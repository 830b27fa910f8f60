"""Memory against time of models of full size on nodes of H100, as planned.

Each model is captured without weights (a minute or two each, kept in the folder
that --captures names) and simulated within several limits; `regather simulate
--memory` tries some decisions for each, and the choices of all of them together
than which none is both smaller and quicker are the frontier. Pictures and numbers go
to docs/benchmarks/frontier.svg and frontier.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plots
from project import ROOT

LIBRARY = "examples/library_decoders.py:step"
LLAMA = "examples/llama3.py:step"
PARTS = (0.85, 0.6, 0.4)


@dataclass(frozen=True)
class Model:
    title: str
    factory: str
    config: dict[str, Any]
    ranks: int


# The batch of one rank: 32 sequences of 1,024 tokens, or 2 to 8 of 4,096.
MODELS = {
    "gpt2": Model("GPT-2 small", LIBRARY, dict(
        name="gpt2", batch=32, sequence=1024), 8),
    "llama8b": Model("Llama 3 8B", LLAMA, dict(
        config="8B", batch=8, sequence=4096, dtype="bfloat16"), 8),
    "qwen": Model("Qwen2 7B", LIBRARY, dict(
        name="qwen2-7b", batch=8, sequence=4096), 8),
    "mixtral": Model("Mixtral 8x7B", LIBRARY, dict(
        name="mixtral-8x7b", batch=2, sequence=4096), 32),
    "llama70b": Model("Llama 3 70B", LLAMA, dict(
        config="70B", batch=2, sequence=4096, dtype="bfloat16"), 64),
}


def capture(name: str, folder: Path) -> Path:
    file = folder / f"{name}.fx.json"
    if not file.exists():
        model = MODELS[name]
        subprocess.run([sys.executable, "-m", "regather", "capture", "--model",
                        model.factory, "--config", json.dumps(model.config),
                        "-o", file], check=True, cwd=ROOT)
    return file


def plan(tool: Path, file: Path, model: Model, limit: int | str,
         folder: Path) -> dict[str, Any] | None:
    """What is planned within a limit, and the seconds that took; nothing if
    nothing fits."""
    numbers = folder / "numbers.json"
    begin = time.monotonic()
    result = subprocess.run(
        [tool, "simulate", file, f"--mesh=dp:{model.ranks}",
         "--batch=per-rank", "--optimizer=adamw", f"--memory={limit}", f"--json={numbers}"],
        capture_output=True, text=True)
    if result.returncode:
        print(result.stderr.splitlines()[0][:200])
        return None
    planned = json.loads(numbers.read_text())["memory_plan"]
    planned["planning_seconds"] = time.monotonic() - begin
    return planned


def find_frontier(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    frontier: list[dict[str, Any]] = []
    for choice in sorted(choices, key=lambda c: (c["bytes"], c["seconds"])):
        if not frontier or choice["seconds"] < frontier[-1]["seconds"] * 0.999:
            frontier.append(choice)
    return frontier


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--captures", type=Path,
                        help="folder that keeps the captures")
    parser.add_argument("--models", default=",".join(MODELS))


def main(args: argparse.Namespace) -> int:
    # What is known of models that are not named stays.
    file_of_results = plots.FOLDER / "frontier.json"
    known = (json.loads(file_of_results.read_text())
             if file_of_results.exists() else {})
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.captures or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        tool = args.build_dir / "bin" / "regather"
        for name in args.models.split(","):
            model = MODELS[name]
            file = capture(name, folder)
            usual = plan(tool, file, model, "100TB", Path(scratch))
            if usual is None:
                continue
            largest = usual["choices"][0]["bytes"]
            plans = [usual] + [
                planned for part in PARTS
                if (planned := plan(tool, file, model, int(largest * part) - 1,
                                    Path(scratch)))]
            choices = [choice for planned in plans
                       for choice in planned["choices"]]
            frontier = find_frontier(choices)
            results[name] = {
                "title": model.title, "ranks": model.ranks,
                "config": model.config,
                "usual": usual["choices"][0],
                "bound_seconds": min(p["bound_seconds"] for p in plans),
                "frontier": frontier,
                "limits": [{"limit_bytes": p["limit_bytes"],
                            "choices": len(p["choices"]),
                            "planning_seconds": p["planning_seconds"],
                            "gap": p["gap"], "chosen": p["chosen"]}
                           for p in plans]}
            print(f"{model.title}: {len(choices)} choices, planned in "
                  f"{max(p['planning_seconds'] for p in plans):.1f} s at most")
            for choice in frontier:
                flags = " ".join(
                    f"--{flag}={choice[flag]!r}"
                    for flag in ("chunk", "policy", "recompute", "reshard",
                                 "offload", "schedule") if choice[flag])
                print(f"  {choice['bytes'] / 1e9:7.1f} GB "
                      f"{choice['host_bytes'] / 1e9:7.1f} GB on the host "
                      f"{choice['seconds'] * 1e3:9.1f} ms  {flags}")
    known.update(results)
    results = {name: known[name] for name in MODELS if name in known}
    file_of_results.write_text(json.dumps(results, indent=1) + "\n")
    plots.frontiers("frontier", results)
    return 0
