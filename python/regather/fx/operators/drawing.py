"""Random choices in terms of random numbers that are defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten


def permutation(n: int, *, dtype: torch.dtype | None = None, **options: Any
                ) -> torch.Tensor:
    """The order of drawn numbers, which are all different but once in 2^53."""
    device = options.get("device")
    keys = torch.rand(n, dtype=torch.float64, device=device)
    order = torch.argsort(keys, stable=True)
    return order if dtype is None else order.to(dtype)


def _multinomial(
    self: torch.Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Any:
    """The first of exponential clocks that tick at these rates, as PyTorch does."""
    if generator is not None or (replacement and num_samples > 1):
        return NotImplemented
    is_valid = torch.isfinite(self) & (self >= 0)
    _aten._assert_async.msg(
        is_valid.all(), "multinomial: a probability is negative, infinite or NaN"
    )
    clocks = self / _aten.exponential(torch.empty_like(self), 1.0)
    if num_samples == 1:
        return clocks.argmax(-1, keepdim=True)
    return clocks.topk(num_samples, -1)[1]


TABLE: dict[Any, Callable[..., Any]] = {
    _aten.multinomial.default: _multinomial,
    _aten.randperm.default: permutation,
}
