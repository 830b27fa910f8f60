"""Captured steps that draw random numbers, against eager PyTorch.

Eager PyTorch draws from a generator of its own, so its dropout is replaced by one
that takes the masks of `philox.py`, one stream a call, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

import capture_cases  # noqa: E402, F401
from philox import draw_bits, fraction, keep_mask, middle  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402

TOLERANCE = 1e-5
functional = torch.nn.functional


class Perceptron(torch.nn.Module):
    """Drops inputs, then hidden units; both masks enter the gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 32)
        self.down = torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.dropout(x, 0.25, self.training)
        return self.down(functional.dropout(self.up(x).relu(), 0.5,
                                            self.training))


def perceptron() -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16, 8, generator=generator)
    target = torch.randn(16, 4, generator=generator)
    return Perceptron(), (x,), functional.mse_loss, (target,)


def gpt2() -> tuple[Any, ...]:
    """Dropout of embeddings, attention probabilities and residuals."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4,
        resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1, bos_token_id=0,
        eos_token_id=0, attn_implementation="eager")
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 64, (2, 16), generator=generator)
    batch = {"input_ids": tokens, "labels": tokens.clone()}
    return transformers.GPT2LMHeadModel(config).train(), batch, None, ()


class Step:
    """A captured step, lowered, and the files of its arguments."""

    def __init__(self, directory: Path, make: Any) -> None:
        torch.manual_seed(0)
        self.directory = directory
        self.model, self.inputs, self.loss, self.targets = make()
        self.graph = regather.capture(self.model, self.inputs, loss=self.loss,
                                      targets=self.targets)
        self.graph.save(directory / "step.fx.json")
        self.graph.save_weights(directory / "weights.safetensors")
        for tool, *options in (
                ("regather-translate", "--import-fx", "step.fx.json", "-o",
                 "step.mlir"),
                ("regather-opt", "step.mlir", "--tg-verify-step",
                 "--convert-tg-nodes-to-linalg", "-o", "lowered.mlir")):
            result = run_tool(tool, *options, cwd=directory)
            assert result.code == 0, result.stderr

    def run(self, engine: str, steps: int = 1, **state: int
            ) -> dict[str, torch.Tensor]:
        """The results of the last step. `state` may have seed and offset."""
        arguments = load_file(self.directory / "weights.safetensors")
        names = [entry["name"] for entry in self.graph.document["inputs"]]
        values = (self.inputs.values() if isinstance(self.inputs, dict)
                  else self.inputs)
        arguments |= dict(zip(names, (*values, *self.targets), strict=True))
        arguments |= {f"rng.{name}": torch.tensor(value)
                      for name, value in state.items()}
        save_file({name: value.contiguous().clone()
                   for name, value in arguments.items()},
                  self.directory / "arguments.safetensors")
        result = run_tool("regather", "run", "lowered.mlir", "--quiet",
                          f"--engine={engine}", f"--steps={steps}",
                          "--inputs", "arguments.safetensors",
                          "--outputs", "results.safetensors",
                          cwd=self.directory, timeout=300)
        assert result.code == 0, result.stderr
        return load_file(self.directory / "results.safetensors")

    def run_eagerly(self, **state: int) -> torch.Tensor:
        """Loss of eager PyTorch; gradients are left in the model."""
        self.model.zero_grad()
        with philox_dropout(**state):
            if self.loss is None:
                loss = self.model(**self.inputs).loss
            else:
                loss = self.loss(self.model(*self.inputs), *self.targets)
        loss.backward()
        return loss.detach()


@contextmanager
def philox_dropout(**state: int) -> Iterator[None]:
    stream = 0

    def dropout(x: torch.Tensor, p: float = 0.5, training: bool = True,
                inplace: bool = False) -> torch.Tensor:
        nonlocal stream
        if not training or p == 0:
            return x
        mask = keep_mask(tuple(x.shape), p, stream=stream, **state)
        stream += 1
        return x * torch.from_numpy(mask) * (1 / (1 - p))

    with mock.patch.object(functional, "dropout", dropout):
        yield


@pytest.mark.parametrize("make, streams", [(perceptron, 2), (gpt2, 7)],
                         ids=["perceptron", "gpt2"])
@pytest.mark.parametrize("engine", ENGINES)
def test_equals_eager(tmp_path: Path, engine, make, streams) -> None:
    step = Step(tmp_path, make)
    text = (tmp_path / "step.mlir").read_text()
    assert text.count("tg.random") == streams
    state = {"seed": 1234, "offset": 56}
    loss = step.run_eagerly(**state)
    results = step.run(engine, **state)
    torch.testing.assert_close(results["loss"].reshape(()), loss,
                               rtol=TOLERANCE, atol=0)
    # Some gradients are zero but for rounding: the bias of attention keys.
    largest = max(p.grad.norm() for p in step.model.parameters())
    for name, parameter in step.model.named_parameters():
        error = (results[f"grad.{name}"] - parameter.grad).norm()
        scale = max(parameter.grad.norm(), 1e-2 * largest)
        assert error <= TOLERANCE * scale, name
    # Other masks are another loss.
    assert abs(step.run_eagerly(seed=1234, offset=57) - loss) > 1e-4 * loss


@pytest.mark.parametrize("engine", ENGINES)
def test_resumed_run(tmp_path: Path, engine) -> None:
    """Steps differ; a run that goes on from its offset repeats the long one."""
    step = Step(tmp_path, perceptron)
    losses = {float(step.run(engine, n, seed=9)["loss"]) for n in (1, 2, 3)}
    assert len(losses) == 3
    long = step.run(engine, 5, seed=9)
    interrupted = step.run(engine, 3, seed=9)
    assert interrupted["rng.offset"] == 3
    resumed = step.run(engine, 2, seed=9,
                       offset=int(interrupted["rng.offset"]))
    assert long.keys() == resumed.keys()
    for name, value in long.items():
        assert torch.equal(value, resumed[name]), name
    other = step.run(engine, 5, seed=10)
    assert not torch.equal(other["loss"], long["loss"])


# -----------------------------------------------------------------------------
# Other layers that draw
# -----------------------------------------------------------------------------


class Layer(torch.nn.Module):
    """A function of a matrix of weights."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(16, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.function(self.weight) * x).sum()


