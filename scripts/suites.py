"""The suites of `./dev check`. Each returns its tests as cases."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import clang_tidy
import inputs
import layout
import lint
from project import LLVM_BIN, ROOT, Case, failed, passed, run, skipped
from remembered import Remembered, run_new

sys.path.insert(0, str(ROOT / "docs"))
# pylint: disable=wrong-import-position
import generate


@dataclass(frozen=True)
class Context:
    """What every suite is told."""

    build: Path
    remembered: Remembered
    # Relative paths of the tests to run, or of the sources to check; all if None.
    only: frozenset[Path] | None = None

    def choose(self, paths: list[Path]) -> list[Path]:
        return [path for path in paths
                if self.only is None or path in self.only]


@dataclass(frozen=True)
class Suite:
    name: str
    needs_build: bool
    cases: Callable[[Context], list[Case]]


def build(directory: Path, preset: str, targets: list[str]) -> list[Case]:
    """Configures if need be, and builds; warnings are errors."""
    result = run(["cmake", "--preset", preset, "-DREGATHER_BUILD_TESTS=ON"],
                 timeout=600)
    if result.code != 0:
        return [failed("configure", result.output)]
    result = run(["cmake", "--build", directory,
                  *(["--target", *targets] if targets else [])], timeout=3600)
    if result.code != 0:
        return [failed("build", result.output)]
    return [passed("build")]


# -----------------------------------------------------------------------------
# lit
# -----------------------------------------------------------------------------


def lit_tests() -> list[Path]:
    """Relative to the root."""
    left_out = {"Inputs", "Unit", "python", "find_package", "fuzz"}
    return [path for path in inputs.tracked()
            if path.parts[0] == "test" and path.suffix in (".mlir", ".test")
            and not left_out & set(path.parts)]


def lit(context: Context) -> list[Case]:
    def run_tests(tests: list[Path]) -> dict[Path, list[Case]]:
        with tempfile.TemporaryDirectory() as scratch:
            results = Path(scratch) / "lit.json"
            result = run([LLVM_BIN / "lit", "-q", "--output", results,
                          *(context.build / test for test in tests)],
                         timeout=1800)
            if not results.exists():
                return {tests[0]: [failed("lit", result.output)]}
            found = json.loads(results.read_text())["tests"]
        cases = [lit_case(test) for test in found]
        checked = with_exit_status("lit", cases, result.code, result.output)
        by_test: dict[Path, list[Case]] = {}
        for case in cases:
            by_test.setdefault(Path("test") / case.name, []).append(case)
        for case in checked[len(cases):]:
            by_test.setdefault(tests[0], []).append(case)
        for test in tests:
            by_test.setdefault(test, [failed(str(test), "lit did not run it")])
        return by_test

    return run_new(context.remembered, context.choose(lit_tests()),
                   inputs.key_of_lit_test, run_tests)


def lit_case(test: dict) -> Case:
    name = test["name"].split(" :: ", 1)[-1]
    seconds = test.get("elapsed") or 0.0
    if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
        return passed(name, seconds)
    output = test.get("output", "").strip()
    if test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
        reason = output.splitlines()[-1] if output else "not supported here"
        return skipped(name, reason, seconds)
    return failed(name, f"{test['code']}\n{output}", seconds)


# -----------------------------------------------------------------------------
# GoogleTest
# -----------------------------------------------------------------------------


def unit(context: Context) -> list[Case]:
    programs = sorted((context.build / "bin").glob("*Tests"))
    if context.only is not None:
        programs = [one for one in programs if Path(one.name) in context.only]
    elif not programs:
        return [failed("unit", f"no {context.build}/bin/*Tests")]

    def run_programs(names: list[str]) -> dict[str, list[Case]]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(names, pool.map(run_program, names)))

    def run_program(name: str) -> list[Case]:
        return run_junit(
            name, lambda results: [context.build / "bin" / name,
                                   f"--gtest_output=xml:{results}"], {})

    return run_new(context.remembered, [one.name for one in programs],
                   inputs.key_of_unit_tests, run_programs)


# -----------------------------------------------------------------------------
# pytest
# -----------------------------------------------------------------------------


def python_tests() -> list[Path]:
    """Relative to the root."""
    return [path for path in inputs.tracked()
            if path.match("test/python/test_*.py")]


def longest_first(tests: list[Path]) -> list[Path]:
    """By the seconds in test/python/seconds.json, which only the order uses."""
    seconds = json.loads((ROOT / "test/python/seconds.json").read_text())
    return sorted(tests, key=lambda test: (-seconds.get(test.name, 0), test))


def kept_by_tests(remembered: Remembered, scratch: Path) -> dict[str, str]:
    """Where kernels that tests compile and models that they capture stay: in the
    user's cache, or in `scratch`. Every build finds the code of kernels that it
    lowers to the same programs of LLVM as one before."""
    cache = remembered.folder.parent if remembered.folder else scratch
    return {"REGATHER_TEST_KERNELS": str(cache / "test-kernels"),
            "REGATHER_TEST_CAPTURES": str(cache / "test-captures")}


def pytest(context: Context) -> list[Case]:
    def run_tests(tests: list[Path]) -> dict[Path, list[Case]]:
        with tempfile.TemporaryDirectory() as scratch:
            return by_file(tests, run_files(tests, Path(scratch)))

    def run_files(tests: list[Path], scratch: Path) -> list[Case]:
        return run_junit(
            "pytest", lambda results:
            # A file stays together: its tests share captured models.
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             *(["-n", "auto"] if len(tests) > 1 else []),
             "--dist", "loadfile", "--no-loadscope-reorder",
             *longest_first(tests),
             f"--junitxml={results}"],
            {"REGATHER_BUILD_DIR": str(context.build),
             "REGATHER_LIBRARY": str(context.build / "lib/libregather.so"),
             **kept_by_tests(context.remembered, scratch),
             "PYTHONPATH": str(ROOT / "python"),
             "PYTHONDONTWRITEBYTECODE": "1",
             # Tests run side by side; threads of PyTorch would wait in loops.
             "OMP_NUM_THREADS": "1"})

    def by_file(tests: list[Path], cases: list[Case]) -> dict[Path, list[Case]]:
        # Ended early: which files are complete is not known.
        if any(case.name == "pytest" for case in cases):
            return {tests[0]: cases}
        by_test: dict[Path, list[Case]] = {}
        for case in cases:
            module = case.name.split(".")
            path = Path(*module[:3]).with_suffix(".py")
            by_test.setdefault(path if path in tests else tests[0],
                               []).append(case)
        return by_test

    return run_new(context.remembered, context.choose(python_tests()),
                   inputs.key_of_python_test, run_tests)


def run_junit(name: str, command: Callable[[Path], list[str | Path]],
              env: dict[str, str]) -> list[Case]:
    """Runs a program that writes its results as JUnit XML."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.xml"
        result = run(command(results), timeout=5400, env=env)
        try:
            tree = ElementTree.parse(results)
        except (OSError, ElementTree.ParseError):  # It crashed before the end.
            return [failed(name, f"exit status {result.code}\n{result.output}")]
    cases = [junit_case(test) for test in tree.iter("testcase")]
    return with_exit_status(name, cases, result.code, result.output)


