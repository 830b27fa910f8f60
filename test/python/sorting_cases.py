"""Cases of sorts, searches, scans and counts, as in `node_cases.py`."""

from __future__ import annotations

from typing import Any

import numpy

from node_cases import Array, Value, bools, case, ints, rand

# -----------------------------------------------------------------------------
# Sorts
# -----------------------------------------------------------------------------


def sort(x: Array, dim: int = -1, descending: bool = False
         ) -> tuple[Array, Array]:
    """Stable; a NaN is larger than any number."""
    keys = numpy.where(numpy.isnan(x), numpy.inf, x)
    key = -keys if descending else keys
    late = numpy.isnan(x) != descending
    # Infinite keys and those that are no number are told apart by the second.
    order = numpy.lexsort((late, key), axis=dim)
    return numpy.take_along_axis(x, order, dim), order


def topk(x: Array, k: int, dim: int = -1, largest: bool = True,
         is_sorted: bool = True) -> tuple[Array, Array]:
    values, order = sort(x, dim, largest)
    return values.take(range(k), dim), order.take(range(k), dim)


MIXED = Value("f32", numpy.array([3.0, numpy.nan, -1.0, 2.5, numpy.nan, 7.0]))
for _size in (1, 2, 3, 8, 13, 33):
    case("aten.sort.default", rand(2, _size), ref=sort, out="f32 i64")
    # Many are equal.
    case("aten.sort.stable", ints(2, _size, high=4), ref=lambda x, stable, dim,
         descending: sort(x.astype(float), dim, descending), out="i64 i64",
         stable=True, dim=-1, descending=_size % 2 == 0)
case("aten.sort.default", rand(3, 5, 2), 1, True, ref=sort, out="f32 i64")
case("aten.sort.default", rand(), ref=lambda x: (x, numpy.zeros((), int)),
     out="f32 i64")
for _descending in (False, True):
    case("aten.sort.stable", MIXED, ref=lambda x, stable, dim, descending:
         sort(x, dim, descending), out="f32 i64", stable=True, dim=0,
         descending=_descending)
case("aten.topk.default", rand(3, 8), 2, ref=topk, out="f32 i64")
case("aten.topk.default", rand(5, 3), 5, 0, False, ref=topk, out="f32 i64")
case("aten.topk.default", rand(2, 7, dtype="f64"), 3, out="f64 i64", ref=topk)

# -----------------------------------------------------------------------------
# Searches
# -----------------------------------------------------------------------------


def ascending(*shape: int) -> Value:
    """With some keys that are equal."""
    return Value("f32", numpy.sort(numpy.round(
        rand(*shape).data * 2) / 2).astype(numpy.float32))


def search(keys: Array, values: Array, right: bool = False, **_: Any) -> Array:
    side = "right" if right else "left"
    if keys.ndim == 1:
        return numpy.searchsorted(keys, values, side)
    found = [numpy.searchsorted(row, own, side) for row, own in
             zip(keys.reshape(-1, keys.shape[-1]),
                 values.reshape(-1, values.shape[-1]), strict=True)]
    return numpy.array(found).reshape(values.shape)


for _size in (1, 2, 7, 8, 33):
    for _right in (False, True):
        case("aten.searchsorted.Tensor", ascending(_size), ascending(3, 4),
             right=_right, ref=search, out="i64")
        case("aten.searchsorted.Tensor", ascending(2, 3, _size),
             ascending(2, 3, 5), right=_right, ref=search, out="i64")
        case("aten.bucketize.Tensor", ascending(3, 4), ascending(_size),
             out_int32=True, right=_right, out="i32",
             ref=lambda x, keys, out_int32, right: search(keys, x, right))
case("aten.searchsorted.Tensor", Value("i64", numpy.array([0, 1, 1, 3, 7])),
     ints(6, high=9), out="i64", side="right",
     ref=lambda keys, x, side: search(keys, x, True))
case("aten.searchsorted.Tensor", Value("f32", numpy.array(
    [5, 1, 4, 2], numpy.float32)), rand(4, low=0, high=6), out="i64",
     sorter=Value("i64", numpy.array([1, 3, 2, 0])),
     ref=lambda keys, x, sorter: numpy.searchsorted(keys, x, sorter=sorter))
