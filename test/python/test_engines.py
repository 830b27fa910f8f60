"""The two engines against each other on random programs.

The engines share nothing but their interface, so a program on which they differ
is a bug in one of them. As a test this runs a few programs; as a program it runs
campaigns:

    python test/python/test_engines.py --programs 2000 --seed 0

A program is a function of its seed alone. For each one that fails, a reproducer
is written whose first lines say how it failed.

All values are defined: there is no division by zero, no shift by more than the
width, no conversion out of range and no read of an empty tensor. What NaN looks
like in memory is not defined, so all NaN are equal and none is bitcast. Results
of transcendental functions are compared to a tolerance and feed nothing else.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import pytest

from regather_tools import RawTensor, Result, decode_safetensors, run_tool

FLOATS = ("f32", "f64", "bf16", "f16")
INTEGERS = ("i32", "i64", "i16", "i8", "i1", "index")
# linalg's named operations refuse index.
STORED = FLOATS + ("i32", "i64", "i16", "i8", "i1")
# More of what training uses.
DTYPES = FLOATS + INTEGERS + ("f32", "f32", "f32", "bf16", "i64")
WIDTHS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "i64": 64, "i32": 32,
          "i16": 16, "i8": 8, "i1": 1, "index": 64}
MAX_ELEMENTS = 600


# -----------------------------------------------------------------------------
# Types, values and the mesh
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    """A tensor type, or a scalar if there is no shape."""
    dtype: str
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return self.dtype
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"

    @property
    def dims(self) -> tuple[int, ...]:
        return self.shape or ()

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    @property
    def is_tensor(self) -> bool:
        return self.shape is not None

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def of(self, dtype: str) -> Type:
        return Type(dtype, self.shape)

    def resized(self, dim: int, size: int) -> Type:
        return Type(self.dtype,
                    self.dims[:dim] + (size,) + self.dims[dim + 1:])


@dataclass
class Value:
    name: str
    type: Type
    # Known to be equal on all ranks: may decide which collectives run.
    uniform: bool
    uses: int = 0


@dataclass(frozen=True)
class Mesh:
    axes: dict[str, int]

    @staticmethod
    def draw(rng: random.Random) -> Mesh:
        sizes = rng.choice([(1,), (2,), (3,), (4,), (5,), (8,), (2, 2), (2, 3),
                            (3, 2), (1, 4), (4, 2), (2, 4)])
        return Mesh(dict(zip(("a", "b"), sizes)))

    @property
    def ranks(self) -> int:
        return math.prod(self.axes.values())

    def size(self, axes: Sequence[str]) -> int:
        return math.prod(self.axes[axis] for axis in axes)

    def draw_axes(self, rng: random.Random) -> list[str]:
        return rng.sample(list(self.axes), rng.randint(1, len(self.axes)))

    def __str__(self) -> str:
        axes = ", ".join(f"{name} = {size}" for name, size in self.axes.items())
        return f"tg.mesh @mesh [{axes}]"


@dataclass(frozen=True)
class Placement:
    """The text of a placement, and the type of what a rank holds."""
    text: str
    type: Type
    replicated: bool
    # Every axis is used to shard, so that no two ranks hold the same part.
    complete: bool

    @staticmethod
    def draw(rng: random.Random, mesh: Mesh, whole: Type) -> Placement:
        axes = list(mesh.axes)
        rng.shuffle(axes)
        # Both axes together, each on its own, or the first alone.
        groups = rng.choice([[axes], [[axis] for axis in axes], [axes[:1]], []])
        dims = rng.sample(range(whole.rank), whole.rank)
        parts, local, even, sharded = [], whole, True, 0
        for group in groups:
            if dims and rng.random() < 0.75:
                dim = dims.pop()
                size = whole.dims[dim]
                shard = -(-size // mesh.size(group))
                even &= shard * mesh.size(group) == size
                local = local.resized(dim, shard)
                parts.append(f"[{', '.join(group)}] = shard {dim}")
                sharded += len(group)
            elif whole.is_float and "partial" not in "".join(parts):
                kind = rng.choice(["sum", "avg", "max"])
                parts.append(f"[{', '.join(group)}] = partial {kind}")
        shape = f" of [{', '.join(map(str, whole.dims))}]"
        text = f"#tg.placement<@mesh [{', '.join(parts)}]" + (
            ">" if even and rng.random() < 0.7 or not whole.dims
            else f"{shape}>")
        return Placement(text, local, not parts, sharded == len(axes))


def draw_shape(rng: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.choice((1, 2, 2, 3, 3, 4, 5, 6)) for _ in range(rank))


# -----------------------------------------------------------------------------
# The program that is being written
# -----------------------------------------------------------------------------


@dataclass
class Future:
    name: str
    members: list[Type]
    uniform: bool


@dataclass
class Scope:
    """A block: what it defines, and what it has in flight."""
    collectives: bool
    values: list[Value] = field(default_factory=list)
    futures: list[Future] = field(default_factory=list)


@dataclass
class Function:
    name: str
    arguments: list[Type]
    results: list[Type]


class Program:
    """The text so far, and the values that the next operation can use."""

    def __init__(self, rng: random.Random, mesh: Mesh) -> None:
        self.rng = rng
        self.mesh = mesh
        self.lines: list[str] = []
        self.scopes: list[Scope] = []
        self.functions: list[Function] = []
        # Results of transcendental functions.
        self.approximate: list[Value] = []
        self.counter = 0

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def line(self, text: str) -> None:
        self.lines.append("  " * len(self.scopes) + text)

    @contextmanager
    def block(self, collectives: bool) -> Iterator[Scope]:
        scope = Scope(collectives and all(outer.collectives
                                          for outer in self.scopes))
        self.scopes.append(scope)
        try:
            yield scope
        finally:
            self.scopes.pop()

    def define(self, name: str, kind: Type, uniform: bool) -> Value:
        value = Value(name, kind, uniform)
        self.scope.values.append(value)
        return value

    def emit(self, text: str, kind: Type, operands: Sequence[Value] = (),
             uniform: bool | None = None) -> Value:
        """Writes an operation with one result, which becomes available."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return self.define(name, kind, self.use(operands)
                           if uniform is None else uniform)

    def use(self, operands: Sequence[Value]) -> bool:
        for operand in operands:
            operand.uses += 1
        return all(operand.uniform for operand in operands)

    def find(self, wanted: Callable[[Value], bool]) -> Value | None:
        """A value in scope: often a recent one, sometimes a very old one."""
        found = [value for scope in self.scopes for value in scope.values
                 if wanted(value)]
        if not found:
            return None
        if self.rng.random() < 0.6:
            found = found[-6:]
        return self.rng.choice(found)

    def tensor(self, rank: int | None = None,
               dtypes: Sequence[str] = DTYPES) -> Value:
        """A tensor in scope, or a new one."""
        found = self.find(
            lambda value: value.type.is_tensor and value.type.dtype in dtypes
            and rank in (None, value.type.rank))
        if found and self.rng.random() < 0.95:
            return found
        size = self.rng.randint(0, 3) if rank is None else rank
        return self.filled(Type(self.rng.choice(dtypes),
                                draw_shape(self.rng, size)))

    def of_type(self, kind: Type) -> Value:
        return (self.find(lambda value: value.type == kind)
                or self.filled(kind))

    def literal(self, dtype: str) -> str:
        if dtype == "i1":
            return self.rng.choice(["true", "false"])
        if dtype == "index":
            return str(self.rng.randint(0, 5))
        if dtype in FLOATS:
            if self.rng.random() < 0.2:
                # Inexact, subnormal in 16 bits, and infinite in f16 when added.
                return self.rng.choice(["0.1", "-3.0e-7", "1.0e-5", "60000.0"])
            return f"{self.rng.randint(-16, 16) / 8:.3f}"
        # The largest number, and one that takes two roundings to bf16 over f32.
        large = [2 ** (WIDTHS[dtype] - 1) - 1,
                 {"i64": 2**54 + 2**46 + 1, "i32": 2**30 + 2**22 + 1}.get(
                     dtype, -100)]
        return str(self.rng.choice([-7, -1, 0, 1, 2, 3, 100] + large))

    def constant(self, kind: Type, text: str | None = None) -> Value:
        text = text or self.literal(kind.dtype)
        if kind.is_tensor:
            text = f"dense<{text}>"
        if not kind.is_tensor and kind.dtype == "i1":
            return self.emit(f"arith.constant {text}", kind)
        return self.emit(f"arith.constant {text} : {kind}", kind)

    def filled(self, kind: Type) -> Value:
        """A new value: a constant, or a filled tensor."""
        if not kind.is_tensor or self.rng.random() < 0.3:
            return self.constant(kind)
        scalar = self.of_type(Type(kind.dtype))
        if self.rng.random() < 0.2:
            return self.emit(f"tensor.splat {scalar.name} : {kind}", kind,
                             [scalar])
        empty = self.empty(kind)
        return self.emit(
            f"linalg.fill ins({scalar.name} : {scalar.type}) "
            f"outs({empty} : {kind}) -> {kind}", kind, [scalar])

    def empty(self, kind: Type) -> str:
        """Memory to write to. Not a value: nothing may read it."""
        name = self.fresh()
        self.line(f"{name} = tensor.empty() : {kind}")
        return name

    def destination(self, kind: Type) -> str:
        """Something that is overwritten as a whole. A value that is used again
        later shows whether an engine wrongly overwrites it in place."""
        value = self.find(lambda value: value.type == kind)
        if value and self.rng.random() < 0.4:
            return value.name
        return self.empty(kind)


