"""From a PyTorch model to numbers: capture, import, lower, run on both engines.

Loss, every gradient and every new value of a buffer are compared with eager
PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="most models are from there")

import captured_models  # noqa: E402
from captured_models import (RUNS, execute, find_errors, lower,  # noqa: E402
                             make_step)
from model_cases import MODELS, REPRESENTATIVE  # noqa: E402

TOLERANCE = 1e-5
# As a user runs it: parameters over two ranks, half of the batch on each.
SHARDED = ("cpu", "step.fx.json", "--mesh=dp:2")


@pytest.mark.parametrize("name", MODELS)
def test_equals_eager(name: str, tmp_path: Path) -> None:
    step = make_step(name)
    lower(name, step, tmp_path)
    expected = step.weights() | step.run()
    runs = [*RUNS, SHARDED] if name in REPRESENTATIVE else RUNS
    for run in runs:
        results = execute(tmp_path, *run)
        assert not find_errors(results, expected, TOLERANCE), run


def test_damaged_captures_are_made_again(tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch
                                         ) -> None:
    monkeypatch.setattr(captured_models, "CAPTURES", tmp_path / "captures")
    lower("perceptron", make_step("perceptron"), tmp_path)
    kept, = (tmp_path / "captures").glob("*/perceptron")
    whole = (kept / "step.fx.json").read_bytes()
    (kept / "step.fx.json").write_bytes(whole[:-9])
    lower("perceptron", make_step("perceptron"), tmp_path)
    assert (kept / "step.fx.json").read_bytes() == whole
    assert (tmp_path / "step.fx.json").read_bytes() == whole