case("aten.searchsorted.Tensor", Value("f32", numpy.array(
    [-1, 0, numpy.inf, numpy.nan], numpy.float32)), Value("f32", numpy.array(
        [numpy.nan, numpy.inf, -numpy.inf, 0], numpy.float32)), out="i64",
     ref=lambda keys, x: numpy.array([4, 2, 0, 1]))

for _counts in ([2, 0, 3, 1], [0, 0, 5], [1], [4, 0, 0]):
    case("aten.repeat_interleave.Tensor", Value("i64", numpy.array(_counts)),
         output_size=sum(_counts), out="i64",
         ref=lambda n, output_size: numpy.repeat(numpy.arange(len(n)), n))
# Counts that do not sum up give what no index takes.
for _size in (3, 5):
    case("aten.repeat_interleave.Tensor", Value("i64", numpy.array([1, 3])),
         output_size=_size, out="i64", in_torch=False,
         ref=lambda n, output_size: numpy.full(output_size, 2))

# -----------------------------------------------------------------------------
# Scans and counts
# -----------------------------------------------------------------------------

case("aten.cumsum.default", rand(3, 4), 1, ref=numpy.cumsum)
case("aten.cumsum.default", bools(5), 0, ref=numpy.cumsum, out="i64")
case("aten.cumsum.default", rand(), 0, ref=lambda x, d: x)
case("aten.cumprod.default", rand(3, 4), 0, ref=numpy.cumprod)
for _dim in (0, -1):
    case("aten.logcumsumexp.default", rand(3, 4), _dim,
         ref=lambda x, d: numpy.logaddexp.accumulate(x, d))
case("aten.logcumsumexp.default", Value("f32", numpy.array(
    [-numpy.inf, -numpy.inf, 1, 100, -numpy.inf, numpy.inf, numpy.inf, 0],
    numpy.float32)), 0, ref=lambda x, d: numpy.logaddexp.accumulate(x))


def running(better: numpy.ufunc) -> Any:
    """The best so far, and where: of equal elements the last."""
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        rows = numpy.moveaxis(x, dim, 0)
        best, where = rows.copy(), numpy.zeros(rows.shape, int)
        for i in range(1, len(rows)):
            takes = better(rows[i], best[i - 1]) | numpy.isnan(rows[i])
            best[i] = numpy.where(takes, rows[i], best[i - 1])
            where[i] = numpy.where(takes, i, where[i - 1])
        return numpy.moveaxis(best, 0, dim), numpy.moveaxis(where, 0, dim)
    return run


for _name, _better in (("cummax", numpy.greater_equal),
                       ("cummin", numpy.less_equal)):
    case(f"aten.{_name}.default", rand(3, 4), 1, ref=running(_better),
         out="f32 i64")
    case(f"aten.{_name}.default", ints(5, 2, 3, high=3), 0,
         ref=running(_better), out="i64 i64")
    case(f"aten.{_name}.default", MIXED, -1, ref=running(_better),
         out="f32 i64")
case("aten.cummax.default", rand(), 0, out="f32 i64",
     ref=lambda x, d: (x, numpy.zeros((), int)))

for _bins, _low, _high in ((4, 0, 3), (100, -1.5, 1.5), (1, 0, 1)):
    case("aten.histc.default", rand(3, 40), _bins, _low, _high,
         ref=lambda x, bins, low, high:
         numpy.histogram(x.astype(numpy.float32), bins, (low, high))[0])
case("aten.histc.default", Value("f32", numpy.array(
    [0, 1, 3, 3, numpy.nan, -1, 5, numpy.inf, 7], numpy.float32)), 8, 0, 7,
     ref=lambda x, bins, low, high:
     numpy.array([1, 1, 0, 2, 0, 1, 0, 1]))
# On GPUs alone.
case("aten.histc.default", ints(9, dtype="i32"), 5, 0, 4, out="i32",
     in_torch=False,
     ref=lambda x, bins, low, high: numpy.bincount(x, minlength=5))
