"""Examples in documentation, which are text of the tests and so stay true.

In a test, an example lies between two comment lines:

    // EXAMPLE tg.all_gather
    ... MLIR that parses by itself ...
    // END

An operation's example lies in the `examples.mlir` of its dialect's tests and
bears the operation's name. A pass's lies in its like-named test and bears its
flag, with options if it needs some: `// EXAMPLE tg-schedule{window=4}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from project import ROOT, project_files
from tablegen import Definition

BEGIN = re.compile(r"^\s*// EXAMPLE ([\w.-]+)(?:\{(.*)\})?\s*$")
END = re.compile(r"^\s*// END\s*$")
# Comments that speak to lit and FileCheck, not to a reader.
CHECKS = re.compile(r"^\s*// ?(RUN|REQUIRES|UNSUPPORTED|XFAIL"
                    r"|[A-Z][A-Z0-9_-]*(\{[A-Z]+\})?):"
                    r"|expected-(error|remark|note|warning)")


@dataclass(frozen=True)
class Example:
    name: str
    options: str
    text: str
    file: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class ExampleError(Exception):
    """An example that does not end, or whose name is taken."""


def read(file: Path) -> dict[str, Example]:
    """The examples of one test, by name, without lines of checks."""
    found: dict[str, Example] = {}
    start: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
        begin = BEGIN.match(line)
        if begin and start:
            raise ExampleError(f"{file}:{start[2]}: example has no END")
        if begin:
            start, lines = (begin[1], begin[2] or "", number), []
            if begin[1] in found:
                raise ExampleError(f"{file}:{number}: again {begin[1]}")
        elif END.match(line) and start:
            text = "\n".join(lines).strip("\n") + "\n"
            found[start[0]] = Example(start[0], start[1], text, file, start[2])
            start = None
        elif start and not CHECKS.search(line):
            lines.append(line)
    if start:
        raise ExampleError(f"{file}:{start[2]}: example has no END")
    return found


def test_of_pass(flag: str) -> Path | None:
    """The test called like the pass: flag without its prefix."""
    names = {f"{flag}.mlir", re.sub(r"^(tg|exec|kernel)-", "", flag) + ".mlir"}
    return next((path for path in project_files(".mlir")
                 if path.parts[0] == "test" and path.name in names), None)


def example_of_pass(definition: Definition) -> Example | None:
    test = test_of_pass(definition.name)
    return read(test).get(definition.name) if test else None


def examples_of_operations() -> dict[str, Example]:
    found: dict[str, Example] = {}
    for path in project_files(".mlir"):
        if path.parts[0] == "test" and path.name == "examples.mlir":
            found.update(read(path))
    return found
