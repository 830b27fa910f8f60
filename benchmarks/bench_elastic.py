"""What it costs that no bit depends on the number of ranks: steps with --elastic.

The debug Llama and GPT-2 with AdamW and clipping, batch of 8, on some numbers of
ranks that are threads of one process. A step with `--elastic` and one without it
take turns, so that a slow minute is slow for both; times are the least over all
rounds, as others on the machine only lengthen them. Bytes are those of the plan
of the arena. All elastic steps have to have the same losses, to the bit; those
without it have others, or the comparison sees nothing.

Goals: 5 % of the step, and as many more buffers of the largest gradient as the
tree has levels.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STEPS = 2
# Of the time of a step without it.
GOAL = 1.05
OPTIMIZER = "adamw betas=0.9,0.95 weight-decay=0.1 max-norm=1"
MESHES = {"1": ["--ranks=1"], "2": ["--ranks=2"], "4": ["--ranks=4"],
          "8": ["--ranks=8"],
          "rep:2,dp:4": ["--mesh=rep:2,dp:4", "--replicate-axis=rep"]}


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("elastic")
    group.add_argument("--subjects", default=["llama", "gpt2"],
                       type=lambda text: text.split(","), metavar="MODEL,..",
                       help="of llama, gpt2, mlp, swiglu (default llama,gpt2)")
    group.add_argument("--segments", type=int, default=8, metavar="S")
    group.add_argument("--rounds", type=int, default=5, metavar="N",
                       help="turns of each step (default 5)")
    group.add_argument("--meshes", default=list(MESHES), metavar="MESH/..",
                       type=lambda text: text.split("/"),
                       help=f"of {'/'.join(MESHES)}; all")


@dataclass
class Pair:
    """A step without segments and one with them."""

    reports: list[list[dict[str, Any]]] = field(
        default_factory=lambda: [[], []])

    def seconds(self, number: int) -> float:
        return min(r["seconds_per_step"] for r in self.reports[number])

    def spread(self, number: int) -> float:
        """How much longer the median is than the least."""
        times = [r["seconds_per_step"] for r in self.reports[number]]
        return statistics.median(times) / min(times) - 1

    def arena(self, number: int) -> int:
        return self.reports[number][0]["arena"]["planned_bytes"]

    def received(self, number: int) -> int:
        return self.reports[number][0]["collective_bytes"]

    def losses(self, number: int) -> list[float]:
        return self.reports[number][0]["losses"]


def prepare(subject: str, rows: int, folder: Path) -> None:
    """Captures the step on a batch of so many rows at least, and writes its
    weights and batch as one file."""
    import torch
    from cpu_models import MODELS
    from safetensors.torch import load_file, save_file

    import regather

    def lengthen(value: torch.Tensor) -> torch.Tensor:
        copies = math.ceil(rows / value.shape[0])
        return torch.cat([value.roll(i, -1) for i in range(copies)])

    network, inputs, loss, targets = MODELS[subject]()
    inputs = ({name: lengthen(value) for name, value in inputs.items()}
              if isinstance(inputs, dict) else tuple(map(lengthen, inputs)))
    targets = tuple(map(lengthen, targets))
    graph = regather.capture(network, inputs, loss=loss, targets=targets)
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    names = [entry["name"] for entry in graph.document["inputs"]]
    batch = inputs.values() if isinstance(inputs, dict) else inputs
    save_file(load_file(folder / "weights.safetensors")
              | dict(zip(names, (*batch, *targets), strict=True)),
              folder / "inputs.safetensors")


def run_step(tool: Path, folder: Path, flags: list[str]) -> dict[str, Any]:
    result = subprocess.run(
        [tool, "run", folder / "step.fx.json", f"--optimizer={OPTIMIZER}",
         "--learning-rate=1e-4", f"--steps={STEPS}", "--inputs",
         folder / "inputs.safetensors", "--cache-dir", folder / "cache",
         "--json", "--quiet", *flags], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout)


def take_turns(tool: Path, folder: Path, mesh: list[str], segments: int,
               rounds: int) -> Pair:
    pair = Pair()
    for turn in range(rounds):
        for number in (0, 1) if turn % 2 == 0 else (1, 0):
            elastic = [f"--elastic={segments}"] if number else []
            pair.reports[number].append(run_step(
                tool, folder, [*mesh, *elastic]))
    return pair


def largest_gradient(folder: Path) -> int:
    from safetensors import safe_open
    with safe_open(str(folder / "weights.safetensors"), "pt") as file:
        return max(math.prod(file.get_slice(name).get_shape()) * 4
                   for name in file.keys())


def measure(subject: str, args: argparse.Namespace, tool: Path) -> bool:
    met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(subject, args.segments, folder)
        gradient = largest_gradient(folder)
        levels = math.log2(args.segments)
        losses: set[tuple[float, ...]] = set()
        ordered: set[tuple[float, ...]] = set()
        for mesh in args.meshes:
            pair = take_turns(tool, folder, MESHES[mesh], args.segments,
                              args.rounds)
            losses.add(tuple(pair.losses(1)))
            ordered.add(tuple(pair.losses(0)))
            ratio = pair.seconds(1) / pair.seconds(0)
            more = (pair.arena(1) - pair.arena(0)) / gradient
            met &= ratio <= GOAL and more <= levels
            print(f"{subject:7} {mesh:>10} {1e3 * pair.seconds(0):9.1f}"
                  f" {1e3 * pair.seconds(1):9.1f} {ratio:6.3f}"
                  f" {100 * max(pair.spread(0), pair.spread(1)):6.0f}%"
                  f" {pair.arena(0) / 1e6:8.1f} {pair.arena(1) / 1e6:8.1f}"
                  f" {more:6.2f} {pair.received(0) / 1e6:8.1f}"
                  f" {pair.received(1) / 1e6:8.1f}", flush=True)
        print(f"{subject}: the losses of elastic steps are "
              f"{'equal' if len(losses) == 1 else 'DIFFERENT'}, those of others "
              f"{'differ' if len(ordered) > 1 else 'are equal as well'}")
        if len(losses) > 1:
            raise SystemExit("elastic steps differ")
    return met


def main(args: argparse.Namespace) -> int:
    tool = args.build_dir / "bin" / "regather"
    if unknown := [mesh for mesh in args.meshes if mesh not in MESHES]:
        print(f"no mesh {', '.join(unknown)}; there are {', '.join(MESHES)}",
              file=sys.stderr)
        return 2
    print(f"segments: {args.segments}; rounds: {args.rounds}; largest gradients "
          f"more: goal {math.log2(args.segments):g}")
    print(f"{'model':7} {'mesh':>10} {'ms':>9} {'elastic':>9} {'ratio':>6}"
          f" {'spread':>7} {'arena MB':>8} {'elastic':>8} {'more':>6}"
          f" {'recv MB':>8} {'elastic':>8}")
    met = [measure(subject, args, tool) for subject in args.subjects]
    print("goals met" if all(met) else "goals missed")
    return 0
