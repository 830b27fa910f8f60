"""Cases of `node_cases.py`: LU, Cholesky and QR of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from node_cases import Array, Value, case, rand


def of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of each matrix of a batch; stacks its results."""
    def apply(a: Array, *others: Array, **_: Any) -> tuple[Array, ...]:
        batch = a.shape[:-2]
        found = [function(a[i], *(other[i] for other in others))
                 for i in numpy.ndindex(batch)]
        return tuple(numpy.reshape(parts, batch + numpy.shape(parts[0]))
                     for parts in zip(*found, strict=True))
    return apply


def eliminate(a: Array) -> tuple[Array, Array, int]:
    """LU, the row that each row changed places with, and the first zero pivot."""
    a, pivots, info = a.copy(), [], 0
    for k in range(min(a.shape)):
        p = k + int(numpy.argmax(abs(a[k:, k])))
        a[[k, p]] = a[[p, k]]
        pivots.append(p + 1)
        if a[k, k] == 0:
            info = info or k + 1
            continue
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= numpy.outer(a[k + 1:, k], a[k, k + 1:])
    return a, numpy.array(pivots), info


def unpack(lu: Array, pivots: Array) -> tuple[Array, Array, Array]:
    rows, columns = lu.shape
    size, order = min(lu.shape), list(range(rows))
    for k, p in enumerate(pivots):
        order[k], order[p - 1] = order[p - 1], order[k]
    return (numpy.eye(rows)[order].T,
            numpy.tril(lu[:, :size], -1) + numpy.eye(rows, size),
            numpy.triu(lu[:size]))


for _shape in ((4, 4), (2, 3, 5, 5), (2, 5, 3), (3, 6), (1, 1), (2, 17, 17), (0, 0),
               (2, 0, 3)):
    case("aten.linalg_lu_factor_ex.default", rand(*_shape), ref=of_each(eliminate),
         out="f32 i32 i32")
    case("aten.lu_unpack.default", rand(*_shape), Value("i32", numpy.broadcast_to(
        [k + 1 + (_shape[-2] - 1 - k) * (k % 3) // 2 for k in range(min(_shape[-2:]))],
        (*_shape[:-2], min(_shape[-2:])))), ref=of_each(unpack), out="f32 f32 f32")
    for _mode in ("reduced", "complete"):
        case("aten.linalg_qr.default", rand(*_shape, dtype="f64"), _mode,
             ref=lambda a, mode: tuple(numpy.linalg.qr(a, mode)), out="f64 f64")
case("aten.lu_unpack.default", rand(2, 3, 3), Value("i32", numpy.array([[1, 2, 3]] * 2)),
     unpack_pivots=False, out="f32 f32 f32", ref=lambda *a, **_: (
         numpy.zeros(0), *of_each(unpack)(*a)[1:]))
case("aten.lu_unpack.default", rand(3, 4), Value("i32", numpy.array([3, 3, 3])),
     unpack_data=False, out="f32 f32 f32", ref=lambda *a, **_: (
         of_each(unpack)(*a)[0], numpy.zeros(0), numpy.zeros(0)))
case("aten.linalg_qr.default", rand(2, 4, 3), "r", out="f32 f32", ref=lambda a, mode: (
    numpy.zeros(0), numpy.linalg.qr(a, "r")))
# Nothing is reflected where all below the diagonal is zero.
case("aten.linalg_qr.default", Value("f32", numpy.array(
    [[2.0, 1, 3], [0, -3, 1], [0, 0, 4]])), "reduced", out="f32 f32",
     ref=lambda a, mode: (numpy.eye(3), a))
# Singular: of equal elements the first is the pivot; zeros divide nothing.
case("aten.linalg_lu_factor_ex.default", Value("f32", numpy.array(
    [[0.0, 1, 2], [0, 3, 4], [0, 3, 1]])), ref=of_each(eliminate), out="f32 i32 i32")


def positive(*shape: int, dtype: str = "f32") -> Value:
    """Positive definite; what the upper triangle holds is not read."""
    value = rand(*shape, dtype=dtype)
    value.data = (value.data @ value.data.swapaxes(-1, -2)
                  + 2 * numpy.eye(shape[-1])).astype(value.data.dtype)
    return value


for _shape in ((4, 4), (2, 3, 5, 5), (1, 1), (2, 17, 17), (0, 0)):
    case("aten.linalg_cholesky_ex.default", positive(*_shape), out="f32 i32",
         ref=lambda a: (numpy.linalg.cholesky(a), numpy.zeros(a.shape[:-2])))
    case("aten.linalg_cholesky_ex.default", positive(*_shape, dtype="f64"), upper=True,
         ref=lambda a, upper: (numpy.linalg.cholesky(a).swapaxes(-1, -2),
                               numpy.zeros(a.shape[:-2])), out="f64 i32")
case("aten.linalg_cholesky_ex.default", Value("f32", numpy.array(
    [[4, numpy.nan], [2, 5]])), out="f32 i32", in_torch=False,
     ref=lambda a: ([[2, 0], [1, 2]], 0))
# PyTorch stops, or leaves what it has not come to; here it is NaN.
case("aten.linalg_cholesky_ex.default", Value("f32", numpy.array(
    [[4.0, 0, 0], [2, 1, 0], [6, 3, 9]])), out="f32 i32", in_torch=False,
     ref=lambda a: ([[2, 0, 0], [1, numpy.nan, 0], [3, numpy.nan, numpy.nan]], 2))
