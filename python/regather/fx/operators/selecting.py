"""Operators that pick elements, or put them at places, as sorts and scatters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten

# -----------------------------------------------------------------------------
# Masks
# -----------------------------------------------------------------------------


def _ranks(mask: torch.Tensor) -> torch.Tensor:
    """How many elements of the mask are true before each that is, in order."""
    flat = mask.reshape(-1)
    return (flat.to(torch.int64).cumsum(0) - 1).clamp_min(0)


def _masked_scatter(
    self: torch.Tensor, mask: torch.Tensor, source: torch.Tensor
) -> Any:
    if source.numel() == 0:
        return NotImplemented
    self, mask = torch.broadcast_tensors(self, mask)
    # With too few elements, the index lies outside, which is an error.
    taken = source.reshape(-1).index_select(0, _ranks(mask))
    return torch.where(mask, taken.view(self.shape), self)


def _masked_scatter_backward(
    grad_output: torch.Tensor, mask: torch.Tensor, sizes: Sequence[int]
) -> Any:
    count = math.prod(sizes)
    if count == 0:
        return NotImplemented
    mask = mask.expand_as(grad_output)
    kept = torch.where(mask, grad_output, torch.zeros_like(grad_output))
    zeros = grad_output.new_zeros(count)
    # Behind the last true element, ranks repeat, and zeros are added.
    return zeros.scatter_add(0, _ranks(mask), kept.reshape(-1)).view(sizes)


def _nonzero_static(
    self: torch.Tensor, *, size: int, fill_value: int = -1
) -> Any:
    if self.dim() == 0 or self.numel() == 0:
        return NotImplemented
    mask = (self != 0).reshape(-1)
    # What has no place left, and what is zero, goes to one row behind the end.
    rank = mask.to(torch.int64).cumsum(0) - 1
    row = torch.where(mask, rank, size).clamp_max(size)
    place = torch.arange(self.numel(), device=self.device)
    columns = []
    for length, step in zip(self.shape, _strides(self.shape), strict=True):
        column = place.new_full((size + 1,), fill_value)
        at = torch.div(place, step, rounding_mode="floor") % length
        columns.append(column.scatter(0, row, at).narrow(0, 0, size))
    return torch.stack(columns, 1)


def _strides(shape: Sequence[int]) -> list[int]:
    """Of a tensor that is laid out row by row."""
    return [math.prod(shape[d + 1:]) for d in range(len(shape))]


# -----------------------------------------------------------------------------
# Indices
# -----------------------------------------------------------------------------


def _index_reduce(
    self: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    if self.dim() == 0 or index.dim() != 1:
        return NotImplemented
    shape = [1] * self.dim()
    shape[dim] = -1
    return torch.scatter_reduce(
        self, dim, index.to(torch.int64).view(shape).expand_as(source), source,
        reduce, include_self=include_self,
    )


def _put(
    self: torch.Tensor,
    index: torch.Tensor,
    source: torch.Tensor,
    accumulate: bool = False,
) -> torch.Tensor:
    flat = self.reshape(-1)
    return flat.index_put(
        [index.reshape(-1)], source.reshape(-1), accumulate
    ).view(self.shape)


# -----------------------------------------------------------------------------
# Bags of embeddings
# -----------------------------------------------------------------------------

_SUM, _MEAN = 0, 1


def _embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Output, and for the backward operator: bags, their sizes, nothing."""
    if mode not in (_SUM, _MEAN) or scale_grad_by_freq or sparse:
        return NotImplemented
    count = offsets.shape[0] - int(include_last_offset)
    if count == 0 or indices.shape[0] == 0:
        return NotImplemented
    places = torch.arange(indices.shape[0], dtype=offsets.dtype,
                          device=offsets.device)
    starts = offsets.narrow(0, 0, count)
    bags = torch.searchsorted(starts, places, right=True) - 1
    kept = (torch.ones_like(bags) if padding_idx < 0
            else (indices != padding_idx).to(torch.int64))
    sizes = bags.new_zeros(count).index_add(0, bags, kept)
    rows = weight.index_select(0, indices)
    # Sums are in f32, as products accumulate.
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx >= 0:
        rows = torch.where(kept.unsqueeze(1) != 0, rows, 0.0)
    sums = rows.new_zeros(count, weight.shape[1]).index_add(0, bags, rows)
    if mode == _MEAN:
        sums = sums / sizes.clamp_min(1).unsqueeze(1)
    return sums.to(weight.dtype), bags, sizes, sizes


