"""Steps with complex numbers over several ranks, which take them apart first.

Ranks exchange real numbers: parts of complex ones, and pairs for parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from captured_models import FILES, Step, execute, find_errors, keep  # noqa: E402
from model_cases import Made, random_tokens  # noqa: E402
from regather_tools import run_tool  # noqa: E402

MESHES = ("", "dp:2", "dp:2,tp:2")


class Filter(torch.nn.Module):
    """A filter of frequencies: complex parameters, one of them a number, and a
    complex buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.weight = torch.nn.Parameter(torch.randn(5, dtype=torch.complex64))
        self.scale = torch.nn.Parameter(torch.randn((), dtype=torch.complex64))
        self.register_buffer("turns", torch.polar(torch.ones(5),
                                                  torch.arange(5.0)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        factors = self.weight * self.turns * self.scale
        return torch.fft.irfft(torch.fft.rfft(self.layer(x)) * factors, n=8)


def learnt_filter() -> Made:
    return (Filter(), (torch.randn(4, 8),), torch.nn.functional.mse_loss,
            (torch.randn(4, 8),))


def fnet() -> Made:
    transformers = pytest.importorskip("transformers",
                                       reason="its model is trained here")
    config = transformers.FNetConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32,
        num_hidden_layers=1, max_position_embeddings=16, pad_token_id=0,
        hidden_dropout_prob=0.0)
    tokens = random_tokens(4, 8)
    return (transformers.FNetForMaskedLM(config).train(),
            {"input_ids": tokens, "labels": tokens.roll(-1, 1)}, None, ())


@pytest.mark.parametrize("make", [learnt_filter, fnet],
                         ids=lambda make: make.__name__)
def test_equals_one_device(make: Callable[[], Made], tmp_path: Path) -> None:
    torch.manual_seed(0)
    step = Step(*make())
    keep(step, tmp_path)
    imported = run_tool("regather-translate", "--import-fx",
                        tmp_path / FILES[0], "-o", tmp_path / "step.mlir")
    assert imported.code == 0, imported.stderr
    expected = step.run()
    one = None
    for mesh in MESHES:
        results = execute(tmp_path, "interpreter", "step.mlir",
                          *([f"--mesh={mesh}"] if mesh else []))
        one = one or results
        assert results.keys() == one.keys()
        # Constant buffers are no results.
        known = {name: expected[name] for name in results}
        assert not find_errors(results, known, 1e-6), mesh
        assert not find_errors(results, one, 1e-6), mesh