# -----------------------------------------------------------------------------
# Arithmetic on scalars and, element by element, on tensors
# -----------------------------------------------------------------------------


class Arithmetic:
    FLOAT = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf",
             "minnumf", "remf")
    INTEGER = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi",
               "maxui", "minui")
    DIVISION = ("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui",
                "floordivsi")
    SHIFT = ("shli", "shrsi", "shrui")
    EXACT = ("absf", "floor", "ceil", "round", "roundeven", "trunc", "sqrt")
    INTEGER_UNARY = ("absi", "ctlz", "cttz", "ctpop")
    CLASSES = ("isnan", "isinf", "isfinite", "isnormal")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rng = program.rng

    def emit(self, operands: Sequence[Value]) -> Value:
        """Some operation on operands of one shape."""
        value = self.rng.choice(operands)
        same = [other for other in operands if other.type == value.type]
        return self.rng.choice([self.binary, self.binary, self.unary,
                                self.compare, self.select, self.cast])(same)

    def apply(self, op: str, operands: Sequence[Value]) -> Value:
        names = ", ".join(operand.name for operand in operands)
        kind = operands[0].type
        return self.program.emit(f"{op} {names} : {kind}", kind, operands)

    def binary(self, operands: Sequence[Value]) -> Value:
        left, right = self.rng.choices(operands, k=2)
        kind = left.type
        if kind.is_float:
            if (op := self.rng.choice(self.FLOAT)) in ("maxnumf", "minnumf"):
                # Which zero, and which signalling NaN, is left open.
                right = self.number(right, math.inf)
                right = self.apply("arith.addf", [right, self.program.constant(
                    kind, "0.375")])
                left = self.number(left, math.inf)
            return self.apply("arith." + op, [left, right])
        kinds = [self.INTEGER]
        if kind.dtype != "i1":
            kinds += [self.DIVISION, self.SHIFT]
        ops = self.rng.choice(kinds)
        if ops is self.DIVISION:
            # 1, 3, 5 or 7.
            six = self.program.constant(kind, "6")
            one = self.program.constant(kind, "1")
            right = self.apply("arith.ori", [
                self.apply("arith.andi", [right, six]), one])
        elif ops is self.SHIFT:
            seven = self.program.constant(kind, "7")
            right = self.apply("arith.andi", [right, seven])
        return self.apply("arith." + self.rng.choice(ops), [left, right])

    def unary(self, operands: Sequence[Value]) -> Value:
        value = self.rng.choice(operands)
        kind = value.type
        if kind.is_float:
            choice = self.rng.randrange(8)
            if choice == 0:
                return self.apply("arith.negf", [value])
            if choice == 1:
                op = self.rng.choice(self.CLASSES)
                return self.program.emit(f"math.{op} {value.name} : {kind}",
                                         kind.of("i1"), [value])
            if choice == 2:
                other = self.number(self.rng.choice(operands), math.inf)
                return self.apply("math.copysign", [value, other])
            if choice == 3 and kind.dtype in ("f32", "f64"):
                three = self.rng.choices(operands, k=3)
                return self.apply("math.fma", three)
            return self.apply("math." + self.rng.choice(self.EXACT), [value])
        # `math` has no models for i1 and index.
        if kind.dtype in ("i1", "index"):
            return self.binary(operands)
        return self.apply("math." + self.rng.choice(self.INTEGER_UNARY),
                          [value])

    def compare(self, operands: Sequence[Value]) -> Value:
        left, right = self.rng.choices(operands, k=2)
        kind = left.type
        if kind.is_float:
            op = "cmpf " + self.rng.choice(
                ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
                 "uge", "ult", "ule", "une", "uno"])
        else:
            op = "cmpi " + self.rng.choice(["eq", "ne", "slt", "sle", "sgt",
                                            "sge", "ult", "ule", "ugt", "uge"])
        return self.program.emit(
            f"arith.{op}, {left.name}, {right.name} : {kind}", kind.of("i1"),
            [left, right])

    def select(self, operands: Sequence[Value]) -> Value:
        left, right = self.rng.choices(operands, k=2)
        kind = left.type
        condition = self.program.find(
            lambda value: value.type in (kind.of("i1"), Type("i1")))
        if not condition:
            condition = self.compare(operands)
        return self.choose(condition, left, right)

    def choose(self, condition: Value, left: Value, right: Value) -> Value:
        types = str(left.type)
        if condition.type.is_tensor:
            types = f"{condition.type}, {types}"
        return self.program.emit(
            f"arith.select {condition.name}, {left.name}, {right.name} : "
            f"{types}", left.type, [condition, left, right])

    def number(self, value: Value, limit: float) -> Value:
        """`value` where it is below `limit` in size and not NaN, else 1."""
        one = self.program.constant(value.type, "1.0")
        if limit == math.inf:
            left, predicate, right = value, "ord", value
        else:
            left = self.apply("math.absf", [value])
            predicate = "olt"
            right = self.program.constant(value.type, f"{limit:.1f}")
        condition = self.program.emit(
            f"arith.cmpf {predicate}, {left.name}, {right.name} : {value.type}",
            value.type.of("i1"), [left, right])
        return self.choose(condition, value, one)

    def cast(self, operands: Sequence[Value]) -> Value:
        return self.cast_to(self.rng.choice(operands), self.rng.choice(DTYPES))

    def cast_to(self, value: Value, dtype: str) -> Value:
        """Converts in one step where there is one, else over f32 or i64."""
        source = value.type.dtype
        if source == dtype:
            return value
        widens = WIDTHS[source] < WIDTHS[dtype]
        if source in FLOATS and dtype in FLOATS:
            if WIDTHS[source] == WIDTHS[dtype]:
                return self.cast_to(self.cast_to(value, "f32"), dtype)
            return self.convert("extf" if widens else "truncf", value, dtype)
        if "index" in (source, dtype):
            if source in FLOATS or dtype in FLOATS:
                return self.cast_to(self.cast_to(value, "i64"), dtype)
            return self.convert(
                self.rng.choice(["index_cast", "index_castui"]), value, dtype)
        if source in FLOATS:
            if dtype == "i1":
                return self.cast_to(self.cast_to(value, "i32"), dtype)
            signed = self.rng.random() < 0.7
            value = self.number(value, 100)
            if not signed:
                value = self.apply("math.absf", [value])
            return self.convert("fptosi" if signed else "fptoui", value, dtype)
        if dtype in FLOATS:
            if WIDTHS[source] == WIDTHS[dtype] and self.rng.random() < 0.3:
                return self.convert("bitcast", value, dtype)
            return self.convert(self.rng.choice(["sitofp", "uitofp"]), value,
                                dtype)
        return self.convert(self.rng.choice(["extsi", "extui"])
                            if widens else "trunci", value, dtype)

    def convert(self, op: str, value: Value, dtype: str) -> Value:
        kind = value.type.of(dtype)
        return self.program.emit(
            f"arith.{op} {value.name} : {value.type} to {kind}", kind, [value])


