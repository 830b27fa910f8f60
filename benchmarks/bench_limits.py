"""Seconds and peak bytes of each pass on steps of up to a million operations.

A step of a deep perceptron is written for each size: a matrix, and functions of
single elements, for each layer, forward and backward. It goes through the passes
of a training step one after the other, on one core. Growth is the exponent e for
which the seconds of a pass between the smallest and the largest size grow as
operations^e; 1 is linear. Parsing and printing are not passes, but are shown.
Options: --sizes=A,B,... (operations, 20000,80000), --mesh=AXIS:N.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench_passes import run

# Of single elements in each layer: with its matrix, and the five nodes that
# this takes in backward, a layer has 66 nodes.
ELEMENTWISE = 30
NODES_PER_LAYER = 6 + 2 * ELEMENTWISE
GIB = 1 << 30
LEAST_SECONDS = 0.05


def pipeline(mesh: str) -> str:
    passes = [
        f"tg-shard-parameters{{mesh={mesh} batch=per-rank}}",
        "tg-merge-gathers", "tg-apply-policy{policy=selective}",
        "tg-reshard-after-forward{mode=always}",
        "tg-partition{mode=min-cut split=false}",
        "tg-append-optimizer{optimizer=adamw}",
        "tg-bucket-collectives{mode=auto}", "tg-form-kernels",
        "tg-schedule{mode=auto}", "convert-tg-to-exec",
        "exec-form-graphs{mode=unit}", "exec-plan-memory", "tg-verify-step"]
    return f"builtin.module({','.join(passes)})"


def write_step(path: Path, layers: int) -> int:
    """Returns the number of operations."""
    matrix, batch = "tensor<8x8xf32>", "tensor<4x8xf32>"
    lines: list[str] = []

    def node(target: str, operands: list[str], types: list[str], result: str,
             layer: int, phase: str, arguments: str = "") -> str:
        name = f"%v{len(lines)}"
        lines.append(
            f'  {name} = tg.node "aten.{target}"({", ".join(operands)})'
            f'{arguments} {{tg.id = "n{len(lines)}", tg.module = '
            f'"layers.{layer}", tg.phase = #tg.phase<{phase}>}} : '
            f'({", ".join(types)}) -> {result}')
        return name

    saved: list[list[str]] = []
    value = "%x"
    for layer in range(layers):
        values = [value, node("mm.default", [value, f"%w{layer}"],
                              [batch, matrix], batch, layer, "forward")]
        for _ in range(ELEMENTWISE):
            values.append(node("sigmoid.default", [values[-1]], [batch], batch,
                               layer, "forward"))
        saved.append(values)
        value = values[-1]
    loss = node("sum.default", [value], [batch], "tensor<f32>", layers - 1,
                "forward")
    gradient = node("sigmoid.default", [value], [batch], batch, layers - 1,
                    "backward")
    gradients = [""] * layers
    for layer in reversed(range(layers)):
        values = saved[layer]
        for output in reversed(values[2:]):
            gradient = node("sigmoid_backward.default", [gradient, output],
                            [batch, batch], batch, layer, "backward")
        turned = node("permute.default", [values[0]], [batch],
                      "tensor<8x4xf32>", layer, "backward",
                      " args [#tg.operand<0>, [1, 0]]")
        gradients[layer] = node("mm.default", [turned, gradient],
                                ["tensor<8x4xf32>", batch], matrix, layer,
                                "backward")
        turned = node("permute.default", [f"%w{layer}"], [matrix], matrix,
                      layer, "backward", " args [#tg.operand<0>, [1, 0]]")
        gradient = node("mm.default", [gradient, turned], [batch, matrix],
                        batch, layer, "backward")
    arguments = ", ".join(
        f'%w{i}: {matrix} {{tg.role = #tg.role<parameter>, tg.name = '
        f'"layers.{i}.weight", tg.module = "layers.{i}", '
        f"tg.registration = {i} : i64, tg.donated}}" for i in range(layers))
    results = ", ".join(f"{matrix} {{tg.role = #tg.role<gradient of {i}>}}"
                        for i in range(layers))
    with path.open("w") as file:
        file.write(f'func.func @step({arguments}, %x: {batch} {{tg.role = '
                   f'#tg.role<input>, tg.name = "x"}}) -> (tensor<f32> '
                   f"{{tg.role = #tg.role<loss>}}, {results}) {{\n")
        file.write("\n".join(lines))
        file.write(f"\n  return {loss}, {', '.join(gradients)} : tensor<f32>, "
                   f"{', '.join([matrix] * layers)}\n}}\n")
    return len(lines)


@dataclass
class Measured:
    operations: int
    peak_bytes: int
    # In the order of the pipeline; "Parser" and "Output" among them.
    seconds: dict[str, float]


def measure(tool: Path, operations: int, mesh: str, folder: Path) -> Measured:
    step = folder / "step.mlir"
    count = write_step(step, max(1, operations // NODES_PER_LAYER))
    done = run([tool, step, f"--pass-pipeline={pipeline(mesh)}",
                "--mlir-disable-threading", "--mlir-timing",
                "--mlir-timing-display=tree", "-o", os.devnull])
    rows = re.findall(r"^\s+(\d+\.\d+) \([^)]*\)\s+(\S+)$", done.stderr,
                      re.MULTILINE)
    seconds: dict[str, float] = {}
    for text, name in rows:
        if name not in ("Total", "Rest", "root"):
            name = name.removesuffix("Pass")
            seconds[name] = seconds.get(name, 0) + float(text)
    return Measured(count, done.peak_bytes, seconds)


def growth(first: Measured, last: Measured, name: str) -> float | None:
    """Nothing for a pass that is too quick to tell."""
    before, after = first.seconds.get(name, 0), last.seconds.get(name, 0)
    if before < LEAST_SECONDS or last.operations == first.operations:
        return None
    return (math.log(after / before)
            / math.log(last.operations / first.operations))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", default="20000,80000")
    parser.add_argument("--mesh", default="dp:8")


def main(args: argparse.Namespace) -> int:
    tool = args.build_dir / "bin" / "regather-opt"
    with tempfile.TemporaryDirectory() as folder:
        measured = [measure(tool, int(size), args.mesh, Path(folder))
                    for size in args.sizes.split(",")]
    first, last = measured[0], measured[-1]
    print("| | " + " | ".join(f"{one.operations:,}" for one in measured)
          + " | growth |")
    print("|---" * (len(measured) + 2) + "|")
    for name in last.seconds:
        exponent = growth(first, last, name)
        cells = [f"{one.seconds.get(name, 0):.2f} s" for one in measured]
        print(f"| {name} | {' | '.join(cells)} | "
              f"{'' if exponent is None else f'{exponent:.2f}'} |")
    print("| peak | " + " | ".join(f"{one.peak_bytes / GIB:.2f} GiB"
                                    for one in measured) + " | |")
    return 0
