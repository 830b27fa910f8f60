"""Initial weights of the captured Llama, the same on every machine.

    python examples/llama3_weights.py -o llama3-debug.safetensors

Needs numpy alone. Values come from the raw bits of Philox, whose stream numpy
never changes, by arithmetic that rounds the same everywhere; they are bfloat16
numbers stored as float32.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy
from safetensors.numpy import save_file

GRAPH = Path(__file__).resolve().parent / "llama3-debug.fx.json"
STD = 0.02
ROPE_BASE = 500000.0


def to_bfloat16(x: numpy.ndarray) -> numpy.ndarray:
    """Rounds to nearest, ties to even; stays float32. For finite values."""
    bits = x.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return bits.astype(numpy.uint32).view(numpy.float32)


def uniform(shape: list[int], std: float, key: int) -> numpy.ndarray:
    raw = numpy.random.Philox(key=key).random_raw(math.prod(shape))
    # The upper 24 bits, so that each number is exact in float32.
    signed = (raw >> numpy.uint64(40)).astype(numpy.float64) / 2**23 - 1
    return to_bfloat16(signed.reshape(shape) * (std * math.sqrt(3)))


def rotary_table(shape: list[int]) -> numpy.ndarray:
    """Angles of position times frequency, [sequence, head_width / 2]."""
    sequence, half = shape
    frequency = ROPE_BASE ** (-numpy.arange(half) / half)
    return numpy.outer(numpy.arange(sequence), frequency)


def make_weights(document: dict[str, Any]) -> dict[str, numpy.ndarray]:
    """Parameters and buffers of a captured step of llama3.py, by name."""
    shapes = {node["name"]: node["outputs"][0]["shape"]
              for node in document["nodes"] if node["op"] == "placeholder"}
    layers = {entry["name"].split(".")[1] for entry in document["parameters"]
              if entry["name"].startswith("layers.")}
    weights = {}
    for entry in document["parameters"]:
        name, shape = entry["name"], shapes[entry["node"]]
        if "norm" in name:
            weights[name] = numpy.ones(shape, numpy.float32)
            continue
        # Smaller where layers add to the residual.
        is_last = name.endswith(("wo.weight", "w2.weight"))
        std = STD * (2 * len(layers)) ** -0.5 if is_last else STD
        weights[name] = uniform(shape, std, entry["registration"])
    for entry in document["buffers"]:
        turn = numpy.cos if entry["name"] == "rope_cos" else numpy.sin
        weights[entry["name"]] = turn(rotary_table(
            shapes[entry["node"]])).astype(numpy.float32)
    return weights


def write_weights(graph: Path, output: Path) -> None:
    save_file(make_weights(json.loads(graph.read_text())), output)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", type=Path, default=GRAPH)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    write_weights(options.graph, options.output)


if __name__ == "__main__":
    main()
