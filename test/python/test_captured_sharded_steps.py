"""A model under FSDP and tensor parallelism, from PyTorch to numbers.

Captured, imported, lowered and run on all ranks of both engines by the commands
that a user types. The loss and every gradient, as global tensors, are those of
the step that one device captured, on the same weights and tokens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from regather.cli import main  # noqa: E402

TOLERANCE = 1e-5
FACTORIES = ROOT / "examples" / "llama3.py"
BATCH, SEQUENCE, VOCABULARY = 4, 16, 64


@pytest.fixture(autouse=True)
def no_group() -> Iterator[None]:
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def run_capture(factory: str, config: dict, *options: str | Path) -> int:
    arguments = ["capture", "--model", f"{FACTORIES}:{factory}", "--config",
                 json.dumps({"config": "tiny", **config}), "--quiet", *options]
    # The command makes modules beside the factory importable.
    with mock.patch.object(sys, "path", sys.path[:]):
        return main([*map(str, arguments)])


def capture(directory: Path, name: str, factory: str, config: dict,
            *options: str | Path) -> Path:
    """Captures and lowers; returns the module that the engines run."""
    graph = directory / f"{name}.fx.json"
    assert run_capture(factory, config, "-o", graph, *options) == 0
    imported = directory / f"{name}.mlir"
    lowered = directory / f"{name}-lowered.mlir"
    for command in (
            ("regather-translate", "--import-fx", graph, "-o", imported),
            ("regather-opt", imported, "--tg-verify-step",
             "--convert-tg-nodes-to-linalg", "-o", lowered)):
        result = run_tool(*command)
        assert result.code == 0, result.stderr
    return lowered


def run_step(step: Path, arguments: Path, engine: str,
             *options: str) -> tuple[float, dict[str, torch.Tensor]]:
    """The loss that the command reports, and all results."""
    outputs = step.with_suffix(".safetensors")
    result = run_tool("regather", "run", step, f"--engine={engine}", *options,
                      "--inputs", arguments, "--outputs", outputs, "--json",
                      "--quiet", timeout=120)
    assert result.code == 0, result.stderr
    loss, = json.loads(result.stdout)["losses"]
    return loss, load_file(outputs)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable]:
    """Global weights and tokens, and the results of one device by engine."""
    directory = tmp_path_factory.mktemp("whole")
    weights = directory / "weights.safetensors"
    step = capture(directory, "whole", "step", {"batch": BATCH},
                   "--weights", weights)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, VOCABULARY, (BATCH, SEQUENCE),
                           generator=generator)
    arguments = directory / "arguments.safetensors"
    save_file(load_file(weights)
              | {"tokens": tokens, "labels": tokens.roll(-1, 1).contiguous()},
              arguments)
    results = {engine: run_step(step, arguments, engine) for engine in ENGINES}
    return arguments, results


@pytest.mark.parametrize("dp, tp, strided", [
    (2, 2, False), (4, 2, False), (2, 2, True), (4, 1, False)])
def test_equals_one_device(whole, dp: int, tp: int, strided: bool,
                           tmp_path: Path) -> None:
    arguments, expected = whole
    step = capture(tmp_path, "sharded", "sharded_step",
                   {"dp": dp, "tp": tp, "batch": BATCH, "strided": strided})
    for engine in ENGINES:
        want_loss, want = expected[engine]
        loss, got = run_step(step, arguments, engine, f"--ranks={dp * tp}")
        assert abs(loss - want_loss) <= TOLERANCE * abs(want_loss)
        assert got.keys() == want.keys()
        for name, value in want.items():
            error = (got[name] - value).norm()
            assert error <= TOLERANCE * value.norm(), (engine, name)


def test_strided_shards_are_cut_after_the_others(tmp_path: Path) -> None:
    """FSDP over tensor parallelism on one dimension: tp cuts first."""
    step = capture(tmp_path, "sharded", "sharded_step",
                   {"dp": 2, "tp": 2, "strided": True})
    assert "#tg.placement<@mesh [[tp, dp] = shard 0]>" in step.read_text()


@pytest.mark.parametrize("config, message", [
    ({"dp": 4, "batch": 6}, "a batch of 6 cannot be cut into 4 equal parts"),
    ({"tp": 4}, "2 key-value heads cannot be split over 4 ranks")])
def test_sizes_that_do_not_divide(config: dict, message: str, tmp_path: Path,
                                  capsys: pytest.CaptureFixture) -> None:
    assert run_capture("sharded_step", config, "-o",
                       tmp_path / "sharded.fx.json") == 1
    assert message in capsys.readouterr().err
