"""Models of the matrix, their steps compiled for GPUs as one CUDA graph and run
on the stand-in libraries, against the engine for CPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="most models are from there")
safetensors = pytest.importorskip("safetensors.torch",
                                  reason="arguments are passed in files")

from captured_models import (execute, find_errors, lower,  # noqa: E402
                             make_step)
from gpu_tools import compile_bundle, run_bundle  # noqa: E402
from model_cases import REPRESENTATIVE  # noqa: E402

# Kernels and products add in other orders than those for CPUs.
TOLERANCE = 1e-5


@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_equals_the_cpu(name: str, tmp_path: Path) -> None:
    lower(name, make_step(name), tmp_path)
    expected = execute(tmp_path, "cpu", "step.fx.json")
    bundle = compile_bundle(tmp_path / "step.fx.json", tmp_path / "step.rgb",
                            "--cuda-graph=full")
    outputs = tmp_path / "outputs.safetensors"
    run_bundle(bundle, "--inputs", tmp_path / "arguments.safetensors",
               "--outputs", outputs, record=tmp_path / "calls.jsonl")
    results = safetensors.load_file(outputs)
    assert results.keys() == expected.keys()
    assert not find_errors(results, expected, TOLERANCE)
