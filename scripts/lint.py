#!/usr/bin/env python3
"""Conventions that neither the compiler nor clang-tidy knows.

Prints `file:line: message` for each finding. Each check is one test.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import examples
import layers
import private_names
import tablegen
from project import (CXX_SUFFIXES, ROOT, Case, failed, passed, project_files,
                     report)

LICENSE_LINE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
MAX_LINES = 800
MAX_SUMMARY = 70
# Spelt so that this file does not find itself.
MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# An error statement that opens with literal text: emitOpError("..."),
# emitError(loc, "...") or emitError(loc) << "...".
ERROR = re.compile(r'\bemit(?:Op)?Error\((?:[^;"]*?,\s*|[^;"<]*\)\s*<<\s*)?'
                   r'((?:"(?:[^"\\]|\\.)*"|[^;"])*);')
EMIT = re.compile(r"\bemit(?:Op)?Error\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# An alias of a namespace, or a name from another one.
USING = re.compile(r"^[ \t]*(?:namespace (\w+) = [\w:]+|using [\w:]*::(\w+));",
                   re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL | re.MULTILINE)
# A file in a comment, alone or with its path below include.
FILE = re.compile(r"(?<![\w/.-])((?:regather/[\w/]+/)?[A-Z]\w+\.(?:h|cpp|td))\b")
# Of LLVM.
FOREIGN_FILES = {"TargetSelect.h"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
TEXT_SUFFIXES = CXX_SUFFIXES + (".td", ".py", ".sh", ".cmake", ".txt", ".mlir",
                                ".md", ".cfg")


def lines_of(path: Path) -> list[str]:
    return (ROOT / path).read_text(errors="replace").splitlines()


def described(kind: str, found: list[tablegen.Definition]) -> Iterator[str]:
    for one in found:
        if not one.summary.strip():
            yield f"{one.place}: {kind} {one.name} has no summary"
        elif len(one.summary) >= MAX_SUMMARY:
            yield (f"{one.place}: summary of {one.name} has "
                   f"{len(one.summary)} characters, expects fewer than "
                   f"{MAX_SUMMARY}")
        if not one.description.strip():
            yield f"{one.place}: {kind} {one.name} has no description"


def passes_are_described() -> Iterator[str]:
    yield from described("pass", tablegen.passes())


def operations_are_described() -> Iterator[str]:
    yield from described("operation", tablegen.operations())


def passes_have_tests() -> Iterator[str]:
    for one in tablegen.passes():
        if not examples.test_of_pass(one.name):
            yield f"{one.place}: pass {one.name} has no test of its name"


def passes_that_diagnose_have_tests() -> Iterator[str]:
    """Of bad input, next to the test of the pass."""
    sources = {path: (ROOT / path).read_text()
               for path in project_files(".cpp") if path.parts[0] == "lib"}
    for one in tablegen.passes():
        guard = f"#define GEN_PASS_DEF_{one.record.upper()}\n"
        test = examples.test_of_pass(one.name)
        if test is None or (ROOT / test.with_stem(f"{test.stem}-invalid")
                            ).exists():
            continue
        for path, text in sources.items():
            if guard in text and EMIT.search(text):
                yield (f"{one.place}: pass {one.name} emits errors in {path}, "
                       f"but there is no {test.stem}-invalid.mlir")


def passes_have_examples() -> Iterator[str]:
    for one in tablegen.passes():
        if not examples.example_of_pass(one):
            yield (f"{one.place}: pass {one.name} has no "
                   f"'// EXAMPLE {one.name}' in its test")


def operations_have_examples() -> Iterator[str]:
    known = examples.examples_of_operations()
    for one in tablegen.operations():
        if one.name not in known:
            yield (f"{one.place}: operation {one.name} has no "
                   f"'// EXAMPLE {one.name}' in any examples.mlir")


def errors_are_phrased_alike() -> Iterator[str]:
    """Lower case first, no full stop last."""
    for path in project_files(*CXX_SUFFIXES):
        if path.parts[0] not in ("lib", "tools"):
            continue
        text = (ROOT / path).read_text()
        for statement in ERROR.finditer(text):
            line = text.count("\n", 0, statement.start()) + 1
            first = STRING.match(statement[1])
            # An acronym or a C++ name may start a message.
            if first and re.match(r"[A-Z][a-z]+\b", first[1]):
                yield f"{path}:{line}: error starts upper case: {first[1]}"
            if re.search(r'(?<!\.)\."\)*\s*$', statement[1]):
                yield f"{path}:{line}: error ends with a full stop"


def files_are_short() -> Iterator[str]:
    for path in project_files(*CXX_SUFFIXES, ".td"):
        count = len(lines_of(path))
        if count > MAX_LINES:
            yield f"{path}:{MAX_LINES + 1}: {count} lines, expects {MAX_LINES}"


def nothing_is_left_to_do() -> Iterator[str]:
    for path in project_files(*TEXT_SUFFIXES):
        for number, line in enumerate(lines_of(path), 1):
            if marker := MARKERS.search(line):
                yield f"{path}:{number}: {marker[0]}; finish it"


def files_are_licensed() -> Iterator[str]:
    for path in project_files(*CXX_SUFFIXES, ".td"):
        if not any(LICENSE_LINE in line for line in lines_of(path)[:12]):
            yield f"{path}:1: no line '{LICENSE_LINE}'"


def file_names_say_something() -> Iterator[str]:
    for path in project_files(*TEXT_SUFFIXES):
        if any(re.search(r"util(s|ities)?$", name, re.IGNORECASE)
               for name in (*path.parent.parts, path.stem)):
            yield f"{path}:1: name the concept, not 'utils'"


def includes_keep_to_layers() -> Iterator[str]:
    yield from layers.findings()


def links_keep_to_layers() -> Iterator[str]:
    yield from layers.link_findings()


def links_lead_somewhere() -> Iterator[str]:
    for path in project_files(".md"):
        for number, line in enumerate(lines_of(path), 1):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):  # https:, mailto:
                    continue
                if not (ROOT / path.parent / target).exists():
                    yield f"{path}:{number}: no file {target}"


def comments_name_files_that_exist() -> Iterator[str]:
    """Files of C++ and TableGen are called like classes; others are not ours."""
    paths = {str(path) for path in project_files(".cpp", ".h", ".td")}
    names = {path.rsplit("/", 1)[-1] for path in paths}
    for path in project_files(*CXX_SUFFIXES, ".td"):
        for number, line in enumerate(lines_of(path), 1):
            for comment in COMMENT.findall(line):
                for found in FILE.findall(comment):
                    if found.startswith("regather/"):
                        if f"include/{found}" not in paths:
                            yield f"{path}:{number}: no file {found}"
                    elif found not in names and found not in FOREIGN_FILES:
                        yield f"{path}:{number}: no file {found}"


def private_names_have_their_files() -> Iterator[str]:
    yield from private_names.findings()


def using_declarations_are_used() -> Iterator[str]:
    """What clang-tidy's misc-unused-* find; they skip all but the main file.

    A main file is several of ours one behind the other (see REGATHER_UNITY).
    """
    for path in project_files(".cpp"):
        text = COMMENT.sub("", (ROOT / path).read_text())
        for declared in USING.finditer(text):
            name = declared[1] or declared[2]
            if len(re.findall(rf"\b{name}\b", text)) == 1 + (
                    declared[0].count(f"{name}::")):
                line = text.count("\n", 0, declared.start()) + 1
                yield f"{path}:{line}: {name} is declared and not used"


CHECKS: list[Callable[[], Iterator[str]]] = [
    passes_are_described, passes_have_tests,
    passes_that_diagnose_have_tests, passes_have_examples,
    operations_are_described, operations_have_examples,
    errors_are_phrased_alike, files_are_short, nothing_is_left_to_do,
    files_are_licensed, file_names_say_something, includes_keep_to_layers,
    links_keep_to_layers, links_lead_somewhere, comments_name_files_that_exist,
    private_names_have_their_files, using_declarations_are_used]


def check() -> list[Case]:
    cases = []
    for rule in CHECKS:
        name = rule.__name__.replace("_", " ")
        try:
            findings = list(rule())
        except (tablegen.TableGenError, examples.ExampleError) as error:
            findings = [str(error)]
        cases.append(failed(name, "\n" + "\n".join(findings)) if findings
                     else passed(name))
    return cases


if __name__ == "__main__":
    sys.exit(report(check()))
