"""Cases that PyTorch runs: the ratio of what the kit has measured to that.

A case has `job` and `sizes` as in torch_speed.py; the names in `sizes` are cases
that were run before. `goal` is the largest ratio that is wanted.
"""

from __future__ import annotations

import json
from typing import Any

import pythons
from case import Result, Run, Skipped
from checks import Wrong
from processes import run as run_process
from torch_speed import CANNOT


def measure(run: Run, case: dict[str, Any]) -> dict[str, dict[str, float]]:
    environment = pythons.with_torch(run.environments)
    if environment is None:
        raise Skipped("no Python environment here has PyTorch")
    asked = {"job": case["job"], "sizes": case["sizes"],
             # There is nothing that stands in for CUDA there.
             "device": "cpu" if run.stand_in else "cuda"}
    script = run.kit / "scripts" / "torch_speed.py"
    ended = run_process(
        [environment.executable, "-B", str(script), json.dumps(asked)],
        run.logs / case["name"], run.environment_of_torch(), run.work,
        run.deadline(case))
    if ended.code is None:
        raise Wrong(f"not done after {run.deadline(case):.0f} seconds")
    words = (ended.stderr.strip().splitlines() or ["no message"])[-1]
    if ended.code == CANNOT:
        raise Skipped(words)
    if ended.code != 0:
        raise Wrong(f"exit code {ended.code}: {words}")
    return json.loads(ended.stdout.strip().splitlines()[-1])


def get_ratios(name: str, ours: Result | None, theirs: dict[str, float]
               ) -> dict[str, float]:
    """Of time and memory; nothing of a case that has not passed."""
    if ours is None or ours.status != "passed":
        return {}
    ratios = {name: ours.figures["on device"] / theirs["seconds"]}
    if "peak_bytes" in theirs:
        ratios[f"{name}, memory"] = (ours.figures["peak bytes"]
                                     / theirs["peak_bytes"])
    return ratios


def compare(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    ratios: dict[str, Any] = {}
    for name, theirs in measure(run, case).items():
        ratios |= get_ratios(name, run.results.get(name), theirs)
    if not ratios:
        raise Skipped("nothing that it is compared with has passed")
    missed = [name for name, ratio in ratios.items() if ratio > case["goal"]]
    return {**ratios, f"above {case['goal']:.2f}": ", ".join(missed) or "none"}