def stochastic_depth(x: torch.Tensor) -> torch.Tensor:
    keep = torch.rand(x.shape[0], 1).add(0.8).floor()
    return x / 0.8 * keep


def noise(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rand_like(x)


def uniform(shape: tuple[int, ...], stream: int = 0) -> torch.Tensor:
    bits = draw_bits(shape, seed=5, stream=stream)
    return torch.from_numpy(fraction(bits, 24)).float()


def drop_channels(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout2d(x.reshape(4, 8, 2, 2), 0.5)


def drop_channels_reference(x: torch.Tensor) -> torch.Tensor:
    # A mask of zeros and ones is drawn by its probability to be one.
    kept = (uniform((4, 8, 1, 1)) < 0.5).float()
    return x.reshape(4, 8, 2, 2) * kept / 0.5


def gumbel_softmax_reference(x: torch.Tensor) -> torch.Tensor:
    draws = middle(draw_bits((16, 8), seed=5), 23)
    gumbels = -torch.from_numpy(draws).log().neg().log()
    return torch.softmax(x + gumbels.float(), -1)


def rrelu_reference(x: torch.Tensor) -> torch.Tensor:
    slopes = 0.125 + uniform((16, 8)) * (1 / 3 - 0.125)
    return torch.where(x > 0, x, x * slopes)


def attention(x: torch.Tensor) -> torch.Tensor:
    heads = x.reshape(1, 2, 8, 8)
    return functional.scaled_dot_product_attention(heads, heads, heads,
                                                   dropout_p=0.2)


def attention_reference(x: torch.Tensor) -> torch.Tensor:
    heads = x.reshape(1, 2, 8, 8)
    weights = torch.softmax(heads @ heads.mT / 8**0.5, -1)
    mask = torch.from_numpy(keep_mask((1, 2, 8, 8), 0.2, seed=5)).float()
    return (weights * mask / 0.8) @ heads


@pytest.mark.parametrize("layer, reference", [
    (stochastic_depth,
     lambda x: x / 0.8 * (uniform((16, 1)) + 0.8).floor()),
    (noise, lambda x: x * uniform((16, 8))),
    (functional.gumbel_softmax, gumbel_softmax_reference),
    (lambda x: functional.rrelu(x, training=True), rrelu_reference),
    (drop_channels, drop_channels_reference),
    (attention, attention_reference),
], ids=["stochastic-depth", "noise", "gumbel-softmax", "rrelu", "dropout2d",
        "attention"])
def test_layers(tmp_path: Path, layer, reference) -> None:
    shape = layer(torch.zeros(16, 8)).shape
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    step = Step(tmp_path, lambda: (Layer(layer), (x,), None, ()))
    loss = (reference(step.model.weight) * x).sum()
    loss.backward()
    for engine in ENGINES:
        results = step.run(engine, seed=5)
        torch.testing.assert_close(results["loss"].reshape(()), loss.detach(),
                                   rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(results["grad.weight"],
                                   step.model.weight.grad, rtol=1e-4, atol=1e-5)
