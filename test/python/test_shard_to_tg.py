"""From a module that upstream's shard dialect annotates to one that runs.

Upstream propagates and partitions, Regather runs the result on all ranks: it
equals the module without annotations on one rank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from regather_tools import (ENGINES, RawTensor, decode_safetensors,
                            encode_safetensors, run_tool)

PIPELINE = ("--pass-pipeline=builtin.module(func.func(sharding-propagation),"
            "shard-record-placements,func.func(shard-partition),"
            "convert-shard-to-tg,lower-affine)")
FLOAT_TOLERANCE = 1e-6
DTYPES = {"f32": (numpy.float32, "F32"), "i32": (numpy.int32, "I32"),
          "i64": (numpy.int64, "I64")}


@dataclass(frozen=True)
class Layout:
    """How the tensors of the two layers lie over a grid.

    Each is the split axes of a sharding, or the pair that the tensor arrives
    in and that it is used in.
    """

    grid: tuple[int, ...]
    x: str | tuple[str, str]
    w1: str | tuple[str, str]
    w2: str | tuple[str, str]
    y: str | tuple[str, str]
    collectives: set[str]


REPLICATED, ROWS, COLUMNS = "[[]]", "[[0]]", "[[], [0]]"
LAYOUTS = {
    "tensor-parallel": Layout((4,), REPLICATED, COLUMNS, ROWS, REPLICATED,
                              {"all_reduce"}),
    "sequence-parallel": Layout((4,), (ROWS, REPLICATED), COLUMNS, ROWS,
                                (REPLICATED, ROWS),
                                {"all_gather", "reduce_scatter"}),
    "fully-sharded": Layout((4,), ROWS, (ROWS, REPLICATED),
                            (COLUMNS, REPLICATED), ROWS, {"all_gather"}),
    "fully-sharded-tensor-parallel": Layout(
        (2, 2), ("[[0], [1]]", "[[0]]"), ("[[0], [1]]", "[[], [1]]"),
        ("[[1], [0]]", "[[1]]"), ("[[0]]", "[[0], [1]]"),
        {"all_gather", "reduce_scatter"}),
    "two-axes-on-one-dimension": Layout(
        (2, 2), REPLICATED, "[[], [0, 1]]", "[[0, 1]]", REPLICATED,
        {"all_reduce"}),
    # Right only if both say which of the two axes cuts first.
    "inner-axis-gathered": Layout(
        (2, 2), ("[[0, 1]]", "[[0]]"), REPLICATED, REPLICATED,
        ("[[0]]", REPLICATED), {"all_gather"}),
}


def module(layout: Layout | None, sizes: tuple[int, int, int, int],
           dtype: str) -> str:
    """y = (x * w1) * w2, annotated if there is a layout."""
    m, k, n, p = sizes
    shapes = {"x": (m, k), "w1": (k, n), "w2": (n, p), "y": (m, p)}
    types = {name: f"tensor<{a}x{b}x{dtype}>"
             for name, (a, b) in shapes.items()}
    hidden = f"tensor<{m}x{n}x{dtype}>"
    lines: list[str] = []

    def annotate(name: str, before: str) -> str:
        """The name of the value after its annotations."""
        if layout is None:
            return before
        splits = getattr(layout, name)
        splits = (splits, splits) if isinstance(splits, str) else splits
        for place, split in zip(("", " annotate_for_users"), splits):
            value = f"%{name}{'_used' if place else '_held'}"
            lines.append(f"%s{value[1:]} = shard.sharding @grid "
                         f"split_axes = {split} : !shard.sharding")
            lines.append(f"{value} = shard.shard {before} to %s{value[1:]}"
                         f"{place} : {types[name]}")
            before = value
        return before

    x, w1, w2 = (annotate(name, f"%{name}") for name in ("x", "w1", "w2"))
    zero = "0.0" if dtype == "f32" else "0"
    lines += [
        f"%zero = arith.constant {zero} : {dtype}",
        f"%e1 = tensor.empty() : {hidden}",
        f"%f1 = linalg.fill ins(%zero : {dtype}) outs(%e1 : {hidden}) "
        f"-> {hidden}",
        f"%h = linalg.matmul ins({x}, {w1} : {types['x']}, {types['w1']}) "
        f"outs(%f1 : {hidden}) -> {hidden}",
        f"%e2 = tensor.empty() : {types['y']}",
        f"%f2 = linalg.fill ins(%zero : {dtype}) outs(%e2 : {types['y']}) "
        f"-> {types['y']}",
        f"%y = linalg.matmul ins(%h, {w2} : {hidden}, {types['w2']}) "
        f"outs(%f2 : {types['y']}) -> {types['y']}"]
    result = annotate("y", "%y")
    arguments = ", ".join(f'%{name}: {types[name]} {{tg.name = "{name}"}}'
                          for name in ("x", "w1", "w2"))
    grid = "" if layout is None else (
        f"shard.grid @grid(shape = {'x'.join(map(str, layout.grid))})\n")
    body = "\n  ".join(lines)
    return (f"{grid}func.func @mlp({arguments}) -> ({types['y']} "
            f'{{tg.name = "y"}}) {{\n  {body}\n'
            f"  return {result} : {types['y']}\n}}\n")


def inputs(sizes: tuple[int, int, int, int], dtype: str) -> bytes:
    m, k, n, p = sizes
    kind, name = DTYPES[dtype]
    generator = numpy.random.default_rng(sum(sizes))
    tensors = {}
    for tensor, shape in (("x", (m, k)), ("w1", (k, n)), ("w2", (n, p))):
        values = (generator.standard_normal(shape) if dtype == "f32"
                  else generator.integers(-9, 10, shape)).astype(kind)
        tensors[tensor] = RawTensor(name, shape, values.tobytes())
    return encode_safetensors(tensors)


def run_step(step: Path, arguments: Path, engine: str,
             *options: str) -> numpy.ndarray:
    results = step.with_suffix(".safetensors")
    ran = run_tool("regather", "run", step, f"--engine={engine}", *options,
                   "--inputs", arguments, "--outputs", results, "--quiet")
    assert ran.code == 0, ran.stderr
    return decode_safetensors(results.read_bytes())["y"].to_floats()


@pytest.mark.parametrize("dtype, sizes", [
    ("f32", (4, 4, 4, 4)), ("f32", (8, 12, 16, 20)), ("f32", (20, 4, 36, 8)),
    ("i32", (8, 12, 16, 20)), ("i64", (20, 4, 36, 8))], ids=str)
@pytest.mark.parametrize("name", LAYOUTS)
def test_equals_unpartitioned(name: str, dtype: str,
                              sizes: tuple[int, int, int, int],
                              tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    whole, annotated = tmp_path / "whole.mlir", tmp_path / "annotated.mlir"
    whole.write_text(module(None, sizes, dtype))
    annotated.write_text(module(layout, sizes, dtype))
    arguments = tmp_path / "arguments.safetensors"
    arguments.write_bytes(inputs(sizes, dtype))

    step = tmp_path / "step.mlir"
    converted = run_tool("regather-opt", annotated, PIPELINE, "-o", step)
    assert converted.code == 0, converted.stderr
    found = set(re.findall(r"tg\.(\w+) .* phase ", step.read_text()))
    assert found == layout.collectives

    for engine in ENGINES:
        want = run_step(whole, arguments, engine)
        got = run_step(step, arguments, engine, "--ranks=4")
        if dtype == "f32":
            error = numpy.linalg.norm(got - want)
            assert error <= FLOAT_TOLERANCE * numpy.linalg.norm(want)
        else:
            assert (got == want).all()
