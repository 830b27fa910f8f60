"""Experts as grouped products, whatever the routing: one step, many batches.

The layer is that of the models of the transformers library, with the experts of
each token given: sorted, counted, multiplied group by group, put back. Loss and
gradients are those of a loop over experts in eager PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from captured_models import find_errors  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402

EXPERTS, TOKENS, CHOICES, WIDTH, INNER = 4, 24, 2, 32, 48
SETTINGS = {
    "one-thread": ["--threads=1"],
    "three-threads": ["--threads=3"],
    "single-ops": ["--pass-option=tg-form-kernels:max-ops=1"],
    "nothing-in-place": ["--pass-option=exec-plan-memory:in-place=false"],
}


class Experts(torch.nn.Module):
    """Parameters lie as [experts, out, in]; products see them transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(EXPERTS, INNER, WIDTH) / 6)
        self.down = torch.nn.Parameter(torch.randn(EXPERTS, WIDTH, INNER) / 7)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor,
                weights: torch.Tensor) -> torch.Tensor:
        ids, order = chosen.reshape(-1).sort()
        counts = torch.histc(ids.float(), EXPERTS, 0, EXPERTS - 1)
        ends = counts.cumsum(0, dtype=torch.int32)
        grouped = torch.nn.functional.grouped_mm
        hidden = grouped(x[order // CHOICES], self.up.transpose(1, 2),
                         offs=ends)
        rows = grouped(torch.nn.functional.silu(hidden),
                       self.down.transpose(1, 2), offs=ends)
        rows = rows * weights.reshape(-1)[order, None]
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return rows[back].view(TOKENS, CHOICES, WIDTH).sum(1)

    def loop(self, x: torch.Tensor, chosen: torch.Tensor,
             weights: torch.Tensor) -> torch.Tensor:
        """What `forward` computes, expert by expert."""
        result = torch.zeros_like(x)
        for expert in range(EXPERTS):
            token, choice = (chosen == expert).nonzero(as_tuple=True)
            hidden = torch.nn.functional.silu(x[token] @ self.up[expert].T)
            rows = hidden @ self.down[expert].T
            result = result.index_add(
                0, token, rows * weights[token, choice, None])
        return result


def routings() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)

    def draw(low: int, high: int) -> torch.Tensor:
        return torch.randint(low, high, (TOKENS, CHOICES), generator=generator)
    rare = torch.full((TOKENS, CHOICES), 2)
    rare[5, 1] = 0
    return {"drawn": draw(0, EXPERTS), "first": draw(0, 1),
            "last": draw(EXPERTS - 1, EXPERTS), "without-ends": draw(1, 3),
            "one-row": rare}


class Layer:
    """The captured step, and what it has to give."""

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        self.folder = folder
        self.model = Experts().to(dtype)
        self.x = torch.randn(TOKENS, WIDTH).to(dtype)
        self.target = torch.randn(TOKENS, WIDTH).to(dtype)
        self.weights = torch.rand(TOKENS, CHOICES).to(dtype)
        chosen = routings()["drawn"]
        graph = regather.capture(
            self.model, (self.x, chosen, self.weights),
            loss=torch.nn.functional.mse_loss, targets=(self.target,))
        self.nodes = str(graph.document)
        self.names = [entry["name"] for entry in graph.document["inputs"]]
        graph.save(folder / "step.fx.json")
        graph.save_weights(folder / "weights.safetensors")

    def expected(self, chosen: torch.Tensor) -> dict[str, torch.Tensor]:
        self.model.zero_grad()
        result = self.model.loop(self.x, chosen, self.weights)
        loss = torch.nn.functional.mse_loss(result, self.target)
        loss.backward()
        return {"loss": loss.detach()} | {
            f"grad.{name}": parameter.grad
            for name, parameter in self.model.named_parameters()}

    def run(self, chosen: torch.Tensor, *flags: str) -> bytes:
        arguments = load_file(self.folder / "weights.safetensors")
        arguments |= dict(zip(self.names, (self.x, chosen, self.weights,
                                           self.target), strict=True))
        save_file(arguments, self.folder / "arguments.safetensors")
        result = run_tool(
            "regather", "run", "step.fx.json", *flags, "--quiet",
            "--inputs=arguments.safetensors", "--outputs=out.safetensors",
            cwd=self.folder, timeout=100)
        assert result.code == 0, result.stderr
        return (self.folder / "out.safetensors").read_bytes()

    def results(self) -> dict[str, torch.Tensor]:
        return load_file(self.folder / "out.safetensors")


@pytest.fixture(scope="module", name="layer")
def make_layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return Layer(tmp_path_factory.mktemp("experts"), torch.float32)


@pytest.mark.parametrize("name", routings())
def test_any_routing(layer: Layer, name: str) -> None:
    # PyTorch has no shape rule for these in f32.
    assert "aten._grouped_mm.default" in layer.nodes
    chosen = routings()[name]
    expected = layer.expected(chosen)
    for flags in ((), ("--engine=interpreter",), ("--mesh=dp:2",),
                  ("--mesh=dp:4",), ("--mesh=ep:4",), ("--mesh=dp:2,ep:2",),
                  ("--mesh=dp:3,ep:2", "--engine=interpreter")):
        layer.run(chosen, *flags)
        assert not find_errors(layer.results(), expected, 1e-5), flags


def test_decisions_change_no_bit(layer: Layer) -> None:
    chosen = routings()["one-row"]
    plain = layer.run(chosen)
    different = [name for name, flags in SETTINGS.items()
                 if layer.run(chosen, *flags) != plain]
    assert not different
