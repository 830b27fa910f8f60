"""Distances of rows, and products of three tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def _gradient(
    upstream: torch.Tensor, difference: torch.Tensor, distance: torch.Tensor, p: float
) -> torch.Tensor:
    """Of the p-norm of differences along the last dimension.

    Where all are zero, the gradient is.
    """
    upstream, distance = upstream.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return torch.sign(difference) * upstream
    if math.isinf(p):
        return torch.sign(difference) * upstream * (difference.abs() == distance)
    size = difference.abs()
    slope = difference / distance if p == 2 else (
        torch.sign(difference) * (size / distance) ** (p - 1)
    )
    is_zero = distance == 0 if p > 1 else size == 0
    return torch.where(is_zero, 0.0, slope * upstream)


def _differences(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return x1.unsqueeze(-2) - x2.unsqueeze(-3)


def _cdist(
    x1: torch.Tensor, x2: torch.Tensor, p: float, compute_mode: int | None
) -> torch.Tensor:
    return torch.linalg.vector_norm(_differences(x1, x2), p, -1)


def _cdist_backward(
    grad: torch.Tensor,
    x1: torch.Tensor,
    x2: torch.Tensor,
    p: float,
    cdist: torch.Tensor,
) -> torch.Tensor:
    return _gradient(grad, _differences(x1, x2), cdist, p).sum(-2)


def _pairs(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The two rows of each pair."""
    count = self.shape[0]
    pairs = torch.triu_indices(count, count, 1, device=self.device)
    return pairs[0], pairs[1]


def _pdist(self: torch.Tensor, p: float = 2) -> Any:
    if self.shape[0] < 2:
        return NotImplemented
    first, second = _pairs(self)
    difference = self.index_select(0, first) - self.index_select(0, second)
    return torch.linalg.vector_norm(difference, p, -1)


def _pdist_backward(
    grad: torch.Tensor, self: torch.Tensor, p: float, pdist: torch.Tensor
) -> Any:
    if self.shape[0] < 2:
        return NotImplemented
    first, second = _pairs(self)
    difference = self.index_select(0, first) - self.index_select(0, second)
    gradient = _gradient(grad, difference, pdist, p)
    zeros = torch.zeros_like(self)
    return zeros.index_add(0, first, gradient).index_add(0, second, -gradient)


def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    """Sums of products of tensors that each lack some of the dimensions."""
    letters = "abcdefghijklmnopqrstuvwxyz"[: i1.dim() + len(expand1)]

    def without(dims: Sequence[int]) -> str:
        return "".join(one for d, one in enumerate(letters) if d not in dims)

    # The weight between both: the first product is the larger sum.
    inputs = f"{without(expand1)},{without(expand2)},{without(expand3)}"
    return torch.einsum(f"{inputs}->{without(sumdim)}", i1, i2, i3)


TABLE: dict[Any, Callable[..., Any]] = {
    _aten._cdist_backward.default: _cdist_backward,
    _aten._cdist_forward.default: _cdist,
    _aten._pdist_backward.default: _pdist_backward,
    _aten._pdist_forward.default: _pdist,
    _aten._trilinear.default: _trilinear,
}
