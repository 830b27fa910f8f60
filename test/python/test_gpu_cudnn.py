"""Attention of a bundle for GPUs is computed by cuDNN where it can be, and by
generated kernels elsewhere, on the libraries that stand in for CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from test_gpu_bundle import (STAND_IN, calls_of, compile_bundle, expect_error,
                             run, tensors_of)
from regather_tools import run_tool

HEADS = "tensor<1x2x40x32xbf16>"
LOGS = "tensor<1x2x40xf32>"
OPERANDS = ", ".join(f"#tg.operand<{i}>" for i in range(6))
INPUTS = "--random-inputs=1"
CUDNN = {"REGATHER_CUDNN_LIBRARY": STAND_IN}
MISSING = {"REGATHER_CUDNN_LIBRARY": "/nowhere/libcudnn.so"}

STEP = f"""
func.func @step(%q: {HEADS}, %k: {HEADS}, %v: {HEADS}, %g: {HEADS})
    -> ({HEADS}, {HEADS}, {HEADS}, {HEADS}) {{
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : ({HEADS}, {HEADS}, {HEADS}) -> ({HEADS}, {LOGS})
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %v, %o#0, %o#1)
      args [{OPERANDS}, 0.0, true]
      : ({HEADS}, {HEADS}, {HEADS}, {HEADS}, {HEADS}, {LOGS}) -> ({HEADS}, {HEADS}, {HEADS})
  return %o#0, %d#0, %d#1, %d#2 : {HEADS}, {HEADS}, {HEADS}, {HEADS}
}}
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cudnn") / "step.mlir"
    path.write_text(STEP)
    return path


@pytest.fixture(scope="module")
def bundle(step: Path) -> Path:
    return compile_bundle(step, step.with_suffix(".rgb"))


def routines_of(bundle: Path, **env: str) -> list[str]:
    result = run(bundle, INPUTS, "--json", **env)
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)["routines"]


def count_calls(record: Path, name: str) -> int:
    return sum(call["call"] == name for call in calls_of(record))


def expect_close(actual: Path, expected: Path) -> None:
    gpu, cpu = map(tensors_of, (actual, expected))
    assert gpu.keys() == cpu.keys() and len(gpu) == 4
    for name, tensor in gpu.items():
        # Probabilities and their gradients are rounded to bf16.
        numpy.testing.assert_allclose(tensor.to_floats(), cpu[name].to_floats(),
                                      rtol=0.02, atol=0.02, err_msg=name)


def test_computes_what_the_cpu_computes(step: Path, bundle: Path,
                                        tmp_path: Path) -> None:
    record = tmp_path / "calls"
    outputs = tmp_path / "gpu", tmp_path / "cpu"
    result = run(bundle, INPUTS, "--outputs", outputs[0],
                 REGATHER_RECORD=str(record), **CUDNN)
    assert result.code == 0, result.stderr
    assert b"cuDNN 9.28.0, engine 1" in result.stdout
    assert run(step, INPUTS, "--outputs", outputs[1]).code == 0
    expect_close(*outputs)
    assert count_calls(record, "cudnnBackendExecute") == 2
    assert count_calls(record, "cuLaunchKernel") == 0
    # What it reads and writes is ordered, or nobody else touches it.
    checked = run_tool("regather", "check-calls", record)
    assert checked.code == 0, checked.stdout + checked.stderr.encode()


def test_is_captured_into_graphs(step: Path, bundle: Path,
                                 tmp_path: Path) -> None:
    captured = compile_bundle(step, tmp_path / "captured.rgb",
                              "--cuda-graph=full")
    record = tmp_path / "calls"
    outputs = tmp_path / "graph", tmp_path / "eager"
    result = run(captured, INPUTS, "--steps=4", "--outputs", outputs[0],
                 REGATHER_RECORD=str(record), **CUDNN)
    assert result.code == 0, result.stderr
    result = run(bundle, INPUTS, "--steps=4", "--outputs", outputs[1], **CUDNN)
    assert result.code == 0, result.stderr
    # Every bit.
    graph, eager = map(tensors_of, outputs)
    assert graph == eager
    executions = [call for call in calls_of(record)
                  if call["call"] == "cudnnBackendExecute"]
    assert sum("capture" in call for call in executions) == 2
    assert count_calls(record, "cuGraphLaunch") > 0


def test_says_what_computes_it(bundle: Path, tmp_path: Path) -> None:
    for line in routines_of(bundle, **CUDNN):
        assert ": cuDNN 9.28.0, engine 1, knobs 24=1, " in line
    for line in routines_of(bundle, **MISSING):
        assert "generated kernels: cannot open cuDNN: /nowhere" in line
    for line in routines_of(bundle, **CUDNN, REGATHER_STAND_IN_CUDNN="91000"):
        assert "9.10.0, but 9.10.2 or newer is needed" in line
    for line in routines_of(bundle, **CUDNN, REGATHER_ATTENTION="generated"):
        assert line.endswith("generated kernels: they are asked for")


def test_generated_kernels_compute_the_same(bundle: Path,
                                            tmp_path: Path) -> None:
    outputs = tmp_path / "cudnn", tmp_path / "generated"
    record = tmp_path / "calls"
    assert run(bundle, INPUTS, "--outputs", outputs[0], **CUDNN).code == 0
    result = run(bundle, INPUTS, "--outputs", outputs[1], **CUDNN,
                 REGATHER_ATTENTION="generated", REGATHER_RECORD=str(record))
    assert result.code == 0, result.stderr
    expect_close(*outputs)
    # One launch forward, two backward.
    assert count_calls(record, "cuLaunchKernel") == 3


def test_keeps_the_engine(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "algorithms.json"
    env = {**CUDNN, "REGATHER_ALGORITHM_FILE": str(file)}
    routines_of(bundle, **env)
    kept = json.loads(file.read_text())["attention"]
    assert kept["library"] == "cuDNN 9.28.0"
    assert len(kept["engines"]) == 2
    file.write_text(file.read_text().replace("engine 1, knobs 24=1",
                                             "engine 2, knobs 24=5"))
    for line in routines_of(bundle, **env):
        assert "engine 2, knobs 24=5" in line


def test_required_but_missing(bundle: Path) -> None:
    required = {"REGATHER_ATTENTION": "cudnn"}
    result = run(bundle, INPUTS, **MISSING, **required)
    expect_error(result, "cuDNN has to compute attention, but it does not "
                 "compute", "attention 0", "attention 1",
                 "cannot open cuDNN: /nowhere/libcudnn.so")
    expect_error(run(bundle, INPUTS, **CUDNN, **required,
                     REGATHER_STAND_IN_CUDNN="91000"),
                 "is version 9.10.0, but 9.10.2 or newer is needed")
    assert run(bundle, INPUTS, **CUDNN, **required).code == 0
    expect_error(run(bundle, INPUTS, **CUDNN, REGATHER_ATTENTION="flash"),
                 "not by 'flash'")


def test_required_but_it_does_not_fit(tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(STEP.replace("bf16", "f32"))
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    for line in routines_of(bundle, **CUDNN):
        assert line.endswith("generated kernels: Q is neither bf16 nor f16")
    expect_error(run(bundle, INPUTS, **CUDNN, REGATHER_ATTENTION="cudnn"),
                 "attention 0", "attention 1", "Q is neither bf16 nor f16")