def _embedding_bag_backward(
    grad: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    bag_size: torch.Tensor,
    maximum_indices: torch.Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: torch.Tensor | None,
    padding_idx: int = -1,
) -> Any:
    if mode not in (_SUM, _MEAN) or scale_grad_by_freq or sparse:
        return NotImplemented
    if mode == _MEAN:
        grad = grad / bag_size.clamp_min(1).unsqueeze(1)
    rows = grad.index_select(0, offset2bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return _aten.embedding_dense_backward(
        rows, indices, num_weights, padding_idx, False
    )


def _embedding_bag_weights_backward(
    grad: torch.Tensor,
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Any:
    if mode != _SUM:
        return NotImplemented
    rows = grad.index_select(0, offset2bag) * weight.index_select(0, indices)
    sums = rows.sum(1)
    return sums if padding_idx < 0 else torch.where(indices != padding_idx, sums, 0.0)


# -----------------------------------------------------------------------------
# Order
# -----------------------------------------------------------------------------


def _kthvalue(
    self: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> Any:
    if self.dim() == 0 or not 1 <= k <= self.shape[dim]:
        return NotImplemented
    values, indices = torch.sort(self, dim=dim, stable=True)
    picked = (values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1))
    return picked if keepdim else tuple(v.squeeze(dim) for v in picked)


def _middle(
    self: torch.Tensor, dim: int, keepdim: bool, skips_nans: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower of two medians, and where it is. NaNs are sorted to the end."""
    values, indices = torch.sort(self, dim=dim, stable=True)
    length = self.shape[dim]
    if not self.is_floating_point():
        place: torch.Tensor | None = None
    elif skips_nans:
        count = (values == values).sum(dim, keepdim=True)
        place = torch.div((count - 1).clamp_min(0), 2, rounding_mode="floor")
    else:
        # One NaN is the median, the first of them.
        count = (values == values).sum(dim, keepdim=True)
        place = torch.where(count == length, (length - 1) // 2, count)
    if place is None:
        picked = tuple(
            v.narrow(dim, (length - 1) // 2, 1) for v in (values, indices)
        )
    else:
        picked = (values.gather(dim, place), indices.gather(dim, place))
    if not keepdim:
        picked = tuple(v.squeeze(dim) for v in picked)
    return picked[0], picked[1]


def _median_along(skips_nans: bool) -> Callable[..., Any]:
    def median(self: torch.Tensor, dim: int, keepdim: bool = False) -> Any:
        if self.dim() == 0 or self.shape[dim] == 0:
            return NotImplemented
        return _middle(self, dim, keepdim, skips_nans)

    return median


def _median(skips_nans: bool) -> Callable[..., Any]:
    def median(self: torch.Tensor) -> Any:
        if self.numel() == 0:
            return NotImplemented
        return _middle(self.reshape(-1), 0, False, skips_nans)[0]

    return median


TABLE: dict[Any, Callable[..., Any]] = {
    _aten._embedding_bag.default: _embedding_bag,
    _aten._embedding_bag_forward_only.default: _embedding_bag,
    _aten._embedding_bag_backward.default: _embedding_bag_backward,
    _aten._embedding_bag_per_sample_weights_backward.default:
        _embedding_bag_weights_backward,
    _aten.index_reduce.default: _index_reduce,
    _aten.kthvalue.default: _kthvalue,
    _aten.masked_scatter.default: _masked_scatter,
    _aten.masked_scatter_backward.default: _masked_scatter_backward,
    _aten.median.default: _median(skips_nans=False),
    _aten.median.dim: _median_along(skips_nans=False),
    _aten.nanmedian.default: _median(skips_nans=True),
    _aten.nanmedian.dim: _median_along(skips_nans=True),
    _aten.nonzero_static.default: _nonzero_static,
    _aten.put.default: _put,
}
