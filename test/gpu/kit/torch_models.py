"""Models whose steps are timed: the same for the capture and for PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llama3
import torch
from torch import nn

# Llama 3.2 1B, but for the output layer, which has weights of its own here.
ONE_BILLION = llama3.Config(16, 2048, 32, 8, 8192, 128256, 4096)


@dataclass
class TimedStep:
    """A model, inputs, loss and targets; whether AdamW is part of the step."""
    made: tuple[Any, ...]
    learns: bool


class OneBlock(nn.Module):
    """[B, S, width] to the same shape."""

    def __init__(self, config: llama3.Config) -> None:
        super().__init__()
        self.block = llama3.Block(config)
        cos, sin = llama3.rotary_table(config)
        self.register_buffer("rope_cos", cos)
        self.register_buffer("rope_sin", sin)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(x, self.rope_cos, self.rope_sin)


def to_bf16(model: nn.Module) -> nn.Module:
    """All weights; the rotation stays in f32."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return model


def block(config: llama3.Config) -> TimedStep:
    x = torch.randn(1, config.sequence, config.width).to(torch.bfloat16)
    return TimedStep((to_bf16(OneBlock(config)), (x,),
                      lambda y: y.float().square().mean(), ()), False)


def whole(config: llama3.Config) -> TimedStep:
    model = to_bf16(llama3.Llama3(config))
    tokens = torch.zeros(1, config.sequence, dtype=torch.int64)
    return TimedStep((model, (tokens,), llama3.loss,
                      (torch.zeros_like(tokens),)), True)


FACTORIES: dict[str, Callable[[], TimedStep]] = {
    "block-tiny": lambda: block(llama3.CONFIGS["tiny"]),
    "block-8B": lambda: block(llama3.CONFIGS["8B"]),
    "llama-tiny": lambda: whole(llama3.CONFIGS["tiny"]),
    "llama-1B": lambda: whole(ONE_BILLION)}
