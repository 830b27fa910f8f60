"""A module, its inputs and its loss, drawn by a number."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from blocks import block
from operations import BATCH, LENGTH, WIDTH
from torch import nn
from torch.nn import functional as F

Tensor = torch.Tensor


class Whole(nn.Module):
    """Blocks in a row; perhaps tokens, a mask and several results."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(block(draw, 2)
                                    for _ in range(draw.randrange(1, 5)))
        self.takes_tokens, self.takes_mask = draw.random() < 0.3, draw.random() < 0.2
        self.gives = draw.choice(("tensor", "tensor", "tuple", "dictionary"))
        if self.takes_tokens:
            self.table = nn.Embedding(10, WIDTH)
        self.head = nn.Linear(WIDTH, WIDTH, bias=False)
        if self.takes_tokens and draw.random() < 0.5:
            self.tied = nn.Linear(WIDTH, 10, bias=False)
            self.tied.weight = self.table.weight

    def forward(self, x: Tensor, tokens: Tensor | None = None,
                mask: Tensor | None = None) -> Any:
        if tokens is not None:
            x = x + self.table(tokens)
        for part in self.blocks:
            x = part(x)
            if mask is not None:
                x = x * mask[..., None]
        y = self.head(x)
        if hasattr(self, "tied"):
            y = y + self.tied(y).logsumexp(-1, keepdim=True)
        if self.gives == "tuple":
            return y, x.detach()
        return {"y": y, "x": x} if self.gives == "dictionary" else y


def result_of(given: Any) -> Tensor:
    if isinstance(given, tuple):
        return given[0]
    return given["y"] if isinstance(given, dict) else given


LOSSES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda y, t: F.mse_loss(y, t), lambda y, t: F.l1_loss(y, t),
    lambda y, t: F.smooth_l1_loss(y, t), lambda y, t: F.huber_loss(y, t),
    lambda y, t: F.cross_entropy(y.flatten(0, 1), t.argmax(-1).flatten()),
    lambda y, t: F.cross_entropy(y.mT, t.argmax(-1), label_smoothing=0.1),
    lambda y, t: F.cross_entropy(y.mT, t.argmax(-1).masked_fill(t[..., 0] > 0.8, -100),
                                 reduction="sum") / 10,
    lambda y, t: F.binary_cross_entropy_with_logits(y, (t > 0).to(y.dtype)),
    lambda y, t: F.kl_div(y.log_softmax(-1), t.softmax(-1), reduction="batchmean"),
    lambda y, t: (y * t).sum() * 0.1, lambda y, t: (y - t).square().mean((0, 1)).sum(),
    lambda y, t: F.nll_loss(y.log_softmax(-1).flatten(0, 1), t.argmax(-1).flatten()),
    lambda y, t: F.cosine_embedding_loss(
        y.flatten(1), t.flatten(1), torch.ones(BATCH, dtype=y.dtype)),
)


def halved(gradient: Tensor) -> Tensor:
    return gradient * 0.5


def add_hooks(model: nn.Module, draw: random.Random) -> None:
    """Hooks on modules and parameters that change what flows."""
    modules = list(model.modules())
    parameters = [p for p in model.parameters() if p.requires_grad]
    for _ in range(draw.choice((0, 0, 1, 2))):
        kind, module = draw.randrange(6), draw.choice(modules)
        if kind == 0:
            module.register_forward_hook(
                lambda m, args, y: y * 1.5 if isinstance(y, Tensor) else None)
        elif kind == 1:
            module.register_forward_pre_hook(
                lambda m, args: (args[0] * 0.5, *args[1:]))
        elif kind == 2:
            module.register_full_backward_hook(
                lambda m, given, wanted: tuple(
                    None if g is None else g * 2 for g in given))
        elif kind == 3 and parameters:
            draw.choice(parameters).register_hook(halved)
        elif kind == 4 and parameters:
            draw.choice(parameters).register_hook(lambda g: g.clamp(-0.1, 0.1))
        elif parameters:
            def update(p: Tensor) -> None:
                with torch.no_grad():
                    p.sub_(0.01 * p.grad)
                p.grad = None
            draw.choice(parameters).register_post_accumulate_grad_hook(update)


@dataclass
class RandomStep:
    """One step of training; `batch` are inputs and the target."""
    model: nn.Module
    loss: Callable[[Any, Tensor], Tensor]
    dtype: torch.dtype
    seed: int

    def batch(self, number: int) -> tuple[list[Tensor], Tensor]:
        """The inputs of a step, and its target."""
        generator = torch.Generator().manual_seed(1000 * self.seed + number)

        def floats() -> Tensor:
            return torch.randn(BATCH, LENGTH, WIDTH, generator=generator,
                               dtype=torch.float64).to(self.dtype)
        inputs = [floats()]
        if self.model.takes_tokens:
            inputs.append(torch.randint(0, 10, (BATCH, LENGTH), generator=generator))
        elif self.model.takes_mask:
            inputs.append(torch.zeros(BATCH, LENGTH, dtype=torch.long))
        if self.model.takes_mask:
            inputs.append((torch.rand(BATCH, LENGTH, generator=generator) > 0.2)
                          .to(self.dtype))
        if self.model.takes_mask and not self.model.takes_tokens:
            inputs[1] = None  # type: ignore[call-overload]
        return inputs, floats()


def make(number: int) -> RandomStep:
    """The same for the same number, every time."""
    draw = random.Random(number)
    random.seed(number)
    torch.manual_seed(number)
    model = Whole(draw)
    chosen = draw.choice(LOSSES)
    dtype = torch.float64 if draw.random() < 0.5 else torch.float32
    model.to(dtype).train(draw.random() < 0.8)
    add_hooks(model, draw)
    return RandomStep(model, lambda given, target: chosen(result_of(given), target),
                      dtype, number)
