"""Cases of gathers and scatters, as in `node_cases.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy

from node_cases import Array, RNG, Value, bools, case, ints, rand


def add_at(shape: Any, at: Any, values: Array) -> Array:
    result = numpy.zeros(shape)
    numpy.add.at(result, at, values)
    return result


def put(x: Array, at: Any, values: Array, accumulate: bool = False) -> Array:
    result = x.astype(numpy.float64)
    if accumulate:
        numpy.add.at(result, at, values)
    else:
        result[at] = values
    return result


def along(x: Array, dim: int, index: Array) -> tuple[Any, ...]:
    """What `index` selects along `dim`, as an index of numpy's."""
    grid = list(numpy.indices(index.shape))
    grid[dim] = index
    return tuple(grid)


def permuted(n: int, *more: int) -> Value:
    """Distinct indices: writing in any order gives the same."""
    rows = [RNG.permutation(n) for _ in range(math.prod(more))]
    return Value("i64", numpy.array(rows).reshape(*more, n))


case("aten.embedding.default", rand(5, 3), ints(2, 4),
     ref=lambda w, i: w[i])
case("aten.embedding.default", rand(5, 3, dtype="bf16"), ints(dtype="i32"),
     ref=lambda w, i: w[i], out="bf16")
case("aten.embedding_dense_backward.default", rand(2, 4, 3), ints(2, 4), 5, -1,
     False, ref=lambda g, i, n, *_: add_at((n, 3), i, g))
case("aten.embedding_dense_backward.default", rand(4, 3), ints(4), 5, 2, False,
     ref=lambda g, i, n, *_: add_at((n, 3), i, g * (i != 2)[:, None]))
case("aten.embedding_dense_backward.default", rand(6, 2, dtype="bf16"),
     ints(6), 5, -1, False, out="bf16",
     ref=lambda g, i, n, *_: add_at((n, 2), i, g))
case("aten.gather.default", rand(3, 5), 1, ints(3, 2),
     ref=lambda x, d, i: x[along(x, d, i)])
case("aten.gather.default", rand(5, 3), -2, ints(4, 2),
     ref=lambda x, d, i: x[along(x, 0, i)])
case("aten.index_select.default", rand(2, 5, 3), 1, ints(4),
     ref=lambda x, d, i: x.take(i, d))
case("aten.scatter.value", rand(3, 5), 1, ints(3, 2), -1.0,
     ref=lambda x, d, i, v: put(x, along(x, d, i), v))
case("aten.scatter.src", rand(3, 5), 1, permuted(5, 3), rand(3, 6),
     ref=lambda x, d, i, s: put(x, along(x, d, i), s[:, :5]))
case("aten.scatter_add.default", rand(5, 3), 0, ints(4, 3), rand(4, 3),
     ref=lambda x, d, i, s: put(x, along(x, d, i), s, True))
case("aten.index_add.default", rand(5, 3), 0, ints(4), rand(4, 3),
     ref=lambda x, d, i, s: put(x, i, s, True))
case("aten.index.Tensor", rand(5, 3), [ints(2, 4, low=-5)],
     ref=lambda x, l: x[l[0]])
case("aten.index.Tensor", rand(2, 5, 3), [None, ints(4), None],
     ref=lambda x, l: x[:, l[1]])
case("aten.index.Tensor", rand(5, 5, 3), [ints(4, 1), ints(3)],
     ref=lambda x, l: x[l[0], l[1]])
case("aten.index.Tensor", rand(5, 2, 5), [ints(4), None, ints(4)],
     ref=lambda x, l: x[l[0], :, l[2]])
case("aten.index_put.default", rand(5, 3), [ints(6)], rand(6, 3), True,
     ref=lambda x, l, v, a: put(x, l[0], v, a))
case("aten.index_put.default", rand(5, 5, 2), [ints(6, low=-5), ints(6)],
     rand(), True, ref=lambda x, l, v, a: put(x, tuple(l), v, a))
case("aten.index_put.default", rand(5, 3), [permuted(5)], rand(5, 3),
     ref=lambda x, l, v: put(x, l[0], v))

case("aten.index_put.default", rand(2, 5, 3), [None, ints(4), None],
     rand(2, 4, 3), True, ref=lambda x, l, v, a: put(
         x, (slice(None), l[1]), v, a))
case("aten.index_put.default", rand(2, 5, 4), [None, ints(3, 1), ints(2, high=4)],
     rand(3, 2), True, ref=lambda x, l, v, a: put(
         x, (slice(None), l[1], l[2]), v, a))
case("aten.index_put.default", rand(5, 2, 4), [ints(3), None, ints(3, high=4)],
     rand(3, 2), True, ref=lambda x, l, v, a: put(
         x, (l[0], slice(None), l[2]), v, a))
case("aten.index_put.default", rand(3, 2), [bools(3, 2)], rand(),
     ref=lambda x, l, v: numpy.where(l[0], v, x))
case("aten.index_put.default", rand(3, 2), [bools(3)], rand(),
     ref=lambda x, l, v: numpy.where(l[0][:, None], v, x))
case("aten.index_add.default", rand(2, 5, 3), 1, ints(4), rand(2, 4, 3),
     alpha=0.5, ref=lambda x, d, i, s, alpha: put(
         x, (slice(None), i), alpha * s, True))


def scatter_reduce(x: Array, dim: int, index: Array, source: Array,
                   reduce: str, include_self: bool = True) -> Array:
    result = x.astype(numpy.float64)
    lists: dict[Any, list[float]] = {}
    for place in numpy.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        lists.setdefault(tuple(target), []).append(source[place])
    for target, values in lists.items():
        values = ([x[target]] if include_self else []) + values
        result[target] = {"sum": numpy.sum, "mean": numpy.mean,
                          "prod": numpy.prod, "amax": numpy.max,
                          "amin": numpy.min}[reduce](values)
    return result


for _reduce in ("sum", "mean", "prod", "amax", "amin"):
    for _includes in (True, False):
        case("aten.scatter_reduce.two", rand(4, 3), 0, ints(5, 3, high=4),
             rand(5, 3), _reduce, ref=scatter_reduce, include_self=_includes)
