"""Losses that PyTorch cannot take apart, or takes apart as something else.

``gaussian_nll_loss`` looks whether a variance is negative, which on fake tensors
fails. PyTorch's table makes of ``multilabel_margin_loss`` a loss in which what
lies behind the end of a list of labels counts as label 0.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode


class LossesByParts(TorchFunctionMode):
    """Computes these losses from other operators while it is active."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        rule = _RULES.get(func)
        result = NotImplemented if rule is None else rule(*args, **kwargs)
        return func(*args, **kwargs) if result is NotImplemented else result


def _reduced(loss: torch.Tensor, reduction: str) -> Any:
    if reduction not in ("none", "mean", "sum"):
        return NotImplemented
    return loss if reduction == "none" else getattr(loss, reduction)()


def _gaussian_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: torch.Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    if not isinstance(var, torch.Tensor):
        return NotImplemented
    if var.shape == input.shape[:-1] != input.shape:
        var = var.unsqueeze(-1)
    differing = [a for a, b in zip(input.shape, var.shape) if a != b]
    if var.dim() != input.dim() or len(differing) > 1:
        return NotImplemented
    # The gradient passes where the variance is raised to eps, too.
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def _multilabel_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    if input.shape != target.shape or (size_average, reduce) != (None, None):
        return NotImplemented
    # A negative number ends the list.
    listed = (target >= 0).to(torch.int64).cumprod(-1).bool()
    labels = torch.where(listed, target, 0)
    classes = torch.arange(input.shape[-1], device=input.device)
    wanted = ((labels.unsqueeze(-1) == classes) & listed.unsqueeze(-1)).any(-2)
    chosen = input.gather(-1, labels).unsqueeze(-1)
    margins = (1 - chosen + input.unsqueeze(-2)).clamp_min(0) / input.shape[-1]
    counts = listed.unsqueeze(-1) & ~wanted.unsqueeze(-2)
    return _reduced(torch.where(counts, margins, 0).sum((-2, -1)), reduction)


_RULES = {
    F.gaussian_nll_loss: _gaussian_nll_loss,
    F.multilabel_margin_loss: _multilabel_margin_loss,
}

__all__ = ["LossesByParts"]
