"""Compiling for GPUs, and running on the libraries that stand in for them."""

from __future__ import annotations

import json
from pathlib import Path

from regather_tools import BUILD, Result, run_tool

STAND_IN = BUILD / "lib" / "libregather_recording.so"
LIBRARIES = {f"REGATHER_{name}_LIBRARY": str(STAND_IN)
             for name in ("CUDA", "CUBLASLT", "CUDNN", "NCCL")}
LIBRARIES["NVTX_INJECTION64_PATH"] = str(STAND_IN)


def compile_bundle(step: Path, output: Path, *options: str) -> Path:
    result = run_tool("regather", "compile", step, "--target=nvptx:sm_90a",
                      "--emit=bundle", "--quiet", "-o", output, *options,
                      timeout=600)
    assert result.code == 0, result.last_words
    return output


def run_bundle(bundle: Path, *options: str | Path, record: Path) -> Result:
    """Runs a bundle on the stand-ins, which write all calls to `record`; all of
    its kernels were run, and its calls are in order."""
    result = run_tool("regather", "run", bundle, "--quiet", *options,
                      timeout=600,
                      env={**LIBRARIES, "REGATHER_RECORD": str(record)})
    assert result.code == 0, result.last_words
    calls = [json.loads(line) for line in record.read_text().splitlines()]
    skipped = {call["skipped"] for call in calls if "skipped" in call}
    assert not skipped, f"these instructions were not run: {skipped}"
    checked = run_tool("regather", "check-calls", record, timeout=600)
    assert checked.code == 0, checked.last_words
    return result
