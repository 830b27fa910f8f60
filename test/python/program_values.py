"""What random programs are made of: types and values, the mesh and placements
on it, the program that is being written, and arithmetic on its values.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

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
        sizes = "".join(f"{size}x" for size in self.shape)
        return f"tensor<{sizes}{self.dtype}>"

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


def list_types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values)


def list_names(values: Sequence[Value]) -> str:
    return ", ".join(value.name for value in values)


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
