"""What a change can affect: which tests to run, and what to build for them.

Four ways lead from a changed file to a test: the test is the file; the test, or
what it imports, names the file's subject (a pass by its flag, a module by its
name); the test lies where test/ mirrors the file's folder; a header's subject is
that of the files that include it. What is reached in none of them is left out, and
`Selection.left_out` says how much that is. The whole check remains the measure.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import inputs
import suites
from project import CXX_SUFFIXES, ROOT, run

SOURCES = ("include/regather", "lib", "tools")
# A word of many tests says nothing about what they test.
MOST_NAMED = 12
# Programs of GoogleTest by what they test.
UNIT_PROGRAMS = {
    "Analysis": "RegatherAnalysisTests", "Dialect/TG": "RegatherDialectTests",
    "Dialect/Exec": "RegatherExecTests", "Execution": "RegatherExecutionTests",
    "Interpreter": "RegatherInterpreterTests",
    "Kernel/Compilation": "RegatherKernelCompilationTests",
    "Kernel/CPU": "RegatherKernelCPUTests",
    "Kernel/NVPTX": "RegatherKernelNVPTXTests",
    "Kernel/Transforms": "RegatherKernelTransformsTests",
    "Program": "RegatherProgramTests", "Report": "RegatherReportTests",
    "Runtime": "RegatherRuntimeTests", "StandIn": "RegatherStandInTests",
    "Timeline": "RegatherTimelineTests"}
TOOLS = ("regather-opt", "regather-translate", "regather")


@dataclass(frozen=True)
class Selection:
    changed: list[Path]
    tests: frozenset[Path]  # lit and pytest files, and programs of GoogleTest
    sources: frozenset[Path]  # for clang-format and clang-tidy
    targets: list[str]  # of the build; empty if nothing has to be built
    left_out: str


def changed_files(base: str) -> list[Path]:
    """Against a commit, with what is not committed or not even added."""
    names: set[str] = set()
    for command in (["git", "diff", "--name-only", "-z", base],
                    ["git", "ls-files", "-z", "--others",
                     "--exclude-standard"]):
        result = run(command, split=True)
        if result.code != 0:
            raise ValueError(f"git knows no '{base}': {result.errors.strip()}")
        names |= set(filter(None, result.output.split("\0")))
    return sorted(Path(name) for name in names)


def subject(path: Path) -> str | None:
    """The folder below lib, include/regather or tools, which test/ mirrors."""
    for source in SOURCES:
        if path.is_relative_to(source):
            return str(path.relative_to(source).parent)
    return None


def words(path: Path) -> set[str]:
    """How tests name a source: its stem, and the flag of a pass of that name."""
    dashed = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", path.stem).lower()
    return {path.stem, dashed, dashed.replace("-", "_")}


@functools.cache
def text_of(path: Path) -> str:
    return (ROOT / path).read_text(errors="replace")


def naming(tests: list[Path], path: Path) -> set[Path]:
    """Tests whose name or text has the words of a source."""
    chosen = set()
    for word in words(path):
        if len(word) < 4:
            continue
        named = {test for test in tests if word in test.stem}
        spoken = {test for test in tests
                  if re.search(rf"\b(?:tg-|exec-|convert-)?{word}\b",
                               text_of(test))}
        chosen |= named | (spoken if len(spoken) <= MOST_NAMED else set())
    return chosen


def mirrored(tests: list[Path], folder: str) -> set[Path]:
    while folder not in ("", "."):
        found = {test for test in tests
                 if test.is_relative_to(Path("test") / folder)}
        if found:
            return found
        folder = str(Path(folder).parent)
    return set()


def unit_program(folder: str) -> str | None:
    while folder not in ("", "."):
        if folder in UNIT_PROGRAMS:
            return UNIT_PROGRAMS[folder]
        folder = str(Path(folder).parent)
    return None


def needs_stand_in(test: Path) -> bool:
    return any("libregather_recording" in text_of(module)
               for module in inputs.python_modules(test))


def select(base: str) -> Selection:
    changed = changed_files(base)
    lit, python = suites.lit_tests(), suites.python_tests()
    tests: set[Path] = set()
    sources: set[Path] = set()
    tools: set[str] = set()
    for path in changed:
        folder = subject(path)
        if path in lit or path in python:
            tests.add(path)
        elif path.match("test/python/*.py"):
            tests |= {test for test in python
                      if path in inputs.python_modules(test)}
        elif path.is_relative_to("python"):
            # Those that train whole models take minutes.
            tests |= {test for test in python if path.stem in test.stem
                      or f"{test.stem}_".startswith("test_capture_")
                      and test.stem.split("_")[-1] not in ("large", "models")}
        elif path.is_relative_to("test/StandIn"):
            tests |= {Path(UNIT_PROGRAMS[tested])
                      for tested in ("Kernel/NVPTX", "Runtime", "StandIn")}
            tests |= {test for test in python if needs_stand_in(test)}
        elif path.is_relative_to("test/Unit"):
            tests.add(Path(unit_program(
                str(path.relative_to("test/Unit").parent)) or ""))
        elif folder is not None:
            tests |= naming(lit, path) | naming(python, path)
            # What is declared in a header is used beside its folder, too.
            tests |= mirrored(lit, folder if path.suffix == ".cpp"
                              else str(Path(folder).parent))
            if path.suffix in (".h", ".td", ".cpp") and (
                    program := unit_program(folder)):
                tests.add(Path(program))
        else:
            tests |= naming(python, path)
        if path.suffix in CXX_SUFFIXES and (ROOT / path).exists():
            sources.add(path)
    programs = {str(test) for test in tests if test.name in
                UNIT_PROGRAMS.values()}
    if tests - {Path(one) for one in programs}:
        tools |= set(TOOLS)
        if any("regather-test-opt" in text_of(test) for test in tests
               if test in lit):
            tools.add("regather-test-opt")
        if any("%plugin" in text_of(test) for test in tests if test in lit):
            tools.add("RegatherPlugin")
        if any(needs_stand_in(test) for test in tests if test in python):
            tools.add("RegatherRecording")
    left_lit = len(lit) - len(tests & set(lit))
    left_python = len(python) - len(tests & set(python))
    left_unit = len(UNIT_PROGRAMS) - len(programs)
    return Selection(
        changed, frozenset(tests), frozenset(sources), sorted(tools | programs),
        f"{left_lit} lit tests, {left_python} Python files, {left_unit} unit "
        f"programs and clang-tidy of files that did not change")


