"""Every node of the cases, compiled for GPUs and run on the stand-in libraries:
the PTX of its kernels computes what numpy does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tools import compile_bundle, run_bundle
from node_cases import Case
from test_node_semantics import BATCHES, evaluate, write_module


@pytest.mark.parametrize("cases", BATCHES, ids=lambda cases: cases[0].target)
def test_against_numpy(cases: list[Case], tmp_path: Path) -> None:
    module = write_module(cases, tmp_path, evaluate)
    bundle = compile_bundle(module.path, tmp_path / "nodes.rgb")
    outputs = tmp_path / "outputs.safetensors"
    run_bundle(bundle, f"--inputs={module.inputs}", f"--outputs={outputs}",
               record=tmp_path / "calls.jsonl")
    wrong = module.find_differences(outputs)
    assert not wrong, "\n".join(wrong)
