"""Functions without a kernel, by series in f64.

Asymptotic series and reflections are those of the NIST Digital Library of
Mathematical Functions, 5.5 and 5.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from regather.fx.private import get_decompositions

_aten = torch.ops.aten

# The series start at this argument, where their errors are below 1e-14.
_SHIFT = 8


def _in_f64(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """Of floats, rounded to their type; integers give the default type."""

    def rounded(self: torch.Tensor) -> Any:
        if self.is_complex():
            return NotImplemented
        dtype = self.dtype if self.is_floating_point() else torch.get_default_dtype()
        return function(self.to(torch.float64)).to(dtype)

    return rounded


def _above_half(x: torch.Tensor) -> tuple[
    torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor
]:
    """Whether to reflect; the argument then; whether it is small; the shifted one."""
    reflects = x < 0.5
    y = torch.where(reflects, 1 - x, x)
    is_small = y < _SHIFT
    return reflects, y, is_small, torch.where(is_small, y + _SHIFT, y)


def _polynomial(x: torch.Tensor, coefficients: list[float]) -> torch.Tensor:
    """Horner's rule, the constant first."""
    total = torch.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _lgamma(x: torch.Tensor) -> torch.Tensor:
    reflects, y, is_small, z = _above_half(x)
    product = torch.where(is_small, y, 1.0)
    for k in range(1, _SHIFT):
        product = product * torch.where(is_small, y + k, 1.0)
    series = _polynomial(1 / (z * z), [1 / 12, -1 / 360, 1 / 1260, -1 / 1680,
                                       1 / 1188, -691 / 360360, 1 / 156]) / z
    above = (z - 0.5) * z.log() - z + 0.5 * math.log(2 * math.pi) + series
    above = above - product.log()
    sine = ((x - torch.floor(x)) * math.pi).sin()
    below = math.log(math.pi) - sine.abs().log() - above
    return torch.where(torch.isinf(x), math.inf, torch.where(reflects, below, above))


def _digamma(x: torch.Tensor) -> torch.Tensor:
    reflects, y, is_small, z = _above_half(x)
    total = torch.zeros_like(x)
    for k in range(_SHIFT):
        total = total + 1 / (y + k)
    square = 1 / (z * z)
    series = square * _polynomial(square, [
        1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
    above = z.log() - 0.5 / z - series - torch.where(is_small, total, 0.0)
    part = x - torch.floor(x)
    below = above - math.pi / (part * math.pi).tan()
    # A pole on each side of zero, and none that has a side below.
    below = torch.where(part == 0, math.nan, below)
    below = torch.where(x == 0, torch.copysign(torch.full_like(x, math.inf), -x),
                        below)
    return torch.where(reflects, below, above)


def _trigamma(x: torch.Tensor) -> torch.Tensor:
    reflects, y, is_small, z = _above_half(x)
    total = torch.zeros_like(x)
    for k in range(_SHIFT):
        total = total + 1 / ((y + k) * (y + k))
    square = 1 / (z * z)
    series = _polynomial(square, [
        1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]) * square / z
    above = 1 / z + 0.5 * square + series + torch.where(is_small, total, 0.0)
    sine = math.pi / ((x - torch.floor(x)) * math.pi).sin()
    return torch.where(reflects, sine * sine - above, above)


def _polygamma(n: int, self: torch.Tensor) -> Any:
    if n == 0:
        return _in_f64(_digamma)(self)
    return _in_f64(_trigamma)(self) if n == 1 else NotImplemented


def _erfinv(x: torch.Tensor) -> torch.Tensor:
    """Giles' polynomials (GPU Computing Gems, 2011), and Newton's method."""
    w = -torch.log((1 - x) * (1 + x))
    inner = _polynomial(w - 2.5, [
        1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
        -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08])
    outer = _polynomial(w.sqrt() - 3, [
        2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
        -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257])
    size = x.abs()
    y = torch.where(w < 5, inner, outer) * size
    for _ in range(3):
        # Of erf - x, and of the logarithm of erfc, which is nearly straight there.
        rest = torch.erfc(y)
        below = torch.erf(y) - size
        above = (torch.log1p(-size) - rest.log()) * rest
        slope = math.sqrt(math.pi) / 2 * (y * y).exp()
        y = y - torch.where(w < 5, below, above) * slope
    y = torch.where(size == 1, math.inf, y)
    return torch.copysign(y, x)


def _signbit(self: torch.Tensor) -> torch.Tensor:
    if not self.is_floating_point():
        return self < 0
    return torch.copysign(torch.ones_like(self), self) < 0


TABLE: dict[Any, Callable[..., Any]] = {
    **get_decompositions([_aten.ldexp]),
    _aten.digamma.default: _in_f64(_digamma),
    _aten.erfinv.default: _in_f64(_erfinv),
    _aten.lgamma.default: _in_f64(_lgamma),
    _aten.polygamma.default: _polygamma,
    _aten.signbit.default: _signbit,
}
