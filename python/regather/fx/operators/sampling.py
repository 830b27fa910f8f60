"""Images read between their elements, beyond their edges, or at their maxima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten

# -----------------------------------------------------------------------------
# Grids
# -----------------------------------------------------------------------------

_BILINEAR, _NEAREST = 0, 1
_BORDER, _REFLECTION = 1, 2


def _place(
    grid: torch.Tensor, size: int, padding: int, align: bool
) -> tuple[torch.Tensor, torch.Tensor | float]:
    """The coordinate that -1 to 1 means, and its derivative."""
    slope: torch.Tensor | float
    if align:
        place, slope = (grid + 1) / 2 * (size - 1), (size - 1) / 2
    else:
        place, slope = ((grid + 1) * size - 1) / 2, size / 2
    if padding == _REFLECTION:
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        if span == 0:
            return torch.zeros_like(place), 0.0
        from_low = place - low
        extra = torch.fmod(from_low.abs(), span)
        is_even = torch.floor(from_low.abs() / span) % 2 == 0
        slope = slope * torch.where(is_even == (from_low >= 0), 1.0, -1.0)
        place = torch.where(is_even, extra + low, span - extra + low)
    if padding in (_BORDER, _REFLECTION):
        is_inside = (place > 0) & (place < size - 1)
        slope = slope * is_inside.to(place.dtype)
        place = place.clamp(0, size - 1)
    return place, slope


class _Corner:
    """The neighbours of all places on one side in each dimension."""

    def __init__(
        self, places: Sequence[torch.Tensor], sides: Sequence[int], sizes: Sequence[int]
    ) -> None:
        self.sides = sides
        self.weights: list[torch.Tensor] = []
        is_inside: Any = True
        index: Any = 0
        for place, side, size in zip(places, sides, sizes, strict=True):
            low = torch.floor(place)
            self.weights.append(place - low if side else low + 1 - place)
            at = low + side
            is_inside = is_inside & (at >= 0) & (at <= size - 1)
            index = index * size + at.clamp(0, size - 1).to(torch.int64)
        self.is_inside = is_inside.to(places[0].dtype).unsqueeze(1)
        self.index = index.unsqueeze(1)

    def weight(self, without: int | None = None) -> torch.Tensor:
        """The product of all weights but one, where the image has an element."""
        weight = self.is_inside
        for d, one in enumerate(self.weights):
            if d != without:
                weight = weight * one.unsqueeze(1)
        return weight


class _Nearest(_Corner):
    """The element next to each place; of two, the one with an even index."""

    def __init__(self, places: Sequence[torch.Tensor], sizes: Sequence[int]) -> None:
        super().__init__([torch.round(place) for place in places],
                         [0] * len(sizes), sizes)


def _corners(
    grid: torch.Tensor, sizes: Sequence[int], mode: int, padding: int, align: bool
) -> tuple[list[_Corner], list[torch.Tensor | float]]:
    """Neighbours, and slopes of the places, from the outermost dimension on.

    The grid names the innermost dimension first; [N, P] places are left.
    """
    found = [
        _place(column.flatten(1), size, padding, align)
        for column, size in zip(reversed(grid.unbind(-1)), sizes, strict=True)
    ]
    places = [place for place, _ in found]
    if mode == _NEAREST:
        return [_Nearest(places, sizes)], [slope for _, slope in found]
    sides = itertools.product((0, 1), repeat=len(sizes))
    return ([_Corner(places, side, sizes) for side in sides],
            [slope for _, slope in found])


def _grid_sampler(
    input: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    if interpolation_mode not in (_BILINEAR, _NEAREST):
        return NotImplemented
    flat = input.flatten(2)
    corners, _ = _corners(grid, input.shape[2:], interpolation_mode, padding_mode,
                          align_corners)
    total: torch.Tensor | None = None
    for corner in corners:
        index = corner.index.expand(-1, flat.shape[1], -1)
        term = flat.gather(2, index) * corner.weight()
        total = term if total is None else total + term
    assert total is not None
    return total.view(*input.shape[:2], *grid.shape[1:-1])


def _grid_sampler_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> Any:
    if interpolation_mode not in (_BILINEAR, _NEAREST):
        return NotImplemented
    flat, upstream = input.flatten(2), grad_output.flatten(2)
    corners, slopes = _corners(grid, input.shape[2:], interpolation_mode,
                               padding_mode, align_corners)
    image = torch.zeros_like(flat)
    columns: list[Any] = [0.0] * len(slopes)
    for corner in corners:
        index = corner.index.expand(-1, flat.shape[1], -1)
        if output_mask[0]:
            image = image.scatter_add(2, index, upstream * corner.weight())
        if not output_mask[1] or interpolation_mode == _NEAREST:
            continue
        product = (flat.gather(2, index) * upstream).sum(1)
        for d, side in enumerate(corner.sides):
            term = product * corner.weight(without=d).squeeze(1)
            columns[d] = columns[d] + (term if side else -term)
    if interpolation_mode == _NEAREST:
        moved = torch.zeros_like(grid)
    elif output_mask[1]:
        moved = torch.stack(
            [column * slope for column, slope in zip(columns, slopes, strict=True)][
                ::-1
            ],
            -1,
        ).view(grid.shape)
    return (image.view(input.shape) if output_mask[0] else None,
            moved if output_mask[1] else None)


# -----------------------------------------------------------------------------
# Interpolation that sums over all elements that a new one covers
# -----------------------------------------------------------------------------


def _triangle(x: torch.Tensor) -> torch.Tensor:
    return (1 - x.abs()).clamp_min(0)


def _cubic(x: torch.Tensor) -> torch.Tensor:
    """Keys' kernel with a = -1/2, as image libraries use it."""
    a = -0.5
    x = x.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _coverage(
    old: int,
    new: int,
    scale: float | None,
    width: int,
    kernel: Callable[[torch.Tensor], torch.Tensor],
    like: torch.Tensor,
) -> torch.Tensor:
    """What each new element takes of each old one: [new, old], rows sum up to 1."""
    step = 1 / scale if scale else old / new
    support = width / 2 * max(step, 1.0)
    centre = step * (torch.arange(new, dtype=torch.float64, device=like.device) + 0.5)
    centre = centre.unsqueeze(1)
    place = torch.arange(old, dtype=torch.float64, device=like.device)
    first = torch.floor(centre - support + 0.5)
    end = torch.floor(centre + support + 0.5)
    weight = kernel((place - centre + 0.5) / max(step, 1.0))
    weight = torch.where((place >= first) & (place < end), weight, 0.0)
    return (weight / weight.sum(1, keepdim=True)).to(like.dtype)


