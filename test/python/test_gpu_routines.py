"""Products of matrices and attention of a bundle for GPUs compute what the
routines for CPUs compute, on the libraries that stand in for CUDA."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from test_gpu_bundle import calls_of, compile_bundle, run, tensors_of

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
@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-5), ("bf16", 2e-2)])
def test_compute_what_the_cpu_computes(tmp_path: Path, dtype: str, tolerance: float) -> None:
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
