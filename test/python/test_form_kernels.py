"""Captured steps with and without kernels: the same bits on both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import example  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from test_shard_parameters import Captured, llama, normalized  # noqa: E402

import regather  # noqa: E402

MODELS = [llama, normalized]
SHARDINGS = [None, "mesh=dp:4"]
CAPTURED: dict[Any, Captured] = {}


@pytest.fixture
def step(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a captured step and its arguments."""
    if make not in CAPTURED:
        CAPTURED[make] = Captured(make, tmp_path_factory.mktemp("step"))
    return CAPTURED[make].directory


def lower(step: Path, sharding: str | None, *passes: str) -> bytes:
    first = [] if sharding is None else [f"--tg-shard-parameters={sharding}"]
    result = run_tool("regather-opt", step / "step.mlir", *first, *passes,
                      "--tg-verify-step", "--convert-tg-nodes-to-linalg",
                      timeout=100)
    assert result.code == 0, result.stderr
    return result.stdout


def run(step: Path, module: bytes, engine: str) -> dict[str, torch.Tensor]:
    result = run_tool("regather", "run", "-", f"--engine={engine}", "--quiet",
                      "--inputs", step / "arguments.safetensors",
                      "--outputs", step / "results.safetensors",
                      stdin=module, timeout=300)
    assert result.code == 0, result.stderr
    return load_file(step / "results.safetensors")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sharding", SHARDINGS)
@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
def test_kernels_change_no_bit(step: Path, sharding: str | None,
                               engine: str) -> None:
    plain = lower(step, sharding)
    formed = lower(step, sharding, "--tg-form-kernels")
    assert b"tg.launch" not in plain
    assert formed.count(b"tg.launch") >= formed.count(b"tg.kernel") > 0
    expected = run(step, plain, engine)
    results = run(step, formed, engine)
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(results[name], value), name


SUMS = """
func.func @sums(%x: tensor<2x130x517xf32>, %y: tensor<128x700xbf16>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = tg.node "aten.exp.default"(%x) : (tensor<2x130x517xf32>) -> tensor<2x130x517xf32>
  %1 = tg.node "aten.mean.default"(%0) : (tensor<2x130x517xf32>) -> tensor<f32>
  %2 = tg.node "aten.sum.default"(%y) : (tensor<128x700xbf16>) -> tensor<f32>
  %3 = tg.node "aten.linalg_vector_norm.default"(%x) : (tensor<2x130x517xf32>) -> tensor<f32>
  %4 = tg.node "aten.sum.dim_IntList"(%0) args [#tg.operand<0>, [0, 1, 2], false]
      : (tensor<2x130x517xf32>) -> tensor<f32>
  %5 = tg.node "aten.sum.default"(%0) : (tensor<2x130x517xf32>) -> tensor<f32>
  return %1, %2, %3, %4, %5
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
"""


def test_sums_of_rows_change_no_bit(tmp_path: Path) -> None:
    """As nodes, as kernels and as loops, on any number of threads."""
    (tmp_path / "sums.mlir").write_text(SUMS)
    lowered = run_tool("regather-opt", tmp_path / "sums.mlir",
                       "--convert-tg-nodes-to-linalg")
    assert lowered.code == 0, lowered.stderr
    (tmp_path / "lowered.mlir").write_bytes(lowered.stdout)
    results = set()
    for file in ("sums.mlir", "lowered.mlir"):
        for flags in (["--threads=1"], ["--threads=2"], ["--engine=interpreter"]):
            ran = run_tool("regather", "run", tmp_path / file, *flags, "--quiet",
                           "--random-inputs=3", "--outputs",
                           tmp_path / "results.safetensors")
            assert ran.code == 0, ran.stderr
            values = load_file(tmp_path / "results.safetensors")
            results.add(tuple(value.item() for value in values.values()))
    assert len(results) == 1, results


@pytest.mark.parametrize("make", [llama], ids=lambda f: f.__name__)
def test_launches_cost_what_their_kernels_do(step: Path) -> None:
    def flops(*passes: str) -> float:
        result = run_tool("regather", "stats", "--json", "-",
                          stdin=lower(step, None, *passes))
        assert result.code == 0, result.stderr
        return sum(json.loads(result.stdout)["flops_by_phase"].values())

    assert flops("--tg-form-kernels") == pytest.approx(flops(), rel=0.01)


def count_kernels(layers: int, directory: Path) -> tuple[int, int]:
    """Distinct kernels and launches of a model with so many layers."""
    model, inputs, loss, targets = example("llama3").step("tiny", layers=layers)
    graph = regather.capture(model, inputs, loss=loss, targets=targets)
    graph.save(directory / "step.fx.json")
    imported = run_tool("regather-translate", "--import-fx",
                        directory / "step.fx.json",
                        "-o", directory / "step.mlir")
    assert imported.code == 0, imported.stderr
    formed = run_tool("regather-opt", directory / "step.mlir",
                      "--tg-form-kernels")
    assert formed.code == 0, formed.stderr
    return (formed.stdout.count(b"tg.kernel @"),
            formed.stdout.count(b"tg.launch @"))


def test_equal_layers_share_kernels(tmp_path: Path) -> None:
    (kernels, short), (same, long) = (count_kernels(layers, tmp_path)
                                      for layers in (2, 4))
    assert kernels == same < short < long
