"""Grouped matrix products of all types of floats.

On fake tensors PyTorch has a shape rule for bfloat16 alone, although its
kernel for CPUs takes the others. While a step is traced, this one stands in.
"""

from __future__ import annotations

from typing import Any

import torch


def shape(
    mode: Any,
    operator: Any,
    left: torch.Tensor,
    right: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """The result of ``aten::_grouped_mm``, which holds nothing.

    Shapes, with G groups: [T, K] and [G, K, N] give [T, N]; [M, T] and [T, N]
    give [G, M, N]; [G, M, K] and [K, T] give [M, T]; [G, M, K] and [G, K, N]
    give [G, M, N]. Raises ValueError for others.
    """
    ranks = left.dim(), right.dim()
    if any(rank not in (2, 3) for rank in ranks):
        raise ValueError(f"expects matrices of rank 2 or 3, got {ranks}")
    if left.dtype != right.dtype or not left.dtype.is_floating_point:
        raise ValueError("expects matrices with the same type of floats, got "
                         f"{left.dtype} and {right.dtype}")
    if (offs is None) != (ranks == (3, 3)):
        raise ValueError("expects 'offs' unless both matrices have rank 3")
    if offs is not None and (offs.dim() != 1 or offs.dtype != torch.int32):
        raise ValueError("expects 'offs' of rank 1 and type torch.int32, got "
                         f"rank {offs.dim()} and type {offs.dtype}")
    if bias is not None:
        raise ValueError("expects no 'bias', which PyTorch does not take yet")
    if left.shape[-1] != right.shape[-2]:
        raise ValueError("expects as many columns as rows, got "
                         f"{left.shape[-1]} and {right.shape[-2]}")
    groups = {(2, 3): right.shape[0], (3, 2): left.shape[0],
              (3, 3): right.shape[0]}.get(ranks)
    count = left.shape[0] if ranks == (3, 3) else (
        groups if offs is None else offs.shape[0])
    if groups is not None and groups != count:
        raise ValueError(f"expects {groups} groups, got {count}")
    sizes = [left.shape[-2], right.shape[-1]]
    if ranks in ((2, 2), (3, 3)):
        sizes.insert(0, count)
    return left.new_empty(sizes, dtype=out_dtype)