def _antialiased(
    width: int, kernel: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The operator and its backward operator."""

    def forward(
        input: torch.Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        if align_corners:
            return NotImplemented
        high = _coverage(input.shape[2], output_size[0], scales_h, width, kernel, input)
        wide = _coverage(input.shape[3], output_size[1], scales_w, width, kernel, input)
        return high @ (input @ wide.t())

    def backward(
        grad_output: torch.Tensor,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        if align_corners:
            return NotImplemented
        high = _coverage(input_size[2], output_size[0], scales_h, width, kernel,
                         grad_output)
        wide = _coverage(input_size[3], output_size[1], scales_w, width, kernel,
                         grad_output)
        return high.t() @ (grad_output @ wide)

    return forward, backward


# -----------------------------------------------------------------------------
# Pads and pools
# -----------------------------------------------------------------------------


def _replication_pad_backward(
    grad_output: torch.Tensor, self: torch.Tensor, padding: Sequence[int]
) -> torch.Tensor:
    """Each element gets the sum of what its copies got."""
    result = grad_output
    for i in range(len(padding) // 2):
        dim = self.dim() - 1 - i
        place = torch.arange(result.shape[dim], device=self.device) - padding[2 * i]
        place = place.clamp(0, self.shape[dim] - 1)
        shape = list(result.shape)
        shape[dim] = self.shape[dim]
        result = result.new_zeros(shape).index_add(dim, place, result)
    return result


def _window(old: int, new: int, like: torch.Tensor) -> torch.Tensor:
    """The places in each window, [new, most]; the last is repeated at the end."""
    window = torch.arange(new, device=like.device)
    first = torch.div(window * old, new, rounding_mode="floor")
    # A window ends before ceil((i + 1) old / new).
    last = torch.div((window + 1) * old - 1, new, rounding_mode="floor")
    most = max(((i + 1) * old - 1) // new - i * old // new + 1 for i in range(new))
    place = first.unsqueeze(1) + torch.arange(most, device=like.device)
    return torch.minimum(place, last.unsqueeze(1))


def _adaptive_max_pool(dims: int) -> Callable[..., Any]:
    """The largest element of each window, and its place in the image."""

    def forward(input: torch.Tensor, output_size: Sequence[int]) -> Any:
        sizes = input.shape[-dims:]
        if 0 in input.shape or 0 in output_size:
            return NotImplemented
        pairs = list(zip(sizes, output_size, strict=True))
        if all(old % new == 0 for old, new in pairs):
            pool = (_aten.max_pool2d_with_indices if dims == 2
                    else _aten.max_pool3d_with_indices)
            return pool(input, [old // new for old, new in pairs])
        places: Any = 0
        for d, (old, new) in enumerate(pairs):
            window = _window(old, new, input)
            shape = [1] * (2 * dims)
            shape[d], shape[dims + d] = window.shape
            places = places * old + window.view(shape)
        places = places.reshape(*output_size, -1)
        elements = input.flatten(-dims)[..., places]
        values, which = elements.max(-1)
        indices = places.expand_as(elements).gather(-1, which.unsqueeze(-1))
        return values, indices.squeeze(-1)

    return forward


def _adaptive_max_pool_backward(dims: int) -> Callable[..., torch.Tensor]:
    """Indices are places in one image, of which windows may share some."""

    def backward(
        grad_output: torch.Tensor, self: torch.Tensor, indices: torch.Tensor
    ) -> torch.Tensor:
        outer = self.shape[:-dims]
        count = math.prod(self.shape[-dims:])
        zeros = grad_output.new_zeros(*outer, count)
        return zeros.scatter_add(
            -1, indices.reshape(*outer, -1), grad_output.reshape(*outer, -1)
        ).view(self.shape)

    return backward


_bilinear = _antialiased(2, _triangle)
_bicubic = _antialiased(4, _cubic)

TABLE: dict[Any, Callable[..., Any]] = {
    _aten.adaptive_max_pool2d.default: _adaptive_max_pool(2),
    _aten.adaptive_max_pool3d.default: _adaptive_max_pool(3),
    _aten.adaptive_max_pool2d_backward.default: _adaptive_max_pool_backward(2),
    _aten.adaptive_max_pool3d_backward.default: _adaptive_max_pool_backward(3),
    _aten.grid_sampler_2d.default: _grid_sampler,
    _aten.grid_sampler_2d_backward.default: _grid_sampler_backward,
    _aten.grid_sampler_3d.default: _grid_sampler,
    _aten.grid_sampler_3d_backward.default: _grid_sampler_backward,
    _aten.replication_pad1d_backward.default: _replication_pad_backward,
    _aten.replication_pad2d_backward.default: _replication_pad_backward,
    _aten.replication_pad3d_backward.default: _replication_pad_backward,
    _aten._upsample_bicubic2d_aa.default: _bicubic[0],
    _aten._upsample_bicubic2d_aa_backward.default: _bicubic[1],
    _aten._upsample_bilinear2d_aa.default: _bilinear[0],
    _aten._upsample_bilinear2d_aa_backward.default: _bilinear[1],
}
