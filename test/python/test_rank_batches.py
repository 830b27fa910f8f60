"""A step that every rank carries out on a batch of its own (batch=per-rank).

It equals the step on one device where all ranks have the same data, and a step
that splits one batch (batch=global) where the loss is a plain mean.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from test_shard_parameters import (  # noqa: E402
    DDP,
    FSDP,
    HSDP,
    Captured,
    assert_close,
    dropped,
    llama,
    normalized,
    perceptron,
)

TOLERANCE = 1e-6
MESHES = ["mesh=dp:2", FSDP, DDP, HSDP, f"{FSDP} layout=per-parameter"]


def count_ranks(options: str) -> int:
    return 2 if options.startswith("mesh=dp:2") else 4


def get_rows(make: Any, count: int) -> Any:
    """The same model, on the first rows of its batch."""
    def make_rows() -> tuple[Any, ...]:
        model, inputs, loss, targets = make()
        return (model, tuple(value[:count].clone() for value in inputs), loss,
                tuple(value[:count].clone() for value in targets))
    return make_rows


CAPTURED: dict[Any, Captured] = {}


def capture(make: Any, rows: int | None, tmp_path_factory: Any) -> Captured:
    if (make, rows) not in CAPTURED:
        CAPTURED[make, rows] = Captured(
            make if rows is None else get_rows(make, rows),
            tmp_path_factory.mktemp("captured"))
    return CAPTURED[make, rows]


def repeat_inputs(captured: Captured, ranks: int, path: Path) -> Path:
    """The batch of the captured step, for every rank."""
    arguments = load_file(captured.directory / "arguments.safetensors")
    for entry in captured.inputs:
        value = arguments[entry["name"]]
        arguments[entry["name"]] = torch.cat([value] * ranks)
    save_file(arguments, path)
    return path


@pytest.mark.parametrize("options", MESHES)
@pytest.mark.parametrize("make", [perceptron, normalized, llama],
                         ids=lambda f: f.__name__)
def test_equal_batches_give_the_step_of_one_device(
        make: Any, options: str, tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory) -> None:
    captured = capture(make, None, tmp_path_factory)
    inputs = repeat_inputs(captured, count_ranks(options),
                           tmp_path / "inputs.safetensors")
    results = captured.run(f"{options} batch=per-rank", arguments=inputs)
    assert_close(results, captured.whole, TOLERANCE)


@pytest.mark.parametrize("options", MESHES)
@pytest.mark.parametrize("make", [perceptron, dropped, llama],
                         ids=lambda f: f.__name__)
def test_parts_of_a_batch_give_the_step_of_all(
        make: Any, options: str,
        tmp_path_factory: pytest.TempPathFactory) -> None:
    """Random numbers included: ranks draw those of their rows."""
    whole = capture(make, None, tmp_path_factory)
    ranks = count_ranks(options)
    size = len(load_file(whole.directory / "arguments.safetensors")
               [whole.inputs[0]["name"]])
    part = capture(make, size // ranks, tmp_path_factory)
    results = part.run(f"{options} batch=per-rank",
                       arguments=whole.directory / "arguments.safetensors")
    assert_close(results, whole.run(options), TOLERANCE)
    # One batch is not as good as another.
    assert any(not torch.equal(results[name], value)
               for name, value in part.whole.items())


def test_micro_batches(tmp_path: Path,
                       tmp_path_factory: pytest.TempPathFactory) -> None:
    """Rank by rank, and batch by batch on each."""
    captured = capture(perceptron, None, tmp_path_factory)
    inputs = repeat_inputs(captured, 2 * 4, tmp_path / "inputs.safetensors")
    results = captured.run(f"{FSDP} batch=per-rank micro-batches=2",
                           arguments=inputs)
    assert_close(results, captured.whole, TOLERANCE)


def test_one_rank_gives_the_same_bits(
        tmp_path_factory: pytest.TempPathFactory) -> None:
    captured = capture(dropped, None, tmp_path_factory)
    results = captured.run("mesh=dp:1 batch=per-rank")
    for name, value in captured.whole.items():
        assert torch.equal(results[name], value), name


def test_training_by_flag(tmp_path: Path,
                          tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whole steps with an optimizer, by the flag of the tool."""
    whole = capture(llama, None, tmp_path_factory)
    part = capture(llama, 2, tmp_path_factory)

    def train(captured: Captured, *flags: str) -> dict[str, torch.Tensor]:
        out = tmp_path / "out.safetensors"
        result = run_tool(
            "regather", "run", captured.directory / "step.mlir",
            "--mesh=dp:2", "--optimizer=adamw", "--steps=3", "--quiet",
            "--reshard=always", "--learning-rate=0.01", f"--outputs={out}",
            f"--inputs={whole.directory / 'arguments.safetensors'}", *flags,
            timeout=300)
        assert result.code == 0, result.stderr
        return load_file(out)

    assert_close(train(part, "--batch=per-rank"), train(whole), 1e-5)


def test_error_names_the_flag(
        tmp_path_factory: pytest.TempPathFactory) -> None:
    captured = capture(perceptron, None, tmp_path_factory)
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      "--mesh=dp:3", "--random-inputs=0")
    assert result.code == 1
    assert "cannot be divided by 3 ranks" in result.stderr
    assert "batch=per-rank" in result.stderr
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      "--batch=per-rank", "--random-inputs=0")
    assert result.code == 1
    assert 'batch "per-rank" needs a mesh' in result.stderr
