"""Training goes the same way, bit for bit, whatever lives on to backward.

Ten steps with AdamW: every loss, and after the last step every parameter and
state, which holds the gradients of all steps. The gradients of one more step are
compared by themselves.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import example  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load  # noqa: E402

import regather  # noqa: E402

STEPS = 10
TIMEOUT = 120
TRAINING = ("--learning-rate=1e-3",)
OPTIMIZER = "adamw betas=0.9,0.95 weight-decay=0.1"

DECISIONS = {
    "always": ("--reshard=always", "--recompute=none"),
    "min-cut": ("--recompute=min-cut",),
    "selective": ("--reshard=default", "--policy=selective"),
    "full": ("--reshard=always", "--policy=full"),
    "groups": ("--reshard=always group=2",
               "--policy=selective every-second-product=true"),
    "modules": ("--reshard=never modules=layers.1:always",
                "--policy=modules=layers.0:full"),
}
UNDECIDED = ("--recompute=none",)


class Training:
    """A tiny Llama on some ranks, trained with nothing decided."""

    def __init__(self, graph: Path, ranks: int, layout: str,
                 directory: Path) -> None:
        self.directory = directory
        self.step = (graph, f"--ranks={ranks}", f"--layout={layout}")
        self.losses, self.trained = self.train(UNDECIDED)
        self.gradients = self.differentiate(UNDECIDED)

    def run(self, *flags: str | Path) -> tuple[list[float], bytes]:
        """The losses, and the results of the last step."""
        outputs = self.directory / "outputs"
        result = run_tool("regather", "run", *flags, "--random-inputs=5",
                          "--threads=1", "--json", "--quiet", "--outputs",
                          outputs, timeout=TIMEOUT)
        assert result.code == 0, result.stderr
        return json.loads(result.stdout)["losses"], outputs.read_bytes()

    def train(self, flags: tuple[str, ...], engine: str = "cpu",
              steps: int = STEPS) -> tuple[list[float], bytes]:
        return self.run(*self.step, *flags, f"--optimizer={OPTIMIZER}",
                        *TRAINING, f"--steps={steps}", f"--engine={engine}")

    def differentiate(self, flags: tuple[str, ...]) -> bytes:
        """The gradients where the training has ended."""
        end = self.directory / "end"
        end.write_bytes(self.trained)
        return self.run(*self.step, *flags, "--inputs", end)[1]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "step.fx.json"
    model, inputs, loss, targets = example("llama3").step("tiny", batch=8)
    regather.capture(model, inputs, loss=loss, targets=targets).save(path)
    return path


@pytest.fixture(scope="module", params=[(4, "flat"), (8, "flat"),
                                        (4, "per-parameter")],
                ids=["4-flat", "8-flat", "4-per-parameter"])
def training(request: pytest.FixtureRequest, graph: Path,
             tmp_path_factory: pytest.TempPathFactory) -> Training:
    ranks, layout = request.param
    return Training(graph, ranks, layout, tmp_path_factory.mktemp("training"))


@pytest.mark.parametrize("name", DECISIONS)
def test_training_is_the_same(training: Training, name: str) -> None:
    losses, trained = training.train(DECISIONS[name])
    assert losses == training.losses
    assert trained == training.trained
    assert training.differentiate(DECISIONS[name]) == training.gradients


def test_training_makes_progress(training: Training) -> None:
    """What is compared is neither constant nor lost."""
    assert len(set(training.losses)) == STEPS
    assert training.losses[-1] < training.losses[0]
    trained, gradients = load(training.trained), load(training.gradients)
    names = {name.removeprefix("grad.") for name in gradients
             if name.startswith("grad.")}
    assert names == {name.removesuffix(".exp_avg") for name in trained
                     if name.endswith(".exp_avg")}
    assert all(value.isfinite().all() and value.any()
               for value in gradients.values())


def test_interpreter_agrees(graph: Path, tmp_path: Path) -> None:
    training = Training(graph, 4, "flat", tmp_path)
    whole = training.train(UNDECIDED, "interpreter", steps=2)
    for name in ("full", "groups"):
        assert training.train(DECISIONS[name], "interpreter", steps=2) == whole


@pytest.mark.parametrize("mode", ["default", "min-cut"])
def test_partitioned_training(graph: Path, tmp_path: Path, mode: str) -> None:
    """Two functions instead of one; the optimizer is in the second."""
    training = Training(graph, 4, "flat", tmp_path)
    imported, parts = tmp_path / "imported.mlir", tmp_path / "parts.mlir"
    result = run_tool("regather-translate", "--import-fx", graph, "-o",
                      imported)
    assert result.code == 0, result.stderr
    result = run_tool(
        "regather-opt", imported, "--tg-shard-parameters=mesh=dp:4",
        "--tg-merge-gathers", "--tg-reshard-after-forward=mode=always",
        f"--tg-append-optimizer=optimizer={OPTIMIZER}",
        f"--tg-partition=mode={mode}", "--tg-verify-step", "-o", parts)
    assert result.code == 0, result.stderr
    losses, trained = training.run(parts, *TRAINING, f"--steps={STEPS}")
    assert losses == training.losses
    actual, expected = load(trained), load(training.trained)
    assert actual.keys() == expected.keys()
    assert all(value.equal(expected[name]) for name, value in actual.items())
