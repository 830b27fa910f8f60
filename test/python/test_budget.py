"""Budgets against the optimum, which an integer programme finds.

Random graphs and blocks of captured models; what a block's operations cost and
which values it has comes from the tools, what is the best choice does not.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
optimize = pytest.importorskip("scipy.optimize", reason="solves programmes")

import numpy as np  # noqa: E402
from capture_cases import ROOT  # noqa: E402
from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from scipy.sparse import coo_array  # noqa: E402

TOLERANCE = 0.02
PARTS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass
class Problem:
    """What a partition decides about."""

    ops: list[Any]
    values: list[Any]

    def solve(self, budget: int | None) -> tuple[float, int]:
        """The least seconds within `budget`, or else the fewest bytes; with
        the bytes."""
        rows: list[dict[int, float]] = []
        least: list[float] = []
        count = len(self.ops)
        for number, (op, _, _, needed) in enumerate(self.values):
            if needed:
                rows.append({op: 1, count + number: 1})
                least.append(1)
        for number, (_, _, inputs) in enumerate(self.ops):
            for value in inputs:
                rows.append({self.values[value][0]: 1, count + value: 1,
                             number: -1})
                least.append(0)
        sizes = np.array([float(value[1]) for value in self.values])
        most = [np.inf] * len(rows)
        rows.append({count + i: size for i, size in enumerate(sizes)})
        least.append(-np.inf)
        most.append(np.inf if budget is None else budget)
        entries = [(x, row, column) for row, line in enumerate(rows)
                   for column, x in line.items()]
        data, row, column = zip(*entries)
        shape = (len(rows), count + len(sizes))
        matrix = coo_array((data, (row, column)), shape=shape).tocsr()
        seconds = np.array([op[0] for op in self.ops] + [0.0] * len(sizes))
        bytes_ = np.concatenate([np.zeros(count), sizes])
        # Microseconds and megabytes are numbers of the size that solvers like.
        costs = bytes_ / 1e6 if budget is None else seconds * 1e6
        allowed = [op[1] for op in self.ops] + [v[2] for v in self.values]
        found = optimize.milp(
            costs, integrality=np.ones(len(costs)),
            bounds=optimize.Bounds(0, np.array(allowed, float)),
            constraints=optimize.LinearConstraint(matrix, least, most),
            options={"mip_rel_gap": 1e-6})
        assert found.x is not None, found.message
        chosen = found.x.round()
        return float(seconds @ chosen), int(bytes_ @ chosen)


def load(step: Path) -> Problem:
    result = run_tool("regather-test-opt", step, "-o", "/dev/null",
                      "--test-print-recomputation-problem")
    assert result.code == 0, result.stderr
    return Problem(**json.loads(result.stdout))


def partition(step: Path, budget: int) -> dict[str, float]:
    """What the remark about the budget says."""
    result = run_tool(
        "regather-opt", step, "-o", "/dev/null", "--remark-format=emitRemark",
        "--remarks-filter=tg-partition",
        f"--tg-partition=mode=budget budget={budget} split=false")
    assert result.code == 0, result.stderr
    found = re.search(r"budget \| Category:tg-partition \| (.*)", result.stderr)
    assert found, result.stderr
    return {name: float(value) for name, value
            in re.findall(r"(\w+)=([^,\s]+)", found[1])}


def check(step: Path) -> None:
    problem = load(step)
    _, smallest = problem.solve(None)
    largest = sum(size for _, size, _, needed in problem.values if needed)
    for part in PARTS:
        budget = smallest + int(part * (largest - smallest))
        best, _ = problem.solve(budget)
        ours = partition(step, budget)
        assert ours["saved_bytes"] <= budget
        assert ours["seconds"] <= best * (1 + TOLERANCE) + 1e-12
        assert ours["least_seconds"] <= best * (1 + 1e-5) + 1e-12
        assert ours["seconds"] >= best * (1 - 1e-5) - 1e-12
    if smallest:
        result = run_tool("regather-opt", step, "-o", "/dev/null",
                          "--tg-partition=mode=budget "
                          f"budget={smallest - 1}")
        assert f"minimum of {smallest} bytes" in result.stderr


def make_random(seed: int) -> str:
    """A forward of up to 150 operations, whose last values are returned."""
    chance = random.Random(seed)
    sizes = [256, 512, 1024]
    lines, values = [], [("%x", 1024, 1024, "bf16")]
    reach = chance.choice([3, 6, 150])

    def pick() -> tuple[str, int, int, str]:
        return values[-1 - chance.randrange(min(reach, len(values)))]

    def kind(value: tuple[str, int, int, str]) -> str:
        return f"tensor<{value[1]}x{value[2]}x{value[3]}>"

    for number in range(chance.randrange(20, 150)):
        first, name = pick(), f"%v{number}"
        others = [value for value in values[-reach:]
                  if kind(value) == kind(first)]
        second = chance.choice(others) if others else first
        made = (name, *first[1:])
        target, read = "add.Tensor", [first, second]
        match chance.randrange(8):
            case 0 | 1:
                target, read = "exp.default", [first]
            case 2:
                target, read = "_to_copy.default", [first]
                made = (name, *first[1:3], chance.choice(["f32", "bf16"]))
            case 3:
                target, read = "t.default", [first]
                made = (name, first[2], first[1], first[3])
            case 4:
                target, read = "sum.dim_IntList", [first]
                made = (name, first[1], 1, first[3])
            case 5 | 6:
                columns = chance.choice(sizes)
                weight = f"%w{number}"
                values.append((weight, first[2], columns, first[3]))
                lines.append(f"{weight} = tg.node \"aten.ones.default\"() : "
                             f"() -> {kind(values[-1])}")
                target, read = "mm.default", [first, values.pop()]
                made = (name, first[1], columns, first[3])
        mark = chance.choice([""] * 12 + ["must_save", "must_recompute"])
        policy = f", tg.policy = #tg.policy<{mark}>" if mark else ""
        lines.append(
            f'{name} = tg.node "aten.{target}"'
            f'({", ".join(value[0] for value in read)}) '
            f'{{tg.phase = #tg.phase<forward>{policy}}} : '
            f'({", ".join(map(kind, read))}) -> {kind(made)}')
        values.append(made)
    needed = [value for value in values[1:] if chance.random() < 0.4]
    results = values[-reach:]
    lines.append(f'%g = tg.node "aten.some"({", ".join(v[0] for v in needed)}) '
                 f'{{tg.phase = #tg.phase<backward>}} : '
                 f'({", ".join(map(kind, needed))}) -> tensor<f32>')
    types = [*map(kind, results), "tensor<f32>"]
    body = "\n  ".join(lines)
    return (f"func.func @step(%x: tensor<1024x1024xbf16>) -> "
            f"({', '.join(types)}) {{\n  {body}\n  return "
            f"{', '.join(value[0] for value in results)}, %g : "
            f"{', '.join(types)}\n}}\n")


@pytest.mark.parametrize("seed", range(12))
def test_random_blocks(seed: int, tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(make_random(seed))
    check(step)


@pytest.mark.parametrize("layers", [1, 2])
def test_llama_blocks(layers: int, tmp_path: Path) -> None:
    """Blocks of Llama 8B, at full size."""
    captured = capture_step(make_step(
        f"{ROOT / 'examples' / 'llama3.py'}:step",
        {"config": "8B", "layers": layers, "dtype": "bfloat16"}))
    captured.save(tmp_path / "step.fx.json")
    step = tmp_path / "step.mlir"
    result = run_tool("regather-translate", "--import-fx",
                      tmp_path / "step.fx.json", "-o", step)
    assert result.code == 0, result.stderr
    check(step)
