"""Reads passes and operations from the project's TableGen files."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from project import LLVM_BIN, ROOT, project_files, run


@dataclass(frozen=True)
class Definition:
    """A pass (named by its flag) or an operation (`dialect.name`)."""

    name: str
    file: Path
    line: int
    summary: str
    description: str
    record: str  # As TableGen knows it.

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class TableGenError(Exception):
    """A file that does not parse; the text says why."""


@functools.cache
def load(file: Path) -> dict:
    result = run([LLVM_BIN / "llvm-tblgen", "-dump-json", f"-I{ROOT}/include",
                  f"-I{LLVM_BIN.parent}/include", file])
    if result.code != 0:
        raise TableGenError(f"{file}:1: {result.output.strip()}")
    return json.loads(result.output)


def definitions(file: Path, base: str) -> list[Definition]:
    """The records of class `base` that `file` itself defines."""
    records = load(file)
    found = []
    for name in records["!instanceof"].get(base, []):
        record = records[name]
        # Records of included files are listed as well.
        source, line = record["!locs"][0].rsplit(":", 1)
        if source != file.name:
            continue
        found.append(Definition(record_name(records, record), file, int(line),
                                record["summary"] or "",
                                record["description"] or "", name))
    return sorted(found, key=lambda definition: definition.line)


def record_name(records: dict, record: dict) -> str:
    if "argument" in record:
        return record["argument"]
    dialect = records[record["opDialect"]["def"]]["name"]
    return f"{dialect}.{record['opName']}"


@dataclass(frozen=True)
class Target:
    """A target of nodes, as the table of operators describes it."""

    name: str
    kind: str
    parameters: str
    lowering: str
    sharding: str
    pytorch: str


def targets() -> list[Target]:
    """All targets, by name."""
    records = load(ROOT / "include/regather/Dialect/TG/Targets/NodeTargets.td")

    def enumerator(record: dict, field: str) -> str:
        return record[field].rsplit("::", 1)[1]

    def describe(record: dict) -> Target:
        operator = records[enumerator(record, "Operator")]
        return Target(record["Name"], enumerator(operator, "Class"),
                      record["Parameters"], enumerator(record, "Lowering"),
                      enumerator(record, "Sharding"),
                      enumerator(operator, "PyTorch"))

    return sorted((describe(records[name])
                   for name in records["!instanceof"]["TargetRecord"]),
                  key=lambda target: target.name)


def passes() -> list[Definition]:
    files = [file for file in project_files(".td")
             if file.name.endswith("Passes.td")]
    return [one for file in files for one in definitions(file, "PassBase")]


def operations() -> list[Definition]:
    files = [file for file in project_files(".td")
             if file.parts[0] == "include" and file.name.endswith("Ops.td")]
    return [one for file in files for one in definitions(file, "Op")]
