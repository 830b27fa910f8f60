"""Steps of Regather against the same training by PyTorch, on four processes:
equal data and weights, losses and final parameters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather_tools  # noqa: E402, F401  # kernels of tests have a folder

SHORT = [("tiny llama", case) for case in (
    "FSDP2 always", "FSDP2 int", "DDP", "HSDP", "SimpleFSDP",
    "FSDP2 bf16", "FSDP2 accumulate", "HSDP accumulate")]
LONG = [(model, case) for model in ("llama", "gpt2", "vit")
        for case in [*(case for _, case in SHORT), "FSDP2 never"]]
IS_SLOW = os.environ.get("REGATHER_SLOW_TESTS") == "1"
CASES, STEPS = (LONG, 50) if IS_SLOW else (SHORT, 10)
# As many as are launched, which are alike.
RANKS = 4


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict]]:
    """What each rank found. One job for all cases, because it costs seconds
    to begin."""
    folder = tmp_path_factory.mktemp("parity")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone",
               f"--nproc-per-node={RANKS}",
               str(Path(__file__).with_name("parity_ranks.py")), str(folder),
               str(STEPS), *(", ".join(case) for case in CASES)]
    done = subprocess.run(
        command, capture_output=True, text=True,
        timeout=3600 if IS_SLOW else 400,
        env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"parity-{rank}.json").read_text())
            for rank in range(RANKS)]


@pytest.mark.parametrize("number", range(len(CASES)),
                         ids=[", ".join(case) for case in CASES])
def test_losses_and_parameters(found: list[list[dict]], number: int) -> None:
    for rank in found:
        result = rank[number]
        assert result["case"] == ", ".join(CASES[number])
        assert result["losses"] <= result["tolerance"], result
        assert result["distance"] <= result["tolerance"], result
        # In bf16, Adam makes much of gradients that are small in all places.
        if "bf16" not in result["case"]:
            assert result["weights"] <= result["tolerance"], result
        # It trains, so that there is something to compare.
        assert result["moved"] > 1e-2, result
