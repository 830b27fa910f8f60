"""Regather inside of PyTorch beside PyTorch: its passes, and training.

Passes, in seconds of one core: the graph is that of Llama 8B with 32 layers and
FSDP over 8 ranks. Ours take the FX graph and give FX graphs back. PyTorch's
passes for overlap, automatic and by module, get the same times of operators and
collectives (see torch_schedule.py).

Training: the debug Llama on a global batch of 8, with AdamW, by 1, 2 and 4
processes over Gloo, each way in processes of its own. Compiling begins with
empty caches and then again with those that the first job left. Bytes are the peak
of the resident memory of a rank after its start with all imports and the model.
All ways have to reach the same loss to 1e-3. Writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONFIG = {"config": "8B", "dp": 8}


WAYS = ("DDP", "DDP compiled", "FSDP2", "FSDP2 compiled", "SimpleFSDP",
        "SimpleFSDP compiled", "SimpleFSDP with drop-ins", "backend", "step")
# Ways of PyTorch alone.
THEIRS = 6
TOLERANCE = 1e-3


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("torch")
    group.add_argument("--parts", type=lambda text: text.split(","),
                       default=["passes", "training"],
                       help="of passes, training; both")
    group.add_argument("--ways", type=lambda text: text.split(","),
                       default=list(WAYS), help=f"of {','.join(WAYS)}; all")
    group.add_argument("--processes", default=[1, 2, 4], metavar="N,..",
                       type=lambda text: [int(n) for n in text.split(",")])
    group.add_argument("--train-config", default="debug", metavar="NAME",
                       help="of the Llama (default debug)")
    group.add_argument("--train-steps", type=int, default=10, metavar="N")


def train(way: str, ranks: int, caches: Path, args: argparse.Namespace
          ) -> list[dict[str, Any]]:
    """What each rank says. Raises `RuntimeError` if one fails."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
           "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
           "TORCHELASTIC_RUN_ID": "bench",
           "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // ranks)),
           "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
           "REGATHER_CACHE_DIR": str(caches / "regather")}
    processes = [subprocess.Popen(
        [sys.executable, HERE / "torch_training.py", way,
         f"--config={args.train_config}", f"--steps={args.train_steps}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | job | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(ranks)]
    found, problems = [], []
    for process in processes:
        output, errors = process.communicate()
        if process.returncode == 0:
            found.append(json.loads(output.splitlines()[-1]))
        else:
            problems.append((errors.strip().splitlines() or ["died"])[-1])
    if problems:
        raise RuntimeError(problems[0])
    return found


def measure_training(args: argparse.Namespace) -> bool:
    print(f"{'processes':>9} {'way':26} {'cold s':>8} {'warm s':>8}"
          f" {'ms a step':>10} {'steps a s':>10} {'peak MB':>8}  last loss")
    good = True
    for ranks in args.processes:
        losses = []
        best: dict[bool, float] = {}
        for way in args.ways:
            try:
                with tempfile.TemporaryDirectory() as caches:
                    cold, warm = (train(way, ranks, Path(caches), args)
                                  for _ in range(2))
            except RuntimeError as problem:
                print(f"{ranks:9} {way:26} fails: {problem}", flush=True)
                good = False
                continue
            seconds = max(rank["step_seconds"] for rank in warm)
            losses.append(warm[0]["losses"][-1])
            ours = WAYS.index(way) >= THEIRS
            best[ours] = min(best.get(ours, seconds), seconds)
            print(f"{ranks:9} {way:26}"
                  f" {max(rank['first_seconds'] for rank in cold):8.1f}"
                  f" {max(rank['first_seconds'] for rank in warm):8.1f}"
                  f" {1e3 * seconds:10.1f} {1 / seconds:10.2f}"
                  f" {max(rank['peak_bytes'] for rank in warm) / 1e6:8.1f}"
                  f"  {losses[-1]:.6f}", flush=True)
        if losses and max(losses) - min(losses) > TOLERANCE * max(losses):
            print("the ways do not reach the same loss")
            good = False
        if len(best) == 2:
            print(f"{ranks:9} the best of ours takes "
                  f"{best[True] / best[False]:.2f} of the best of PyTorch's")
    return good


def call(*command: Any) -> dict[str, Any]:
    result = subprocess.run([sys.executable, *map(str, command)], check=True,
                            stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def main(args: argparse.Namespace) -> int:
    good = True
    if "passes" in args.parts:
        good &= measure_passes()
    if "training" in args.parts:
        good &= measure_training(args)
    return 0 if good else 1


def measure_passes() -> bool:
    ours = call(HERE / "torch_dropins.py", "--model",
                HERE.parent / "examples" / "llama3.py:sharded_step",
                "--config", json.dumps({**CONFIG, "tp": 1}))
    with tempfile.TemporaryDirectory() as folder:
        theirs = call(HERE / "torch_schedule.py", "--config",
                      json.dumps(CONFIG), "--output", folder)
    seconds = ours["seconds"]
    rows = [(f"PyTorch {ours['torch']}, min-cut", seconds["PyTorch"]),
            ("ours, match-pytorch", seconds["match-pytorch"]),
            ("ours, min-cut", seconds["min-cut"]),
            *((f"PyTorch, overlap, {entry['name']}, "
               f"{entry['collectives']} collectives", entry["seconds"])
              for entry in theirs.values() if entry["name"] != "captured"),
            *((f"ours, {name}, {entry['collectives']} collectives",
               entry["seconds"]) for name, entry in ours["overlaps"].items())]
    print(f"{ours['nodes']} nodes; same modules: {ours['same_text']}")
    for name, taken in rows:
        print(f"{name:52} {taken:8.3f} s")
    return bool(ours["same_text"])
