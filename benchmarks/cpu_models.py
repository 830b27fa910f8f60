"""Models of the benchmark `cpu`, as factories for `python -m regather capture`.

Each returns a model, its inputs, a loss and the targets of the loss; without a
loss the model computes its own, of inputs by name. Values are drawn from a
fixed seed.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import cpu_library_models  # noqa: E402
import llama3  # noqa: E402


def llama() -> tuple[Any, ...]:
    """The debug Llama of examples/llama3.py on a batch of 8."""
    model, (tokens,), loss, (labels,) = llama3.step(config="debug", batch=8)
    vocabulary = llama3.CONFIGS["debug"].vocabulary
    tokens.random_(0, vocabulary)
    labels.random_(0, vocabulary)
    return model, (tokens,), loss, (labels,)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, sequence, width = x.shape
        q, k, v = (part.view(batch, sequence, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, sequence, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, vocabulary: int,
                 sequence: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(sequence, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def token_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def gpt2() -> tuple[Any, ...]:
    """GPT-2 small with 4 of its 12 layers, on 2 sequences of 256 tokens."""
    torch.manual_seed(0)
    vocabulary = 50257
    model = GPT2(768, 4, 12, vocabulary, 256)
    tokens, labels = torch.randint(0, vocabulary, (2, 2, 256))
    return model, (tokens,), token_loss, (labels,)


def mlp() -> tuple[Any, ...]:
    """Three linear layers with GELU between them on 512 rows."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(),
                          nn.Linear(4096, 4096), nn.GELU(),
                          nn.Linear(4096, 1024))
    return (model, (torch.randn(512, 1024),), F.mse_loss,
            (torch.randn(512, 1024),))


class GatedBlock(nn.Module):
    """RMS norm and SwiGLU with a residual connection."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def swiglu() -> tuple[Any, ...]:
    """One feed-forward block of a Llama on 1,024 tokens."""
    torch.manual_seed(0)
    return (GatedBlock(1024, 2816), (torch.randn(4, 256, 1024),), F.mse_loss,
            (torch.randn(4, 256, 1024),))


OWN: dict[str, dict[str, Callable[[], tuple[Any, ...]]]] = {
    "decoders": {"llama": llama, "gpt2": gpt2},
    "layers": {"mlp": mlp, "swiglu": swiglu},
}
FAMILY: dict[str, str] = {}
MODELS: dict[str, Callable[[], tuple[Any, ...]]] = {}
for _family, _models in itertools.chain(OWN.items(),
                                        cpu_library_models.FAMILIES.items()):
    FAMILY |= dict.fromkeys(_models, _family)
    MODELS |= _models


def convert(made: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    """The model, and all floats of its batch, in another type."""
    def narrow(value: Any) -> Any:
        return value.to(dtype) if value.is_floating_point() else value
    model, inputs, loss, targets = made
    inputs = (({k: narrow(v) for k, v in inputs.items()})
              if isinstance(inputs, dict) else tuple(map(narrow, inputs)))
    return model.to(dtype), inputs, loss, tuple(map(narrow, targets))


def compute_loss(made: tuple[Any, ...]) -> torch.Tensor:
    """One forward pass."""
    model, inputs, loss, targets = made
    if loss is None:
        return model(**inputs).loss
    return loss(model(*inputs), *targets)
