"""Fourier transforms as products with matrices of sines and cosines.

A transform of size n = a * b is made of b transforms of size a, factors of
modulus one, and a transforms of size b (Cooley and Tukey, 1965). Sizes up to
`_WHOLE` and prime ones are one product. The matrices are computed in f64 from
exact integers, so that their elements are off by half a unit in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten

# Up to here a product is quicker than two smaller ones with factors between.
_WHOLE = 64
# Beyond it, the matrix of a prime size takes more memory than is worth it.
_LARGEST_PRIME = 4096

Parts = tuple[torch.Tensor, torch.Tensor | None]


def _split(size: int) -> int:
    """The largest divisor up to the root; 1 if ``size`` is to stay whole."""
    if size <= _WHOLE:
        return 1
    return max(d for d in range(1, math.isqrt(size) + 1) if size % d == 0)


def _is_too_large(size: int) -> bool:
    """Whether a factor stays whole that is large."""
    while (divisor := _split(size)) > 1:
        size //= divisor
    return size > _LARGEST_PRIME


def _roots(rows: int, columns: int, size: int, like: torch.Tensor) -> tuple[
    torch.Tensor, torch.Tensor
]:
    """Cosine and sine of 2 pi * row * column / size."""
    row = torch.arange(rows, device=like.device).unsqueeze(1)
    column = torch.arange(columns, device=like.device)
    angle = (row * column % size).to(torch.float64) * (2 * math.pi / size)
    return angle.cos().to(like.dtype), angle.sin().to(like.dtype)


def _times(parts: Parts, cosine: torch.Tensor, sine: torch.Tensor,
           multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
           ) -> tuple[torch.Tensor, torch.Tensor]:
    """(re + i im) (cosine + i sine), or of a real tensor."""
    real, imaginary = parts
    if imaginary is None:
        return multiply(real, cosine), multiply(real, sine)
    return (multiply(real, cosine) - multiply(imaginary, sine),
            multiply(real, sine) + multiply(imaginary, cosine))


def _transform_last(parts: Parts, sign: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of x[j] exp(sign 2 pi i j k / n) along the last dimension."""
    real, imaginary = parts
    size = real.shape[-1]
    first = _split(size)
    if first == 1:
        cosine, sine = _roots(size, size, size, real)
        return _times(parts, cosine, sign * sine, torch.matmul)
    second = size // first

    def fold(part: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
        folded = part.reshape(*part.shape[:-1], rows, columns)
        return folded.transpose(-1, -2)

    # j = j1 * second + j2, k = k1 + first * k2.
    inner = _transform_last(
        (fold(real, first, second),
         None if imaginary is None else fold(imaginary, first, second)), sign
    )
    cosine, sine = _roots(second, first, size, real)
    turned = _times(inner, cosine, sign * sine, torch.mul)
    outer = _transform_last(
        (turned[0].transpose(-1, -2), turned[1].transpose(-1, -2)), sign
    )
    return (outer[0].transpose(-1, -2).reshape(real.shape),
            outer[1].transpose(-1, -2).reshape(real.shape))


def _transform(parts: Parts, dim: int, sign: int) -> Parts:
    """The same along any dimension."""
    real, imaginary = parts
    moved: Parts = (
        real.transpose(dim, -1),
        None if imaginary is None else imaginary.transpose(dim, -1),
    )
    result = _transform_last(moved, sign)
    return result[0].transpose(dim, -1), result[1].transpose(dim, -1)


def _scale(part: torch.Tensor, normalization: int, count: int) -> torch.Tensor:
    """By the square root of the number of elements, or by that, or not."""
    if normalization == 0 or count == 1:
        return part
    return part * (1 / math.sqrt(count) if normalization == 1 else 1 / count)


def _is_unsuitable(sizes: Sequence[int]) -> bool:
    return any(size == 0 or _is_too_large(size) for size in sizes)


def _complex_to_complex(
    self: torch.Tensor, dim: Sequence[int], normalization: int, forward: bool
) -> Any:
    sizes = [self.shape[d] for d in dim]
    if _is_unsuitable(sizes):
        return NotImplemented
    parts: Parts = (self.real, self.imag)
    for d in dim:
        parts = _transform(parts, d, -1 if forward else 1)
    real, imaginary = parts
    assert imaginary is not None
    count = math.prod(sizes)
    return torch.complex(_scale(real, normalization, count),
                         _scale(imaginary, normalization, count))


def _real_to_complex(
    self: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool
) -> Any:
    sizes = [self.shape[d] for d in dim]
    if _is_unsuitable(sizes):
        return NotImplemented
    *others, last = dim
    real, imaginary = _transform((self, None), last, -1)
    assert imaginary is not None
    if onesided:
        half = self.shape[last] // 2 + 1
        real = real.narrow(last, 0, half)
        imaginary = imaginary.narrow(last, 0, half)
    for d in others:
        real, imaginary = _transform((real, imaginary), d, -1)
    assert imaginary is not None
    count = math.prod(sizes)
    return torch.complex(_scale(real, normalization, count),
                         _scale(imaginary, normalization, count))


def _complex_to_real(
    self: torch.Tensor, dim: Sequence[int], normalization: int, last_dim_size: int
) -> Any:
    *others, last = dim
    sizes = [*(self.shape[d] for d in others), last_dim_size]
    if _is_unsuitable(sizes):
        return NotImplemented
    half = last_dim_size // 2 + 1
    parts: Parts = (self.real.narrow(last, 0, half), self.imag.narrow(last, 0, half))
    for d in others:
        parts = _transform(parts, d, 1)
    real, imaginary = parts
    assert imaginary is not None
    # What is left out is conjugate to what is there, in opposite order.
    missing = last_dim_size - half
    real = torch.cat([real, real.narrow(last, 1, missing).flip(last)], last)
    imaginary = torch.cat(
        [imaginary, -imaginary.narrow(last, 1, missing).flip(last)], last
    )
    return _scale(_transform((real, imaginary), last, 1)[0],
                  normalization, math.prod(sizes))


TABLE: dict[Any, Callable[..., Any]] = {
    _aten._fft_c2c.default: _complex_to_complex,
    _aten._fft_c2r.default: _complex_to_real,
    _aten._fft_r2c.default: _real_to_complex,
}