# -----------------------------------------------------------------------------
# Families of operations: each emits one of its operations
# -----------------------------------------------------------------------------


class Family:
    def __init__(self, program: Program, arithmetic: Arithmetic) -> None:
        self.program = program
        self.arithmetic = arithmetic
        self.rng = program.rng

    def emit(self) -> None:
        raise NotImplementedError


class Elementwise(Family):
    """Arithmetic outside of linalg."""

    def emit(self) -> None:
        program = self.program
        value = program.find(lambda value: True) or program.tensor()
        if self.rng.random() < 0.3:
            value = program.find(lambda value: not value.type.is_tensor) or value
        other = program.find(lambda other: other.type == value.type)
        self.arithmetic.emit([value, other or value])


def list_types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values)


def list_names(values: Sequence[Value]) -> str:
    return ", ".join(value.name for value in values)


class Bodies(Family):
    """Regions that compute one element."""

    def write(self, arguments: Sequence[Value], dtypes: Sequence[str],
              loops: int, indexed: bool = True) -> None:
        """A few operations on the block's arguments and on scalars from
        outside, and the terminator for results of the given types."""
        program = self.program
        available = list(arguments)
        for dim in range(loops if indexed else 0):
            if self.rng.random() < 0.2:
                available.append(program.emit(f"linalg.index {dim} : index",
                                              Type("index"), uniform=False))
        captured = program.find(lambda value: not value.type.is_tensor)
        if captured and self.rng.random() < 0.3:
            captured.uses += 1
            available.append(captured)
        for _ in range(self.rng.randint(0, 3)):
            available.append(self.arithmetic.emit(available))
        self.finish(available, arguments, dtypes)

    def finish(self, available: Sequence[Value], arguments: Sequence[Value],
               dtypes: Sequence[str]) -> None:
        results = []
        for dtype in dtypes:
            fitting = [value for value in available[len(arguments):]
                       if value.type.dtype == dtype]
            source = self.rng.choice(fitting or list(available))
            results.append(self.arithmetic.cast_to(source, dtype))
        self.program.use(results)
        self.program.line(f"linalg.yield {list_names(results)} : "
                          f"{list_types(results)}")

    def write_sum(self, elements: Sequence[Value], sums: Sequence[Value],
                  combine: str | None = None) -> None:
        """Combines an element with what was reduced so far."""
        results = []
        for accumulator in sums:
            dtype = accumulator.type.dtype
            element = self.arithmetic.cast_to(self.rng.choice(elements), dtype)
            if accumulator.type.is_float:
                op = combine or self.rng.choice(["addf", "addf", "maximumf",
                                                 "mulf"])
            else:
                op = combine or self.rng.choice(["addi", "maxsi", "ori"])
            order = [accumulator, element]
            self.rng.shuffle(order)
            results.append(self.arithmetic.apply("arith." + op, order))
        self.program.line(f"linalg.yield {list_names(results)} : "
                          f"{list_types(results)}")


class Generic(Bodies):
    """linalg.generic: permuted, broadcast, constant and sliding maps; several
    results; reductions over any loops."""

    def emit(self) -> None:
        rng, program = self.rng, self.program
        loops = rng.randint(1, 3)
        sizes = draw_shape(rng, loops)
        dims = [f"d{i}" for i in range(loops)]
        reduced = [i for i in range(loops) if rng.random() < 0.3]
        kept = [i for i in range(loops) if i not in reduced]
        inputs, maps = [], []
        for _ in range(rng.randint(1, 3)):
            value, text = self.draw_input(sizes)
            inputs.append(value)
            maps.append(text)
        outputs, inits = [], []
        for _ in range(rng.choice((1, 1, 2))):
            rng.shuffle(kept)
            kind = Type(rng.choice(DTYPES), tuple(sizes[i] for i in kept))
            maps.append(", ".join(dims[i] for i in kept))
            # A reduction reads what it starts from.
            reads = bool(reduced) or rng.random() < 0.2
            inits.append(program.of_type(kind).name if reads
                         else program.destination(kind))
            outputs.append((kind, reads))
        # Each loop must follow from an operand.
        if any(f"d{i}" not in text.split(", ") for i in range(loops)
               for text in [", ".join(maps)]):
            inputs.insert(0, program.of_type(Type(rng.choice(DTYPES), sizes)))
            maps.insert(0, ", ".join(dims))
        self.write_op(dims, reduced, inputs, maps, outputs, inits)

    def draw_input(self, sizes: Sequence[int]) -> tuple[Value, str]:
        """An operand whose shape follows from its map."""
        rng = self.rng
        loops = list(range(len(sizes)))
        choice = rng.random()
        if choice < 0.15 and len(sizes) > 1:
            # Sliding windows: element d0 + d1.
            i, j = rng.sample(loops, 2)
            shape, text = (sizes[i] + sizes[j] - 1,), f"d{i} + d{j}"
        else:
            chosen = rng.sample(loops, rng.randint(0, len(loops)))
            shape = tuple(sizes[i] for i in chosen)
            text = ", ".join(f"d{i}" for i in chosen)
            if choice > 0.9:
                shape, text = (1,) + shape, ", ".join(["0"] + [text] * (text != ""))
        return self.program.of_type(Type(rng.choice(DTYPES), shape)), text

    def write_op(self, dims: list[str], reduced: list[int],
                 inputs: list[Value], maps: list[str],
                 outputs: list[tuple[Type, bool]], inits: list[str]) -> None:
        program = self.program
        result = program.fresh()
        kinds = [kind for kind, _ in outputs]
        iterators = ", ".join('"reduction"' if i in reduced else '"parallel"'
                              for i in range(len(dims)))
        texts = ", ".join(f"affine_map<({', '.join(dims)}) -> ({text})>"
                          for text in maps)
        program.line(
            result + (f":{len(kinds)}" if len(kinds) > 1 else "")
            + f" = linalg.generic {{indexing_maps = [{texts}], "
            f"iterator_types = [{iterators}]}}")
        types = ", ".join(map(str, kinds))
        program.line(f"    ins({list_names(inputs)} : {list_types(inputs)}) "
                     f"outs({', '.join(inits)} : {types}) {{")
        with program.block(collectives=False):
            elements = [program.define(program.fresh(), Type(value.type.dtype),
                                       value.uniform) for value in inputs]
            outs = [program.define(program.fresh(), Type(kind.dtype), False)
                    for kind in kinds]
            program.line("^bb0(" + ", ".join(
                f"{value.name}: {value.type}" for value in elements + outs)
                + "):")
            # What is in an output that is not read is not defined.
            for value, (_, reads) in zip(outs, outputs):
                if not reads:
                    program.scope.values.remove(value)
            if reduced:
                self.write_sum(elements, outs)
            else:
                read = [out for out, (_, reads) in zip(outs, outputs) if reads]
                self.write(elements + read, [kind.dtype for kind in kinds],
                           len(dims))
        program.line("} -> " + (f"({types})" if len(kinds) > 1 else types))
        program.use(inputs)
        for i, kind in enumerate(kinds):
            program.define(result + (f"#{i}" if len(kinds) > 1 else ""), kind,
                           False)


