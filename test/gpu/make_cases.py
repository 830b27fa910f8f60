#!/usr/bin/env python3
"""Prepares what run.sh runs on a machine with a GPU.

    test/gpu/make_cases.py -o CASES [--target=nvptx:sm_90a] [--only mlp,llama]

Needs the compiler, and PyTorch with transformers for the tiny models.
CASES then holds bundles, inputs, the losses to be reached, and `cases.tsv`: the
name of a case, its bundle, environment variables (`-` for none), flags of
regather-run, and how what comes out is checked:

    losses=TOLERANCE FILE   relative to the losses in a file
    near=TOLERANCE CASE     relative to the losses of another case
    same CASE               bit for bit as another case

Losses of the Llama are those of eager PyTorch, others those of the engine for
CPUs.
"""

from __future__ import annotations

import argparse
import json
import math
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
    attention: tuple[int, ...]
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
    # The file pins what was found to be fastest.
    file = "REGATHER_ALGORITHM_FILE=llama-timed.algorithms.json"
    cases.add("llama-timed", "llama.rgb", flags + " --algorithms=timed",
              "losses=1e-4", losses, file)
    cases.add("llama-timed-again", "llama.rgb", flags, "same", "llama-timed",
              file)


# Q, K and V are learnt, so that the loss of a step depends on all gradients of
# the step before. Each number is exact in bf16.
ATTENTION = """
#all = affine_map<(b, h, s, d) -> (b, h, s, d)>
#row = affine_map<(b, h, s, d) -> (b, h, s)>
#rows = affine_map<(b, h, s) -> (b, h, s)>
#one = affine_map<(b, h, s) -> ()>
!heads = tensor<{shape}xbf16>
func.func @step(%q: !heads {{tg.role = #tg.role<parameter>, tg.name = "q", tg.registration = 0 : i64, tg.donated}},
    %k: !heads {{tg.role = #tg.role<parameter>, tg.name = "k", tg.registration = 1 : i64, tg.donated}},
    %v: !heads {{tg.role = #tg.role<parameter>, tg.name = "v", tg.registration = 2 : i64, tg.donated}},
    %t: !heads {{tg.role = #tg.role<input>, tg.name = "target"}})
    -> (tensor<f32> {{tg.role = #tg.role<loss>}}, !heads {{tg.role = #tg.role<update of 0>}},
        !heads {{tg.role = #tg.role<update of 1>}}, !heads {{tg.role = #tg.role<update of 2>}}) {{
  %zero = arith.constant 0.0 : f32
  %mean = arith.constant {mean} : f32
  %rate = arith.constant 0.0625 : bf16
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (!heads, !heads, !heads) -> (!heads, tensor<{logs}xf32>)
  %empty = tensor.empty() : !heads
  %rows = tensor.empty() : tensor<{logs}xf32>
  %rows0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<{logs}xf32>) -> tensor<{logs}xf32>
  %sums = linalg.generic {{indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%o#0, %t : !heads, !heads) outs(%rows0 : tensor<{logs}xf32>) {{
  ^body(%y: bf16, %z: bf16, %sum: f32):
    %y0 = arith.extf %y : bf16 to f32
    %z0 = arith.extf %z : bf16 to f32
    %e = arith.subf %y0, %z0 : f32
    %square = arith.mulf %e, %e : f32
    %scaled = arith.mulf %square, %mean : f32
    %next = arith.addf %sum, %scaled : f32
    linalg.yield %next : f32
  }} -> tensor<{logs}xf32>
  %scalar = tensor.empty() : tensor<f32>
  %scalar0 = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {{indexing_maps = [#rows, #one], iterator_types = ["reduction", "reduction", "reduction"]}}
      ins(%sums : tensor<{logs}xf32>) outs(%scalar0 : tensor<f32>) {{
  ^body(%x: f32, %sum: f32):
    %next = arith.addf %sum, %x : f32
    linalg.yield %next : f32
  }} -> tensor<f32>
  %g = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%o#0, %t : !heads, !heads) outs(%empty : !heads) {{
  ^body(%y: bf16, %z: bf16, %out: bf16):
    %e = arith.subf %y, %z : bf16
    linalg.yield %e : bf16
  }} -> !heads
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %v, %o#0, %o#1)
      args [{operands}, 0.0, true]
      : (!heads, !heads, !heads, !heads, !heads, tensor<{logs}xf32>) -> (!heads, !heads, !heads)
{updates}
  return %loss, %q1, %k1, %v1 : tensor<f32>, !heads, !heads, !heads
}}
"""

UPDATE = """  %{name}1 = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%{name}, %d#{i} : !heads, !heads) outs(%empty : !heads) {{
  ^body(%p: bf16, %g0: bf16, %out: bf16):
    %step = arith.mulf %g0, %rate : bf16
    %p1 = arith.subf %p, %step : bf16
    linalg.yield %p1 : bf16
  }} -> !heads"""


def add_attention(cases: Cases) -> None:
    """Attention of bf16 by generated kernels and by cuDNN, where it is there."""
    shape = cases.attention
    step = cases.folder / "attention.mlir"
    step.write_text(ATTENTION.format(
        shape="x".join(map(str, shape)), logs="x".join(map(str, shape[:3])),
        mean=1 / math.prod(shape),
        operands=", ".join(f"#tg.operand<{i}>" for i in range(6)),
        updates="\n".join(UPDATE.format(name=name, i=i)
                          for i, name in enumerate("qkv"))))
    inputs = "--random-inputs=1"
    flags = f"{inputs} --steps={cases.steps}"
    losses = cases.record(step, "attention", min(cases.steps, 5), inputs)
    bundle = cases.compile(step, "attention")
    generated, cudnn = (f"REGATHER_ATTENTION={way}"
                        for way in ("generated", "cudnn"))
    cases.add("attention-generated", bundle, flags, "losses=1e-2", losses,
              generated)
    cases.add("attention-cudnn", bundle, flags, "near=1e-2",
              "attention-generated", cudnn)
    cases.add("attention-cudnn-full",
              cases.compile(step, "attention-full", "--cuda-graph=full"), flags,
              "same", "attention-cudnn", cudnn)


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
    "mlp": add_mlp, "attention": add_attention, "llama": add_llama,
    "tiny": add_tiny}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Prepare bundles and references for test/gpu/run.sh.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--target", default="nvptx:sm_90a")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", default=",".join(FAMILIES),
                        help="families, separated by commas (default: %(default)s)")
    parser.add_argument("--attention", default="2,16,2048,128",
                        help="batch, heads, rows and width of the case of "
                             "attention (default: %(default)s)")
    args = parser.parse_args()
    unknown = set(args.only.split(",")) - FAMILIES.keys()
    if unknown:
        parser.error(f"unknown family {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(FAMILIES)}")
    if args.steps < 3:
        parser.error("graphs are launched from the third step on; --steps must "
                     "be at least 3")
    args.output.mkdir(parents=True, exist_ok=True)
    cases = Cases(args.build_dir / "bin", args.output, args.target, args.steps,
                  tuple(map(int, args.attention.split(","))))
    for family in args.only.split(","):
        FAMILIES[family](cases)
    # Last, so that a folder with this file is complete.
    (args.output / "cases.tsv").write_text("".join(cases.lines))
    print(f"{len(cases.lines)} cases in {args.output}; run them with "
          f"test/gpu/run.sh {args.output}")


if __name__ == "__main__":
    main()
