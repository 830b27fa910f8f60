"""Steps of a model under FSDP and tensor parallelism, whole and split into forward
and backward by `tg-partition`, as bundles for GPUs: on the libraries that stand in
for CUDA, all ranks reach what the engine for CPUs computes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import (BUILD, decode_safetensors, run_tool)  # noqa: E402
from test_captured_sharded_steps import no_group, run_capture  # noqa: E402, F401

STAND_IN = str(BUILD / "lib" / "libregather_recording.so")
LIBRARIES = {"REGATHER_CUDA_LIBRARY": STAND_IN,
             "REGATHER_CUBLASLT_LIBRARY": STAND_IN,
             "NVTX_INJECTION64_PATH": STAND_IN}
RUN = ("--random-inputs=1", "--steps=2", "--learning-rate=0.01", "--json",
       "--quiet")


def run(*arguments: str | Path) -> bytes:
    result = run_tool(*map(str, arguments), timeout=300, env=LIBRARIES)
    assert result.code == 0, result.last_words
    return result.stdout


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A captured step, whose collectives are those of PyTorch, with AdamW."""
    graph = tmp_path / "step.fx.json"
    assert run_capture("sharded_step", {"dp": 2, "tp": 2, "batch": 4}, "-o",
                       graph) == 0
    path = tmp_path / "imported.mlir"
    run("regather-translate", "--import-fx", graph, "-o", path)
    return path


@pytest.mark.parametrize("passes", [
    (), ("--tg-partition=mode=default",), ("--tg-partition=mode=min-cut",)])
def test_equals_the_cpu(imported: Path, tmp_path: Path,
                        passes: tuple[str, ...]) -> None:
    step, bundle = tmp_path / "step.mlir", tmp_path / "step.rgb"
    run("regather-opt", imported, "--tg-append-optimizer=optimizer=adamw",
        *passes, "--tg-verify-step", "-o", step)
    assert step.read_text().count("func.func @") == (2 if passes else 1)
    run("regather", "compile", step, "--target=nvptx:sm_90a", "--quiet", "-o",
        bundle)
    losses, tensors = [], []
    for what in (bundle, step):
        outputs = what.with_suffix(what.suffix + ".safetensors")
        report = run("regather", "run", what, *RUN, "--outputs", outputs)
        losses.append(json.loads(report)["losses"])
        tensors.append(decode_safetensors(outputs.read_bytes()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert tensors[0].keys() == tensors[1].keys() and tensors[0]
    for name, tensor in tensors[0].items():
        numpy.testing.assert_allclose(
            tensor.to_floats(), tensors[1][name].to_floats(), rtol=1e-3,
            atol=1e-4, err_msg=name)


def test_kernels_of_both_parts(imported: Path, tmp_path: Path) -> None:
    """In one file, for which the parts become one step."""
    parts, ptx = tmp_path / "parts.mlir", tmp_path / "step.ptx"
    run("regather-opt", imported, "--tg-partition", "-o", parts)
    run("regather", "compile", parts, "--target=nvptx:sm_90a", "--emit=ptx",
        "--quiet", "-o", ptx)
    launched = {launch["symbol"]
                for kernel in json.loads((tmp_path / "step.ptx.json")
                                         .read_text())["kernels"]
                for launch in kernel["launches"]}
    text = ptx.read_text()
    assert launched and all(f".entry {name}(" in text for name in launched)
