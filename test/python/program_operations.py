"""Families of operations for random programs: arithmetic, linalg, tensor, and
transcendental functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from program_values import (DTYPES, FLOATS, MAX_ELEMENTS, STORED, Arithmetic,
                            Program, Type, Value, draw_shape, list_names,
                            list_types)


# -----------------------------------------------------------------------------
# Families: each emits one of its operations
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
            value = program.find(
                lambda value: not value.type.is_tensor) or value
        other = program.find(lambda other: other.type == value.type)
        self.arithmetic.emit([value, other or value])


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


# -----------------------------------------------------------------------------
# linalg and tensor
# -----------------------------------------------------------------------------


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
                shape = (1,) + shape
                text = ", ".join(["0"] + [text] * (text != ""))
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
            f"outs({output} : {kind}){extra}"
            + (f" -> {kind}" if arrow else ""),
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