class NamedLinalg(Bodies):
    """The named operations of linalg."""

    def emit(self) -> None:
        self.rng.choice([self.matmul, self.matmul, self.batch_matmul, self.map,
                         self.transpose, self.broadcast, self.reduce,
                         self.copy, self.binary])()

    def write_op(self, op: str, inputs: Sequence[Value], kind: Type,
                 output: str, extra: str = "", arrow: bool = False) -> Value:
        return self.program.emit(
            f"linalg.{op} ins({list_names(inputs)} : {list_types(inputs)}) "
            f"outs({output} : {kind}){extra}" + (f" -> {kind}" if arrow else ""),
            kind, inputs, uniform=self.program.use(inputs) and False)

    def draw_accumulator(self, dtype: str) -> str:
        wider = {"bf16": "f32", "f16": "f32", "i8": "i32", "i16": "i32"}
        return wider.get(dtype, dtype) if self.rng.random() < 0.4 else dtype

    def matmul(self) -> None:
        left = self.program.tensor(2, STORED)
        dtype = left.type.dtype
        m, k = left.type.dims
        n = self.rng.randint(1, 6)
        transposed = self.rng.random() < 0.3
        right = self.program.of_type(
            Type(dtype, (n, k) if transposed else (k, n)))
        kind = Type(self.draw_accumulator(dtype), (m, n))
        maps = ("indexing_maps = [affine_map<(i, j, k) -> (i, k)>, "
                "affine_map<(i, j, k) -> (j, k)>, "
                "affine_map<(i, j, k) -> (i, j)>] " if transposed else "")
        self.write_op(f"matmul {maps}".rstrip(), [left, right], kind,
                      self.program.of_type(kind).name, arrow=True)

    def batch_matmul(self) -> None:
        left = self.program.tensor(3, STORED)
        dtype = left.type.dtype
        b, m, k = left.type.dims
        n = self.rng.randint(1, 4)
        right = self.program.of_type(Type(dtype, (b, k, n)))
        kind = Type(self.draw_accumulator(dtype), (b, m, n))
        self.write_op("batch_matmul", [left, right], kind,
                      self.program.of_type(kind).name, arrow=True)

    def transpose(self) -> None:
        value = self.program.tensor()
        if value.type.rank == 0:
            return  # Upstream's verifier crashes.
        order = self.rng.sample(range(value.type.rank), value.type.rank)
        kind = Type(value.type.dtype, tuple(value.type.dims[i] for i in order))
        self.write_op("transpose", [value], kind,
                      self.program.destination(kind), f" permutation = {order}")

    def broadcast(self) -> None:
        value = self.program.tensor()
        if value.type.rank > 3 or value.type.elements > MAX_ELEMENTS // 6:
            return
        dim = self.rng.randint(0, value.type.rank)
        size = self.rng.randint(1, 5)
        kind = Type(value.type.dtype, value.type.dims[:dim] + (size,)
                    + value.type.dims[dim:])
        self.write_op("broadcast", [value], kind,
                      self.program.destination(kind), f" dimensions = [{dim}]")

    def copy(self) -> None:
        value = self.program.tensor()
        self.write_op("copy", [value], value.type,
                      self.program.destination(value.type), arrow=True)

    def binary(self) -> None:
        value = self.program.tensor()
        if value.type.dtype in ("i1", "index"):
            return
        other = self.program.of_type(value.type)
        self.write_op(self.rng.choice(["add", "sub", "mul", "max"]),
                      [value, other], value.type,
                      self.program.destination(value.type), arrow=True)

    def map(self) -> None:
        program = self.program
        first = program.tensor()
        inputs = [first]
        if self.rng.random() < 0.5:
            inputs.append(program.of_type(
                first.type.of(self.rng.choice(DTYPES))))
        kind = first.type.of(self.rng.choice(DTYPES))
        output = program.destination(kind)
        result = program.fresh()
        with program.block(collectives=False):
            elements = [program.define(program.fresh(), Type(value.type.dtype),
                                       False) for value in inputs]
            arguments = [f"{value.name}: {value.type}" for value in elements]
            arguments.append(f"{program.fresh()}: {kind.dtype}")
            program.line(
                f"{result} = linalg.map ins({list_names(inputs)} : "
                f"{list_types(inputs)}) outs({output} : {kind}) "
                f"({', '.join(arguments)}) {{")
            self.write(elements, [kind.dtype], first.type.rank)
        program.line("}")
        program.use(inputs)
        program.define(result, kind, False)

    def reduce(self) -> None:
        program = self.program
        value = program.tensor()
        if value.type.rank == 0:
            return
        dims = sorted(self.rng.sample(range(value.type.rank),
                                      self.rng.randint(1, value.type.rank)))
        kind = Type(value.type.dtype, tuple(
            size for i, size in enumerate(value.type.dims) if i not in dims))
        start = program.of_type(kind)
        result = program.fresh()
        with program.block(collectives=False):
            element, accumulator = (
                program.define(program.fresh(), Type(kind.dtype), False)
                for _ in range(2))
            program.line(
                f"{result} = linalg.reduce ins({value.name} : {value.type}) "
                f"outs({start.name} : {kind}) dimensions = {dims} "
                f"({element.name}: {kind.dtype}, {accumulator.name}: "
                f"{kind.dtype}) {{")
            self.write_sum([element], [accumulator])
        program.line("}")
        program.use([value, start])
        program.define(result, kind, False)