def junit_case(test: ElementTree.Element) -> Case:
    name = f"{test.get('classname', '')}.{test.get('name', '')}"
    seconds = float(test.get("time") or 0)
    for problem in (*test.findall("failure"), *test.findall("error")):
        return failed(name, problem.text or problem.get("message") or "", seconds)
    omitted = test.find("skipped")
    # GoogleTest also marks disabled tests, which have no element, as not run.
    if omitted is not None or test.get("status") == "notrun":
        reason = omitted.get("message") if omitted is not None else "disabled"
        return skipped(name, " ".join((reason or "no reason given").split()),
                       seconds)
    return passed(name, seconds)


def with_exit_status(name: str, cases: list[Case], code: int,
                     output: str) -> list[Case]:
    """A program that fails without a failing test, or has no test, fails."""
    if not cases:
        return [failed(name, f"ran no test\n{output}")]
    if code != 0 and all(case.status != "failed" for case in cases):
        return cases + [failed(name, f"exit status {code}\n{output}")]
    return cases


def docs(context: Context) -> list[Case]:
    return run_new(context.remembered, ["docs"],
                   lambda name: inputs.key(
                       "docs", name, inputs.hash_of_trees(inputs.PRODUCT),
                       inputs.hash_of_trees(("docs/", "test/", "examples/",
                                             "scripts/", "README"))),
                   lambda names: {"docs": generate.check(context.build)})


SUITES = [
    Suite("format", False, lambda context: layout.check(context.only)),
    Suite("lint", False, lambda context: lint.check()),
    Suite("lit", True, lit),
    Suite("unit", True, unit),
    Suite("docs", True, docs),
    Suite("pytest", True, pytest),
    Suite("tidy", True, lambda context: clang_tidy.check(
        context.build, context.remembered,
        None if context.only is None else set(context.only))),
]
