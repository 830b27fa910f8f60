"""The memory planner beside a greedy one: gap to the liveness peak, and time.

Plans synthetic training steps, the cases of google/minimalloc in the folder
that REGATHER_PLAN_CASES names (default: ../shared/data/minimalloc, if there is
one), every captured model of the test suite, and Llama 8B, 70B and 405B on 8
ranks. The greedy planner runs in the same process, on the first two only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT.parent / "shared" / "data" / "minimalloc"
# The hard cases are given more than the default, about 10 s each.
CASE_EFFORT = 10_000_000_000
PLAN = "inline{default-pipeline=},%stg-form-kernels,convert-tg-to-exec," \
       "exec-plan-memory"
RANKS = 8
LARGE_MODELS = ("8B", "70B", "405B")


def plan_cases(program: Path) -> int:
    status = subprocess.run([program]).returncode
    named = os.environ.get("REGATHER_PLAN_CASES")
    folder = Path(named or CASES)
    cases = sorted(folder.glob("*.csv"))
    if not cases:
        print(f"no .csv files in {folder}")
        return 1 if named else status
    return status | subprocess.run(
        [program, "--effort", str(CASE_EFFORT), *cases]).returncode


def plan_step(tools: Path, graph: Path, sharding: str = "") -> str:
    """A row of the table: arena, gap to the liveness peak, seconds."""
    step = graph.with_suffix(".mlir")
    subprocess.run([tools / "regather-translate", "--import-fx", graph,
                    "-o", step], check=True)
    # As `regather run` does: numbers that a program cannot hold, such as
    # complex ones, become pairs before the program is made.
    for lowering in ("", "convert-tg-nodes-to-linalg,"):
        pipeline = f"builtin.module({sharding}{PLAN % lowering})"
        result = subprocess.run(
            [tools / "regather-opt", step, f"--pass-pipeline={pipeline}",
             "--mlir-timing", "--mlir-timing-display=list"],
            capture_output=True, text=True)
        if result.returncode == 0:
            break
    else:
        return result.stderr.splitlines()[0]
    arena = int(re.search(r"\barena = (\d+)", result.stdout)[1])
    bound = int(re.search(r"\blower_bound = (\d+)", result.stdout)[1])
    seconds = float(re.search(r"([\d.]+) .*\bPlanMemory", result.stderr)[1])
    ops = len(re.findall(r"^ {4}.*\bexec\.", result.stdout, re.M))
    return (f"{ops:8} {arena / 1e6:12.1f} {100 * (arena / bound - 1):8.3f}"
            f" {seconds:8.3f}")


def capture_large(folder: Path, model: str) -> Path:
    path = folder / f"{model}.fx.json"
    config = {"config": model, "dtype": "bfloat16", "batch": RANKS}
    subprocess.run(
        [sys.executable, "-m", "regather", "capture", "--model",
         f"{ROOT / 'examples' / 'llama3.py'}:step", "--config",
         json.dumps(config), "-o", path, "--quiet"],
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return path


def capture_models(folder: Path) -> list[Path]:
    """The models of the test suite, as small as they are there."""
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "python")]
    import torch

    import regather
    from model_cases import MODELS
    paths = []
    for name, make in MODELS.items():
        torch.manual_seed(0)
        model, inputs, loss, targets = make()
        graph = regather.capture(model, inputs, loss=loss, targets=targets)
        paths.append(folder / f"{name}.fx.json")
        graph.save(paths[-1])
    return paths


def main(args: argparse.Namespace) -> int:
    tools = args.build_dir / "bin"
    status = plan_cases(tools / "regather-plan-bench")
    print(f"\n{'step':28} {'ops':>8} {'arena MB':>12} {'gap %':>8} {'s':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for graph in capture_models(folder):
            row = plan_step(tools, graph)
            print(f"{graph.name.removesuffix('.fx.json'):28} {row}", flush=True)
        sharding = (f"tg-shard-parameters{{mesh=dp:{RANKS}}},"
                    "tg-append-optimizer{optimizer=adamw},")
        for model in LARGE_MODELS:
            row = plan_step(tools, capture_large(folder, model), sharding)
            print(f"{f'Llama {model}, {RANKS} ranks':28} {row}", flush=True)
    return status
