"""A small reader of steps that regather-opt prints in the generic form.

It shares no code with the product, so that tests count with it what the product
says of a step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATION = re.compile(r'^\s*(?:(%\w+)(?::(\d+))? = )?"([\w.]+)"\(([^)]*)\)(.*)$')
ARGUMENTS = re.compile(r"^\s*\^bb0\((.*)\):$")
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+(?:<\w+>)?)>")
BYTES = {"i1": 1, "i8": 1, "ui8": 1, "i16": 2, "bf16": 2, "f16": 2, "i32": 4,
         "f32": 4, "i64": 8, "f64": 8, "complex<f32>": 8, "complex<f64>": 16}
# Targets whose result lies in the memory of their first operand.
VIEWS = re.compile(r"aten\.(view|_unsafe_view|reshape|t|transpose|permute|expand|"
                   r"squeeze|unsqueeze|slice|select|detach|alias|diagonal|"
                   r"split|split_with_sizes|unbind|as_strided|view_as_real|"
                   r"view_as_complex|chunk)\.")


def count_bytes(types: str) -> int:
    """Of all tensors that a text names."""
    return sum(BYTES[element] * math.prod(int(size) for size in
                                          sizes.split("x") if size)
               for sizes, element in TENSOR.findall(types))


@dataclass
class Operation:
    name: str
    results: list[str]
    operands: list[str]
    types: list[str]  # of the results
    text: str  # what follows the operands

    def get(self, pattern: str) -> str | None:
        found = re.search(pattern, self.text)
        return found[1] if found else None

    @property
    def phase(self) -> str | None:
        return self.get(r"#tg\.phase<(\w+)>")

    @property
    def id(self) -> str | None:
        return self.get(r'tg\.id = "([^"]+)"')

    @property
    def target(self) -> str | None:
        return self.get(r'target = "([^"]+)"')


@dataclass
class Function:
    name: str
    arguments: list[str]
    argument_names: list[str | None]  # `tg.name`
    operations: list[Operation]

    def results(self) -> Iterator[tuple[str, Operation, str]]:
        """Each value with the operation and its type."""
        for operation in self.operations:
            for value, kind in zip(operation.results, operation.types,
                                   strict=True):
                yield value, operation, kind


def split_types(text: str) -> list[str]:
    """`(a, b<c, d>)` in two; also a list of dictionaries."""
    text = text.strip().replace("->", "")
    if text.startswith("("):
        text = text[1:-1]
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text + ","):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in parts if part]


def read(path: Path) -> list[Function]:
    functions: list[Function] = []
    for line in path.read_text().splitlines():
        if '"func.func"(' in line:
            name = re.search(r'sym_name = "([^"]+)"', line)
            attributes = re.search(r"arg_attrs = \[(.*?)\], function_type", line)
            names = [re.search(r'tg\.name = "([^"]+)"', one)
                     for one in split_types(attributes[1])] if attributes else []
            functions.append(Function(
                name[1] if name else "", [],
                [one[1] if one else None for one in names], []))
        elif found := ARGUMENTS.match(line):
            functions[-1].arguments = re.findall(r"%\w+(?=:)", found[1])
        elif functions and (found := OPERATION.match(line)):
            base, number, name, operands, text = found.groups()
            results = [] if not base else [base] if not number else [
                f"{base}#{i}" for i in range(int(number))]
            types = split_types(text.rsplit(" -> ", 1)[1]) if results else []
            functions[-1].operations.append(Operation(
                name, results, re.findall(r"%[\w#]+", operands), types, text))
    return functions