class TensorOps(Bodies):
    """Operations of the tensor dialect."""

    def emit(self) -> None:
        self.rng.choice([self.extract_slice, self.insert_slice, self.expand,
                         self.collapse, self.pad, self.concat, self.extract,
                         self.insert, self.from_elements, self.splat,
                         self.generate])()

    def index(self, size: int) -> tuple[str, list[Value]]:
        """An index below `size`, as a constant or as a value of any rank's."""
        if self.rng.random() < 0.6:
            return str(self.rng.randrange(size)), []
        value = self.index_value(size)
        return value.name, [value]

    def index_value(self, size: int) -> Value:
        source = self.program.of_type(Type("index"))
        bound = self.program.constant(Type("index"), str(size))
        return self.arithmetic.apply("arith.remui", [source, bound])

    def draw_slice(self, kind: Type) -> tuple[str, list[Value], Type]:
        """Offsets, sizes and strides inside of `kind`."""
        offsets, sizes, strides, used = [], [], [], []
        for whole in kind.dims:
            size = self.rng.randint(1, whole)
            stride = self.rng.choice((1, 1, 2))
            if (size - 1) * stride + 1 > whole:
                stride = 1
            offset, values = self.index(whole - (size - 1) * stride)
            offsets.append(offset)
            sizes.append(size)
            strides.append(stride)
            used += values
        text = f"[{', '.join(offsets)}] {sizes} {strides}"
        return text, used, Type(kind.dtype, tuple(sizes))

    def extract_slice(self) -> None:
        source = self.program.tensor()
        text, used, kind = self.draw_slice(source.type)
        # A slice may drop dimensions of size one.
        if 1 in kind.dims and self.rng.random() < 0.3:
            dropped = kind.dims.index(1)
            kind = Type(kind.dtype,
                        kind.dims[:dropped] + kind.dims[dropped + 1:])
        self.program.emit(f"tensor.extract_slice {source.name}{text} : "
                          f"{source.type} to {kind}", kind, [source, *used])

    def insert_slice(self) -> None:
        target = self.program.tensor()
        text, used, kind = self.draw_slice(target.type)
        source = self.program.of_type(kind)
        self.program.emit(
            f"tensor.insert_slice {source.name} into {target.name}{text} : "
            f"{kind} into {target.type}", target.type, [source, target, *used])

    def expand(self) -> None:
        source = self.program.tensor()
        shape, groups = [], []
        for size in source.type.dims:
            factor = self.rng.choice([f for f in range(1, size + 1)
                                      if size % f == 0])
            parts = self.rng.choice([[size], [factor, size // factor]])
            groups.append(list(range(len(shape), len(shape) + len(parts))))
            shape += parts
        if not groups:
            shape = [1] * self.rng.randint(0, 2)
        kind = Type(source.type.dtype, tuple(shape))
        if kind.rank <= source.type.rank or kind.rank > 4:
            return
        self.program.emit(
            f"tensor.expand_shape {source.name} {groups} output_shape {shape} "
            f": {source.type} into {kind}", kind, [source])

    def collapse(self) -> None:
        source = self.program.tensor()
        groups: list[list[int]] = []
        for dim in range(source.type.rank):
            if groups and self.rng.random() < 0.5:
                groups[-1].append(dim)
            else:
                groups.append([dim])
        kind = Type(source.type.dtype, tuple(
            math.prod(source.type.dims[dim] for dim in group)
            for group in groups))
        if kind.rank == source.type.rank:
            return
        self.program.emit(f"tensor.collapse_shape {source.name} {groups} : "
                          f"{source.type} into {kind}", kind, [source])

    def pad(self) -> None:
        source = self.program.tensor()
        if source.type.rank == 0:
            return
        low = [self.rng.randint(0, 2) for _ in source.type.dims]
        high = [self.rng.randint(0, 2) for _ in source.type.dims]
        kind = Type(source.type.dtype, tuple(
            sum(sizes) for sizes in zip(source.type.dims, low, high)))
        if kind.elements > MAX_ELEMENTS:
            return
        program = self.program
        value = program.of_type(Type(kind.dtype))
        result = program.fresh()
        program.line(f"{result} = tensor.pad {source.name} low{low} high{high} "
                     "{")
        self.write_indexed(kind, [value])
        program.line(f"}} : {source.type} to {kind}")
        program.use([source])
        program.define(result, kind, False)

    def generate(self) -> None:
        program = self.program
        kind = Type(self.rng.choice(DTYPES),
                    draw_shape(self.rng, self.rng.randint(1, 3)))
        result = program.fresh()
        program.line(f"{result} = tensor.generate {{")
        self.write_indexed(kind, [])
        program.line(f"}} : {kind}")
        program.define(result, kind, False)

    def write_indexed(self, kind: Type, values: list[Value]) -> None:
        """A region over indices, which yields an element."""
        program = self.program
        with program.block(collectives=False):
            indices = [program.define(program.fresh(), Type("index"), False)
                       for _ in kind.dims]
            program.line("^bb0(" + ", ".join(f"{index.name}: index"
                                             for index in indices) + "):")
            # A pad that yields a constant takes another way.
            source = self.rng.choice(values or indices)
            if not values or self.rng.random() < 0.2:
                source = self.arithmetic.emit([source])
            element = self.arithmetic.cast_to(source, kind.dtype)
            program.use([element])
            program.line(f"tensor.yield {element.name} : {element.type}")

    def concat(self) -> None:
        first = self.program.tensor()
        if first.type.rank == 0:
            return
        dim = self.rng.randrange(first.type.rank)
        parts = [first] + [
            self.program.of_type(first.type.resized(dim, size))
            for size in draw_shape(self.rng, self.rng.randint(0, 2))]
        kind = first.type.resized(dim, sum(part.type.dims[dim]
                                           for part in parts))
        if kind.elements > MAX_ELEMENTS:
            return
        self.program.emit(f"tensor.concat dim({dim}) {list_names(parts)} : "
                          f"({list_types(parts)}) -> {kind}", kind, parts)

    def position(self, kind: Type) -> list[Value]:
        return [self.index_value(size) for size in kind.dims]

    def extract(self) -> None:
        source = self.program.tensor()
        at = self.position(source.type)
        self.program.emit(f"tensor.extract {source.name}[{list_names(at)}] : "
                          f"{source.type}", Type(source.type.dtype),
                          [source, *at])

    def insert(self) -> None:
        target = self.program.tensor()
        value = self.program.of_type(Type(target.type.dtype))
        at = self.position(target.type)
        self.program.emit(
            f"tensor.insert {value.name} into {target.name}[{list_names(at)}] "
            f": {target.type}", target.type, [value, target, *at])

    def from_elements(self) -> None:
        value = self.program.find(lambda value: not value.type.is_tensor)
        dtype = value.type.dtype if value else self.rng.choice(DTYPES)
        kind = Type(dtype, draw_shape(self.rng, self.rng.randint(0, 2))[:2])
        if kind.elements > 8:
            return
        values = [self.program.of_type(Type(dtype))
                  for _ in range(kind.elements)]
        self.program.emit(
            f"tensor.from_elements {list_names(values)} : {kind}", kind, values)

    def splat(self) -> None:
        kind = Type(self.rng.choice(DTYPES),
                    draw_shape(self.rng, self.rng.randint(0, 3)))
        value = self.program.of_type(Type(kind.dtype))
        self.program.emit(f"tensor.splat {value.name} : {kind}", kind, [value])


class Transcendental(Family):
    """Functions that engines may round differently. Their results are
    returned, and never read by anything else."""
    OPS = ("exp", "log", "sin", "cos", "tanh", "erf", "exp2", "log1p", "rsqrt",
           "atan", "expm1", "log2", "cbrt", "sinh")

    def emit(self) -> None:
        program = self.program
        if len(program.scopes) > 1:
            return
        value = program.find(lambda value: value.type.dtype in FLOATS)
        if not value:
            return
        value = self.arithmetic.number(value, 8)
        result = self.arithmetic.apply("math." + self.rng.choice(self.OPS),
                                       [value])
        program.scope.values.remove(result)
        program.approximate.append(result)


class Collectives(Family):
    """Starts and waits; in flight together, waited for in any order, or dead."""

    def emit(self) -> None:
        if not self.program.scope.collectives:
            return
        if self.program.scope.futures and self.rng.random() < 0.4:
            return self.wait(self.rng.choice(self.program.scope.futures))
        if self.rng.random() < 0.1:
            return self.axis_index()
        self.rng.choice([self.all_gather, self.reduce_scatter, self.all_reduce,
                         self.all_to_all, self.broadcast, self.permute])()

    def axis_index(self) -> None:
        axes = self.program.mesh.draw_axes(self.rng)
        self.program.emit(f"tg.axis_index on @mesh [{', '.join(axes)}]",
                          Type("index"), uniform=False)

    def draw_group(self) -> tuple[str, int, bool]:
        """Where it runs, how many ranks take part, and whether that is all."""
        axes = self.program.mesh.draw_axes(self.rng)
        size = self.program.mesh.size(axes)
        return (f"on @mesh [{', '.join(axes)}]", size,
                size == self.program.mesh.ranks)

    def draw_members(self, wanted: Callable[[Type], bool]) -> list[Value]:
        """A bucket of one to three tensors of any types."""
        members = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            value = self.program.tensor()
            if wanted(value.type):
                members.append(value)
        return members

    def start(self, text: str, members: list[Value], results: list[Type],
              uniform: bool) -> None:
        name = self.program.fresh()
        generation = (f" generation {self.rng.randint(0, 2)}"
                      if self.rng.random() < 0.2 else "")
        phase = self.rng.choice(["forward", "backward", "optimizer"])
        types = ", ".join(map(str, results))
        self.program.line(
            f"{name} = tg.{text} phase {phase}{generation} : "
            f"({list_types(members)}) -> !tg.future<{types}>")
        self.program.use(members)
        self.program.scope.futures.append(Future(name, results, uniform))

    def wait(self, future: Future) -> None:
        program = self.program
        program.scope.futures.remove(future)
        results = [program.define(program.fresh(), member, future.uniform)
                   for member in future.members]
        types = ", ".join(map(str, future.members))
        program.line(f"{list_names(results)} = tg.wait {future.name} : "
                     f"!tg.future<{types}>")

    def finish_block(self) -> None:
        """Waits for most of what is in flight; the rest is dead."""
        for future in list(self.program.scope.futures):
            if self.rng.random() < 0.8:
                self.wait(future)

    def gathered(self, shard: int, ranks: int) -> int:
        """A size whose shards have `shard` elements: even, or with padding in
        the last ones."""
        if self.rng.random() < 0.6:
            return shard * ranks
        return self.rng.randint((shard - 1) * ranks + 1, shard * ranks)

    def draw_dim(self, members: list[Value]) -> int | None:
        rank = min((value.type.rank for value in members), default=0)
        return self.rng.randrange(rank) if rank else None

    def all_gather(self) -> None:
        where, ranks, everywhere = self.draw_group()
        members = self.draw_members(
            lambda kind: kind.rank > 0 and kind.elements * ranks <= MAX_ELEMENTS)
        dim = self.draw_dim(members)
        if dim is None:
            return
        results = [value.type.resized(
            dim, self.gathered(value.type.dims[dim], ranks))
            for value in members]
        self.start(f"all_gather {list_names(members)} {where} dim {dim}",
                   members, results, everywhere)

    def draw_reduction(self, members: list[Value]) -> tuple[str, str]:
        floats = all(value.type.is_float for value in members)
        kinds = ["sum", "max"] + ["avg"] * floats
        accumulate = ""
        if floats and self.rng.random() < 0.4:
            wide = any(value.type.dtype == "f64" for value in members)
            accumulate = " accumulate " + ("f64" if wide else
                                           self.rng.choice(["f32", "f64"]))
        return self.rng.choice(kinds), accumulate

    def reduce_scatter(self) -> None:
        where, ranks, _ = self.draw_group()
        members = self.draw_members(lambda kind: kind.rank > 0)
        dim = self.draw_dim(members)
        if dim is None:
            return
        kind, accumulate = self.draw_reduction(members)
        results = [value.type.resized(dim, -(-value.type.dims[dim] // ranks))
                   for value in members]
        self.start(f"reduce_scatter {kind} {list_names(members)} {where} "
                   f"dim {dim}{accumulate}", members, results, ranks == 1 and
                   all(value.uniform for value in members))

    def all_reduce(self) -> None:
        where, _, everywhere = self.draw_group()
        members = self.draw_members(lambda kind: True)
        if not members:
            return
        kind, accumulate = self.draw_reduction(members)
        self.start(f"all_reduce {kind} {list_names(members)} {where}"
                   f"{accumulate}", members, [value.type for value in members],
                   everywhere)

    def all_to_all(self) -> None:
        where, ranks, _ = self.draw_group()
        members = self.draw_members(
            lambda kind: kind.rank > 0 and kind.elements * ranks <= MAX_ELEMENTS)
        split, concat = self.draw_dim(members), self.draw_dim(members)
        if split is None or concat is None:
            return
        results = []
        for value in members:
            kind = value.type
            if split != concat:
                kind = kind.resized(split, -(-kind.dims[split] // ranks))
                kind = kind.resized(concat, self.gathered(
                    value.type.dims[concat], ranks))
            elif kind.dims[split] % ranks:
                return
            results.append(kind)
        self.start(f"all_to_all {list_names(members)} {where} split {split} "
                   f"concat {concat}", members, results, False)

    def broadcast(self) -> None:
        where, ranks, everywhere = self.draw_group()
        members = self.draw_members(lambda kind: True)
        if not members:
            return
        self.start(f"broadcast {list_names(members)} {where} "
                   f"root {self.rng.randrange(ranks)}", members,
                   [value.type for value in members], everywhere)

    def permute(self) -> None:
        where, ranks, _ = self.draw_group()
        members = self.draw_members(lambda kind: True)
        if not members:
            return
        count = self.rng.randint(0, ranks)
        pairs = zip(self.rng.sample(range(ranks), count),
                    self.rng.sample(range(ranks), count))
        text = ", ".join(f"{source} to {target}" for source, target in pairs)
        self.start(f"permute {list_names(members)} {where} pairs [{text}]",
                   members, [value.type for value in members], False)


class ControlFlow(Family):
    """scf.if, scf.for and func.call. Where ranks may disagree on what runs,
    nothing inside talks to other ranks."""

    def __init__(self, program: Program, arithmetic: Arithmetic,
                 writer: Writer) -> None:
        super().__init__(program, arithmetic)
        self.writer = writer

    def emit(self) -> None:
        if len(self.program.scopes) > 3:
            return
        self.rng.choice([self.write_if, self.write_for, self.call])()

    def draw_types(self) -> list[Type]:
        count = self.rng.randint(0, 2)
        return [(self.program.find(lambda value: True)
                 or self.program.tensor()).type for _ in range(count)]

    def write_block(self, kinds: list[Type], collectives: bool,
                    arguments: Sequence[Value] = ()) -> list[Value]:
        """A block that yields values of the given types."""
        with self.program.block(collectives) as scope:
            scope.values += arguments
            self.writer.write_ops(self.rng.randint(1, 4))
            self.writer.collectives.finish_block()
            yields = [self.program.of_type(kind) for kind in kinds]
            self.program.use(yields)
            if yields:
                self.program.line(f"scf.yield {list_names(yields)} : "
                                  f"{list_types(yields)}")
        return yields

    def define_results(self, name: str, kinds: list[Type],
                       uniform: bool) -> None:
        for i, kind in enumerate(kinds):
            self.program.define(f"{name}#{i}", kind, uniform)

    def write_if(self) -> None:
        program = self.program
        condition = program.find(lambda value: value.type == Type("i1"))
        if not condition or self.rng.random() < 0.3:
            number = program.of_type(Type(self.rng.choice(["i32", "f32"])))
            condition = self.arithmetic.compare(
                [number, program.constant(number.type)])
        condition.uses += 1
        kinds = self.draw_types()
        name = program.fresh()
        prefix = f"{name}:{len(kinds)} = " if kinds else ""
        types = f" -> ({', '.join(map(str, kinds))})" if kinds else ""
        program.line(f"{prefix}scf.if {condition.name}{types} {{")
        first = self.write_block(kinds, condition.uniform)
        program.line("} else {")
        second = self.write_block(kinds, condition.uniform)
        program.line("}")
        self.define_results(name, kinds, condition.uniform and all(
            value.uniform for value in first + second))

    def write_for(self) -> None:
        program = self.program
        index = Type("index")
        bounds = [program.constant(index, str(number)) for number in
                  (self.rng.randint(0, 1), self.rng.randint(0, 3),
                   self.rng.randint(1, 2))]
        if self.rng.random() < 0.3:
            limit = program.constant(index, "3")
            bounds[1] = self.arithmetic.apply(
                "arith.minui", [program.of_type(index), limit])
        uniform = program.use(bounds)
        kinds = self.draw_types()
        starts = [program.of_type(kind) for kind in kinds]
        program.use(starts)
        name, counter = program.fresh(), program.fresh()
        # What goes around the loop is only known afterwards.
        carried = [Value(program.fresh(), kind, False) for kind in kinds]
        lower, upper, step = (bound.name for bound in bounds)
        prefix = f"{name}:{len(kinds)} = " if kinds else ""
        iteration = ""
        if kinds:
            pairs = ", ".join(f"{value.name} = {start.name}"
                              for value, start in zip(carried, starts))
            iteration = (f" iter_args({pairs}) -> "
                         f"({', '.join(map(str, kinds))})")
        program.line(f"{prefix}scf.for {counter} = {lower} to {upper} step "
                     f"{step}{iteration} {{")
        self.write_block(kinds, uniform,
                         [Value(counter, index, uniform), *carried])
        program.line("}")
        self.define_results(name, kinds, False)

    def call(self) -> None:
        program = self.program
        # Functions may hold collectives.
        if not program.functions or not program.scope.collectives:
            return
        function = self.rng.choice(program.functions)
        arguments = [program.of_type(kind) for kind in function.arguments]
        program.use(arguments)
        name = program.fresh()
        results = ", ".join(map(str, function.results))
        program.line(f"{name}:{len(function.results)} = func.call "
                     f"@{function.name}({list_names(arguments)}) : "
                     f"({list_types(arguments)}) -> ({results})")
        self.define_results(name, function.results, False)


# -----------------------------------------------------------------------------
# Whole programs
# -----------------------------------------------------------------------------


class Writer:
    """Writes a module: a mesh, some functions, and the step."""

    def __init__(self, seed: int, size: int) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.program = Program(self.rng, Mesh.draw(self.rng))
        arithmetic = Arithmetic(self.program)
        self.collectives = Collectives(self.program, arithmetic)
        families = {Elementwise: 3, Generic: 3, NamedLinalg: 4, TensorOps: 4,
                    Transcendental: 1}
        self.families: list[Family] = [
            family(self.program, arithmetic) for family in families]
        self.families += [self.collectives,
                          ControlFlow(self.program, arithmetic, self)]
        self.weights = [*families.values(), 5, 2]

    def write(self) -> str:
        program = self.program
        program.line(str(program.mesh))
        for i in range(self.rng.choice((0, 0, 1, 2))):
            self.write_function(f"helper{i}")
        self.write_step()
        return "\n".join(program.lines) + "\n"

    def write_ops(self, count: int) -> None:
        for _ in range(count):
            self.rng.choices(self.families, self.weights)[0].emit()

    def draw_type(self) -> Type:
        if self.rng.random() < 0.2:
            return Type(self.rng.choice(DTYPES))
        return Type(self.rng.choice(DTYPES),
                    draw_shape(self.rng, self.rng.randint(0, 3)))

    def write_function(self, name: str) -> None:
        program = self.program
        kinds = [self.draw_type() for _ in range(self.rng.randint(0, 3))]
        with program.block(collectives=True):
            arguments = [program.define(program.fresh(), kind, False)
                         for kind in kinds]
            # The results are known at the end, and stand in this line.
            place = len(program.lines)
            program.line("")
            self.write_ops(self.rng.randint(1, 5))
            self.collectives.finish_block()
            results = [program.find(lambda value: True) or program.tensor()
                       for _ in range(self.rng.randint(1, 2))]
            program.line(f"return {list_names(results)} : "
                         f"{list_types(results)}")
        header = ", ".join(f"{value.name}: {value.type}" for value in arguments)
        program.lines[place] = (f"func.func private @{name}({header}) -> "
                                f"({list_types(results)}) {{")
        program.line("}")
        program.approximate.clear()
        program.functions.append(
            Function(name, kinds, [value.type for value in results]))

    def write_argument(self, number: int) -> tuple[str, Value, bool]:
        """An argument, and whether any value can be returned as its update."""
        whole = self.draw_type()
        value = self.program.define(f"%arg{number}", whole, True)
        if not whole.is_tensor or self.rng.random() < 0.25:
            return f"{value.name}: {whole}", value, False
        placement = Placement.draw(self.rng, self.program.mesh, whole)
        value.type = placement.type
        value.uniform = placement.replicated
        return (f"{value.name}: {value.type} "
                f"{{tg.role = #tg.role<buffer>, tg.placement = {placement.text}}}",
                value,
                placement.complete)

    def write_step(self) -> None:
        program = self.program
        with program.block(collectives=True) as scope:
            arguments = [self.write_argument(i)
                         for i in range(self.rng.randint(1, 5))]
            place = len(program.lines)
            program.line("")
            self.write_ops(self.rng.randint(self.size // 2, self.size))
            self.collectives.finish_block()
            results = self.write_results(scope, arguments)
            values = [value for value, _ in results]
            program.line(f"return {list_names(values)} : {list_types(values)}")
        program.lines[place] = (
            f"func.func @step({', '.join(text for text, _, _ in arguments)}) "
            "-> (" + ", ".join(f"{value.type}{attributes}"
                               for value, attributes in results) + ") {")
        program.line("}")

    def write_results(self, scope: Scope,
                      arguments: list[tuple[str, Value, bool]]
                      ) -> list[tuple[Value, str]]:
        """Everything that nothing reads, so that no bug stays hidden, and
        updates of arguments, which the next step reads."""
        results = []
        for number, (_, argument, updatable) in enumerate(arguments):
            if updatable and self.rng.random() < 0.5:
                value = self.program.of_type(argument.type)
                results.append(
                    (value, f" {{tg.role = #tg.role<update of {number}>}}"))
        last = [value for value in scope.values if value.uses == 0]
        for i, value in enumerate(self.program.approximate):
            results.append(self.show(value, f'tg.name = "approximate.{i}"'))
        for value in last:
            if value.uniform and self.rng.random() < 0.5:
                results.append((value, ""))
            else:
                results.append(self.show(value))
        return results or [self.show(self.program.tensor())]

    def show(self, value: Value, name: str = "") -> tuple[Value, str]:
        """The values of all ranks next to each other along a new dimension."""
        program = self.program
        if not value.type.is_tensor:
            kind = Type(value.type.dtype, ())
            value = program.emit(f"tensor.from_elements {value.name} : {kind}",
                                 kind, [value])
        kind = Type(value.type.dtype, (1,) + value.type.dims)
        groups = [[0, 1]] + [[i + 2] for i in range(value.type.rank - 1)]
        if not value.type.dims:
            groups = []
        shown = program.emit(
            f"tensor.expand_shape {value.name} {groups} output_shape "
            f"{list(kind.dims)} : {value.type} into {kind}", kind, [value])
        axes = ", ".join(program.mesh.axes)
        attributes = [f"tg.placement = #tg.placement<@mesh [[{axes}] = shard 0]>"]
        if name:
            attributes.append(name)
        return shown, f" {{{', '.join(attributes)}}}"


# -----------------------------------------------------------------------------
# Comparing
# -----------------------------------------------------------------------------


class Mismatch(Exception):
    """What an engine did that it should not."""


def compare(name: str, first: RawTensor, second: RawTensor) -> None:
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        raise Mismatch(f"{name}: {first.dtype}{first.shape} against "
                       f"{second.dtype}{second.shape}")
    if first.data == second.data:
        return
    with numpy.errstate(all="ignore"):
        left, right = first.to_floats().ravel(), second.to_floats().ravel()
        nan = numpy.isnan(left) & numpy.isnan(right)
        if name.startswith("approximate"):
            tolerance = {"BF16": 2e-2, "F16": 2e-3}.get(first.dtype, 1e-5)
            bad = ~nan & ~numpy.isclose(left, right, rtol=tolerance,
                                        atol=tolerance)
        else:
            width = len(first.data) // max(1, left.size)
            bits = [numpy.frombuffer(tensor.data, f"u{width}")
                    for tensor in (first, second)]
            bad = ~nan & (bits[0] != bits[1])
    if bad.any():
        at = int(numpy.flatnonzero(bad)[0])
        raise Mismatch(f"{name} ({first.dtype}{list(first.shape)}): element "
                       f"{at} is {left[at]!r} against {right[at]!r}, "
                       f"{int(bad.sum())} elements differ")


def compare_files(first: Path, second: Path) -> None:
    left = decode_safetensors(first.read_bytes())
    right = decode_safetensors(second.read_bytes())
    if list(left) != list(right):
        raise Mismatch(f"results {list(left)} against {list(right)}")
    for name, tensor in left.items():
        compare(name, tensor, right[name])


def require_success(what: str, result: Result) -> None:
    if result.timed_out:
        raise Mismatch(f"{what} does not end\n{result.last_words}")
    if result.code != 0:
        raise Mismatch(f"{what} ends with code {result.code}\n"
                       f"{result.last_words}")


def check_program(text: str, seed: int, scratch: Path) -> None:
    """Raises Mismatch if not all ways to run a program agree."""
    written = scratch / "program.mlir"
    written.write_text(text)
    mode = ",integers" if seed % 2 else ""

    def run(what: str, module: Path, *options: str) -> Path:
        output = scratch / f"{what}.safetensors"
        require_success(what, run_tool(
            "regather", "run", module, f"--random-inputs={seed}{mode}",
            "--steps=2", "--quiet", f"--outputs={output}", *options,
            timeout=60))
        return output

    expected = run("interpreter", written, "--engine=interpreter")

    def check(what: str, module: Path, *options: str) -> None:
        try:
            compare_files(expected, run(what, module, *options))
        except Mismatch as error:
            raise Mismatch(f"interpreter against {what}: {error}") from None

    check("interpreter-seed", written, "--engine=interpreter",
          f"--seed={seed + 1}")
    check("cpu", written, "--engine=cpu")
    simplified = scratch / "simplified.mlir"
    require_success("simplification", run_tool(
        "regather-opt", "--canonicalize", "--cse", written, "-o", simplified))
    check("interpreter-simplified", simplified, "--engine=interpreter",
          f"--seed={seed + 2}")
    check("cpu-simplified", simplified, "--engine=cpu")


def check_seed(seed: int, size: int) -> tuple[str, str | None]:
    """The program of a seed, and what is wrong with it."""
    text = Writer(seed, size).write()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check_program(text, seed, Path(scratch))
        except Mismatch as error:
            return text, str(error)
    return text, None


def write_reproducer(folder: Path, seed: int, text: str, error: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{seed}.mlir"
    mode = ",integers" if seed % 2 else ""
    comment = "".join(f"// {line}\n" for line in error.splitlines())
    path.write_text(f"// --random-inputs={seed}{mode} --steps=2\n{comment}\n"
                    f"{text}")
    return path


# -----------------------------------------------------------------------------
# Tests and campaigns
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_engines_agree(seed: int) -> None:
    text, error = check_seed(seed, size=12)
    assert error is None, f"{error}\n\n{text}"


def test_programs_depend_on_the_seed_alone() -> None:
    assert Writer(7, 20).write() == Writer(7, 20).write()
    assert Writer(7, 20).write() != Writer(8, 20).write()


@pytest.mark.parametrize(("dtype", "data"), [("F32", b"\1\0\0\0"),
                                             ("BF16", b"\1\0"),
                                             ("I8", b"\1"), ("BOOL", b"\1")])
def test_one_bit_is_a_mismatch(dtype: str, data: bytes) -> None:
    zero = RawTensor(dtype, (1,), bytes(len(data)))
    with pytest.raises(Mismatch):
        compare("result0", zero, RawTensor(dtype, (1,), data))


def test_the_signs_of_zeros_differ_and_those_of_nans_do_not() -> None:
    def floats(*bits: int) -> RawTensor:
        return RawTensor("F32", (len(bits),),
                         numpy.array(bits, numpy.uint32).tobytes())
    compare("result0", floats(0x7fc00000), floats(0xffc00001))
    with pytest.raises(Mismatch):
        compare("result0", floats(0x80000000), floats(0))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run random programs on both engines.")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0,
                        help="seed of the first program")
    parser.add_argument("--size", type=int, default=20,
                        help="most operations at the top of a step")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reproducers", type=Path,
                        default=Path("fuzz-failures"), metavar="FOLDER")
    options = parser.parse_args()

    failures = 0
    seeds = range(options.seed, options.seed + options.programs)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda seed: check_seed(seed, options.size), seeds)
        for seed, (text, error) in zip(seeds, results):
            if error is None:
                continue
            failures += 1
            path = write_reproducer(options.reproducers, seed, text, error)
            print(f"{path}: {error}", flush=True)
    print(f"{len(seeds)} programs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
