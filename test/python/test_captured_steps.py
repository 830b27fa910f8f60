"""From a PyTorch model to numbers: capture, import, lower, run on both engines.

Loss, every gradient and every new value of a buffer are compared with eager
PyTorch. In 16 bits, eager PyTorch itself is sometimes farther away from the
same step in float32 than the tolerance, with other roundings than ours. There,
what we compute must be almost as close to float32: gradients are then compared
as one vector, since the error of a small one says little.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from model_cases import MODELS  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402

# As loops, and on the engine that compiles as nodes too: those have kernels of
# other operations, and routines of the runtime for products and attention.
RUNS = [*((engine, "lowered.mlir") for engine in ENGINES), ("cpu", "step.mlir")]
TOLERANCE = 1e-5
# A little more than the distance of two numbers of the type.
NARROW_TOLERANCES = {torch.bfloat16: 1e-2, torch.float16: 1.25e-3}
# Layers, attention with and without a mask, and routing.
F16_MODELS = ("perceptron", "llama", "mixtral", "bert", "vit")
# How much farther from float32 than eager PyTorch a step in 16 bits may be.
NARROW_FACTOR = 1.5

Tensors = dict[str, torch.Tensor]


@dataclass
class Step:
    model: Any
    inputs: Any
    loss: Any
    targets: tuple[Any, ...]

    def tensors(self) -> list[torch.Tensor]:
        """The batch, in the order of the captured inputs."""
        values = (self.inputs.values() if isinstance(self.inputs, dict)
                  else self.inputs)
        return [value for value in (*values, *self.targets)
                if isinstance(value, torch.Tensor)]

    def to(self, dtype: torch.dtype, converts_buffers: bool = True) -> Step:
        """A copy with all floats converted."""
        def convert(value: Any) -> Any:
            is_float = isinstance(value, torch.Tensor) and \
                value.is_floating_point()
            return value.to(dtype) if is_float else value
        inputs = (({k: convert(v) for k, v in self.inputs.items()})
                  if isinstance(self.inputs, dict)
                  else tuple(map(convert, self.inputs)))
        model = copy.deepcopy(self.model)
        if converts_buffers:
            model.to(dtype)
        for parameter in model.parameters():
            parameter.data = parameter.data.to(dtype)
        return Step(model, inputs, self.loss, tuple(map(convert, self.targets)))

    def run(self) -> Tensors:
        """What eager PyTorch computes, named as results of a step are."""
        model = copy.deepcopy(self.model)
        loss = (model(**self.inputs).loss if self.loss is None
                else self.loss(model(*self.inputs), *self.targets))
        loss.backward()
        results = {"loss": loss.detach()}
        results |= {f"grad.{name}": parameter.grad
                    for name, parameter in model.named_parameters()
                    if parameter.grad is not None}
        return results | dict(model.named_buffers())


def make_step(name: str) -> Step:
    torch.manual_seed(0)
    return Step(*MODELS[name]())


def lower(step: Step, directory: Path) -> None:
    """Captures a step as a module that the engines run, with its arguments."""
    graph = regather.capture(step.model, step.inputs, loss=step.loss,
                             targets=step.targets)
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
    arguments = load_file(directory / "weights.safetensors")
    names = [entry["name"] for entry in graph.document["inputs"]]
    arguments |= dict(zip(names, step.tensors(), strict=True))
    save_file({name: value.contiguous().clone()
               for name, value in arguments.items()},
              directory / "arguments.safetensors")


def execute(directory: Path, engine: str, file: str) -> Tensors:
    result = run_tool("regather", "run", directory / file,
                      f"--engine={engine}",
                      "--inputs", directory / "arguments.safetensors",
                      "--outputs", directory / "results.safetensors",
                      "--quiet", timeout=300)
    assert result.code == 0, result.stderr
    return load_file(directory / "results.safetensors")


def gradient_names(results: Tensors) -> list[str]:
    return [name for name in results if name.startswith("grad.")]


def find_errors(results: Tensors, expected: Tensors, tolerance: float
                ) -> list[str]:
    """What is farther off than that, relative to its norm."""
    names = gradient_names(expected)
    assert sorted(gradient_names(results)) == sorted(names)
    # Some gradients are zero but for rounding: the bias of attention keys.
    largest = max(expected[name].float().norm() for name in names)
    wrong = []
    for name, actual in results.items():
        want = expected[name]
        if want.is_complex():
            want = torch.view_as_real(want)
        want = want.double()
        error = (actual.double().reshape(want.shape) - want).norm()
        scale = want.norm()
        if name in names:
            scale = max(scale, 1e-2 * largest)
        if not error <= tolerance * scale:
            wrong.append(f"{name} is off by {error / scale:.1e}")
    return wrong


def distance(results: Tensors, truth: Tensors) -> float:
    """Of the gradients as one vector, relative to its norm."""
    names = gradient_names(truth)
    error = sum((results[name].double() - truth[name].double()).norm() ** 2
                for name in names)
    norm = sum(truth[name].double().norm() ** 2 for name in names)
    return float((error / norm).sqrt())


@pytest.mark.parametrize("name", MODELS)
def test_equals_eager(name: str, tmp_path: Path) -> None:
    step = make_step(name)
    lower(step, tmp_path)
    expected = step.run()
    for run in RUNS:
        results = execute(tmp_path, *run)
        assert not find_errors(results, expected, TOLERANCE), run


# There are no complex numbers of that precision.
@pytest.mark.parametrize(("name", "dtype"), [
    *((name, torch.bfloat16) for name in MODELS if name != "rotation"),
    *((name, torch.float16) for name in F16_MODELS),
])
def test_equals_eager_in_16_bits(name: str, dtype: torch.dtype,
                                 tmp_path: Path) -> None:
    # Its angles become complex numbers.
    step = make_step(name).to(dtype, converts_buffers=name != "complex_llama")
    lower(step, tmp_path)
    tolerance = NARROW_TOLERANCES[dtype]
    expected = step.run()
    for run in RUNS:
        results = execute(tmp_path, *run)
        errors = find_errors(results, expected, tolerance)
        if not errors:
            continue
        truth = step.to(torch.float32).run()
        loss = truth["loss"].double()
        limit = max(abs(expected["loss"].double() - loss),
                    tolerance * abs(loss))
        assert abs(results["loss"].double() - loss) <= NARROW_FACTOR * limit
        eager = distance(expected, truth)
        assert distance(results, truth) <= NARROW_FACTOR * eager, (run, errors)
