"""Models that a generator draws: values that are read once, twice, much later."""

from __future__ import annotations

import random
from typing import Any

import torch


class Random(torch.nn.Module):
    """Operations that a generator draws, on values that it draws."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.weights = torch.nn.ParameterList(
            torch.full((8, 8), 0.1) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        draw = random.Random(self.seed)
        values = [x, *self.weights]
        one = (torch.sin, torch.exp, torch.t, torch.sigmoid,
               lambda a: a.softmax(-1), lambda a: a.cumsum(0),
               lambda a: a.transpose(0, 1).contiguous(),
               lambda a: a.sum(0, keepdim=True) + a[:1],
               lambda a: a.reshape(4, 16)[:, :8].repeat(2, 1))
        two = (torch.mul, torch.add, torch.mm, torch.maximum,
               lambda a, b: torch.cat([a, b])[4:12])
        for _ in range(draw.randrange(10, 80)):
            # Old values now and then, else recent ones.
            def value() -> torch.Tensor:
                recent = values if draw.random() < 0.2 else values[-6:]
                return draw.choice(recent).expand(8, 8)
            if draw.random() < 0.6:
                values.append(draw.choice(one)(value()))
            else:
                values.append(draw.choice(two)(value(), value()))
        return torch.cat([v.expand(8, 8) for v in values[-4:]]).sum()


def of_seed(seed: int) -> Any:
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(seed))
    return Random(seed), (x,), lambda y: y, ()
