"""Kernels of captured steps for GPUs: each lowers, and ptxas assembles all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="its models are captured here")

from regather_tools import run_tool  # noqa: E402
from test_capture_models import gpt2, llama, mixtral, vit  # noqa: E402

import regather  # noqa: E402

MODELS = [gpt2, llama, mixtral, vit]
ARCHITECTURES = ["sm_80", "sm_90a", "sm_100a"]
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def compile_step(step: Path, architecture: str, output: Path,
                 cache: Path) -> dict[str, Any]:
    """How the kernels of a step are launched; their PTX is in `output`."""
    result = run_tool("regather", "compile", step, "--mesh=dp:2",
                      "--optimizer=adamw", f"--target=nvptx:{architecture}",
                      "--emit=ptx", "--quiet", f"--cache-dir={cache}",
                      "-o", output, timeout=600)
    assert result.code == 0, result.last_words
    return json.loads(Path(f"{output}.json").read_text())


def assemble(ptx: Path, architecture: str) -> str:
    """What ptxas reports."""
    result = subprocess.run(
        ["ptxas", "-v", f"--gpu-name={architecture}", str(ptx), "-o",
         str(ptx.with_suffix(".cubin"))],
        capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stderr


@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
def test_all_kernels_assemble(make: Any, tmp_path: Path, cache: Path) -> None:
    torch.manual_seed(0)
    model, batch = make()
    model.train()
    step = tmp_path / "step.fx.json"
    regather.capture(model, batch).save(step)
    for architecture in ARCHITECTURES:
        output = tmp_path / f"{architecture}.ptx"
        table = compile_step(step, architecture, output, cache)
        assert table["kernels"]
        entries = output.read_text().count(".visible .entry ")
        assert entries == len({launch["symbol"] for kernel in table["kernels"]
                               for launch in kernel["launches"]})
        if shutil.which("ptxas") is None:
            continue
        spills = SPILLS.findall(assemble(output, architecture))
        assert len(spills) >= entries
        assert all(found == ("0", "0") for found in spills)
