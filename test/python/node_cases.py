"""The cases of `test_node_semantics.py`: a target, its arguments, a reference.

References are written with numpy in f64, independently of the conversion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy

from regather_tools import RawTensor

Array = numpy.ndarray

# -----------------------------------------------------------------------------
# Cases
# -----------------------------------------------------------------------------

# Names of types: in MLIR, in weight files, in numpy, in PyTorch.
DTYPES = {"f32": ("F32", numpy.float32, "float32"),
          "f64": ("F64", numpy.float64, "float64"),
          "bf16": ("BF16", None, "bfloat16"),
          "i64": ("I64", numpy.int64, "int64"),
          "i32": ("I32", numpy.int32, "int32"),
          "i1": ("BOOL", numpy.bool_, "bool")}
TOLERANCE = {"f32": 1e-5, "f64": 1e-12, "bf16": 1e-2, "i64": 0, "i32": 0,
             "i1": 0}


@dataclass
class Value:
    """A tensor; of bf16, `data` holds floats that bf16 can represent."""
    dtype: str
    data: Array

    @property
    def type(self) -> str:
        return "tensor<" + "".join(f"{n}x" for n in self.data.shape) + \
            f"{self.dtype}>"

    def encode(self) -> RawTensor:
        name, numpy_type, _ = DTYPES[self.dtype]
        if numpy_type is None:
            bits = self.data.astype(numpy.float32).view(numpy.uint32) >> 16
            data = bits.astype(numpy.uint16).tobytes()
        else:
            data = numpy.ascontiguousarray(self.data, numpy_type).tobytes()
        return RawTensor(name, self.data.shape, data)


@dataclass(frozen=True)
class DType:
    """A dtype as an argument of a node."""
    name: str


@dataclass
class Case:
    """One node. `Value` stands for an operand in `args` and `kwargs`."""
    target: str
    args: list[Any]
    expected: Callable[..., Any]
    results: tuple[str, ...] = ("f32",)
    kwargs: dict[str, Any] = field(default_factory=dict)
    # Shapes of results that are none.
    absent: tuple[int, ...] = ()
    # PyTorch takes the arguments, and defines every element.
    in_torch: bool = True


def round_bf16(data: Array) -> Array:
    bits = numpy.asarray(data, numpy.float32).view(numpy.uint32)
    bits = (bits.astype(numpy.uint64) + 0x7fff + ((bits >> 16) & 1))
    return (bits & 0xffff0000).astype(numpy.uint32).view(numpy.float32)


RNG = numpy.random.default_rng(7)


def rand(*shape: int, dtype: str = "f32", low: float = -2.0,
         high: float = 2.0) -> Value:
    data = RNG.uniform(low, high, shape)
    if dtype == "bf16":
        data = round_bf16(data)
    return Value(dtype, numpy.asarray(data, DTYPES[dtype][1] or numpy.float32))


def ints(*shape: int, low: int = 0, high: int = 5, dtype: str = "i64") -> Value:
    return Value(dtype, RNG.integers(low, high, shape).astype(DTYPES[dtype][1]))


def bools(*shape: int) -> Value:
    return Value("i1", RNG.integers(0, 2, shape).astype(bool))


def _integer_power(x: int, n: int) -> int:
    """As PyTorch has it: modulo 2**64, and cut to an integer for n < 0."""
    if n < 0:
        return int(x) ** int(-n) if abs(x) == 1 else 0
    return (int(x) ** int(n) + 2**63) % 2**64 - 2**63


CASES: list[Case] = []


def case(target: str, *args: Any, ref: Callable[..., Any], out: str = "f32",
         absent: tuple[int, ...] = (), in_torch: bool = True,
         **kwargs: Any) -> None:
    CASES.append(Case(target, list(args), ref, tuple(out.split()), kwargs,
                      absent, in_torch))


# -----------------------------------------------------------------------------
# Elementwise
# -----------------------------------------------------------------------------

erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + numpy.exp(-x))


SHAPES = ((3, 4), (), (1, 5))
for _name, _function in {
        "abs": numpy.abs, "neg": numpy.negative, "exp": numpy.exp,
        "expm1": numpy.expm1, "sigmoid": sigmoid, "tanh": numpy.tanh,
        "erf": erf, "sin": numpy.sin, "cos": numpy.cos, "floor": numpy.floor,
        "relu": lambda x: numpy.maximum(x, 0), "silu": lambda x: x * sigmoid(x),
        "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))}.items():
    for _shape in SHAPES:
        case(f"aten.{_name}.default", rand(*_shape), ref=_function)
    if _name != "floor":
        case(f"aten.{_name}.default", rand(4, dtype="bf16"), ref=_function,
             out="bf16")
for _name, _function in {"log": numpy.log, "log1p": numpy.log1p,
                         "sqrt": numpy.sqrt,
                         "rsqrt": lambda x: 1 / numpy.sqrt(x),
                         "reciprocal": lambda x: 1 / x}.items():
    for _dtype in ("f32", "bf16", "f64"):
        case(f"aten.{_name}.default", rand(2, 3, low=0.1, dtype=_dtype),
             ref=_function, out=_dtype)
case("aten.gelu.default", rand(3, 4), approximate="tanh",
     ref=lambda x, **_: 0.5 * x * (1 + numpy.tanh(
         math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))))
case("aten.neg.default", ints(4, low=-3), ref=numpy.negative, out="i64")
case("aten.exp.default", ints(4, low=-3), ref=numpy.exp)

for _name, _function in {"add": numpy.add, "sub": numpy.subtract,
                         "mul": numpy.multiply, "div": numpy.divide}.items():
    for _left, _right in (((3, 4), (3, 4)), ((3, 1), (1, 4)), ((), (2, 3)),
                          ((2, 1, 3), (4, 1)), ((1,), ())):
        case(f"aten.{_name}.Tensor", rand(*_left), rand(*_right, low=0.5),
             ref=_function)
    case(f"aten.{_name}.Tensor", rand(2, 3, dtype="bf16"),
         rand(3, dtype="bf16", low=0.5), ref=_function, out="bf16")
    case(f"aten.{_name}.Tensor", rand(2, 3, dtype="bf16"), rand(3, low=0.5),
         ref=_function)
    case(f"aten.{_name}.Tensor", rand(2, 3), 1.5, ref=_function)
    case(f"aten.{_name}.Scalar", rand(2, 3, dtype="f64"), 3, ref=_function,
         out="f64")
    case(f"aten.{_name}.Tensor", ints(3), ints(3, low=1), ref=_function,
         out="f32" if _name == "div" else "i64")
case("aten.add.Tensor", rand(2, 3), rand(3), alpha=0.5,
     ref=lambda x, y, alpha: x + alpha * y)
case("aten.sub.Tensor", ints(3), ints(3), alpha=2, out="i64",
     ref=lambda x, y, alpha: x - alpha * y)
case("aten.rsub.Scalar", rand(2, 3), 1.0, 2.0, ref=lambda x, y, a: y - a * x)
case("aten.mul.Tensor", bools(4), rand(4), ref=lambda x, y: x * y)
case("aten.add.Tensor", bools(6), bools(6), ref=numpy.logical_or, out="i1")
case("aten.maximum.default", rand(3, 1), rand(2), ref=numpy.maximum)
case("aten.minimum.default", rand(3, 1), rand(2), ref=numpy.minimum)
case("aten.maximum.default", ints(4), ints(4), ref=numpy.maximum, out="i64")
for _exponent in (2, 3, 0, -1, -2, 0.5, -0.5, 1.7, 16):
    case("aten.pow.Tensor_Scalar", rand(5, low=0.5), _exponent, ref=numpy.power)
case("aten.pow.Tensor_Scalar", rand(5), 3.0, ref=numpy.power)
case("aten.pow.Tensor_Scalar", ints(4), 3, ref=numpy.power, out="i64")
case("aten.pow.Tensor_Tensor", rand(3, low=0.5), rand(2, 1), ref=numpy.power)
case("aten.pow.Scalar", 10000.0, rand(3), ref=numpy.power)
case("aten.pow.Scalar", 2, Value("i64", numpy.array([0, 1, 7, 62, 63, 64, -1])),
     ref=lambda x, n: [_integer_power(x, k) for k in n], out="i64")
case("aten.pow.Tensor_Tensor", Value("i64", numpy.array([[1], [-1], [0], [3], [-7]])),
     Value("i64", numpy.array([0, 1, 2, 41, -1, -2])),
     ref=lambda x, n: [[_integer_power(b, k) for k in n] for (b,) in x], out="i64")

for _name, _function in {
        "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less,
        "le": numpy.less_equal, "gt": numpy.greater,
        "ge": numpy.greater_equal}.items():
    case(f"aten.{_name}.Tensor", ints(4, 1), ints(4), ref=_function, out="i1")
    case(f"aten.{_name}.Tensor", rand(3), rand(2, 1), ref=_function, out="i1")
    case(f"aten.{_name}.Scalar", ints(6), 2, ref=_function, out="i1")
    case(f"aten.{_name}.Scalar", ints(6), 1.5, ref=_function, out="i1")
    case(f"aten.{_name}.Tensor", bools(6), bools(6), ref=_function, out="i1")
case("aten.ne.Tensor", Value("f32", numpy.array([numpy.nan, 1.0])),
     Value("f32", numpy.array([numpy.nan, 1.0])), ref=numpy.not_equal, out="i1")
case("aten.logical_and.default", bools(6), ints(6, high=2),
     ref=numpy.logical_and, out="i1")
case("aten.logical_or.default", bools(6), bools(6), ref=numpy.logical_or,
     out="i1")
case("aten.logical_not.default", rand(3), ref=numpy.logical_not, out="i1")
case("aten.bitwise_not.default", bools(5), ref=numpy.logical_not, out="i1")
case("aten.bitwise_not.default", ints(5), ref=numpy.invert, out="i64")
case("aten.bitwise_and.Tensor", bools(5), bools(1), ref=numpy.bitwise_and,
     out="i1")
case("aten.bitwise_or.Tensor", ints(5), ints(5), ref=numpy.bitwise_or,
     out="i64")
case("aten.clamp.default", rand(6), -1.0, 0.5,
     ref=lambda x, low, high: numpy.clip(x, low, high))
case("aten.clamp.default", ints(6, high=9), 3,
     ref=lambda x, low: numpy.maximum(x, low), out="i64")
case("aten.clamp.default", rand(6), None, 0.5,
     ref=lambda x, low, high: numpy.minimum(x, high))
case("aten.clamp_min.default", rand(6), 0.25, ref=numpy.maximum)
case("aten.where.self", bools(3, 1), rand(3, 4), rand(), ref=numpy.where)
case("aten.where.ScalarOther", bools(3), rand(3), -math.inf, ref=numpy.where)
case("aten.masked_fill.Scalar", rand(2, 3), bools(3), -1,
     ref=lambda x, m, v: numpy.where(m, v, x))
case("aten._to_copy.default", rand(3), dtype=DType("bf16"), out="bf16",
     ref=lambda x, dtype: x)
case("aten._to_copy.default", rand(5), dtype=DType("i64"), out="i64",
     ref=lambda x, dtype: numpy.trunc(x))
case("aten._to_copy.default", ints(5, high=2), dtype=DType("i1"), out="i1",
     ref=lambda x, dtype: x != 0)
case("aten._to_copy.default", bools(5), dtype=DType("f32"),
     ref=lambda x, dtype: x)
case("aten._to_copy.default", ints(5, low=-5), dtype=DType("i32"), out="i32",
     ref=lambda x, dtype: x)
for _name in ("clone", "detach", "alias", "lift_fresh_copy"):
    case(f"aten.{_name}.default", rand(2, 2), ref=lambda x: x)
case("aten.to.dtype", rand(3), DType("f64"), out="f64", ref=lambda x, d: x)
case("prims.convert_element_type.default", rand(3), DType("bf16"), out="bf16",
     ref=lambda x, d: x)
case("aten.rsub.Tensor", rand(2, 3), rand(3), alpha=2.0,
     ref=lambda x, y, alpha: y - alpha * x)
case("aten.logical_xor.default", bools(6), rand(6), ref=numpy.logical_xor,
     out="i1")
case("aten.bitwise_xor.Tensor", ints(5), ints(5), ref=numpy.bitwise_xor,
     out="i64")
case("aten.bitwise_and.Scalar", ints(5), 3, ref=numpy.bitwise_and, out="i64")
case("aten.bitwise_or.Scalar", ints(5), 3, ref=numpy.bitwise_or, out="i64")
case("aten.bitwise_xor.Scalar", ints(5), 3, ref=numpy.bitwise_xor, out="i64")
case("aten.clamp.Tensor", rand(2, 3), rand(3), None,
     ref=lambda x, low, high: numpy.maximum(x, low))
case("aten.clamp_max.default", rand(6), 0.25, ref=numpy.minimum)
case("aten.where.ScalarSelf", bools(3), 1.0, rand(3), ref=numpy.where)
case("aten.where.Scalar", bools(3), 1.0, 2.0, ref=numpy.where)
case("aten.masked_fill.Tensor", rand(2, 3), bools(2, 1), rand(),
     ref=lambda x, m, v: numpy.where(m, v, x))

# -----------------------------------------------------------------------------
# More functions of elements
# -----------------------------------------------------------------------------

for _name, _function in {
        "tan": numpy.tan, "asin": numpy.arcsin, "acos": numpy.arccos,
        "atan": numpy.arctan, "sinh": numpy.sinh, "cosh": numpy.cosh,
        "asinh": numpy.arcsinh, "atanh": numpy.arctanh,
        "erfc": lambda x: 1 - erf(x), "exp2": numpy.exp2,
        "ceil": numpy.ceil, "trunc": numpy.trunc, "round": numpy.round,
        "sign": numpy.sign}.items():
    case(f"aten.{_name}.default", rand(3, 4, low=-0.95, high=0.95),
         ref=_function)
for _name, _function in {"acosh": numpy.arccosh, "log2": numpy.log2,
                         "log10": numpy.log10}.items():
    case(f"aten.{_name}.default", rand(3, 4, low=1.1, high=4.0), ref=_function)
case("aten.round.default", Value("f32", numpy.array([0.5, 1.5, 2.5, -0.5])),
     ref=numpy.round)
case("aten.sign.default", ints(6, low=-3), ref=numpy.sign, out="i64")
SPECIAL = Value("f32", numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1.0]))
case("aten.isnan.default", SPECIAL, ref=numpy.isnan, out="i1")
case("aten.isinf.default", SPECIAL, ref=numpy.isinf, out="i1")
case("aten.isinf.default", ints(3), ref=lambda x: x < 0, out="i1")
case("aten.atan2.default", rand(3, 4), rand(4), ref=numpy.arctan2)
case("aten.copysign.Tensor", rand(3, 4), rand(4), ref=numpy.copysign)
case("aten.copysign.Tensor", SPECIAL, Value("f32", numpy.array([-0.0])),
     ref=numpy.copysign)
case("aten.copysign.Tensor", ints(4), ints(4, low=-3), ref=numpy.copysign)
case("aten.copysign.Scalar", rand(3, dtype="bf16"), -2, out="bf16",
     ref=numpy.copysign)
case("aten.hypot.default", rand(3, 4), rand(4), ref=numpy.hypot)
case("aten.hypot.default", Value("f32", numpy.array([
    3e30, 0.0, numpy.inf, numpy.inf, numpy.nan, 1.0])),
     Value("f32", numpy.array([
         4e30, 0.0, 1.0, numpy.nan, -numpy.inf, numpy.nan])), ref=numpy.hypot)
case("aten.fmax.default", SPECIAL, rand(4), ref=numpy.fmax)
case("aten.fmin.default", SPECIAL, rand(4), ref=numpy.fmin)
case("aten.leaky_relu.default", rand(6), 0.2,
     ref=lambda x, a: numpy.where(x > 0, x, a * x))
case("aten.leaky_relu.default", rand(6, dtype="bf16"), out="bf16",
     ref=lambda x: numpy.where(x > 0, x, 0.01 * x))
case("aten.elu.default", rand(6), 1.5, 1.25, 0.5,
     ref=lambda x, a, s, i: numpy.where(x > 0, s * x,
                                        s * a * numpy.expm1(i * x)))
case("aten.hardtanh.default", rand(6), -0.5, 1.0,
     ref=lambda x, low, high: numpy.clip(x, low, high))
NUMERATORS = Value("i64", numpy.array([7, -7, 7, -7, 6, 0]))
DENOMINATORS = Value("i64", numpy.array([3, 3, -3, -3, -1, 5]))
for _left, _right, _type in (
        (NUMERATORS, DENOMINATORS, "i64"), (rand(8), rand(8, low=0.3), "f32"),
        (rand(8), rand(8, low=-1.5, high=-0.3), "f32"),
        (rand(4, dtype="bf16"), 0.75, "bf16")):
    case("aten.remainder.Tensor" if isinstance(_right, Value)
         else "aten.remainder.Scalar", _left, _right, ref=numpy.mod, out=_type)
    case("aten.fmod.Tensor" if isinstance(_right, Value)
         else "aten.fmod.Scalar", _left, _right, ref=numpy.fmod, out=_type)
    case("aten.floor_divide.default", _left, _right, ref=numpy.floor_divide,
         out=_type)
    for _mode, _function in (("floor", numpy.floor), ("trunc", numpy.trunc)):
        case("aten.div.Tensor_mode", _left, _right, rounding_mode=_mode,
             ref=lambda x, y, rounding_mode, f=_function: f(x / y), out=_type)
case("aten.div.Tensor_mode", ints(3), ints(3, low=1), rounding_mode=None,
     ref=lambda x, y, rounding_mode: x / y)
case("aten.__lshift__.Scalar", ints(4), 2, ref=numpy.left_shift, out="i64")
case("aten.bitwise_left_shift.Tensor", ints(4), ints(4),
     ref=numpy.left_shift, out="i64")
case("aten.__rshift__.Scalar", ints(4, low=-9), 1, ref=numpy.right_shift,
     out="i64")
case("aten.bitwise_right_shift.Tensor", ints(4, low=-9), ints(4),
     ref=numpy.right_shift, out="i64")

# -----------------------------------------------------------------------------
# Constants
# -----------------------------------------------------------------------------

case("aten.new_empty_strided.default", rand(3), [0, 2], [2, 1],
     ref=lambda x, s, t: numpy.zeros(s))
case("aten.empty_strided.default", [0, 2], [2, 1],
     ref=lambda s, t: numpy.zeros(s))
case("aten.empty_permuted.default", [2, 0], [1, 0],
     ref=lambda s, t: numpy.zeros(s))

case("aten.full.default", [2, 3], 1.5, ref=numpy.full)
case("aten.full.default", [], 7, out="i64", dtype=DType("i64"),
     ref=lambda s, v, dtype: numpy.array(v))
case("aten.full_like.default", rand(2), 1, pin_memory=False,
     ref=lambda x, v, **_: numpy.full(x.shape, v))
case("aten.zeros_like.default", rand(2, 1), ref=numpy.zeros_like)
case("aten.ones_like.default", rand(), ref=numpy.ones_like)
case("aten.zeros.default", [0, 2], ref=numpy.zeros)
case("aten.new_zeros.default", rand(3), [2], ref=lambda x, s: numpy.zeros(s))
case("aten.new_ones.default", rand(3), [2, 1], ref=lambda x, s: numpy.ones(s))
case("aten.new_full.default", rand(3), [2], 3,
     ref=lambda x, s, v: numpy.full(s, v))
case("aten.fill.Scalar", rand(3), -2, ref=lambda x, v: numpy.full(x.shape, v))
case("aten.ones.default", [3], ref=numpy.ones)
case("aten.scalar_tensor.default", 0.25, ref=numpy.array)
case("aten.arange.default", 5, out="i64", ref=numpy.arange)
case("aten.arange.start", 2, 7, out="i64", ref=numpy.arange)
case("aten.arange.start_step", 0, 1, 0.25, ref=numpy.arange)
case("aten.arange.start_step", 9, 0, -2, out="i64", ref=numpy.arange)

# -----------------------------------------------------------------------------
# Products
# -----------------------------------------------------------------------------

case("aten.mm.default", rand(3, 4), rand(4, 5), ref=numpy.matmul)
case("aten.mm.default", rand(1, 1), rand(1, 1), ref=numpy.matmul)
case("aten.mm.default", ints(2, 3), ints(3, 2), ref=numpy.matmul, out="i64")
case("aten.mm.default", rand(3, 4, dtype="bf16"), rand(4, 5, dtype="bf16"),
     ref=numpy.matmul, out="bf16")
case("aten.bmm.default", rand(2, 3, 4), rand(2, 4, 1), ref=numpy.matmul)
case("aten.addmm.default", rand(5), rand(3, 4), rand(4, 5),
     ref=lambda c, a, b: c + a @ b)
case("aten.addmm.default", rand(3, 1, dtype="bf16"), rand(3, 4, dtype="bf16"),
     rand(4, 5, dtype="bf16"), beta=0.5, alpha=2, out="bf16",
     ref=lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b))
case("aten.baddbmm.default", rand(3, 5), rand(2, 3, 4), rand(2, 4, 5), beta=0,
     ref=lambda c, a, b, beta: a @ b)



def rows_of(ends: Array, count: int) -> list[Array]:
    """The rows of each group, then those of none."""
    owners = [next((g for g, end in enumerate(ends) if row < end), len(ends))
              for row in range(count)]
    return [numpy.flatnonzero(numpy.equal(owners, g))
            for g in range(len(ends) + 1)]


def grouped(x: Array, w: Array, ends: Array, rest: float = numpy.nan) -> Array:
    """[T, K] by [G, K, N]; rows of no group are `rest`."""
    y = numpy.full((x.shape[0], w.shape[2]), float(rest))
    for rows, matrix in zip(rows_of(ends, len(x)), w):
        y[rows] = x[rows] @ matrix
    return y


def grouped_weights(x: Array, y: Array, ends: Array) -> Array:
    """[T, K] and [T, N], of which each group makes a [K, N]."""
    return numpy.stack([x[rows].T @ y[rows]
                        for rows in rows_of(ends, len(x))[:-1]])


def grouped_backward(x: Array, w: Array, ends: Array, grad: Array
                     ) -> tuple[Array, Array]:
    return (grouped(grad, w.transpose(0, 2, 1), ends, 0),
            grouped_weights(x, grad, ends))


def ends_of(*ends: int, dtype: str = "i32") -> Value:
    return Value(dtype, numpy.array(ends, DTYPES[dtype][1]))


# One row, none and all rows in a group; rows behind the last end, ends that lie
# before the one ahead of them or behind the last row.
for _ends in ((1, 5, 8), (0, 8, 8), (8, 8, 8), (2, 2, 4), (5, 3, 6), (0, 0, 0),
              (-1, 4, 90)):
    for _t, _k, _n in ((8, 4, 12), (8, 36, 8)):
        _offs = ends_of(*_ends)
        _all = dict(in_torch=list(_ends) == sorted(_ends) and _ends[2] == _t)
        case("aten._grouped_mm.default", rand(_t, _k), rand(3, _k, _n), _offs,
             ref=grouped, **_all)
        case("aten._grouped_mm.default", rand(_k, _t), rand(_t, _n), _offs,
             ref=lambda x, y, ends: grouped_weights(x.T, y, ends), **_all)
        case("aten._grouped_mm.default", rand(3, _n, _k), rand(_k, _t), _offs,
             ref=lambda w, x, ends:
             grouped(x.T, w.transpose(0, 2, 1), ends).T, **_all)
        case("transformers.grouped_mm_fallback.default", rand(_t, _k),
             rand(3, _k, _n), ends_of(*_ends, dtype="i64"),
             ref=lambda x, w, ends: grouped(x, w, ends, 0), **_all)
        case("transformers.grouped_mm_fallback_backward.default", rand(_t, _k),
             rand(3, _k, _n), _offs, rand(_t, _n), ref=grouped_backward,
             out="f32 f32", **_all)
case("aten._grouped_mm.default", rand(8, 16, dtype="bf16"),
     rand(3, 16, 8, dtype="bf16"), ends_of(1, 5, 8), out="bf16", ref=grouped)
case("aten._grouped_mm.default", rand(8, 72, dtype="bf16"),
     rand(3, 72, 80, dtype="bf16"), ends_of(1, 5, 8), out="bf16", ref=grouped)
case("aten._grouped_mm.default", rand(8, 16, dtype="bf16"),
     rand(3, 16, 8, dtype="bf16"), ends_of(1, 5, 8), out_dtype=DType("f32"),
     ref=lambda x, w, ends, out_dtype: grouped(x, w, ends), in_torch=False)
case("aten._grouped_mm.default", rand(8, 4, dtype="f64"),
     rand(3, 4, 6, dtype="f64"), ends_of(1, 5, 8), out="f64", ref=grouped,
     in_torch=False)
case("aten._grouped_mm.default", rand(3, 7, 4), rand(3, 4, 8),
     ref=numpy.matmul)


def solve_triangular(a: Array, b: Array, upper: bool, left: bool = True,
                     unitriangular: bool = False) -> Array:
    a = numpy.triu(a) if upper else numpy.tril(a)
    if unitriangular:
        a = a - a * numpy.eye(a.shape[-1]) + numpy.eye(a.shape[-1])
    return numpy.linalg.solve(a, b) if left else b @ numpy.linalg.inv(a)


def triangular(*shape: int) -> Value:
    """Well conditioned; what the other triangle holds is not read."""
    value = rand(*shape, low=-0.5, high=0.5)
    value.data += 2 * numpy.eye(shape[-1], dtype=value.data.dtype)
    return value


for _upper in (False, True):
    for _left in (False, True):
        case("aten.linalg_solve_triangular.default", triangular(5, 5),
             rand(*((5, 3) if _left else (3, 5))), upper=_upper, left=_left,
             ref=solve_triangular)
        case("aten.linalg_solve_triangular.default", triangular(2, 1, 4, 4),
             rand(3, 4, 4), upper=_upper, left=_left, unitriangular=True,
             ref=solve_triangular)
case("aten.linalg_solve_triangular.default", triangular(2, 33, 33),
     rand(2, 33, 7), upper=False, ref=solve_triangular)
case("aten.linalg_solve_triangular.default", Value("f32", numpy.array(
    [[2, numpy.nan], [1, 4]], numpy.float32)), rand(2, 2), upper=False,
     ref=lambda a, b, upper: numpy.stack([b[0] / 2, (b[1] - b[0] / 2) / 4]))

# -----------------------------------------------------------------------------
# Views
# -----------------------------------------------------------------------------

case("aten.view.default", rand(2, 6), [3, 4],
     ref=lambda x, s: x.reshape(s))
case("aten.view.default", rand(2, 3, 4), [6, -1], ref=lambda x, s: x.reshape(s))
case("aten.reshape.default", rand(2, 1, 3), [3, 2],
     ref=lambda x, s: x.reshape(s))
case("aten.view_copy.default", rand(2, 3), [6], ref=lambda x, s: x.reshape(s))
case("aten.view.default", rand(1, 1), [], ref=lambda x, s: x.reshape(s))
case("aten.view.default", rand(), [1, 1, 1], ref=lambda x, s: x.reshape(s))
case("aten._unsafe_view.default", rand(0, 3), [3, 0],
     ref=lambda x, s: x.reshape(s))
case("aten.transpose.int", rand(2, 3, 4), -1, 0,
     ref=lambda x, i, j: x.swapaxes(i, j))
case("aten.t.default", rand(2, 3), ref=numpy.transpose)
case("aten.t.default", rand(2), ref=numpy.transpose)
case("aten.permute.default", rand(2, 3, 4), [2, 0, -2],
     ref=lambda x, p: x.transpose(2, 0, 1))
case("aten.unsqueeze.default", rand(2, 3), -1,
     ref=lambda x, d: x[..., None])
case("aten.unsqueeze.default", rand(), 0, ref=lambda x, d: x[None])
case("aten.squeeze.dim", rand(2, 1, 3), 1, ref=lambda x, d: x[:, 0])
case("aten.squeeze.dim", rand(2, 3), 1, ref=lambda x, d: x)
case("aten.squeeze.dims", rand(1, 2, 1), [0, 2, 1], ref=lambda x, d: x[0, :, 0])
case("aten.squeeze.default", rand(1, 2, 1), ref=lambda x: x[0, :, 0])
case("aten.expand.default", rand(3, 1), [2, 3, -1],
     ref=lambda x, s: numpy.broadcast_to(x, (2, 3, 1)))
case("aten.expand.default", rand(), [2], ref=numpy.broadcast_to)
case("aten.slice.Tensor", rand(5, 3), 0, 1, 5, 2, ref=lambda x, *_: x[1:5:2])
case("aten.slice.Tensor", rand(5, 3), 1, -2, 2 ** 63 - 1,
     ref=lambda x, *_: x[:, -2:])
case("aten.slice.Tensor", rand(5), 0, 4, 2, ref=lambda x, *_: x[4:2])
case("aten.slice.Tensor", rand(5), ref=lambda x, *_: x)
case("aten.select.int", rand(3, 4), 1, -1, ref=lambda x, *_: x[:, -1])
case("aten.select.int", rand(3), 0, 1, ref=lambda x, *_: x[1])
case("aten.cat.default", [rand(2, 3), rand(2, 1), rand(0)], -1,
     ref=lambda l, d: numpy.concatenate(l[:2], d))
case("aten.cat.default", [rand(2), ints(3)],
     ref=lambda l: numpy.concatenate(l))
case("aten.constant_pad_nd.default", rand(2, 3), [1, 2], 0.5,
     ref=lambda x, *_: numpy.pad(x, ((0, 0), (1, 2)), constant_values=0.5))
case("aten.constant_pad_nd.default", ints(2, 3), [0, 1, -1, 2], -100, out="i64",
     ref=lambda x, *_: numpy.pad(x[1:], ((0, 2), (0, 1)), constant_values=-100))
case("aten.constant_pad_nd.default", rand(3), [-1, -1],
     ref=lambda x, _: x[1:-1])
case("aten.copy.default", rand(2, 3), rand(3),
     ref=lambda x, y: numpy.broadcast_to(y, x.shape))
case("aten.copy.default", ints(2), ints(), out="i64",
     ref=lambda x, y: numpy.broadcast_to(y, x.shape))
case("aten.split.Tensor", rand(5, 2), 2, out="f32 f32 f32",
     ref=lambda x, n: (x[:2], x[2:4], x[4:]))
case("aten.split_with_sizes.default", rand(2, 5), [1, 4], 1, out="f32 f32",
     ref=lambda x, s, d: (x[:, :1], x[:, 1:]))


def insert(shape: tuple[int, ...], at: Any, value: Array) -> Array:
    result = numpy.zeros(shape)
    result[at] = value
    return result


case("aten.slice_backward.default", rand(2, 3), [5, 3], 0, 1, 5, 2,
     ref=lambda g, s, *_: insert(s, slice(1, 5, 2), g))
case("aten.select_backward.default", rand(3), [3, 4], 1, -1,
     ref=lambda g, s, *_: insert(s, (slice(None), -1), g))
case("aten.slice_scatter.default", rand(4, 2), rand(2, 2), 0, 1, 3,
     ref=lambda x, y, *_: numpy.concatenate([x[:1], y, x[3:]]))
case("aten.select_scatter.default", rand(3, 2), rand(3), 1, 0,
     ref=lambda x, y, *_: numpy.stack([y, x[:, 1]], 1))
case("aten.tril.default", rand(4, 4), ref=numpy.tril)
case("aten.tril.default", rand(2, 3, 4), 1, ref=numpy.tril)
case("aten.triu.default", rand(3, 4), -1, ref=numpy.triu)

case("aten.repeat.default", rand(2, 3), [2, 1, 2], ref=numpy.tile)
case("aten.repeat.default", rand(), [3], ref=numpy.tile)
case("aten.repeat.default", rand(2), [0], ref=numpy.tile)
case("aten.flip.default", rand(2, 3, 4), [0, -1], ref=numpy.flip)
case("aten.flip.default", rand(2, 3), [], ref=lambda x, d: x)
case("aten.slice.Tensor", rand(2, 3), 1, 3, ref=lambda x, d, s: x[:, 3:])
case("aten.as_strided.default", rand(4, 6), [3, 2, 2], [1, 2, 0], 3,
     ref=lambda x, s, t, o: numpy.array(
         [[[x.flat[o + i + 2 * j]] * 2 for j in range(2)] for i in range(3)]))
case("aten.as_strided_scatter.default", rand(3, 3), rand(3), [3], [4],
     ref=lambda x, y, s, t: x * (1 - numpy.eye(3)) + numpy.diag(y))
case("aten.diagonal.default", rand(3, 4), ref=numpy.diagonal)
case("aten.diagonal.default", rand(3, 2, 4), -1, 2, 0,
     ref=lambda x, o, i, j: numpy.diagonal(x, o, i, j))
case("aten.diagonal.default", rand(2, 2), 2, ref=numpy.diagonal)
case("aten.diagonal_scatter.default", rand(3, 4), rand(3), 1,
     ref=lambda x, y, o: numpy.where(numpy.eye(3, 4, 1, bool), numpy.pad(
         numpy.diag(y), ((0, 0), (1, 0))), x))
case("aten.unfold.default", rand(2, 7), 1, 3, 2,
     ref=lambda x, d, n, s: numpy.stack([x[:, i:i + n] for i in (0, 2, 4)], 1))

# -----------------------------------------------------------------------------
# Reductions
# -----------------------------------------------------------------------------


def axes(dims: Any) -> Any:
    return tuple(dims) if dims else None


case("aten.sum.default", rand(3, 4), ref=numpy.sum)
case("aten.sum.default", rand(), ref=numpy.sum)
case("aten.sum.default", bools(6), ref=numpy.sum, out="i64")
for _name, _function in {"sum.dim_IntList": numpy.sum, "mean.dim": numpy.mean,
                         "amax.default": numpy.max,
                         "amin.default": numpy.min}.items():
    case(f"aten.{_name}", rand(3, 4), [-1], True,
         ref=lambda x, d, k, f=_function: f(x, axes(d), keepdims=k))
    case(f"aten.{_name}", rand(2, 3, 4), [2, 0],
         ref=lambda x, d, f=_function: f(x, axes(d)))
    case(f"aten.{_name}", rand(2, 3), [],
         ref=lambda x, d, f=_function: f(x))
    case(f"aten.{_name}", rand(3, 4, dtype="bf16"), [0], out="bf16",
         ref=lambda x, d, f=_function: f(x, axes(d)))
case("aten.sum.dim_IntList", rand(0, 3), [0], ref=lambda x, d: x.sum(0))
case("aten.mean.default", rand(7), ref=numpy.mean)
# Sums of many elements are sums of rows.
case("aten.mean.default", rand(130, 517), ref=numpy.mean)
case("aten.sum.default", ints(2, 64, 512), ref=numpy.sum, out="i64")
case("aten.linalg_vector_norm.default", rand(2, 64, 512),
     ref=lambda x: numpy.sqrt((x * x).sum()))
case("aten.amax.default", ints(4), [0], ref=lambda x, d: x.max(), out="i64")
case("aten.var.correction", rand(3, 4), [1], correction=1, keepdim=True,
     ref=lambda x, d, correction, keepdim: x.var(1, ddof=1, keepdims=True))
case("aten.var.correction", rand(3, 4), None, correction=0,
     ref=lambda x, d, correction: x.var())
case("aten.max.default", rand(3, 2), ref=numpy.max)
case("aten.min.default", rand(3, 2), ref=numpy.min)
case("aten.any.default", bools(3, 2), ref=numpy.any, out="i1")
case("aten.any.dims", rand(3, 2), [0, 1], ref=lambda x, d: x.any(), out="i1")
case("aten.any.dim", bools(3, 2), 1, ref=lambda x, d: x.any(1), out="i1")
case("aten.max.dim", rand(3, 4), 1, out="f32 i64",
     ref=lambda x, d: (x.max(1), x.argmax(1)))
case("aten.max.dim", ints(3, 4), -2, True, out="i64 i64",
     ref=lambda x, d, k: (x.max(0, keepdims=True),
                          x.argmax(0)[None]))
case("aten.argmax.default", rand(3, 4), -1, True, out="i64",
     ref=lambda x, d, k: x.argmax(1)[:, None])
case("aten.argmax.default", rand(3, 4), out="i64", ref=lambda x: x.argmax())
case("aten.var_mean.correction", rand(3, 4), [1], correction=0, keepdim=True,
     ref=lambda x, d, correction, keepdim: (x.var(1, keepdims=True),
                                            x.mean(1, keepdims=True)),
     out="f32 f32")
case("aten.prod.default", rand(3, 2), ref=numpy.prod)
case("aten.prod.default", ints(3, 2), ref=numpy.prod, out="i64")
case("aten.prod.dim_int", rand(3, 2), 0, True,
     ref=lambda x, d, k: x.prod(d, keepdims=k))
for _order in (2.0, 1.0, 3.0, 0.5, math.inf, -math.inf, 0.0):
    case("aten.linalg_vector_norm.default", rand(3, 4), _order, [1],
         ref=lambda x, o, d: numpy.linalg.norm(x, o, d[0]))
case("aten.linalg_vector_norm.default", rand(3, 4, dtype="bf16"), out="bf16",
     ref=lambda x: numpy.sqrt((x * x).sum()))
case("aten.min.dim", rand(3, 4), 1, out="f32 i64",
     ref=lambda x, d: (x.min(1), x.argmin(1)))
case("aten.argmin.default", rand(3, 4), 0, out="i64",
     ref=lambda x, d: x.argmin(0))

# -----------------------------------------------------------------------------
# Softmax, losses, norms
# -----------------------------------------------------------------------------


def softmax(x: Array, dim: int, *_: Any) -> Array:
    powers = numpy.exp(x - x.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def log_softmax(x: Array, dim: int, *_: Any) -> Array:
    return numpy.log(softmax(x, dim))


for _dtype in ("f32", "bf16"):
    case("aten._softmax.default", rand(3, 4, dtype=_dtype), -1, False,
         ref=softmax, out=_dtype)
    case("aten._log_softmax.default", rand(3, 4, 2, dtype=_dtype), 1, False,
         ref=log_softmax, out=_dtype)
case("aten._softmax.default", rand(3, low=90, high=100), 0, False, ref=softmax)
case("aten._log_softmax.default", rand(3, low=900, high=910), 0, False,
     ref=log_softmax)
case("aten._softmax_backward_data.default", rand(3, 4), rand(3, 4, low=0), -1,
     DType("f32"),
     ref=lambda g, y, d, t: y * (g - (g * y).sum(1, keepdims=True)))
case("aten._log_softmax_backward_data.default", rand(3, 4), rand(3, 4), 1,
     DType("f32"),
     ref=lambda g, y, d, t: g - numpy.exp(y) * g.sum(1, keepdims=True))


def nll(x: Array, target: Array, weight: Array | None, reduction: int,
        ignored: int) -> tuple[Array, Array]:
    kept = target != ignored
    index = numpy.where(kept, target, 0)
    weights = (numpy.ones(x.shape[1]) if weight is None else weight)[index]
    weights = weights * kept
    losses = -weights * x[numpy.arange(len(x)), index]
    if reduction == 0:
        return losses, numpy.array(0.0)
    total = weights.sum()
    return losses.sum() / (total if reduction == 1 else 1), total


def nll_backward(grad: Array, x: Array, target: Array, weight: Array | None,
                 reduction: int, ignored: int, total: Array) -> Array:
    result = numpy.zeros(x.shape)
    for row, index in enumerate(target):
        if index != ignored:
            w = 1.0 if weight is None else weight[index]
            g = grad[row] if reduction == 0 else grad
            result[row, index] = -w * g / (total if reduction == 1 else 1)
    return result


TARGETS = Value("i64", numpy.array([2, -100, 0, 1]))
for _reduction in (0, 1, 2):
    for _weight in (None, rand(3, low=0.5)):
        case("aten.nll_loss_forward.default", rand(4, 3), TARGETS, _weight,
             _reduction, -100, ref=nll, out="f32 f32")
        case("aten.nll_loss_backward.default",
             rand(4) if _reduction == 0 else rand(), rand(4, 3), TARGETS,
             _weight, _reduction, -100, rand(low=2.0, high=3.0),
             ref=nll_backward)


def layer_norm(x: Array, shape: list[int], weight: Array | None,
               bias: Array | None, eps: float) -> tuple[Array, ...]:
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    mean = x.mean(inner, keepdims=True)
    rstd = 1 / numpy.sqrt(x.var(inner, keepdims=True) + eps)
    y = (x - mean) * rstd
    return ((y if weight is None else y * weight)
            + (0 if bias is None else bias), mean, rstd)


def layer_norm_backward(g: Array, x: Array, shape: list[int], mean: Array,
                        rstd: Array, weight: Array | None, bias: Array | None,
                        mask: list[bool]) -> tuple[Array, ...]:
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    outer = tuple(range(x.ndim - len(shape)))
    y = (x - mean) * rstd
    h = g if weight is None else g * weight
    dx = rstd * (h - h.mean(inner, keepdims=True)
                 - y * (h * y).mean(inner, keepdims=True))
    return dx, (g * y).sum(outer), g.sum(outer)


def rms_norm(x: Array, shape: list[int], weight: Array | None,
             eps: float | None) -> tuple[Array, Array]:
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    rstd = 1 / numpy.sqrt((x * x).mean(inner, keepdims=True)
                          + (2.0 ** -23 if eps is None else eps))
    return (x * rstd if weight is None else x * rstd * weight), rstd


def rms_norm_backward(g: Array, x: Array, shape: list[int], rstd: Array,
                      weight: Array | None, mask: list[bool]
                      ) -> tuple[Array, Array]:
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    outer = tuple(range(x.ndim - len(shape)))
    y = x * rstd
    h = g if weight is None else g * weight
    dx = rstd * (h - y * (h * y).mean(inner, keepdims=True))
    return dx, (g * y).sum(outer)


case("aten.native_layer_norm.default", rand(2, 3, 4), [4], rand(4), rand(4),
     1e-5, ref=layer_norm, out="f32 f32 f32")
case("aten.native_layer_norm.default", rand(2, 3, 4), [3, 4], None, None, 1e-5,
     ref=layer_norm, out="f32 f32 f32")
case("aten.native_layer_norm.default", rand(2, 4, dtype="bf16"), [4],
     rand(4, dtype="bf16"), None, 1e-5, ref=layer_norm, out="bf16 bf16 bf16")
case("aten.native_layer_norm_backward.default", rand(2, 3, 4), rand(2, 3, 4),
     [4], rand(2, 3, 1), rand(2, 3, 1, low=0.5), rand(4), rand(4),
     [True, True, True], ref=layer_norm_backward, out="f32 f32 f32")
case("aten.native_layer_norm_backward.default", rand(2, 4), rand(2, 4), [4],
     rand(2, 1), rand(2, 1, low=0.5), rand(4), None, [True, True, False],
     ref=layer_norm_backward, out="f32 f32 f32", absent=(2,))
case("aten.native_layer_norm_backward.default", rand(2, 3, 4), rand(2, 3, 4),
     [4], rand(2, 3, 1), rand(2, 3, 1, low=0.5), rand(4), rand(4),
     [True, False, False], ref=layer_norm_backward, out="f32 f32 f32",
     absent=(1, 2))
case("aten.native_layer_norm_backward.default", rand(2, 3, 4), rand(2, 3, 4),
     [3, 4], rand(2, 1, 1), rand(2, 1, 1, low=0.5), rand(3, 4), rand(3, 4),
     [False, True, True], ref=layer_norm_backward, out="f32 f32 f32",
     absent=(0,))
case("aten._fused_rms_norm.default", rand(2, 3, 4), [4], rand(4), 1e-5,
     ref=rms_norm, out="f32 f32")
case("aten._fused_rms_norm.default", rand(3, 4), [4], None, None, ref=rms_norm,
     out="f32 f32")
case("aten._fused_rms_norm_backward.default", rand(2, 3, 4), rand(2, 3, 4), [4],
     rand(2, 3, 1, low=0.5), rand(4), [True, True], ref=rms_norm_backward,
     out="f32 f32")
case("aten._fused_rms_norm_backward.default", rand(2, 3, 4), rand(2, 3, 4), [4],
     rand(2, 3, 1, low=0.5), rand(4), [False, True], ref=rms_norm_backward,
     out="f32 f32", absent=(0,))
