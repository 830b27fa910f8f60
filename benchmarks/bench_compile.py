"""Seconds from an imported Llama graph to a bundle, by number of layers.

Graphs of Llama 8B, 70B and 405B are captured (layers 32, 80, 126; in bfloat16,
without weights) and compiled for 8 ranks of a CPU: first with an empty folder of
kernels, then with a full one. The growth exponent is the slope of log time over
log layers, from 405B graphs of fewer layers; 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FACTORY = ROOT / "examples" / "llama3.py"
LAYERS = (16, 32, 64, 126)
RANKS = 8


def capture(folder: Path, config: dict[str, Any]) -> Path:
    name = "-".join(map(str, config.values()))
    path = folder / f"{name}.fx.json"
    subprocess.run(
        [sys.executable, "-m", "regather", "capture", "--model",
         f"{FACTORY}:step", "--config",
         json.dumps({**config, "dtype": "bfloat16"}), "-o", path, "--quiet"],
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return path


def compile_once(tool: Path, graph: Path, cache: Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        [tool, "compile", graph, f"--mesh=dp:{RANKS}", "--target=cpu", "--quiet",
         "--optimizer=adamw", "--cache-dir", cache,
         "-o", graph.with_suffix(".rgb")], check=True)
    return time.perf_counter() - start


def read_manifest(tool: Path, graph: Path) -> dict[str, Any]:
    return json.loads(subprocess.run(
        [tool, "manifest", graph.with_suffix(".rgb")], check=True,
        capture_output=True, text=True).stdout)


def get_exponent(points: dict[int, float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    x = [math.log(layers) for layers in points]
    y = [math.log(seconds) for seconds in points.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
            / sum((a - mean_x) ** 2 for a in x))


def main(args: argparse.Namespace) -> int:
    import plots
    tool = args.build_dir / "bin" / "regather"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'model':6} {'layers':>6} {'cold s':>8} {'warm s':>8}"
              f" {'kernels':>8}")
        jobs = [("8B", 32), ("70B", 80)] + [("405B", n) for n in LAYERS]
        warm: dict[int, float] = {}
        cold: dict[int, float] = {}
        for model, layers in jobs:
            graph = capture(
                folder, {"config": model, "layers": layers, "batch": RANKS})
            cache = folder / f"cache-{model}-{layers}"
            first = compile_once(tool, graph, cache)
            second = compile_once(tool, graph, cache)
            kernels = read_manifest(tool, graph)["kernels"]
            print(f"{model:6} {layers:6} {first:8.2f} {second:8.2f}"
                  f" {kernels:8}", flush=True)
            if model == "405B":
                cold[layers], warm[layers] = first, second
    for label, points in (("cold", cold), ("warm", warm)):
        print(f"growth exponent of a {label} compilation: "
              f"{get_exponent(points):.2f}")
    path = plots.lines(
        "compile", "Compiling a Llama 405B training step", "layers", "seconds",
        {label: (list(points), list(points.values()))
         for label, points in (("no kernel cached", cold),
                               ("all kernels cached", warm))})
    print(f"wrote {path}")
    return 0
