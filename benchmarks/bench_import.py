"""Seconds to import synthetic captures of 14,400 to 57,000 nodes.

The captures repeat one transformer layer, forward and backward, with the
arguments, shapes and source lines of a real one. Times are wall-clock medians of
whole runs of `regather-translate --import-fx`: start-up, import, verification
and printing to /dev/null. The growth exponent is the slope of log time over log
nodes; 1 is linear. Start-up alone is printed apart.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SIZES = (14_400, 36_000, 57_000)
ROUNDS = 5
WIDTH, HIDDEN, HEADS, TOKENS = 4096, 14336, 32, 2048
FILES = ["models/llama.py", "torch/nn/functional.py"]


class Capture:
    """Builds a .fx.json node by node; the outputs of the last node are current."""

    def __init__(self) -> None:
        self.nodes: list[dict] = []
        self.parameters: list[dict] = []
        self.inputs: list[dict] = []
        self.outputs: list[dict] = []
        self.modules: list[str] = []

    @staticmethod
    def tensor(shape: list[int], dtype: str = "bfloat16") -> dict:
        stride = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        return {"shape": shape, "stride": stride, "dtype": dtype}

    def placeholder(self, name: str, shape: list[int], dtype: str) -> str:
        self.nodes.append({"name": name, "op": "placeholder",
                           "outputs": [self.tensor(shape, dtype)]})
        return name

    def parameter(self, path: str, shape: list[int]) -> str:
        node = self.placeholder("p_" + path.replace(".", "_"), shape, "bfloat16")
        self.parameters.append(
            {"node": node, "name": path, "registration": len(self.parameters),
             "module": self.module(path.rsplit(".", 1)[0]),
             "requires_grad": True, "aliases": []})
        return node

    def module(self, path: str) -> int:
        if not self.modules or self.modules[-1] != path:
            self.modules.append(path)
        return len(self.modules) - 1

    def call(self, target: str, args: list, shape: list[int], path: str,
             phase: str = "forward", dtype: str = "bfloat16",
             kwargs: dict | None = None) -> str:
        name = f"{target.split('.')[1]}_{len(self.nodes)}"
        self.nodes.append(
            {"name": name, "op": "call", "target": target,
             "args": [{"node": arg, "output": 0} if isinstance(arg, str) else arg
                      for arg in args],
             "kwargs": kwargs or {}, "outputs": [self.tensor(shape, dtype)],
             "module": self.module(path), "phase": phase,
             "loc": [len(self.nodes) % 2, 100 + len(self.nodes) % 300],
             "seq": len(self.nodes) // 2, "recompute": "prefer_recompute"})
        return name

    def norm(self, x: str, weight: str, path: str, phase: str) -> str:
        tokens = [1, TOKENS, WIDTH]
        x = self.call("aten._to_copy.default", [x], tokens, path, phase,
                      "float32", {"dtype": {"dtype": "float32"}})
        y = self.call("aten.pow.Tensor_Scalar", [x, 2], tokens, path, phase,
                      "float32")
        y = self.call("aten.mean.dim", [y, [-1], True], [1, TOKENS, 1], path,
                      phase, "float32")
        y = self.call("aten.add.Scalar", [y, 1e-05], [1, TOKENS, 1], path, phase,
                      "float32")
        y = self.call("aten.rsqrt.default", [y], [1, TOKENS, 1], path, phase,
                      "float32")
        y = self.call("aten.mul.Tensor", [x, y], tokens, path, phase, "float32")
        return self.call("aten.mul.Tensor", [y, weight], tokens, path, phase)

    def linear(self, x: str, weight: str, out: int, path: str,
               phase: str) -> str:
        w = self.call("aten.t.default", [weight], [WIDTH, out], path, phase)
        x = self.call("aten.view.default", [x, [TOKENS, WIDTH]], [TOKENS, WIDTH],
                      path, phase)
        y = self.call("aten.mm.default", [x, w], [TOKENS, out], path, phase)
        return self.call("aten._unsafe_view.default", [y, [1, TOKENS, out]],
                         [1, TOKENS, out], path, phase)

    def layer(self, x: str, weights: dict[str, str], path: str,
              phase: str) -> str:
        heads = [1, HEADS, TOKENS, WIDTH // HEADS]
        y = self.norm(x, weights["norm"], path + ".norm", phase)
        qkv = []
        for part in ("wq", "wk", "wv"):
            part_path = f"{path}.attention.{part}"
            z = self.linear(y, weights[part], WIDTH, part_path, phase)
            z = self.call("aten.view.default", [z, heads], heads, part_path,
                          phase)
            qkv.append(self.call("aten.transpose.int", [z, 1, 2], heads,
                                 part_path, phase))
        y = self.call("aten.scaled_dot_product_attention.default",
                      [*qkv, None, 0.0, True], heads, path + ".attention", phase)
        y = self.call("aten.add.Tensor", [x, y], [1, TOKENS, WIDTH], path, phase)
        up = self.linear(y, weights["w1"], HIDDEN, path + ".w1", phase)
        gate = self.call("aten.silu.default", [up], [1, TOKENS, HIDDEN],
                         path + ".ff", phase)
        up = self.linear(y, weights["w3"], HIDDEN, path + ".w3", phase)
        up = self.call("aten.mul.Tensor", [gate, up], [1, TOKENS, HIDDEN],
                       path + ".ff", phase)
        return self.call("aten.add.Tensor", [y, up], [1, TOKENS, WIDTH], path,
                         phase)


def make_capture(size: int) -> dict:
    """A capture of `size` nodes: layers forward, the same layers backward."""
    capture = Capture()
    tokens = capture.placeholder("tokens", [1, TOKENS, WIDTH], "bfloat16")
    capture.inputs.append({"node": tokens, "name": "tokens"})
    x, layers = tokens, []
    shapes = {"norm": [WIDTH], "wq": [WIDTH, WIDTH], "wk": [WIDTH, WIDTH],
              "wv": [WIDTH, WIDTH], "w1": [HIDDEN, WIDTH], "w3": [HIDDEN, WIDTH]}
    # Each layer comes once more in the backward half, without its parameters.
    while len(capture.nodes) <= size // 2:
        path = f"layers.{len(layers)}"
        layers.append({key: capture.parameter(f"{path}.{key}.weight", shape)
                       for key, shape in shapes.items()})
        x = capture.layer(x, layers[-1], path, "forward")
    for number in reversed(range(len(layers))):
        x = capture.layer(x, layers[number], f"layers.{number}", "backward")
    while len(capture.nodes) < size:
        x = capture.call("aten.add.Tensor", [x, x], [1, TOKENS, WIDTH], "head",
                         "backward")
    capture.nodes = capture.nodes[:size]
    last = capture.nodes[-1]["name"]
    capture.outputs.append({"node": last, "output": 0, "role": "loss"})
    return {"schema": "regather.fx", "version": 1, "torch": "2", "model": {},
            "meshes": [], "groups": {}, "modules": capture.modules,
            "files": FILES, "nodes": capture.nodes,
            "parameters": capture.parameters, "buffers": [],
            "inputs": capture.inputs, "outputs": capture.outputs}


def seconds(command: list[str | Path]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def slope(points: list[tuple[float, float]]) -> float:
    """The least-squares slope of log y over log x."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points))
    mean_x, mean_y = statistics.mean(xs), statistics.mean(ys)
    return (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
            / sum((x - mean_x) ** 2 for x in xs))


def main(args: argparse.Namespace) -> int:
    translate = args.build_dir / "bin" / "regather-translate"
    start_up = seconds([translate, "--help"])
    print(f"start-up alone {start_up:6.3f} s")
    print(f"{'nodes':>8} {'MB':>7} {'seconds':>8} {'nodes/s':>9}")
    points = []
    with tempfile.TemporaryDirectory() as directory:
        for size in SIZES:
            path = Path(directory) / f"{size}.fx.json"
            path.write_text(json.dumps(make_capture(size)))
            taken = seconds([translate, "--import-fx", path])
            points.append((size, taken - start_up))
            print(f"{size:8} {path.stat().st_size / 1e6:7.1f} {taken:8.3f} "
                  f"{size / taken:9.0f}", flush=True)
    print(f"growth exponent {slope(points):5.2f} (start-up subtracted)")
    return 0
