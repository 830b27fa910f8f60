"""Products of matrices and attention of a bundle for GPUs compute what the
routines for CPUs compute, on the libraries that stand in for CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from regather_tools import run_tool
from test_gpu_bundle import (LIBRARIES, calls_of, compile_bundle, expect_error,
                             run, tensors_of)

HEADS = "tensor<1x2x40x32xTYPE>"
LOGS = "tensor<1x2x40xf32>"
MATRIX = "tensor<64x64xf32>"
OPERANDS = ", ".join(f"#tg.operand<{i}>" for i in range(6))

STEP = f"""
func.func @step(%q: {HEADS}, %k: {HEADS}, %v: {HEADS}, %g: {HEADS}, %a: {MATRIX}, %b: {MATRIX})
    -> ({HEADS}, {HEADS}, {HEADS}, {HEADS}, {MATRIX}) {{
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : ({HEADS}, {HEADS}, {HEADS}) -> ({HEADS}, {LOGS})
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %v, %o#0, %o#1)
      args [{OPERANDS}, 0.0, true]
      : ({HEADS}, {HEADS}, {HEADS}, {HEADS}, {HEADS}, {LOGS}) -> ({HEADS}, {HEADS}, {HEADS})
  %c = tg.node "aten.mm.default"(%a, %b) : ({MATRIX}, {MATRIX}) -> {MATRIX}
  return %o#0, %d#0, %d#1, %d#2, %c : {HEADS}, {HEADS}, {HEADS}, {HEADS}, {MATRIX}
}}
"""


# Tensor cores compute attention of bf16: weights are rounded to it.
@pytest.mark.parametrize(("dtype", "tolerance"),
                         [("f32", 1e-5), ("f16", 2e-3), ("bf16", 2e-2)])
def test_compute_what_the_cpu_computes(tmp_path: Path, dtype: str,
                                       tolerance: float) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(STEP.replace("TYPE", dtype))
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    record, algorithms = tmp_path / "calls", tmp_path / "algorithms.json"
    outputs = tmp_path / "gpu", tmp_path / "cpu"
    result = run(bundle, "--random-inputs=1", "--outputs", outputs[0],
                 REGATHER_RECORD=str(record),
                 REGATHER_ALGORITHM_FILE=str(algorithms))
    assert result.code == 0, result.stderr
    assert run(step, "--random-inputs=1", "--outputs", outputs[1]).code == 0
    gpu, cpu = map(tensors_of, outputs)
    assert gpu.keys() == cpu.keys() and len(gpu) == 5
    for name, tensor in gpu.items():
        numpy.testing.assert_allclose(tensor.to_floats(), cpu[name].to_floats(),
                                      rtol=tolerance, atol=tolerance, err_msg=name)
    calls = [call["call"] for call in calls_of(record)]
    assert calls.count("cublasLtMatmul") == 1
    # One launch forward, two backward.
    assert calls.count("cuLaunchKernel") == 3
    assert '"library": "cuBLASLt ' in algorithms.read_text()


MASK = "tensor<1x2x16x16xf32>"
SMALL, SMALL_LOGS = "tensor<2x2x16x8xf32>", "tensor<2x2x16xf32>"
BIASED = f"""
func.func @step(%q: {SMALL}, %k: {SMALL}, %v: {SMALL}, %g: {SMALL}, %m: {MASK})
    -> ({SMALL}, {SMALL}, {SMALL}, {SMALL}, {MASK}) {{
  %o:2 = tg.node "regather.attention.default"(%q, %k, %v, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      kwargs {{attn_mask = #tg.operand<3>, softcap = 0.5}}
      : ({SMALL}, {SMALL}, {SMALL}, {MASK}) -> ({SMALL}, {SMALL_LOGS})
  %d:4 = tg.node "regather.biased_attention_backward.default"(%g, %q, %k, %v, %o#0, %o#1, %m)
      args [{OPERANDS}, 0.0, true]
      kwargs {{attn_mask = #tg.operand<6>, softcap = 0.5}}
      : ({SMALL}, {SMALL}, {SMALL}, {SMALL}, {SMALL}, {SMALL_LOGS}, {MASK})
      -> ({SMALL}, {SMALL}, {SMALL}, {MASK})
  return %o#0, %d#0, %d#1, %d#2, %d#3 : {SMALL}, {SMALL}, {SMALL}, {SMALL}, {MASK}
}}
"""


def test_bounds_and_gradients_of_masks_are_products(tmp_path: Path) -> None:
    """There are routines for hosts alone."""
    step = tmp_path / "step.mlir"
    step.write_text(BIASED)
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    outputs = tmp_path / "gpu", tmp_path / "cpu"
    record = tmp_path / "calls"
    for program, output in zip((bundle, step), outputs):
        result = run(program, "--random-inputs=1", "--outputs", output,
                     REGATHER_RECORD=str(record))
        assert result.code == 0, result.stderr
    calls = [call["call"] for call in calls_of(record)]
    # Products of their own, two forward and five backward.
    assert calls.count("cuLaunchKernel") + calls.count("cublasLtMatmul") > 7
    gpu, cpu = map(tensors_of, outputs)
    assert gpu.keys() == cpu.keys() and len(gpu) == 5
    for name, tensor in gpu.items():
        numpy.testing.assert_allclose(tensor.to_floats(), cpu[name].to_floats(),
                                      rtol=1e-5, atol=1e-6, err_msg=name)


def test_algorithms_are_kept_next_to_the_bundle(tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(STEP.replace("TYPE", "f32"))
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    file = tmp_path / "step.algorithms.json"
    record = tmp_path / "calls"

    def algorithms_of(seconds: str, *options: str, **env: str) -> list[int]:
        """Of all products: those that are timed, and then that of the step."""
        record.unlink(missing_ok=True)
        result = run(bundle, "--random-inputs=1", *options,
                     REGATHER_RECORD=str(record),
                     REGATHER_STAND_IN_GEMM_SECONDS=seconds, **env)
        assert result.code == 0, result.stderr
        return [call["algorithm"] for call in calls_of(record)
                if call["call"] == "cublasLtMatmul"]

    def entry() -> dict:
        (entry,) = json.loads(file.read_text())["algorithms"].values()
        return entry

    assert algorithms_of("3,1,2") == [0]
    assert entry()["proposal"] == 0 and "microseconds" not in entry()
    # A run that does not count, and five that do.
    assert algorithms_of("3,1,2", "--algorithms=timed") == [
        *6 * [0], *6 * [1], *6 * [2], 1]
    assert entry()["proposal"] == 1
    assert entry()["microseconds"] == pytest.approx([3e6, 1e6, 2e6], rel=1e-2)
    # The file pins it, whatever would be measured now.
    assert algorithms_of("1,2,3") == [1]
    assert algorithms_of("1,2,3", "--algorithms=timed") == [1]
    file.unlink()
    timed = algorithms_of("3,2,1", REGATHER_ALGORITHMS="timed")
    assert len(timed) == 19 and timed[-1] == 2
    file.unlink()
    # The flag goes before the environment.
    assert algorithms_of("3,2,1", "--algorithms=first",
                         REGATHER_ALGORITHMS="timed") == [0]


def test_algorithms_that_cannot_be_kept(tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(STEP.replace("TYPE", "f32"))
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    # Nothing can be renamed to the name of a folder.
    folder = tmp_path / "step.algorithms.json"
    folder.mkdir()
    options = (bundle, "--random-inputs=1")
    result = run_tool("regather-run", *options, env=LIBRARIES)
    assert result.code == 0, result.stderr
    assert f"note: cannot write '{folder}': " in result.stderr
    assert run(*options).stderr == ""
    assert sorted(tmp_path.iterdir()) == [folder, step, bundle]
    # A file that was asked for has to be written.
    expect_error(run(*options, REGATHER_ALGORITHM_FILE=str(folder)),
                 f"cannot write '{folder}': ")


@pytest.mark.parametrize("tool", ["regather", "regather-run"])
def test_choices_of_algorithms_that_there_are_not(tool: str,
                                                  tmp_path: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(STEP.replace("TYPE", "f32"))
    bundle = compile_bundle(step, tmp_path / "step.rgb")
    command = ("run", bundle) if tool == "regather" else (bundle,)
    result = run_tool(tool, *command, "--random-inputs=1",
                      "--algorithms=slowest", env=LIBRARIES)
    expect_error(result, "--algorithms", "slowest")
    expect_error(run(bundle, "--random-inputs=1", REGATHER_ALGORITHMS="all"),
                 "REGATHER_ALGORITHMS is 'all', expected first or timed")
