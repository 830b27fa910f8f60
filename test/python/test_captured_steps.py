"""From a PyTorch model to numbers: capture, import, lower, run on both engines.

Loss and every gradient are compared with eager PyTorch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import example  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402

TOLERANCE = 1e-5


class Perceptron(torch.nn.Module):
    """Two layers with biases, of which one parameter is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 32)
        self.down = torch.nn.Linear(32, 4)
        self.up.bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.nn.functional.gelu(self.up(x)))


def perceptron() -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16, 8, generator=generator)
    target = torch.randn(16, 4, generator=generator)
    loss = torch.nn.functional.mse_loss
    return Perceptron(), (x,), loss, (target,)


def llama() -> tuple[Any, ...]:
    model, (tokens,), loss, (labels,) = example("llama3").step("tiny", batch=2)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 64, tokens.shape, generator=generator)
    return model, (tokens,), loss, (tokens.roll(-1, 1),)


def bert() -> tuple[Any, ...]:
    return library_model("bert")


def gpt2() -> tuple[Any, ...]:
    return library_model("gpt2")


def qwen3() -> tuple[Any, ...]:
    return library_model("qwen3")


def t5() -> tuple[Any, ...]:
    return library_model("t5")


def library_model(name: str) -> tuple[Any, ...]:
    """A model of the transformers library that computes its own loss."""
    models = pytest.importorskip("test_capture_models",
                                 reason="transformers is not installed")
    model, batch = getattr(models, name)()
    return model.train(), batch, None, ()


def lower(graph: Any, directory: Path) -> Path:
    """The captured graph as a module that the engines run."""
    graph.save(directory / "step.fx.json")
    graph.save_weights(directory / "weights.safetensors")
    imported = run_tool("regather-translate", "--import-fx",
                        directory / "step.fx.json",
                        "-o", directory / "step.mlir")
    assert imported.code == 0, imported.stderr
    lowered = run_tool("regather-opt", directory / "step.mlir",
                       "--tg-verify-step", "--convert-tg-nodes-to-linalg",
                       "-o", directory / "lowered.mlir")
    assert lowered.code == 0, lowered.stderr
    return directory / "lowered.mlir"


def eager_loss(model: Any, inputs: Any, loss_function: Any,
               targets: tuple[Any, ...]) -> torch.Tensor:
    if loss_function is None:
        return model(**inputs).loss
    return loss_function(model(*inputs), *targets)


@pytest.mark.parametrize(
    "make", [perceptron, llama, gpt2, qwen3, bert, t5],
    ids=lambda f: f.__name__)
def test_equals_eager(make, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, inputs, loss_function, targets = make()
    graph = regather.capture(model, inputs, loss=loss_function,
                             targets=targets)
    module = lower(graph, tmp_path)
    eager = eager_loss(model, inputs, loss_function, targets)
    eager.backward()

    arguments = load_file(tmp_path / "weights.safetensors")
    names = [entry["name"] for entry in graph.document["inputs"]]
    values = inputs.values() if isinstance(inputs, dict) else inputs
    arguments |= dict(zip(names, (*values, *targets), strict=True))
    save_file({name: value.contiguous().clone()
               for name, value in arguments.items()},
              tmp_path / "arguments.safetensors")
    for engine in ENGINES:
        result = run_tool("regather", "run", module, f"--engine={engine}",
                          "--inputs", tmp_path / "arguments.safetensors",
                          "--outputs", tmp_path / "results.safetensors",
                          "--quiet", timeout=300)
        assert result.code == 0, result.stderr
        results = load_file(tmp_path / "results.safetensors")
        torch.testing.assert_close(results["loss"].reshape(()), eager.detach(),
                                   rtol=TOLERANCE, atol=0)
        # Some gradients are zero but for rounding: the bias of attention keys.
        largest = max(parameter.grad.norm() for parameter in model.parameters()
                      if parameter.requires_grad)
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                assert f"grad.{name}" not in results
                continue
            error = (results[f"grad.{name}"] - parameter.grad).norm()
            scale = max(parameter.grad.norm(), 1e-2 * largest)
            assert error <= TOLERANCE * scale, (engine, name)
