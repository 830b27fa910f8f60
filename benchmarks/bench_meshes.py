"""Plans for meshes of H100s beside those that people write for Megatron and torchtitan.

Each model is captured without weights (kept in the folder that --captures
names). `regather plan` chooses a mesh, placements and decisions about memory;
the plans that people write are simulated on the same cluster model, with the
same buckets and schedules, each with the quickest of their policies of
recomputation that fits, and behind them the placements that Regather chooses on
the same mesh. Numbers go to docs/benchmarks/meshes.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from project import ROOT

LIMIT = 80_000_000_000
# Of one sequence of 8,192 tokens for each rank that has a batch.
RANKS = {"8B": (8, 64, 256, 1024), "70B": (64, 256, 1024), "405B": (512, 1024)}
COLUMNS = "/layers.*(wq|wk|wv|w1|w3)/=[tp] shard 0"
ROWS = "/layers.*(wo|w2)/=[tp] shard 1"
SEQUENCE = "output(embedding)=[tp] shard 1"
# Both cut the head along the vocabulary; Regather gathers a table that is cut
# so for the look-up, so that one which is cut along its width is tried as well.
HEADS = (("output.weight=[tp] shard 0", "embedding.weight=[tp] shard 0"),
         ("output.weight=[tp] shard 0", "embedding.weight=[tp] shard 1"), ())
POLICIES = ("", "selective", "full")


def capture(model: str, folder: Path) -> Path:
    file = folder / f"{model.lower()}.fx.json"
    if not file.exists():
        subprocess.run(
            [sys.executable, "-m", "regather", "capture", "--model",
             f"{ROOT / 'examples' / 'llama3.py'}:step", "--config",
             json.dumps({"config": model, "dtype": "bfloat16"}), "-o", file,
             "--quiet"],
            check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return file


def run(*command: Any) -> tuple[subprocess.CompletedProcess[str], float]:
    """What a command says, and the seconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, (after.ru_utime + after.ru_stime
                    - before.ru_utime - before.ru_stime)


def simulate(tool: Path, file: Path, cluster: str, mesh: str, shard: list[str],
             policy: str, numbers: Path,
             limit: str = "100TB") -> dict[str, Any] | None:
    """The step as these flags and a limit make it; nothing if it is more than a
    device has."""
    flags = [f"--mesh={mesh}", *(f"--shard={text}" for text in shard)]
    if "dp:" in mesh:
        flags.append("--batch=per-rank")
    if policy:
        flags.append(f"--policy={policy}")
    result, _ = run(tool, "simulate", file, *flags, f"--cluster={cluster}",
                    "--optimizer=adamw", f"--memory={limit}", f"--json={numbers}")
    if result.returncode:
        print(result.stderr.partition("\n")[0][:200])
        return None
    memory = json.loads(numbers.read_text())["memory_plan"]
    step: dict[str, Any] = (memory["chosen"] if limit == str(LIMIT)
                            else memory["choices"][0])
    rows = int(mesh.split("dp:")[1].split(",")[0]) if "dp:" in mesh else 1
    return {"mesh": mesh, "policy": policy or "none", "bytes": step["bytes"],
            "seconds_per_row": step["seconds"] / rows,
            "flags": flags} if step["bytes"] <= LIMIT else None


def find_best(tool: Path, file: Path, cluster: str, mesh: str,
              choices: list[list[str]], numbers: Path) -> dict[str, Any] | None:
    found = []
    for shard in choices:
        for policy in POLICIES:
            one = simulate(tool, file, cluster, mesh, shard, policy, numbers)
            if one:
                found.append(one)
                # More recomputation takes more time.
                break
    return min(found, key=lambda one: one["seconds_per_row"], default=None)


def compare(tool: Path, file: Path, ranks: int, count: int,
            scratch: Path) -> dict[str, Any]:
    numbers = scratch / "numbers.json"
    cluster = "h100-8" if ranks <= 8 else "h100-nodes"
    result, seconds = run(tool, "plan", file, f"--ranks={ranks}",
                          f"--cluster={cluster}", "--optimizer=adamw", "--quiet",
                          f"--memory={LIMIT}", f"--count={count}",
                          f"--json={numbers}")
    if result.returncode:
        print(result.stderr)
        return {"ranks": ranks, "plan": None}
    planned = json.loads(numbers.read_text())
    found: dict[str, Any] = {
        "ranks": ranks, "planning_seconds": seconds, "gap": planned["gap"],
        "plan": planned["plans"][0], "by_hand": {}, "on_the_mesh": {}}
    found["by_hand"]["FSDP"] = find_best(tool, file, cluster, f"dp:{ranks}",
                                         [[]], numbers)
    for tensor in (2, 8):
        mesh = f"dp:{ranks // tensor},tp:{tensor}" if ranks > tensor else "tp:8"
        choices = [[COLUMNS, ROWS, SEQUENCE, *head] for head in HEADS]
        found["by_hand"][f"FSDP + TP {tensor}"] = find_best(
            tool, file, cluster, mesh, choices, numbers)
        found["on_the_mesh"][f"FSDP + TP {tensor}"] = simulate(
            tool, file, cluster, mesh, [], "", numbers, str(LIMIT))
    return found


def show(one: dict[str, Any] | None) -> str:
    if not one:
        return "does not fit"
    return (f"{one['seconds_per_row'] * 1e3:.2f} ms, "
            f"{one['bytes'] / 1e9:.0f} GB")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--captures", type=Path,
                        help="folder that keeps the captures")
    parser.add_argument("--models", default=",".join(RANKS))
    parser.add_argument("--ranks", default="",
                        help="some of the numbers of ranks, with commas")
    parser.add_argument("--count", type=int, default=1,
                        help="plans that a search keeps; more take longer")


def main(args: argparse.Namespace) -> int:
    tool = args.build_dir / "bin" / "regather"
    path = ROOT / "docs" / "benchmarks" / "meshes.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    wanted = {int(text) for text in args.ranks.split(",") if text}
    is_slower = False
    with tempfile.TemporaryDirectory() as name:
        folder = args.captures or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        print("| model | ranks | plan | for a row | FSDP | FSDP + TP 2 | "
              "FSDP + TP 8 | planned in |\n|---|---:|---|---|---|---|---|---:|")
        for model in args.models.split(","):
            for ranks in RANKS[model]:
                if wanted and ranks not in wanted:
                    continue
                one = compare(tool, capture(model, folder), ranks, args.count,
                              Path(name))
                # What is known of others stays.
                results[f"{model} on {ranks}"] = one
                path.write_text(json.dumps(results, indent=1) + "\n")
                if not one["plan"]:
                    continue
                best = min((hand["seconds_per_row"]
                            for hand in one["by_hand"].values() if hand),
                           default=float("inf"))
                is_slower |= one["plan"]["seconds_per_row"] > best * (1 + 1e-9)
                cells = " | ".join(
                    show(hand) + (f"; {show(one['on_the_mesh'][name])}"
                                  if name in one["on_the_mesh"] else "")
                    for name, hand in one["by_hand"].items())
                print(f"| {model} | {ranks} | {one['plan']['mesh']} | "
                      f"{show(one['plan'])} | {cells} | "
                      f"{one['planning_seconds']:.0f} s |", flush=True)
    if is_slower:
        print("a plan is slower than one that is written by hand")
    return int(is_slower)
