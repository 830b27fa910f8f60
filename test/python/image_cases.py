"""Cases of convolutions, pools and norms of channels, as in `node_cases.py`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy

from node_cases import Array, case, rand

# -----------------------------------------------------------------------------
# Convolutions
# -----------------------------------------------------------------------------


def visit(x_shape: tuple[int, ...], y_shape: tuple[int, ...],
          w_shape: tuple[int, ...], stride: list[int], padding: list[int],
          dilation: list[int], groups: int) -> Any:
    """The places in x, w and y of each product of a convolution from x to y."""
    rank = len(stride)
    inner, outer = x_shape[1] // groups, y_shape[1] // groups
    for y_at in numpy.ndindex(*y_shape):
        group = y_at[1] // outer
        for c, *k in itertools.product(range(inner),
                                       *map(range, w_shape[2:])):
            at = [y_at[2 + d] * stride[d] - padding[d] + k[d] * dilation[d]
                  for d in range(rank)]
            if all(0 <= i < n for i, n in zip(at, x_shape[2:])):
                yield (y_at[0], group * inner + c, *at), (y_at[1], c, *k), y_at


def spread(values: list[int], rank: int) -> list[int]:
    return values * rank if len(values) == 1 else values


def convolution(x: Array, w: Array, bias: Array | None, stride: list[int],
                padding: list[int], dilation: list[int], transposed: bool,
                output_padding: list[int], groups: int) -> Array:
    rank = x.ndim - 2
    stride, padding, dilation, more = (
        spread(v, rank) for v in (stride, padding, dilation, output_padding))
    size = []
    for d in range(rank):
        span = dilation[d] * (w.shape[2 + d] - 1) + 1
        size.append((x.shape[2 + d] - 1) * stride[d] - 2 * padding[d] + span
                    + more[d] if transposed else
                    (x.shape[2 + d] + 2 * padding[d] - span) // stride[d] + 1)
    channels = w.shape[1] * groups if transposed else w.shape[0]
    result = numpy.zeros((x.shape[0], channels, *size))
    shapes = (result.shape, x.shape) if transposed else (x.shape, result.shape)
    for x_at, w_at, y_at in visit(*shapes, w.shape, stride, padding, dilation,
                                  groups):
        if transposed:
            result[x_at] += x[y_at] * w[w_at]
        else:
            result[y_at] += x[x_at] * w[w_at]
    if bias is not None:
        result += bias.reshape(-1, *[1] * rank)
    return result


def convolution_backward(g: Array, x: Array, w: Array, bias_sizes: Any,
                         stride: list[int], padding: list[int],
                         dilation: list[int], transposed: bool,
                         output_padding: list[int], groups: int,
                         mask: list[bool]) -> tuple[Array, ...]:
    rank = x.ndim - 2
    stride, padding, dilation = (spread(v, rank)
                                 for v in (stride, padding, dilation))
    dx, dw = numpy.zeros(x.shape), numpy.zeros(w.shape)
    shapes = (g.shape, x.shape) if transposed else (x.shape, g.shape)
    for big, w_at, small in visit(*shapes, w.shape, stride, padding, dilation,
                                  groups):
        mine, theirs = (small, big) if transposed else (big, small)
        dx[mine] += g[theirs] * w[w_at]
        dw[w_at] += g[theirs] * x[mine]
    return dx, dw, g.sum((0, *range(2, g.ndim)))


CONVOLUTIONS: list[tuple[Any, ...]] = [
    # x, w, y, then stride, padding, dilation, transposed, output padding, groups
    ((2, 3, 7), (4, 3, 3), (2, 4, 7), [1], [1], [1], False, [0], 1),
    ((1, 4, 7), (6, 2, 2), (1, 6, 3), [2], [0], [2], False, [0], 2),
    ((2, 2, 5, 6), (3, 2, 3, 2), (2, 3, 3, 5), [2, 1], [1, 0], [1, 1], False,
     [0, 0], 1),
    ((1, 2, 6, 5), (2, 1, 2, 3), (1, 2, 3, 2), [2, 2], [0, 1], [1, 2], False,
     [0, 0], 2),
    ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2), (1, 2, 2, 3, 2), [1], [0], [1], False,
     [0], 1),
    ((1, 3, 4), (3, 2, 3), (1, 2, 8), [2], [1], [1], True, [1], 1),
    ((1, 4, 3, 2), (4, 1, 2, 3), (1, 2, 4, 4), [1, 2], [0, 1], [1, 1], True,
     [0, 1], 2),
]
for _x, _w, _y, *_rest in CONVOLUTIONS:
    _groups, _transposed = _rest[5], _rest[3]
    _channels = _w[1] * _groups if _transposed else _w[0]
    case("aten.convolution.default", rand(*_x), rand(*_w), rand(_channels),
         *_rest, ref=convolution)
    case("aten.convolution.default", rand(*_x), rand(*_w), None, *_rest,
         ref=convolution)
    case("aten.convolution_backward.default", rand(*_y), rand(*_x), rand(*_w),
         [_channels], *_rest, [True, True, True], ref=convolution_backward,
         out="f32 f32 f32")
case("aten.convolution_backward.default", rand(2, 4, 7), rand(2, 3, 7),
     rand(4, 3, 3), [0], [1], [1], [1], False, [0], 1, [False, True, False],
     ref=convolution_backward, out="f32 f32 f32", absent=(0, 2))
case("aten.convolution.default", rand(1, 2, 5, dtype="bf16"),
     rand(3, 2, 3, dtype="bf16"), rand(3, dtype="bf16"), [1], [1], [1], False,
     [0], 1, ref=convolution, out="bf16")

# -----------------------------------------------------------------------------
# Pools
# -----------------------------------------------------------------------------


def windows(shape: tuple[int, ...], size: list[int], stride: list[int],
            padding: list[int], dilation: list[int], ceil: bool) -> Any:
    """The number of windows along each dimension, and their positions."""
    rank = len(size)
    counts, positions = [], []
    for d, n in enumerate(shape[-rank:]):
        span = dilation[d] * (size[d] - 1) + 1
        room = n + 2 * padding[d] - span
        count = (math.ceil if ceil else math.floor)(room / stride[d]) + 1
        if ceil and (count - 1) * stride[d] >= n + padding[d]:
            count -= 1
        counts.append(count)
        positions.append([[i * stride[d] - padding[d] + k * dilation[d]
                           for k in range(size[d])] for i in range(count)])
    return counts, positions


def max_pool(x: Array, size: list[int], stride: list[int], padding: list[int],
             dilation: list[int], ceil: bool) -> tuple[Array, Array]:
    rank = len(size)
    extents = x.shape[-rank:]
    counts, positions = windows(x.shape, size, stride, padding, dilation, ceil)
    lead = x.shape[:-rank]
    values, places = numpy.zeros((*lead, *counts)), numpy.zeros(
        (*lead, *counts), int)
    for at in numpy.ndindex(*lead, *counts):
        own = at[:-rank]
        found = [where for where in itertools.product(
            *(positions[d][i] for d, i in enumerate(at[-rank:])))
            if all(0 <= i < n for i, n in zip(where, extents))]
        best = max(found, key=lambda where: x[own + where])
        values[at] = x[own + best]
        places[at] = numpy.ravel_multi_index(best, extents)
    return values, places


def max_pool_backward(g: Array, x: Array, *rest: Any) -> Array:
    places = rest[-1]
    rank = len(rest[0])
    result = numpy.zeros(x.shape)
    for at in numpy.ndindex(*g.shape):
        where = numpy.unravel_index(places[at], x.shape[-rank:])
        result[at[:-rank] + tuple(int(i) for i in where)] += g[at]
    return result


def shares(shape: tuple[int, ...], size: list[int], stride: list[int],
           padding: list[int], ceil: bool, counts_padding: bool,
           divisor: int | None) -> Any:
    """Each place of a mean, the places it is of, and what they count."""
    rank = len(size)
    counts, _ = windows(shape, size, stride, padding, [1] * rank, ceil)
    for at in numpy.ndindex(*counts):
        ranges, number = [], 1
        for d, i in enumerate(at):
            start = i * stride[d] - padding[d]
            end = min(start + size[d], shape[-rank:][d] + padding[d])
            inside = range(max(start, 0), min(end, shape[-rank:][d]))
            number *= end - start if counts_padding else len(inside)
            ranges.append(inside)
        yield at, list(itertools.product(*ranges)), divisor or number


def average_pool(x: Array, size: list[int], stride: list[int],
                 padding: list[int], ceil: bool = False,
                 counts_padding: bool = True, divisor: int | None = None
                 ) -> Array:
    found = list(shares(x.shape, size, stride or size, padding, ceil,
                        counts_padding, divisor))
    shape = tuple(n + 1 for n in found[-1][0])
    result = numpy.zeros(x.shape[:-len(size)] + shape)
    for at, places, number in found:
        for place in places:
            result[(..., *at)] += x[(..., *place)] / number
    return result


def average_pool_backward(g: Array, x: Array, size: list[int],
                          stride: list[int], *rest: Any) -> Array:
    result = numpy.zeros(x.shape)
    for at, places, number in shares(x.shape, size, stride or size, *rest):
        for place in places:
            result[(..., *place)] += g[(..., *at)] / number
    return result


def parts(shape: tuple[int, ...], counts: list[int]) -> Any:
    """Like `shares`, of an adaptive pool."""
    rank = len(counts)
    for at in numpy.ndindex(*counts):
        places = list(itertools.product(*(
            range(i * n // c, -((i + 1) * n // -c))
            for i, n, c in zip(at, shape[-rank:], counts))))
        yield at, places, len(places)


def adaptive_pool(x: Array, counts: list[int]) -> Array:
    result = numpy.zeros(x.shape[:-len(counts)] + tuple(counts))
    for at, places, number in parts(x.shape, counts):
        result[(..., *at)] = sum(x[(..., *p)] for p in places) / number
    return result


def adaptive_pool_backward(g: Array, x: Array) -> Array:
    result = numpy.zeros(x.shape)
    for at, places, number in parts(x.shape, list(g.shape[2:])):
        for place in places:
            result[(..., *place)] += g[(..., *at)] / number
    return result


POOLS: list[tuple[Any, ...]] = [
    # shape, window, stride, padding, dilation, whether to round up
    ((2, 2, 5, 6), [2, 3], [2, 2], [1, 1], [1, 1], False),
    ((3, 5, 5), [2, 2], [2, 2], [0, 0], [1, 1], True),
    ((1, 2, 7, 4), [3, 2], [1, 2], [1, 0], [2, 1], False),
    ((1, 1, 3, 4, 5), [2, 2, 2], [1, 2, 2], [0, 1, 0], [1, 1, 1], False),
]
for _shape, *_rest in POOLS:
    _rank, _x = len(_rest[0]), rand(*_shape)
    case(f"aten.max_pool{_rank}d_with_indices.default", _x, *_rest,
         ref=max_pool, out="f32 i64")
    _values, _places = max_pool(_x.data, *_rest)
    case(f"aten.max_pool{_rank}d_with_indices_backward.default",
         rand(*_values.shape), _x, *_rest, type(_x)("i64", _places),
         ref=max_pool_backward)
    _size, _stride, _padding, _, _ceil = _rest
    for _more in ((_ceil, True, None), (_ceil, False, None), (_ceil, True, 3)):
        case(f"aten.avg_pool{_rank}d.default", _x, _size, _stride, _padding,
             *_more, ref=average_pool)
        _mean = average_pool(_x.data, _size, _stride, _padding, *_more)
        case(f"aten.avg_pool{_rank}d_backward.default", rand(*_mean.shape), _x,
             _size, _stride, _padding, *_more, ref=average_pool_backward)
case("aten.avg_pool2d.default", rand(1, 2, 4, 4), [2, 2], [], [0, 0],
     ref=average_pool)
for _shape, _counts in (((2, 2, 5, 6), [3, 4]), ((1, 2, 4, 4), [1, 2]),
                        ((1, 2, 2, 3), [3, 3]), ((1, 2, 3, 4, 5), [2, 2, 2])):
    _rank = len(_counts)
    case(f"aten._adaptive_avg_pool{_rank}d.default", rand(*_shape), _counts,
         ref=adaptive_pool)
    case(f"aten._adaptive_avg_pool{_rank}d_backward.default",
         rand(*_shape[:2], *_counts), rand(*_shape),
         ref=adaptive_pool_backward)

# -----------------------------------------------------------------------------
# Norms of channels
# -----------------------------------------------------------------------------


def column(x: Array, rank: int) -> Array:
    return x.reshape(1, -1, *[1] * (rank - 2))


def normalize(x: Array, weight: Array | None, bias: Array | None, mean: Array,
              rstd: Array) -> Array:
    y = (x - column(mean, x.ndim)) * column(rstd, x.ndim)
    y = y if weight is None else y * column(weight, x.ndim)
    return y if bias is None else y + column(bias, x.ndim)


def batch_norm(x: Array, weight: Array | None, bias: Array | None, mean: Array,
               var: Array, training: bool, momentum: float, eps: float
               ) -> tuple[Array, ...]:
    inner = (0, *range(2, x.ndim))
    count = x.size // x.shape[1]
    old_mean, old_var = mean, var
    if training:
        mean, var = x.mean(inner), x.var(inner)
    rstd = 1 / numpy.sqrt(var + eps)
    result = normalize(x, weight, bias, mean, rstd)
    if not training:
        return result, numpy.zeros(0), numpy.zeros(0), old_mean, old_var
    return (result, mean, rstd, old_mean + momentum * (mean - old_mean),
            old_var + momentum * (var * count / (count - 1) - old_var))


def batch_norm_backward(g: Array, x: Array, weight: Array | None,
                        running_mean: Array | None, running_var: Array | None,
                        mean: Array, rstd: Array, train: bool, eps: float,
                        mask: list[bool]) -> tuple[Array, ...]:
    inner = (0, *range(2, x.ndim))
    if not train:
        mean, rstd = running_mean, 1 / numpy.sqrt(running_var + eps)
    y = normalize(x, None, None, mean, rstd)
    h = g if weight is None else g * column(weight, x.ndim)
    dx = h
    if train:
        dx = h - h.mean(inner, keepdims=True) - y * (h * y).mean(
            inner, keepdims=True)
    return dx * column(rstd, x.ndim), (g * y).sum(inner), g.sum(inner)


BATCH_NORM = "aten._native_batch_norm_legit"
for _shape in ((4, 3, 2, 2), (5, 3), (2, 3, 4)):
    for _affine in (True, False):
        _weights = [rand(3), rand(3)] if _affine else [None, None]
        case(f"{BATCH_NORM}_functional.default", rand(*_shape), *_weights,
             rand(3), rand(3, low=0.5), True, 0.1, 1e-5, ref=batch_norm,
             out="f32 f32 f32 f32 f32")
        case(f"{BATCH_NORM}.no_stats", rand(*_shape), *_weights, True, 0.1,
             1e-5, out="f32 f32 f32",
             ref=lambda x, w, b, t, m, e: batch_norm(
                 x, w, b, numpy.zeros(3), numpy.ones(3), t, m, e)[:3])
        # Without weights there is no kernel for their gradient.
        for _train in (True, False):
            case("aten.native_batch_norm_backward.default", rand(*_shape),
                 rand(*_shape), _weights[0], rand(3), rand(3, low=0.5),
                 rand(3), rand(3, low=0.5), _train, 1e-5,
                 [True, _affine, _affine], ref=batch_norm_backward,
                 out="f32 f32 f32", absent=() if _affine else (1, 2))
case(f"{BATCH_NORM}_functional.default", rand(4, 3, 2), rand(3), rand(3),
     rand(3), rand(3, low=0.5), False, 0.1, 1e-5, ref=batch_norm,
     out="f32 f32 f32 f32 f32")
case(f"{BATCH_NORM}_no_training.default", rand(4, 3, 2), rand(3), rand(3),
     rand(3), rand(3, low=0.5), 0.1, 1e-5, out="f32 f32 f32",
     ref=lambda x, w, b, m, v, momentum, e: batch_norm(
         x, w, b, m, v, False, momentum, e)[:3])
case("aten.native_batch_norm_backward.default", rand(4, 3), rand(4, 3), rand(3),
     None, None, rand(3), rand(3, low=0.5), True, 1e-5, [False, True, False],
     ref=batch_norm_backward, out="f32 f32 f32", absent=(0, 2))


def group_norm(x: Array, weight: Array | None, bias: Array | None, n: int,
               c: int, rest: int, groups: int, eps: float
               ) -> tuple[Array, ...]:
    flat = x.reshape(n, groups, -1)
    mean, rstd = flat.mean(2), 1 / numpy.sqrt(flat.var(2) + eps)
    y = ((flat - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    y = y if weight is None else y * column(weight, x.ndim)
    return y if bias is None else y + column(bias, x.ndim), mean, rstd


def group_norm_backward(g: Array, x: Array, mean: Array, rstd: Array,
                        weight: Array | None, n: int, c: int, rest: int,
                        groups: int, mask: list[bool]) -> tuple[Array, ...]:
    flat = x.reshape(n, groups, -1)
    y = (flat - mean[..., None]) * rstd[..., None]
    h = (g if weight is None else g * column(weight, x.ndim)).reshape(y.shape)
    dx = rstd[..., None] * (h - h.mean(2, keepdims=True)
                            - y * (h * y).mean(2, keepdims=True))
    inner = (0, *range(2, x.ndim))
    return (dx.reshape(x.shape), (g * y.reshape(x.shape)).sum(inner),
            g.sum(inner))


for _weights in ([rand(4), rand(4)], [None, None]):
    case("aten.native_group_norm.default", rand(2, 4, 3), *_weights, 2, 4, 3, 2,
         1e-5, ref=group_norm, out="f32 f32 f32")
    _affine = _weights[0] is not None
    case("aten.native_group_norm_backward.default", rand(2, 4, 3, 2),
         rand(2, 4, 3, 2), rand(2, 2), rand(2, 2, low=0.5), _weights[0], 2, 4,
         6, 2, [True, _affine, _affine], ref=group_norm_backward,
         out="f32 f32 f32", absent=() if _affine else (1, 2))
