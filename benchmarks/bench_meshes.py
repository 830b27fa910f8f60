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
# Llamas: a sequence of 8,192 tokens for each rank of dp. Models with experts,
# whose batch ep cuts as well: a batch with one of 4,096 tokens for each rank.
RANKS = {"8B": (8, 64, 256, 1024), "70B": (64, 256, 1024), "405B": (512, 1024),
         "mixtral-8x7b": (64,), "qwen3-30b-a3b": (64,), "deepseek-v3": (256,)}
LLAMAS = ("8B", "70B", "405B")
# How many of the rows that experts get if they get equally many ranks have room
# for; a step with more is run again.
CAPACITY = "--expert-capacity=1.25"
COLUMNS = "/layers.*(wq|wk|wv|w1|w3)/=[tp] shard 0"
ROWS = "/layers.*(wo|w2)/=[tp] shard 1"
SEQUENCE = "output(embedding)=[tp] shard 1"
# Both cut the head along the vocabulary; Regather gathers a table that is cut
# so for the look-up, so that one which is cut along its width is tried as well.
HEADS = (("output.weight=[tp] shard 0", "embedding.weight=[tp] shard 0"),
         ("output.weight=[tp] shard 0", "embedding.weight=[tp] shard 1"), ())
POLICIES = ("", "selective", "full")


def capture(model: str, ranks: int, folder: Path) -> Path:
    file = folder / f"{model.lower()}.fx.json"
    example, config = "llama3.py", {"config": model, "dtype": "bfloat16"}
    if model not in LLAMAS:
        file = folder / f"{model}-{ranks}.fx.json"
        example = "library_decoders.py"
        config = {"name": model, "sequence": 4096, "batch": ranks}
    if not file.exists():
        subprocess.run(
            [sys.executable, "-m", "regather", "capture", "--model",
             f"{ROOT / 'examples' / example}:step", "--config",
             json.dumps(config), "-o", file, "--quiet"],
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
             policy: str, numbers: Path, rows: int | None,
             limit: str = "100TB") -> dict[str, Any] | None:
    """The step as these flags and a limit make it; nothing if it is more than a
    device has. `rows` are those of the batch, none if each rank of dp has one."""
    flags = [f"--mesh={mesh}", *(f"--shard={text}" for text in shard)]
    if rows is None:
        rows = int(mesh.split("dp:")[1].split(",")[0]) if "dp:" in mesh else 1
        if "dp:" in mesh:
            flags.append("--batch=per-rank")
    if "ep:" in mesh:
        flags.append(CAPACITY)
    if policy:
        flags.append(f"--policy={policy}")
    result, _ = run(tool, "simulate", file, *flags, f"--cluster={cluster}",
                    "--optimizer=adamw", f"--memory={limit}", f"--json={numbers}")
    if result.returncode:
        print(result.stderr.partition("\n")[0][:200])
        return None
    memory = json.loads(numbers.read_text())["memory_plan"]
    if limit == str(LIMIT):
        steps = [memory["chosen"]]
    else:
        # As it is, and without a policy also with nothing done twice: nobody
        # recomputes by hand what has room.
        steps = memory["choices"][:1 if policy else 2]
    step: dict[str, Any] | None = min(
        (one for one in steps if one["bytes"] <= LIMIT),
        key=lambda one: float(one["seconds"]), default=None)
    if not step:
        return None
    return {"mesh": mesh, "policy": policy or "none", "bytes": step["bytes"],
            "recompute": step["recompute"], "reshard": step["reshard"],
            "seconds_per_row": step["seconds"] / rows, "flags": flags}


def find_best(tool: Path, file: Path, cluster: str, mesh: str,
              choices: list[list[str]], numbers: Path, rows: int | None
              ) -> dict[str, Any] | None:
    found = []
    for shard in choices:
        for policy in POLICIES:
            one = simulate(tool, file, cluster, mesh, shard, policy, numbers,
                           rows)
            if one:
                found.append(one)
                # More recomputation takes more time.
                break
    return min(found, key=lambda one: one["seconds_per_row"], default=None)


def list_hand_plans(model: str, ranks: int
                    ) -> dict[str, tuple[str, list[list[str]]]]:
    """By name: a mesh, and placements of which the quickest counts."""
    plans: dict[str, tuple[str, list[list[str]]]] = {
        "FSDP": (f"dp:{ranks}", [[]])}
    if model in LLAMAS:
        for tensor in (2, 8):
            mesh = f"dp:{ranks // tensor},tp:{tensor}" if ranks > tensor else "tp:8"
            plans[f"FSDP + TP {tensor}"] = (
                mesh, [[COLUMNS, ROWS, SEQUENCE, *head] for head in HEADS])
        return plans
    for experts in (8, 32):
        # Mixtral has eight experts.
        if model == "mixtral-8x7b" and experts > 8:
            continue
        plans[f"FSDP + EP {experts}"] = (
            f"dp:{ranks // experts},ep:{experts}", [[]])
    return plans


def compare(tool: Path, file: Path, model: str, ranks: int, count: int,
            scratch: Path) -> dict[str, Any]:
    numbers = scratch / "numbers.json"
    rows = None if model in LLAMAS else ranks
    cluster = "h100-8" if ranks <= 8 else "h100-nodes"
    result, seconds = run(tool, "plan", file, f"--ranks={ranks}",
                          f"--cluster={cluster}", "--optimizer=adamw", "--quiet",
                          f"--memory={LIMIT}", f"--count={count}",
                          f"--json={numbers}",
                          *([] if model in LLAMAS else [CAPACITY]))
    if result.returncode:
        print(result.stderr)
        return {"ranks": ranks, "plan": None}
    planned = json.loads(numbers.read_text())
    found: dict[str, Any] = {
        "ranks": ranks, "planning_seconds": seconds, "gap": planned["gap"],
        "plan": planned["plans"][0], "by_hand": {}, "on_the_mesh": {}}
    for name, (mesh, choices) in list_hand_plans(model, ranks).items():
        found["by_hand"][name] = find_best(tool, file, cluster, mesh, choices,
                                           numbers, rows)
        if name != "FSDP":
            found["on_the_mesh"][name] = simulate(
                tool, file, cluster, mesh, [], "", numbers, rows, str(LIMIT))
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
        print("| model | ranks | plan | for a row | planned in | by hand; on the "
              "same mesh |\n|---|---:|---|---|---:|---|")
        for model in args.models.split(","):
            for ranks in RANKS[model]:
                if wanted and ranks not in wanted:
                    continue
                one = compare(tool, capture(model, ranks, folder), model, ranks,
                              args.count, Path(name))
                # What is known of others stays.
                results[f"{model} on {ranks}"] = one
                path.write_text(json.dumps(results, indent=1) + "\n")
                if not one["plan"]:
                    continue
                best = min((hand["seconds_per_row"]
                            for hand in one["by_hand"].values() if hand),
                           default=float("inf"))
                is_slower |= one["plan"]["seconds_per_row"] > best * (1 + 1e-9)
                cells = ", ".join(
                    f"{kind}: {show(hand)}"
                    + (f"; {show(one['on_the_mesh'][kind])}"
                       if kind in one["on_the_mesh"] else "")
                    for kind, hand in one["by_hand"].items())
                print(f"| {model} | {ranks} | {one['plan']['mesh']} | "
                      f"{show(one['plan'])} | {one['planning_seconds']:.0f} s | "
                      f"{cells} |", flush=True)
    if is_slower:
        print("a plan is slower than one that is written by hand")
    return int(is_slower)
