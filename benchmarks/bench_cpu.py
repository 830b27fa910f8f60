"""Training steps on one rank beside PyTorch, eager and compiled by Inductor.

A step is forward, backward and AdamW. For each model, type and number of threads
the three take turns, round by round, so that a slow minute is slow for all of
them; times are medians over all rounds. Losses of the first steps are compared
with eager PyTorch's before anything is timed. Bytes are those of tensors at the
peak of a step: for PyTorch what the allocator counts, for us arguments and the
arena of the plan. PyTorch is the newest that is found: that of this environment,
or that of `./dev check --only torch-newest`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cpu_kernels import Comparison, compare_kernels

HERE = Path(__file__).resolve().parent
STEPS = 5
CHECKED_STEPS = 5
FEWEST_ROUNDS = 3
MOST_STEPS = 50
# Relative, of a loss.
TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2}
OPTIMIZER = {"lr": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}
# PyTorch keeps states in the type of their parameters.
STATE_TYPES = {"float32": "f32", "bfloat16": "bf16"}
KINDS = ("regather", "compiled", "eager")
# Of all processors, by others, while this program sleeps.
QUIET = 0.05
SHORT = {"float32": "f32", "bfloat16": "bf16"}


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cpu")
    group.add_argument("--models", type=lambda text: text.split(","),
                       help="names of models or families behind commas; all")
    group.add_argument("--dtype", type=lambda text: text.split(","),
                       default=list(SHORT), metavar="TYPE,..",
                       help="of float32, bfloat16; both")
    group.add_argument("--threads", metavar="N,..", default=[1, 2],
                       type=lambda text: [int(n) for n in text.split(",")])
    group.add_argument("--seconds", type=float, default=40,
                       help="for the rounds of one model, type and number of "
                       "threads (default 40)")
    group.add_argument("--torch-python", type=Path, metavar="PROGRAM",
                       help="Python with the PyTorch to compare with")


@dataclass(frozen=True)
class Case:
    model: str
    dtype: str
    threads: int

    def __str__(self) -> str:
        return f"{self.model} {SHORT[self.dtype]} x{self.threads}"


@dataclass
class Result:
    seconds: dict[str, list[float]] = field(
        default_factory=lambda: {kind: [] for kind in KINDS})
    peak: dict[str, int] = field(default_factory=dict)
    difference: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    slowest: list[Comparison] = field(default_factory=list)

    def median(self, kind: str) -> float:
        return statistics.median(self.seconds[kind])

    @property
    def best(self) -> float:
        """Of PyTorch's two ways."""
        return min(self.median("compiled"), self.median("eager"))


