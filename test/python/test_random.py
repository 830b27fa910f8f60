"""Random numbers: their bits, their distributions, and steps that draw them.

References are written with numpy (`philox.py`), apart from both engines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from philox import (Array, draw_bits, fraction, keep_mask, middle, normal,
                    philox)
from regather_tools import (ENGINES, RawTensor, decode_safetensors,
                            encode_safetensors, run_tool)

STATE = ('%seed: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.seed"}, '
         '%offset: tensor<i64> {tg.role = #tg.role<rng>, '
         'tg.name = "rng.offset"}')


def integer(value: int) -> RawTensor:
    return RawTensor("I64", (), numpy.int64(value).tobytes())


def run_module(directory: Path, module: str, engine: str, *options: str,
               inputs: dict[str, RawTensor] | None = None,
               passes: tuple[str, ...] = ("--convert-tg-nodes-to-linalg",)
               ) -> dict[str, RawTensor]:
    """Converts a module, runs it and reads its results."""
    (directory / "step.mlir").write_text(module)
    converted = run_tool("regather-opt", directory / "step.mlir", *passes,
                         "-o", directory / "converted.mlir")
    assert converted.code == 0, converted.stderr
    if inputs is not None:
        (directory / "inputs.safetensors").write_bytes(
            encode_safetensors(inputs))
        options += ("--inputs", str(directory / "inputs.safetensors"))
    result = run_tool("regather", "run", directory / "converted.mlir",
                      f"--engine={engine}", "--quiet", *options,
                      "--outputs", directory / "results.safetensors",
                      timeout=120)
    assert result.code == 0, result.stderr
    return decode_safetensors(
        (directory / "results.safetensors").read_bytes())


def to_unsigned(tensor: RawTensor) -> Array:
    kind = {"I32": "u4", "I64": "u8"}[tensor.dtype]
    return numpy.frombuffer(tensor.data, kind).reshape(tensor.shape)


# -----------------------------------------------------------------------------
# Bits
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("counter, key, block", [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2,
     [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
     [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
])
def test_known_answers(counter, key, block) -> None:
    """The vectors that the authors of the generator publish."""
    assert [int(word) for word in philox(counter, key)] == block


@dataclass(frozen=True)
class Draw:
    shape: tuple[int, ...]
    width: int = 32
    stream: int = 0
    first: int | None = None


DRAWS = [
    Draw((64,)), Draw((3, 5, 7)), Draw((), stream=1), Draw((0, 4), stream=1),
    Draw((5, 3), 64), Draw((), 64, stream=7), Draw((4, 4), first=3),
    Draw((7,), 64, first=5), Draw((9,), stream=2**32 - 1),
    # Numbers of blocks above 32 bits, and around the last number.
    Draw((9,), first=2**35 + 1), Draw((9,), 64, first=2**36 - 3),
    Draw((6,), first=-2),
]

STATES = [(0, 0), (1, 0), (0, 1), (-1, -1), (0x0123456789ABCDEF, 2**32 + 5),
          (-2**63, 2**31)]


def write_draws() -> str:
    body, types = [], []
    for i, draw in enumerate(DRAWS):
        first = ""
        if draw.first is not None:
            body.append(f"%first{i} = arith.constant {draw.first} : index")
            first = f"first %first{i} "
        types.append("tensor<" + "".join(f"{size}x" for size in draw.shape)
                     + f"i{draw.width}>")
        body.append(f"%bits{i} = tg.random %seed, %offset {first}"
                    f"stream {draw.stream} : {types[-1]}")
    names = ", ".join(f"%bits{i}" for i in range(len(DRAWS)))
    lines = "\n  ".join(body)
    return (f"func.func @step({STATE}) -> ({', '.join(types)}) {{\n  {lines}\n"
            f"  return {names} : {', '.join(types)}\n}}\n")


@pytest.mark.parametrize("seed, offset", STATES)
@pytest.mark.parametrize("engine, passes", [
    ("cpu", ()), ("interpreter", ()),
    ("interpreter", ("--convert-tg-random-to-linalg",)),
    ("cpu", ("--convert-tg-random-to-linalg",)),
])
def test_engines_draw_the_same_bits(tmp_path, engine, passes, seed, offset
                                    ) -> None:
    results = run_module(
        tmp_path, write_draws(), engine, passes=passes,
        inputs={"rng.seed": integer(seed), "rng.offset": integer(offset)})
    for i, draw in enumerate(DRAWS):
        expected = draw_bits(draw.shape, draw.width, seed=seed, offset=offset,
                             stream=draw.stream, first=draw.first or 0)
        actual = to_unsigned(results[f"result{i}"])
        numpy.testing.assert_array_equal(actual, expected, str(draw))


# -----------------------------------------------------------------------------
# Distributions
# -----------------------------------------------------------------------------

SHAPE = (50, 40)
SIZES = "[50, 40]"

# Digits of the significand by type.
PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


@dataclass(frozen=True)
class Target:
    """One node: `args` and types in the syntax of the module.

    Operand 0 is the bits; operand 1, if the target takes it, x: numbers in
    (0, 1) of type `dtype`, which is that of the result.
    """
    name: str
    args: str
    dtype: str
    width: int
    expected: Callable[[Array, Array], Array]  # of the bits and of x
    takes_x: bool = False
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}-{self.args.replace(' ', '')}-{self.dtype}"


def chance(bits: Array, p: float | Array) -> Array:
    return (fraction(bits, 24) < p).astype(float)


def integers(low: int, high: int) -> Callable[[Array, Array], Array]:
    def draw(bits: Array, _: Array) -> Array:
        numbers = [low + (int(b) * (high - low) >> 64) for b in bits.flat]
        return numpy.array(numbers, float).reshape(bits.shape)
    return draw


def floats(dtype: str) -> list[Target]:
    precision = PRECISION[dtype]
    width = 64 if dtype == "f64" else 32
    # The type of the arithmetic; narrow floats are rounded at the end.
    compute = 53 if dtype == "f64" else 24
    count = min(compute - 1, width)
    near = {"f64": 1e-14, "f32": 5e-6, "f16": 1e-3, "bf16": 8e-3}[dtype]
    x, near_x = "#tg.operand<1>", {"takes_x": True, "tolerance": near}

    def uniform(bits: Array, _: Array) -> Array:
        return fraction(bits, precision)

    def gauss(bits: Array, _: Array) -> Array:
        return normal(bits, compute)

    return [
        Target("aten.rand.default", f"[{SIZES}]", dtype, width, uniform),
        Target("aten.rand_like.default", f"[{x}]", dtype, width, uniform,
               takes_x=True),
        Target("aten.uniform.default", f"[{x}, -3.0, 5.0]", dtype, width,
               lambda bits, _: 8 * fraction(bits, precision) - 3, **near_x),
        Target("aten.uniform.default", f"[{x}]", dtype, width, uniform,
               takes_x=True),
        Target("aten.exponential.default", f"[{x}, 2.0]", dtype, width,
               lambda bits, _: -numpy.log(middle(bits, count)) / 2, **near_x),
        Target("aten.randn.default", f"[{SIZES}]", dtype, 64, gauss,
               tolerance=near),
        Target("aten.randn_like.default", f"[{x}]", dtype, 64, gauss, **near_x),
        Target("aten.normal_functional.default", f"[{x}, 1.0, 2.0]", dtype, 64,
               lambda bits, _: 2 * normal(bits, compute) + 1, **near_x),
        Target("aten.normal.float_float", f"[1.0, 2.0, {SIZES}]", dtype, 64,
               lambda bits, _: 2 * normal(bits, compute) + 1, tolerance=near),
        Target("aten.normal.Tensor_float", f"[{x}, 0.5]", dtype, 64,
               lambda bits, x: normal(bits, compute) / 2 + x, **near_x),
        Target("aten.normal.float_Tensor", f"[0.5, {x}]", dtype, 64,
               lambda bits, x: normal(bits, compute) * x + 0.5, **near_x),
        Target("aten.normal.Tensor_Tensor", f"[{x}, {x}]", dtype, 64,
               lambda bits, x: normal(bits, compute) * x + x, **near_x),
        Target("aten.bernoulli.default", f"[{x}]", dtype, 32,
               chance, takes_x=True),
        Target("aten.bernoulli.p", f"[{x}, 0.25]", dtype, 32,
               lambda bits, _: chance(bits, 0.25), takes_x=True),
        Target("aten.bernoulli.Tensor", f"[{x}, {x}]", dtype, 32,
               chance, takes_x=True),
    ]


TARGETS = [target for dtype in PRECISION for target in floats(dtype)] + [
    Target("aten.bernoulli.p", "[#tg.operand<1>, 0.0]", "f32", 32,
           lambda bits, x: 0 * x, takes_x=True),
    Target("aten.bernoulli.p", "[#tg.operand<1>, 1.0]", "f32", 32,
           lambda bits, x: 0 * x + 1, takes_x=True),
    Target("aten.randint.default", f"[10, {SIZES}]", "i64", 64,
           integers(0, 10)),
    Target("aten.randint.low", f"[-3, 4, {SIZES}]", "i64", 64, integers(-3, 4)),
    Target("aten.randint.low", f"[-3, 4, {SIZES}]", "i8", 64, integers(-3, 4)),
    Target("aten.randint_like.default", "[#tg.operand<1>, 3]", "f32", 64,
           integers(0, 3), takes_x=True),
    Target("aten.randint_like.low_dtype", "[#tg.operand<1>, 1, 3]", "f32", 64,
           integers(1, 3), takes_x=True),
]


def write_targets(targets: list[Target],
                  shape: tuple[int, ...] = SHAPE) -> str:
    """A node for each target; its number is the stream of its bits."""
    sizes = "x".join(map(str, shape))
    arguments, body, names, types = [STATE], [], [], []
    for dtype in sorted({t.dtype for t in targets if t.takes_x}):
        arguments.append(f'%{dtype}: tensor<{sizes}x{dtype}> '
                         f'{{tg.name = "{dtype}"}}')
    for i, target in enumerate(targets):
        type = f"tensor<{sizes}x{target.dtype}>"
        bits = f"tensor<{sizes}xi{target.width}>"
        operands, operand_types = f"%bits{i}", bits
        if target.takes_x:
            operands += f", %{target.dtype}"
            operand_types += f", {type}"
        args = target.args.replace(SIZES, str(list(shape)))
        body += [f"%bits{i} = tg.random %seed, %offset stream {i} : {bits}",
                 f'%r{i} = tg.node "{target.name}"({operands}) args {args} '
                 f"kwargs {{bits = #tg.operand<0>}} "
                 f": ({operand_types}) -> {type}"]
        names.append(f"%r{i}")
        types.append(type)
    lines = "\n  ".join(body)
    results = ", ".join(types)
    return (f"func.func @step({', '.join(arguments)}) -> ({results}) {{\n"
            f"  {lines}\n  return {', '.join(names)} : {results}\n}}\n")


def encode(dtype: str, values: Array) -> RawTensor:
    if dtype == "bf16":
        halves = values.astype("f4").view("u4") >> 16
        return RawTensor("BF16", values.shape, halves.astype("u2").tobytes())
    kind = {"f64": "f8", "f32": "f4", "f16": "f2"}[dtype]
    return RawTensor(dtype.upper(), values.shape, values.astype(kind).tobytes())


def decode(tensor: RawTensor) -> Array:
    if tensor.dtype in ("I8", "I64"):
        kind = {"I8": "i1", "I64": "i8"}[tensor.dtype]
        values = numpy.frombuffer(tensor.data, kind).astype(float)
        return values.reshape(tensor.shape)
    return tensor.to_floats()


@pytest.mark.parametrize("engine", ENGINES)
def test_distributions(tmp_path, engine) -> None:
    inputs = {"rng.seed": integer(11), "rng.offset": integer(2)}
    # Exact in all types.
    x = (numpy.arange(math.prod(SHAPE)) % 15 + 1).reshape(SHAPE) / 16
    inputs |= {dtype: encode(dtype, x) for dtype in PRECISION}
    results = run_module(tmp_path, write_targets(TARGETS), engine,
                         inputs=inputs)
    for i, target in enumerate(TARGETS):
        bits = draw_bits(SHAPE, target.width, seed=11, offset=2, stream=i)
        numpy.testing.assert_allclose(
            decode(results[f"result{i}"]), target.expected(bits, x),
            rtol=target.tolerance, atol=target.tolerance, err_msg=str(target))


def count_bins(values: Array, edges: Array) -> float:
    """Chi square of equally likely bins, in deviations from its mean."""
    observed = numpy.histogram(values, edges)[0]
    bins, expected = len(observed), len(values) / len(observed)
    square = ((observed - expected)**2 / expected).sum()
    return (square - (bins - 1)) / math.sqrt(2 * (bins - 1))


@pytest.mark.parametrize("name, args, dtype, width, mean, variance, inverse", [
    ("aten.rand.default", f"[{SIZES}]", "f32", 32, 1 / 2, 1 / 12,
     lambda u: u),
    ("aten.randn.default", f"[{SIZES}]", "f32", 64, 0, 1, None),
    ("aten.exponential.default", "[#tg.operand<1>, 2.0]", "f32", 32,
     1 / 2, 1 / 4, lambda u: -numpy.log1p(-u) / 2),
    ("aten.bernoulli.p", "[#tg.operand<1>, 0.3]", "f32", 32, 0.3, 0.21, None),
    ("aten.randint.low", f"[-5, 5, {SIZES}]", "i64", 64, -0.5, 99 / 12,
     lambda u: 10 * u - 5.5),
])
def test_statistics(tmp_path, name, args, dtype, width, mean, variance, inverse
                    ) -> None:
    """Over a million draws: mean and variance within five standard errors."""
    target = Target(name, args, dtype, width, lambda bits, _: bits,
                    takes_x="#tg" in args)
    shape = (1000, 1000)
    inputs = {"rng.seed": integer(2024), "rng.offset": integer(0)}
    if target.takes_x:
        inputs[dtype] = encode(dtype, numpy.zeros(shape))
    results = run_module(tmp_path, write_targets([target], shape), "cpu",
                         inputs=inputs)
    values = decode(results["result0"]).reshape(-1)
    assert abs(values.mean() - mean) < 5 * math.sqrt(variance / values.size)
    spread = ((values - mean)**2).std() / math.sqrt(values.size)
    assert abs(((values - mean)**2).mean() - variance) < 5 * spread
    # Neighbours in a block, and in the next block, do not depend on each other.
    for distance in (1, 2, 4):
        product = (values[distance:] - mean) * (values[:-distance] - mean)
        assert abs(product.mean()) < 5 * variance / math.sqrt(values.size)
    if inverse:
        bins = 10 if dtype == "i64" else 100
        with numpy.errstate(divide="ignore"):
            edges = inverse(numpy.linspace(0, 1, bins + 1))
        assert abs(count_bins(values, edges)) < 5


# -----------------------------------------------------------------------------
# Dropout
# -----------------------------------------------------------------------------


def write_dropout(p: float, train: str, dtype: str = "f32") -> str:
    type = f"tensor<50x40x{dtype}>"
    return (f'func.func @step({STATE}, %x: {type} {{tg.name = "x"}}) '
            f"-> ({type}, tensor<50x40xi1>) {{\n"
            f"  %bits = tg.random %seed, %offset stream 0 : tensor<50x40xi32>\n"
            f'  %0:2 = tg.node "aten.native_dropout.default"(%x, %bits) '
            f"args [#tg.operand<0>, {p}, {train}] "
            f"kwargs {{bits = #tg.operand<1>}} : ({type}, tensor<50x40xi32>) "
            f"-> ({type}, tensor<50x40xi1>)\n"
            f"  return %0#0, %0#1 : {type}, tensor<50x40xi1>\n}}\n")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
@pytest.mark.parametrize("p, train", [
    (0.1, "true"), (0.5, "true"), (0.9, "unit"), (0.0, "true"), (1.0, "true"),
    (0.3, "false"),
])
def test_dropout(tmp_path, engine, dtype, p, train) -> None:
    x = numpy.random.default_rng(0).integers(-64, 64, SHAPE) / 16
    results = run_module(tmp_path, write_dropout(p, train, dtype), engine,
                         inputs={"x": encode(dtype, x)})
    mask = (numpy.ones(SHAPE, bool) if train == "false" else
            keep_mask(SHAPE, p))
    actual = numpy.frombuffer(results["result1"].data, "?").reshape(SHAPE)
    numpy.testing.assert_array_equal(actual, mask)
    scale = 1.0 if train == "false" else 0.0 if p == 1 else 1 / (1 - p)
    tolerance = {"f64": 1e-15, "f32": 1e-7, "bf16": 4e-3}[dtype]
    numpy.testing.assert_allclose(results["result0"].to_floats(),
                                  x * mask * scale, rtol=tolerance)


def test_dropout_keeps_its_share(tmp_path) -> None:
    shape, p = (1000, 1000), 0.1
    module = write_dropout(p, "true").replace("50x40", "1000x1000")
    results = run_module(tmp_path, module, "cpu",
                         inputs={"x": encode("f32", numpy.ones(shape))})
    mask = numpy.frombuffer(results["result1"].data, "?")
    error = math.sqrt(p * (1 - p) / mask.size)
    assert abs(mask.mean() - (1 - p)) < 5 * error
    numpy.testing.assert_array_equal(mask.reshape(shape), keep_mask(shape, p))


# -----------------------------------------------------------------------------
# The state of the generator
# -----------------------------------------------------------------------------

COUNTING = f"""
func.func @step({STATE})
    -> (tensor<64xi32>, tensor<i64> {{tg.role = #tg.role<update of 1>}}) {{
  %bits = tg.random %seed, %offset stream 0 : tensor<64xi32>
  %next = tg.node "aten.add.Scalar"(%offset) args [#tg.operand<0>, 1]
      : (tensor<i64>) -> tensor<i64>
  return %bits, %next : tensor<64xi32>, tensor<i64>
}}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options, state, seed, offset", [
    ((), None, 0, 0),
    (("--rng-seed=7",), None, 7, 0),
    (("--rng-seed=-7",), None, -7, 0),
    (("--random-inputs=3",), None, 0, 0),
    ((), {"rng.seed": 5, "rng.offset": 40}, 5, 40),
    ((), {"rng.offset": 40}, 0, 40),
    (("--rng-seed=7",), {"rng.seed": 5, "rng.offset": 40}, 7, 40),
])
def test_state(tmp_path, engine, options, state, seed, offset) -> None:
    """Where seed and offset come from; the offset counts steps."""
    inputs = state and {name: integer(value) for name, value in state.items()}
    results = run_module(tmp_path, COUNTING, engine, "--steps=3", *options,
                         inputs=inputs)
    expected = draw_bits((64,), seed=seed, offset=offset + 2)
    numpy.testing.assert_array_equal(to_unsigned(results["result0"]), expected)
    assert to_unsigned(results["rng.offset"]) == offset + 3


def test_seed_for_a_step_without_one(tmp_path) -> None:
    module = tmp_path / "step.mlir"
    module.write_text("func.func @step(%x: tensor<f32>) -> tensor<f32> {\n"
                      "  return %x : tensor<f32>\n}\n")
    result = run_tool("regather", "run", module, "--rng-seed=1",
                      "--random-inputs=0")
    assert result.code == 0
    assert "--rng-seed has no effect: no argument is a seed" in result.stderr


def test_seed_of_another_type(tmp_path) -> None:
    module = tmp_path / "step.mlir"
    module.write_text(
        "func.func @step(%x: tensor<f32> {tg.role = #tg.role<rng>}) "
        "-> tensor<f32> {\n  return %x : tensor<f32>\n}\n")
    result = run_tool("regather", "run", module, "--rng-seed=1")
    assert result.code == 1
    assert 'argument "arg0" does not hold i64' in result.stderr
