"""Functions of complex numbers in terms of those of real ones.

Real numbers have nodes of their own, so each is ``NotImplemented`` for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """Real numbers have nodes of their own."""

    def checked(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return (function(self, *args, **kwargs) if self.is_complex()
                else NotImplemented)

    return checked


def _log(self: torch.Tensor) -> torch.Tensor:
    return torch.complex(self.abs().log(), self.angle())


def _sqrt(self: torch.Tensor) -> torch.Tensor:
    return torch.polar(self.abs().sqrt(), self.angle() / 2)


def _reciprocal(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    square = real * real + imaginary * imaginary
    return torch.complex(real / square, -imaginary / square)


def _power(self: torch.Tensor, exponent: Any) -> Any:
    if isinstance(exponent, complex):
        return NotImplemented
    if exponent == int(exponent) and 1 <= exponent <= 16:
        # The powers of two that make it up.
        result, factor, left = None, self, int(exponent)
        while left:
            if left % 2:
                result = factor if result is None else result * factor
            factor, left = (factor * factor if left > 1 else factor), left // 2
        return result
    return torch.polar(self.abs() ** exponent, self.angle() * exponent)


def _equal(self: torch.Tensor, other: Any) -> torch.Tensor:
    other = complex(other)
    return (self.real == other.real) & (self.imag == other.imag)


def _differs(self: torch.Tensor, other: Any) -> torch.Tensor:
    return torch.logical_not(_equal(self, other))


# -----------------------------------------------------------------------------
# Exponentials and their like
# -----------------------------------------------------------------------------


def _expm1(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    half = (imaginary / 2).sin()
    return torch.complex(real.expm1() * imaginary.cos() - 2 * half * half,
                         real.exp() * imaginary.sin())


def _log1p(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    size = torch.log1p(real * (2 + real) + imaginary * imaginary) / 2
    return torch.complex(size, torch.atan2(imaginary, 1 + real))


def _log_of_base(base: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda self: _log(self) * (1 / math.log(base))


def _rsqrt(self: torch.Tensor) -> torch.Tensor:
    return torch.polar(self.abs().rsqrt(), self.angle() / -2)


def _sinh(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    return torch.complex(real.sinh() * imaginary.cos(), real.cosh() * imaginary.sin())


def _cosh(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    return torch.complex(real.cosh() * imaginary.cos(), real.sinh() * imaginary.sin())


def _tanh(self: torch.Tensor) -> torch.Tensor:
    """Of functions that stay finite where the exponentials do not."""
    tanh, sine, cosine = self.real.tanh(), self.imag.sin(), self.imag.cos()
    size = cosine * cosine + tanh * tanh * sine * sine
    secant = 1 / self.real.cosh()
    return torch.complex(tanh / size, sine * cosine * secant * secant / size)


def _sin(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    return torch.complex(real.sin() * imaginary.cosh(), real.cos() * imaginary.sinh())


def _cos(self: torch.Tensor) -> torch.Tensor:
    real, imaginary = self.real, self.imag
    return torch.complex(real.cos() * imaginary.cosh(), -real.sin() * imaginary.sinh())


# -----------------------------------------------------------------------------
# Many numbers
# -----------------------------------------------------------------------------


def _addmm(self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *,
           beta: Any = 1, alpha: Any = 1) -> torch.Tensor:
    product = mat1 @ mat2
    if alpha != 1:
        product = product * alpha
    return product + (self if beta == 1 else self * beta)


def _cumprod(self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None
             ) -> Any:
    """Each element takes in what lies 1, 2, 4 and so on before it (Hillis and
    Steele, 1986)."""
    if dtype is not None and dtype != self.dtype or self.dim() == 0:
        return NotImplemented
    count, shift = self.shape[dim], 1
    while shift < count:
        later = self.narrow(dim, shift, count - shift)
        earlier = self.narrow(dim, 0, count - shift)
        self = torch.cat([self.narrow(dim, 0, shift), later * earlier], dim)
        shift *= 2
    return self


def _prod(self: torch.Tensor, *, dtype: torch.dtype | None = None) -> Any:
    return _prod_of_dim(self.reshape(-1), 0, dtype=dtype)


def _prod_of_dim(self: torch.Tensor, dim: int, keepdim: bool = False, *,
                 dtype: torch.dtype | None = None) -> Any:
    """A tree of products of halves."""
    if (dtype is not None and dtype != self.dtype or self.dim() == 0
            or self.shape[dim] == 0):
        return NotImplemented
    while (count := self.shape[dim]) > 1:
        half = count // 2
        rest = self.narrow(dim, 2 * half, count - 2 * half)
        self = self.narrow(dim, 0, half) * self.narrow(dim, half, half)
        self = torch.cat([self, rest], dim) if count % 2 else self
    return self if keepdim else self.squeeze(dim)


def _var(self: torch.Tensor, dim: Sequence[int] | None = None, *,
         correction: Any = None, keepdim: bool = False) -> torch.Tensor:
    real, imaginary = (part.var(dim, correction=correction, keepdim=keepdim)
                       for part in (self.real, self.imag))
    return real + imaginary


def _vector_norm(self: torch.Tensor, ord: Any = 2, dim: Sequence[int] | None = None,
                 keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    if dtype is not None:
        return NotImplemented
    return torch.linalg.vector_norm(self.abs(), ord, dim, keepdim)


def _neg_view(self: torch.Tensor) -> torch.Tensor:
    """What is a view of complex numbers with opposite imaginary parts."""
    return -self


TABLE: dict[Any, Callable[..., Any]] = {
    _aten._neg_view.default: _neg_view,
    **{op: _of_complex(function) for op, function in {
        _aten.addmm.default: _addmm,
        _aten.cos.default: _cos,
        _aten.cosh.default: _cosh,
        _aten.cumprod.default: _cumprod,
        _aten.eq.Scalar: _equal,
        _aten.expm1.default: _expm1,
        _aten.linalg_vector_norm.default: _vector_norm,
        _aten.log.default: _log,
        _aten.log10.default: _log_of_base(10),
        _aten.log1p.default: _log1p,
        _aten.log2.default: _log_of_base(2),
        _aten.ne.Scalar: _differs,
        _aten.pow.Tensor_Scalar: _power,
        _aten.prod.default: _prod,
        _aten.prod.dim_int: _prod_of_dim,
        _aten.reciprocal.default: _reciprocal,
        _aten.rsqrt.default: _rsqrt,
        _aten.sin.default: _sin,
        _aten.sinh.default: _sinh,
        _aten.sqrt.default: _sqrt,
        _aten.tanh.default: _tanh,
        _aten.var.correction: _var,
    }.items()},
}