class Worker:
    """PyTorch in a process of its own."""

    def __init__(self, case: Case, python: Path | str, weights: Path) -> None:
        self.process = subprocess.Popen(
            [python, HERE / "torch_worker.py", case.model,
             f"--dtype={case.dtype}", f"--weights={weights}",
             f"--threads={case.threads}", f"--optimizer={json.dumps(OPTIMIZER)}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: str) -> Any:
        print(question, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"PyTorch failed at '{question}'")
        return json.loads(answer)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Failure(Exception):
    """A model that one of the two does not run."""


def newest_python() -> Path | str:
    """Of this environment and that of the newest PyTorch, if it was made."""
    sys.path.insert(0, str(HERE.parent / "scripts"))
    import torch_newest
    other = torch_newest.environment() / "bin" / "python"
    return other if other.exists() else sys.executable


def busy_share(seconds: float = 1.0) -> float:
    """Of the processors' time, while this program sleeps."""
    def read() -> tuple[int, int]:
        fields = [int(word) for word in
                  Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]
    total, idle = read()
    time.sleep(seconds)
    later, later_idle = read()
    return 1 - (later_idle - idle) / max(later - total, 1)


def prepare(case: Case, folder: Path) -> None:
    """Captures the step, and writes its weights and batch as one file."""
    import torch
    from cpu_models import MODELS, convert
    from safetensors.torch import load_file, save_file

    import regather
    made = convert(MODELS[case.model](), getattr(torch, case.dtype))
    network, inputs, loss, targets = made
    torch.save(network.state_dict(), folder / "weights.pt")
    try:
        graph = regather.capture(network, inputs, loss=loss, targets=targets)
    except regather.CaptureError as error:
        raise Failure(f"capture: {error}") from error
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    values = load_file(folder / "weights.safetensors")
    names = [entry["name"] for entry in graph.document["inputs"]]
    batch = inputs.values() if isinstance(inputs, dict) else inputs
    values |= {name: value.contiguous() for name, value in
               zip(names, (*batch, *targets), strict=True)}
    save_file(values, folder / "inputs.safetensors")


def run_ours(tool: Path, folder: Path, case: Case, steps: int,
             *flags: str) -> dict[str, Any]:
    beta1, beta2 = OPTIMIZER["betas"]
    command = [tool, "run", folder / "step.fx.json", "--ranks=1",
               f"--threads={case.threads}",
               f"--optimizer=adamw betas={beta1},{beta2} "
               f"weight-decay={OPTIMIZER['weight_decay']} "
               f"state-dtype={STATE_TYPES[case.dtype]}",
               f"--learning-rate={OPTIMIZER['lr']}", f"--steps={steps}",
               "--inputs", folder / "inputs.safetensors",
               "--cache-dir", folder / "cache",
               "--json", "--quiet", *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(result.stderr.strip())
    return json.loads(result.stdout)


def take_turns(case: Case, tool: Path, folder: Path, worker: Worker,
               seconds: float, result: Result) -> None:
    """Rounds until the time is up."""
    step = statistics.median(worker.ask(f"time eager {CHECKED_STEPS}"))
    # A third of the time each, in five rounds or more.
    steps = max(2, min(MOST_STEPS, int(seconds / 15 / max(step, 1e-4))))
    end = time.monotonic() + seconds
    rounds = 0
    while rounds < FEWEST_ROUNDS or time.monotonic() < end:
        rounds += 1
        result.seconds["regather"].append(
            run_ours(tool, folder, case, steps)["seconds_per_step"])
        for kind in ("compiled", "eager"):
            result.seconds[kind].append(statistics.median(
                worker.ask(f"time {kind} {steps}")))


def measure(case: Case, tool: Path, python: Path | str,
            seconds: float) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(case, folder)
        worker = Worker(case, python, folder / "weights.pt")
        try:
            ours = run_ours(tool, folder, case, CHECKED_STEPS)
            result.peak["regather"] = ours["peak_bytes_per_rank"]
            expected = worker.ask(f"losses eager {CHECKED_STEPS}")
            result.difference = max(
                abs(a - b) / max(abs(b), 1e-6)
                for a, b in zip(ours["losses"], expected))
            worker.ask(f"time compiled {CHECKED_STEPS}")
            for kind in ("eager", "compiled"):
                result.peak[kind] = worker.ask(f"peak {kind}")
            take_turns(case, tool, folder, worker, seconds, result)
            profile = run_ours(tool, folder, case, STEPS, "--profile")["profile"]
            result.shares = {each["kind"]: each["share"]
                             for each in profile["kinds"]}
            result.slowest = compare_kernels(
                profile, folder / "step.fx.json", worker.ask)
        finally:
            worker.close()
    return result


def print_result(case: Case, result: Result) -> None:
    ours = result.median("regather")
    peak = result.peak
    print(f"{str(case):22} {ours * 1e3:9.2f} {result.median('compiled') * 1e3:9.2f}"
          f" {result.median('eager') * 1e3:9.2f} {ours / result.best:6.2f}"
          f" {peak['regather'] / 1e6:8.1f}"
          f" {peak['regather'] / min(peak['compiled'], peak['eager']):6.2f}"
          f" {result.difference:8.1e}")
    print("   " + ", ".join(f"{kind} {share:.0%}"
                            for kind, share in result.shares.items()))
    for each in result.slowest:
        print(f"   {each}", flush=True)


def choose_cases(args: argparse.Namespace) -> list[Case]:
    sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
    from cpu_models import FAMILY
    wanted = args.models or list(FAMILY)
    if unknown := set(wanted) - set(FAMILY) - set(FAMILY.values()):
        raise SystemExit(f"no model or family {', '.join(sorted(unknown))}; "
                         f"there are {', '.join(FAMILY)} and "
                         f"{', '.join(sorted(set(FAMILY.values())))}")
    if unknown := set(args.dtype) - set(SHORT):
        raise SystemExit(f"no type {', '.join(sorted(unknown))}; there are "
                         f"{', '.join(SHORT)}")
    if min(args.threads) < 1:
        raise SystemExit("threads are 1 at least")
    return [Case(model, dtype, threads) for model, family in FAMILY.items()
            if {model, family} & set(wanted)
            for dtype in args.dtype for threads in args.threads]


def main(args: argparse.Namespace) -> int:
    cases = choose_cases(args)
    python = args.torch_python or newest_python()
    version = subprocess.run(
        [python, "-c", "import torch; print(torch.__version__)"],
        capture_output=True, text=True, check=True).stdout.strip()
    busy = busy_share()
    quiet = (f"the machine is quiet ({busy:.0%} busy)" if busy <= QUIET else
             f"THE MACHINE IS NOT QUIET: {busy:.0%} of its processors is used "
             "by others, and times mean little")
    header = (f"PyTorch {version}, {os.cpu_count()} processors, at most "
              f"{args.seconds:g} s for each; {quiet}")
    print(header)
    print(f"{'':22} {'ms a step':>9} {'compiled':>9} {'eager':>9} {'/best':>6}"
          f" {'MB':>8} {'/best':>6} {'loss':>8}")
    wrong = 0
    results: dict[Case, Result] = {}
    for number, case in enumerate(cases, 1):
        print(f"[{number}/{len(cases)}] {case}", file=sys.stderr, flush=True)
        try:
            result = measure(case, args.build_dir / "bin" / "regather", python,
                             args.seconds)
        except Failure as failure:
            wrong = 1
            print(f"{str(case):22} failed: {str(failure)[:500]}", flush=True)
            continue
        results[case] = result
        print_result(case, result)
        if not result.difference <= TOLERANCE[case.dtype]:
            wrong = 1
            print(f"  the losses of {case} differ by more than "
                  f"{TOLERANCE[case.dtype]:.0e}")
    if results:
        from cpu_page import write_page
        print(f"wrote {write_page(args.build_dir / 'bench-cpu', header, results)}")
    return wrong
