"""What LU, Cholesky and triangular systems make: inverses, solutions, determinants.

PyTorch stops where a matrix is singular; here results are infinite or NaN then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten

#: Norms up to which the polynomial of degree 18 has the precision of its type
#: (Bader, Blanes and Casas, Computing the matrix exponential with an optimized
#: Taylor polynomial approximation, 2019, table 2, as in PyTorch).
_TAYLOR_NORMS = {torch.float32: 3.010066362817634, torch.float64: 1.090863719290036}
#: How often an exponential may be squared; larger norms give NaN.
_SQUARINGS = 24


def _factorize_either(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As PyTorch does for determinants: the transposed matrix, to save a copy.

    Its derivatives use the factors, so they have to be the same.
    """
    lu, pivots, _ = _aten.linalg_lu_factor_ex.default(
        a.mT if a.is_contiguous() else a)
    return lu, pivots


def _lu(
    a: torch.Tensor, pivot: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if not pivot:
        return NotImplemented
    lu, pivots, _ = _aten.linalg_lu_factor_ex.default(a)
    parts: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = (
        _aten.lu_unpack.default(lu, pivots))
    return parts


def _solve_triangular(
    a: torch.Tensor, b: torch.Tensor, *, upper: bool, unit: bool = False
) -> torch.Tensor:
    solution: torch.Tensor = _aten.linalg_solve_triangular.default(
        a, b, upper=upper, unitriangular=unit)
    return solution


def _lu_solve(
    lu: torch.Tensor,
    pivots: torch.Tensor,
    b: torch.Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> torch.Tensor:
    if lu.is_complex():
        return NotImplemented
    if not left:
        # X A = B is A^T X^T = B^T.
        return _lu_solve(lu, pivots, b.mT, adjoint=not adjoint).mT
    # All three, since parts of a batch would lack those that are left out.
    permutation, _, _ = _aten.lu_unpack.default(lu, pivots)
    batch = torch.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = b.expand(*batch, *b.shape[-2:])
    if adjoint:
        # U^T, then L^T, then P.
        b = _solve_triangular(lu.mT, b, upper=False)
        b = _solve_triangular(lu.mT, b, upper=True, unit=True)
        return permutation @ b
    b = _solve_triangular(lu, permutation.mT @ b, upper=False, unit=True)
    return _solve_triangular(lu, b, upper=True)


def _solve(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    if a.is_complex():
        return NotImplemented
    lu, pivots, info = _aten.linalg_lu_factor_ex.default(a)
    # A vector is a column, unless its shape is that of a batch of columns.
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim()
                                 and b.shape == a.shape[:-1])
    x = _lu_solve(lu, pivots, b.unsqueeze(-1) if is_vector else b,
                  left=left)
    return x.squeeze(-1) if is_vector else x, lu, pivots, info


def _inverse(
    a: torch.Tensor, *, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    if a.is_complex():
        return NotImplemented
    lu, pivots, info = _aten.linalg_lu_factor_ex.default(a)
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return _lu_solve(lu, pivots, identity), info


def _sign(pivots: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The determinant of the permutation: -1 for each row that changed places."""
    own = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype,
                       device=pivots.device)
    swaps = (pivots != own).sum(-1)
    return (1 - 2 * (swaps % 2)).to(like.dtype)


def _determinant(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if a.is_complex():
        return NotImplemented
    lu, pivots = _factorize_either(a)
    diagonal = lu.diagonal(dim1=-2, dim2=-1)
    return diagonal.prod(-1) * _sign(pivots, lu), lu, pivots


def _signed_logarithm(
    a: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    if a.is_complex():
        return NotImplemented
    lu, pivots = _factorize_either(a)
    diagonal = lu.diagonal(dim1=-2, dim2=-1)
    sign = diagonal.sign().prod(-1) * _sign(pivots, lu)
    return sign, diagonal.abs().log().sum(-1), lu, pivots


def _cholesky_solve(
    b: torch.Tensor, factor: torch.Tensor, upper: bool = False
) -> torch.Tensor:
    if factor.is_complex():
        return NotImplemented
    batch = torch.broadcast_shapes(b.shape[:-2], factor.shape[:-2])
    b = b.expand(*batch, *b.shape[-2:])
    lower = factor.mT if upper else factor
    b = _solve_triangular(lower, b, upper=False)
    return _solve_triangular(lower.mT, b, upper=True)


def _cholesky_inverse(factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    if factor.is_complex():
        return NotImplemented
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return _cholesky_solve(identity, factor, upper)


def _exponential(a: torch.Tensor) -> torch.Tensor:
    """By scaling and squaring: exp(A / 2^s), squared s times.

    How often is decided by data, so that each squaring is computed and kept
    or not.
    """
    limit = _TAYLOR_NORMS.get(a.dtype)
    if limit is None:
        return NotImplemented
    if a.numel() == 0:
        return a.clone()
    norm = a.abs().sum(-2).amax(-1)[..., None, None]
    count = torch.ceil(torch.log2((norm / limit).clamp(min=1.0)))
    scaled = a / torch.exp2(count)
    # Four products for degree 18: sums of 1, A^1 to A^5, times A^6 and A^12, A^18.
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    powers = [identity, scaled]
    for _ in range(4):
        powers.append(powers[-1] @ scaled)
    sixth = powers[-1] @ scaled
    result = identity / math.factorial(18)
    for first in (12, 6, 0):
        part = sum(power / math.factorial(first + i) for i, power in enumerate(powers))
        result = part + sixth @ result
    for i in range(_SQUARINGS):
        result = torch.where(count > i, result @ result, result)
    return torch.where(count <= _SQUARINGS, result, math.nan)


TABLE: dict[Any, Callable[..., Any]] = {
    _aten._linalg_det.default: _determinant,
    _aten._linalg_slogdet.default: _signed_logarithm,
    _aten._linalg_solve_ex.default: _solve,
    _aten.cholesky_inverse.default: _cholesky_inverse,
    _aten.cholesky_solve.default: _cholesky_solve,
    _aten.linalg_inv_ex.default: _inverse,
    _aten.linalg_lu.default: _lu,
    _aten.linalg_lu_solve.default: _lu_solve,
    _aten.linalg_matrix_exp.default: _exponential,
}
