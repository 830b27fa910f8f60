"""Training steps on one rank beside PyTorch, eager and compiled by Inductor.

A step is forward, backward and AdamW, in float32, on two threads. The three
take turns, round by round, so that a slow minute is slow for all of them; the
ratios are of medians over all rounds. Losses of the first steps are compared
with eager PyTorch's before anything is timed. Bytes are those of tensors at the
peak of a step: for PyTorch what the allocator counts, for us arguments and the
arena of the plan.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
THREADS = 2
ROUNDS = 7
STEPS = 5
CHECKED_STEPS = 5
TOLERANCE = 1e-4
OPTIMIZER = {"lr": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}
KINDS = ("regather", "compiled", "eager")


@dataclass
class Result:
    seconds: dict[str, list[float]] = field(
        default_factory=lambda: {kind: [] for kind in KINDS})
    peak: dict[str, int] = field(default_factory=dict)
    difference: float = 0.0

    def median(self, kind: str) -> float:
        return statistics.median(self.seconds[kind])


class Worker:
    """PyTorch in a process of its own."""

    def __init__(self, model: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, HERE / "torch_worker.py", model,
             f"--threads={THREADS}", f"--optimizer={json.dumps(OPTIMIZER)}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: str) -> Any:
        print(question, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"PyTorch failed at '{question}'")
        return json.loads(answer)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def prepare(model: str, folder: Path) -> None:
    """Captures the step, and writes its weights and batch as one file."""
    sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
    from cpu_models import MODELS
    from safetensors.torch import load_file, save_file

    import regather
    network, inputs, loss, targets = MODELS[model]()
    graph = regather.capture(network, inputs, loss=loss, targets=targets)
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    values = load_file(folder / "weights.safetensors")
    names = [entry["name"] for entry in graph.document["inputs"]]
    values |= dict(zip(names, (*inputs, *targets), strict=True))
    save_file(values, folder / "inputs.safetensors")


def run_ours(tool: Path, folder: Path, steps: int) -> dict[str, Any]:
    beta1, beta2 = OPTIMIZER["betas"]
    command = [tool, "run", folder / "step.fx.json", "--ranks=1",
               f"--threads={THREADS}",
               f"--optimizer=adamw betas={beta1},{beta2} "
               f"weight-decay={OPTIMIZER['weight_decay']}",
               f"--learning-rate={OPTIMIZER['lr']}", f"--steps={steps}",
               "--inputs", folder / "inputs.safetensors",
               "--cache-dir", folder / "cache",
               "--json", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout)


def measure(model: str, tool: Path) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(model, folder)
        worker = Worker(model)
        ours = run_ours(tool, folder, CHECKED_STEPS)
        result.peak["regather"] = ours["peak_bytes_per_rank"]
        expected = worker.ask(f"losses eager {CHECKED_STEPS}")
        result.difference = max(
            abs(a - b) / abs(b) for a, b in zip(ours["losses"], expected))
        worker.ask(f"time compiled {CHECKED_STEPS}")
        for kind in ("eager", "compiled"):
            result.peak[kind] = worker.ask(f"peak {kind}")
        for _ in range(ROUNDS):
            result.seconds["regather"].append(
                run_ours(tool, folder, STEPS)["seconds_per_step"])
            for kind in ("compiled", "eager"):
                result.seconds[kind].append(statistics.median(
                    worker.ask(f"time {kind} {STEPS}")))
        worker.close()
    return result


def draw(results: dict[str, Result]) -> None:
    import plots
    for name, title, values in (
            ("cpu-time", "Time of a training step on one rank",
             {kind: [result.median(kind) for result in results.values()]
              for kind in KINDS}),
            ("cpu-memory", "Bytes of tensors at the peak of a step",
             {kind: [result.peak[kind] for result in results.values()]
              for kind in KINDS})):
        ratios = {
            f"{kind} / torch.compile": [
                a / b for a, b in zip(values[kind], values["compiled"])]
            for kind in ("regather", "eager")}
        path = plots.bars(name, title, "ratio", list(results), ratios, line=1)
        print(f"wrote {path}")


def main(args: argparse.Namespace) -> int:
    print(f"{'model':8} {'ms a step':>10} {'compiled':>9} {'eager':>9}"
          f" {'/compiled':>10} {'/eager':>7} {'MB':>7} {'/compiled':>10}"
          f" {'/eager':>7} {'loss':>8}")
    sys.path.insert(0, str(HERE))
    from cpu_models import MODELS
    wrong = 0
    results = {}
    for model in MODELS:
        result = results[model] = measure(
            model, args.build_dir / "bin" / "regather")
        ours = result.median("regather")
        compiled, eager = result.median("compiled"), result.median("eager")
        peak = result.peak
        print(f"{model:8} {ours * 1e3:10.1f} {compiled * 1e3:9.1f}"
              f" {eager * 1e3:9.1f} {ours / compiled:10.2f}"
              f" {ours / eager:7.2f} {peak['regather'] / 1e6:7.1f}"
              f" {peak['regather'] / peak['compiled']:10.2f}"
              f" {peak['regather'] / peak['eager']:7.2f}"
              f" {result.difference:8.1e}", flush=True)
        if not result.difference <= TOLERANCE:
            wrong = 1
            print(f"  the losses of {model} differ by more than "
                  f"{TOLERANCE:.0e}")
    draw(results)
    return wrong
