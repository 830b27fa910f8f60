"""Trains a perceptron twice, sharded over 4 ranks and whole on 1, and compares.

Both runs start from the same random parameters and see the same inputs, so
their losses agree to rounding and fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from training_runs import (DemoError, call_json, difference,
                           print_collectives)

STEPS = 20
RANKS = 4
SHARDED = Path("examples/mlp-fsdp.mlir")
WHOLE = Path("examples/mlp.mlir")
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Training:
    losses: list[float]
    seconds: float


def train(regather: Path, model: Path, ranks: int) -> Training:
    output = call_json([regather, "run", model, "--ranks", str(ranks),
                       "--engine=cpu", "--steps", str(STEPS),
                       "--random-inputs=1", "--json"])
    losses = output["losses"]
    if len(losses) != STEPS:
        raise DemoError(f"expects {STEPS} losses of {model}, got {len(losses)}")
    return Training(losses, output["seconds_per_step"])


def print_losses(whole: Training, sharded: Training) -> float:
    """Prints both runs side by side; the largest difference, nan over all."""
    print(f"{'step':>4}  {'loss on 1 rank':>16}  "
          f"{f'loss on {RANKS} ranks':>16}  {'difference':>10}")
    differences = []
    for step, (a, b) in enumerate(zip(whole.losses, sharded.losses), 1):
        apart = difference(a, b)
        differences.append(apart)
        print(f"{step:4}  {a:16.9g}  {b:16.9g}  {apart:10.1e}")
    return max(differences, key=lambda apart: (math.isnan(apart), apart))


def print_statistics(regather: Path) -> None:
    stats = call_json([regather, "stats", SHARDED, "--json"])
    print_collectives(stats["collectives"])
    parameters = stats["parameters"]
    print(f"\nparameters        {parameters['elements']:,} in "
          f"{parameters['count']} tensors, {parameters['bytes']:,} bytes, "
          f"{parameters['bytes_per_rank']:,} on each rank")


def demo(tools: Path) -> bool:
    print(f"Training {SHARDED} on {RANKS} ranks and {WHOLE} on 1 rank, "
          f"{STEPS} steps each\n")
    regather = tools / "regather"
    sharded = train(regather, SHARDED, RANKS)
    whole = train(regather, WHOLE, 1)
    worst = print_losses(whole, sharded)
    print_statistics(regather)
    losses = sharded.losses
    equal = worst <= TOLERANCE
    falls = losses[-1] < losses[0]
    print(f"ranks             {RANKS}")
    print(f"loss              {losses[0]:.6g} -> {losses[-1]:.6g}"
          f"{'' if falls else '  DOES NOT FALL'}")
    print(f"ms per step       {sharded.seconds * 1e3:.3f} on {RANKS} ranks, "
          f"{whole.seconds * 1e3:.3f} on 1 (median)")
    print(f"sharded = whole   {'yes' if equal else 'NO'}, to {worst:.1e} "
          f"(limit {TOLERANCE:.0e})")
    return equal and falls
