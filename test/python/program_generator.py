"""Random programs for the engines: the one of a seed is
`Writer(seed, size).write()`, a function of its arguments alone.

All values are defined: there is no division by zero, no shift by more than the
width, no conversion out of range and no read of an empty tensor. What NaN looks
like in memory is not defined, so none is bitcast. Results of transcendental
functions, which may differ, feed nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from program_operations import (Elementwise, Family, Generic, NamedLinalg,
                                TensorOps, Transcendental)
from program_values import (DTYPES, MAX_ELEMENTS, Arithmetic, Function, Future,
                            Mesh, Placement, Program, Scope, Type, Value,
                            draw_shape, list_names, list_types)


# -----------------------------------------------------------------------------
# Collectives and control flow
# -----------------------------------------------------------------------------


class Collectives(Family):
    """Starts and waits; in flight together, waited for in any order, or
    dead."""

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
            lambda kind: kind.rank > 0
            and kind.elements * ranks <= MAX_ELEMENTS)
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
            lambda kind: kind.rank > 0
            and kind.elements * ranks <= MAX_ELEMENTS)
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
        attributes = ("tg.role = #tg.role<buffer>, "
                      f"tg.placement = {placement.text}")
        return (f"{value.name}: {value.type} {{{attributes}}}", value,
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
        attributes = [
            f"tg.placement = #tg.placement<@mesh [[{axes}] = shard 0]>"]
        if name:
            attributes.append(name)
        return shown, f" {{{', '.join(attributes)}}}"
