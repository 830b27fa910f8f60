"""Trains a captured Llama on a text, sharded, beside what PyTorch reached.

The captured step, the text and the losses of eager PyTorch come with the
example; `examples/record_llama3.py` makes them again. The initial weights are
made here, by `examples/llama3_weights.py`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from project import ROOT
from training_runs import DemoError, call, difference, print_collectives

EXAMPLE = "examples/llama3-debug"
TOLERANCE = 1e-4
STEP_LINE = re.compile(r"step (\d+)/\d+  loss (\S+)")


@dataclass(frozen=True)
class Reference:
    """What PyTorch did, as examples/record_llama3.py wrote it down."""

    losses: list[float]
    text: str
    optimizer: str
    learning_rate: float

    @staticmethod
    def read(path: Path) -> Reference:
        record = json.loads(path.read_text())
        text = record["text"]
        content = (ROOT / text["file"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != text["sha256"]:
            raise DemoError(f"{text['file']} is not the text that the losses in "
                            f"{path} are of: expects {text['bytes']} bytes with "
                            f"SHA-256 {text['sha256']}, got {len(content)} bytes")
        options = record["optimizer"]
        return Reference(
            record["losses"], text["file"],
            f"{options['name']} betas={','.join(map(str, options['betas']))} "
            f"eps={options['eps']} weight-decay={options['weight_decay']} "
            f"max-norm={options['max_norm']}", options["learning_rate"])


@dataclass(frozen=True)
class Job:
    """The tools, and where this demo puts its files."""

    tools: Path
    folder: Path
    reference: Reference
    ranks: int
    steps: int

    @property
    def whole(self) -> Path:
        return self.folder / "llama3-debug.mlir"

    @property
    def sharded(self) -> Path:
        return self.folder / f"llama3-debug.dp{self.ranks}.mlir"

    @property
    def weights(self) -> Path:
        return self.folder / "llama3-debug.safetensors"

    @property
    def report(self) -> Path:
        return self.folder / "report.json"


def relative(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def stage(number: int, what: str, command: list[str | Path],
          output: Path) -> None:
    print(f"[{number}/4] {what} ...", end=" ", flush=True)
    start = time.monotonic()
    call([*command, "-o", output])
    print(f"{relative(output)} ({time.monotonic() - start:.1f} s)")


def compile_step(job: Job) -> None:
    """Imports the captured step and turns it into one for all ranks."""
    stage(1, "making the initial weights",
          [sys.executable, ROOT / "examples" / "llama3_weights.py",
           "--graph", f"{EXAMPLE}.fx.json"], job.weights)
    stage(2, "importing the captured step",
          [job.tools / "regather-translate", "--import-fx",
           f"{EXAMPLE}.fx.json"], job.whole)
    mesh = f"mesh=dp:{job.ranks} " if job.ranks > 1 else ""
    stage(3, f"sharding it over {job.ranks} ranks, appending AdamW",
          [job.tools / "regather-opt", job.whole,
           f"--regather-training-pipeline={mesh}"
           f"optimizer={{{job.reference.optimizer}}} lower=false"],
          job.sharded)


def training_options(job: Job) -> list[str]:
    return ["--inputs", str(relative(job.weights)),
            "--text", job.reference.text,
            "--learning-rate", str(job.reference.learning_rate),
            "--steps", str(job.steps)]


def train(job: Job) -> Iterator[float]:
    """The losses, each as soon as its step is done."""
    command = [str(job.tools / "regather"), "run", str(job.sharded),
               *training_options(job), "--report", str(job.report),
               "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            if match := STEP_LINE.match(line):
                yield float(match[2])
    if process.returncode != 0:
        raise DemoError(f"exit status {process.returncode} of: "
                        f"{' '.join(command)}")


def print_losses(job: Job) -> tuple[list[float], float]:
    """Losses beside PyTorch's, and the largest difference; nan over all."""
    print(f"\n{'step':>4}  {'loss':>12}  {'PyTorch':>12}  {'difference':>10}")
    losses, worst = [], 0.0
    for loss, expected in zip(train(job), job.reference.losses):
        apart = difference(loss, expected)
        losses.append(loss)
        worst = max(worst, apart, key=lambda d: (math.isnan(d), d))
        print(f"{len(losses):4}  {loss:12.9g}  {expected:12.9g}  {apart:10.1e}",
              flush=True)
    if len(losses) != job.steps:
        raise DemoError(f"expects {job.steps} losses, got {len(losses)}")
    return losses, worst


def print_summary(job: Job, losses: list[float], worst: float) -> None:
    report = json.loads(job.report.read_text())
    print_collectives(report["collectives"])
    print(f"  {'all':26}  {report['collective_count']:6}  "
          f"{report['collective_bytes']:14,}\n")
    rows = {
        "loss": f"{losses[0]:.6g} -> {losses[-1]:.6g}",
        "PyTorch": f"{'equal' if worst <= TOLERANCE else 'NOT EQUAL'}, to "
                   f"{worst:.1e} at every step (limit {TOLERANCE:.0e})",
        "speed": f"{report['tokens_per_second']:,.1f} tokens per second, "
                 f"{report['seconds_per_step'] * 1e3:,.1f} ms a step (median)",
        "parameters": f"{report['parameter_bytes_per_rank']:,} bytes on each "
                      f"of {report['ranks']} ranks",
        "peak": f"{report['peak_bytes_per_rank']:,} bytes on each rank",
    }
    for name, value in rows.items():
        print(f"{name:12}{value}")


def print_commands(job: Job) -> None:
    """How to train the same step on other numbers of ranks."""
    options = " ".join(training_options(job))
    print("\nThe same on 1, 2, 4 and 8 ranks:")
    for ranks in (1, 2, 4, 8):
        print(f"  {relative(job.tools / 'regather')} run "
              f"{relative(job.whole)} --ranks {ranks} "
              f"--optimizer='{job.reference.optimizer}' {options}")


def demo(build: Path, ranks: int, steps: int | None) -> bool:
    reference = Reference.read(ROOT / f"{EXAMPLE}.losses.json")
    known = len(reference.losses)
    if steps is not None and not 2 <= steps <= known:
        raise DemoError(f"expects 2 to {known} steps, got {steps}")
    folder = build / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(build / "bin", folder, reference, ranks, steps or known)
    print(f"A Llama of 4 layers on {reference.text}, {ranks} ranks, "
          f"{job.steps} steps")
    compile_step(job)
    print("[4/4] compiling its kernels, then training", flush=True)
    losses, worst = print_losses(job)
    print_summary(job, losses, worst)
    print_commands(job)
    falls = losses[-1] < losses[0]
    if not falls:
        print("\nThe loss does not fall.")
    return falls and worst <= TOLERANCE
