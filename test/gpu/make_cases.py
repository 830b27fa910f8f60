#!/usr/bin/env python3
"""Prepares what run.sh runs on a machine with a GPU.

    test/gpu/make_cases.py -o CASES [--target=nvptx:sm_90a] [--only mlp,llama]

Needs the compiler, and PyTorch with transformers for the tiny models.
CASES then holds bundles, inputs, the losses to be reached, and `cases.tsv`: the
name of a case, its bundle, environment variables (`-` for none), flags of
regather-run, and how what comes out is checked:

    losses=TOLERANCE FILE   relative to the losses in a file
    same CASE               bit for bit as another case

Losses of the Llama are those of eager PyTorch, others those of the engine for
CPUs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LLAMA = ROOT / "examples" / "llama3-debug"
# What a job of one rank finds in its environment, as torchrun sets it.
ONE_RANK = ("RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 "
            "MASTER_ADDR=127.0.0.1 MASTER_PORT=29511")


@dataclass
class Cases:
    tools: Path
    folder: Path
    target: str
    steps: int
    lines: list[str] = field(default_factory=list)

    def call(self, *command: str | Path) -> str:
        return subprocess.run([str(part) for part in command], check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True).stdout

    def compile(self, step: Path, name: str, *flags: str) -> str:
        print(f"compiling {name}", flush=True)
        bundle = f"{name}.rgb"
        self.call(self.tools / "regather", "compile", step, "--quiet",
                  f"--target={self.target}", "-o", self.folder / bundle, *flags)
        return bundle

    def record(self, step: Path, name: str, steps: int, *flags: str) -> str:
        """The losses of the engine for CPUs."""
        report = json.loads(self.call(
            self.tools / "regather", "run", step, "--quiet", "--json",
            f"--steps={steps}", *flags))
        return self.write_losses(name, report["losses"])

    def write_losses(self, name: str, losses: list[float]) -> str:
        file = f"{name}.losses"
        (self.folder / file).write_text("".join(f"{x:.9g}\n" for x in losses))
        return file

    def add(self, name: str, bundle: str, flags: str, check: str,
            reference: str, variables: str = "-") -> None:
        self.lines.append("\t".join((name, bundle, variables, flags, check,
                                     reference)) + "\n")

    def add_graphs(self, step: Path, base: str, flags: str,
                   modes: dict[str, str], *options: str) -> None:
        """The same step with CUDA graphs, bit for bit."""
        for name, mode in modes.items():
            bundle = self.compile(step, f"{base}-{name}", *options,
                                  f"--cuda-graph={mode}")
            self.add(f"{base}-{name}", bundle, flags, "same", base)


def add_mlp(cases: Cases) -> None:
    for name in ("mlp", "mlp-fsdp"):
        step = ROOT / "examples" / f"{name}.mlir"
        flags = f"--random-inputs=1 --steps={cases.steps}"
        losses = cases.record(step, name, min(cases.steps, 20),
                              "--random-inputs=1")
        cases.add(name, cases.compile(step, name), flags + " --check-plan",
                  "losses=1e-5", losses)
        cases.add_graphs(step, name, flags, {"unit": "unit", "full": "full"})
    cases.add("mlp-nccl", "mlp.rgb",
              f"--random-inputs=1 --steps={cases.steps} --comm=nccl",
              "losses=1e-5", "mlp.losses", ONE_RANK)


def add_llama(cases: Cases) -> None:
    """The debug Llama on a text: one rank, and ranks that share the device."""
    record = json.loads(LLAMA.with_suffix(".losses.json").read_text())
    options = record["optimizer"]
    optimizer = (f"--optimizer={options['name']} "
                 f"betas={','.join(map(str, options['betas']))} "
                 f"eps={options['eps']} weight-decay={options['weight_decay']} "
                 f"max-norm={options['max_norm']}")
    step = LLAMA.with_suffix(".fx.json")
    cases.call(sys.executable, ROOT / "examples" / "llama3_weights.py",
               "--graph", step, "-o", cases.folder / "llama.safetensors")
    shutil.copy(ROOT / record["text"]["file"], cases.folder / "text.txt")
    losses = cases.write_losses("llama", record["losses"][:cases.steps])
    flags = (f"--inputs=llama.safetensors --text=text.txt --steps={cases.steps} "
             f"--learning-rate={options['learning_rate']}")
    for ranks in (1, 2, 4, 8):
        name = "llama" if ranks == 1 else f"llama-{ranks}-ranks"
        bundle = cases.compile(step, name, optimizer, f"--ranks={ranks}")
        cases.add(name, bundle, flags, "losses=1e-4", losses)
    cases.add_graphs(step, "llama", flags,
                     {"attention": "modules=*.attention", "unit": "unit",
                      "full": "full"}, optimizer, "--ranks=1")
    cases.add("llama-nccl", "llama.rgb", flags + " --comm=nccl", "losses=1e-4",
              losses, ONE_RANK)


def add_captured(cases: Cases, name: str, modes: dict[str, str]) -> None:
    """A tiny model of transformers, with what the modes name in graphs."""
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "python")]
    try:
        import test_capture_models as models
        import torch

        import regather
    except ImportError as error:
        raise SystemExit(f"models of transformers need PyTorch as well: "
                         f"{error}; leave them out with --only")
    torch.manual_seed(0)
    model, batch = getattr(models, name)()
    model.train()
    name = f"tiny-{name}"
    step = cases.folder / f"{name}.fx.json"
    regather.capture(model, batch).save(step)
    optimizer = "--optimizer=adamw"
    inputs = ("--random-inputs=1", "--learning-rate=0.001")
    flags = " ".join((*inputs, f"--steps={cases.steps}"))
    losses = cases.record(step, name, min(cases.steps, 5), optimizer, *inputs)
    cases.add(name, cases.compile(step, name, optimizer), flags, "losses=1e-4",
              losses)
    cases.add_graphs(step, name, flags, modes, optimizer)


def add_tiny(cases: Cases) -> None:
    """Attention, routers of a mixture of experts, or everything in graphs."""
    attention = {"attention": "modules=*.self_attn"}
    add_captured(cases, "llama", {**attention, "unit": "unit", "full": "full"})
    add_captured(cases, "mixtral", {
        **attention, "attention-router": "modules=*.self_attn,*.gate",
        "router": "modules=*.gate min-ops=1", "full": "full"})


FAMILIES: dict[str, Callable[[Cases], None]] = {
    "mlp": add_mlp, "llama": add_llama, "tiny": add_tiny}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Prepare bundles and references for test/gpu/run.sh.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--target", default="nvptx:sm_90a")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", default=",".join(FAMILIES),
                        help="families, separated by commas (default: %(default)s)")
    args = parser.parse_args()
    unknown = set(args.only.split(",")) - FAMILIES.keys()
    if unknown:
        parser.error(f"unknown family {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(FAMILIES)}")
    if args.steps < 3:
        parser.error("graphs are launched from the third step on; --steps must "
                     "be at least 3")
    args.output.mkdir(parents=True, exist_ok=True)
    cases = Cases(args.build_dir / "bin", args.output, args.target, args.steps)
    for family in args.only.split(","):
        FAMILIES[family](cases)
    # Last, so that a folder with this file is complete.
    (args.output / "cases.tsv").write_text("".join(cases.lines))
    print(f"{len(cases.lines)} cases in {args.output}; run them with "
          f"test/gpu/run.sh {args.output}")


if __name__ == "__main__":
    main()
