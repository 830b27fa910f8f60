"""Rows that are sent to the ranks of their experts, against one device.

With --expert-capacity ranks have room for so many rows. Whether that is enough
or the step is run again, loss, gradients and parameters are those of one
device.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from test_expert_gradients import RUNS, Case, case  # noqa: E402, F401
from test_expert_parallel import MESHES, NAMES, captured  # noqa: E402, F401
from test_shard_parameters import Captured, assert_close  # noqa: E402


def run(captured: Captured, *options: str, inputs: Path | None = None,
        code: int = 0) -> tuple[dict, dict[str, torch.Tensor]]:
    outputs = captured.directory / "sent.safetensors"
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      *options, "--json", "--quiet", "--outputs", outputs,
                      "--inputs",
                      inputs or captured.directory / "arguments.safetensors",
                      timeout=300)
    assert result.code == code, result.stderr
    return json.loads(result.stdout), load_file(outputs)


# All of a rank's rows are two, or four, times as many as if experts got
# equally many.
@pytest.mark.parametrize(("capacity", "repeated"), [("4", 0), ("0.1", 1)])
@pytest.mark.parametrize("mesh", list(MESHES))
@pytest.mark.parametrize("name", NAMES)
def test_equals_one_device(captured: Captured, name: str,  # noqa: F811
                           mesh: str, capacity: str, repeated: int) -> None:
    report, results = run(captured, f"--mesh={mesh}", *MESHES[mesh],
                          f"--expert-capacity={capacity}")
    assert report["repeated_steps"] == repeated
    assert_close(results, captured.whole)


@pytest.mark.parametrize(("make", "mesh"),
                         [one for one in RUNS if "ep" in one[1]])
def test_gradients_equal_eager(case: Case, mesh: str) -> None:  # noqa: F811
    report, results = run(case.captured, f"--mesh={mesh}",
                          "--expert-capacity=4")
    assert report["repeated_steps"] == 0
    assert_close(results, case.eager)
