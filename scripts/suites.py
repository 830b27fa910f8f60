"""The suites of `./dev check`. Each returns its tests as cases."""

from __future__ import annotations

import json
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import clang_tidy
import layout
import lint
from project import LLVM_BIN, ROOT, Case, failed, passed, run, skipped

sys.path.insert(0, str(ROOT / "docs"))
# pylint: disable=wrong-import-position
import generate


@dataclass(frozen=True)
class Suite:
    name: str
    needs_build: bool
    cases: Callable[[Path], list[Case]]


def build(directory: Path, preset: str) -> list[Case]:
    """Configures if need be, and builds; warnings are errors."""
    if not (directory / "build.ninja").exists():
        result = run(["cmake", "--preset", preset])
        if result.code != 0:
            return [failed("configure", result.output)]
    result = run(["cmake", "--build", directory], timeout=3600)
    if result.code != 0:
        return [failed("build", result.output)]
    return [passed("build")]


def lit(directory: Path) -> list[Case]:
    return run_lit(directory, {})


def lit_roundtrip(directory: Path) -> list[Case]:
    """Everything that regather-opt reads goes through print and parse."""
    return run_lit(directory, {"REGATHER_VERIFY_ROUNDTRIP": "1"})


def run_lit(directory: Path, env: dict[str, str]) -> list[Case]:
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "lit.json"
        result = run([LLVM_BIN / "lit", "-q", "--output", results,
                      directory / "test"], timeout=1800, env=env)
        if not results.exists():
            return [failed("lit", result.output)]
        tests = json.loads(results.read_text())["tests"]
    cases = [lit_case(test) for test in tests]
    return with_exit_status("lit", cases, result.code, result.output)


def lit_case(test: dict) -> Case:
    name = test["name"].split(" :: ", 1)[-1]
    if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
        return passed(name)
    output = test.get("output", "").strip()
    if test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
        reason = output.splitlines()[-1] if output else "not supported here"
        return skipped(name, reason)
    return failed(name, f"{test['code']}\n{output}")


def unit(directory: Path) -> list[Case]:
    programs = sorted((directory / "bin").glob("*Tests"))
    if not programs:
        return [failed("unit", f"no {directory}/bin/*Tests")]
    cases = []
    for program in programs:
        cases += run_junit(
            program.name, lambda results, program=program:
            [program, f"--gtest_output=xml:{results}"], {})
    return cases


def pytest(directory: Path) -> list[Case]:
    return run_junit(
        "pytest", lambda results:
        # A file stays together: its tests share captured models.
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "-n", "auto", "--dist", "loadfile", "test/python",
         f"--junitxml={results}"],
        {"REGATHER_BUILD_DIR": str(directory),
         "PYTHONPATH": str(ROOT / "python"),
         "PYTHONDONTWRITEBYTECODE": "1"})


def run_junit(name: str, command: Callable[[Path], list[str | Path]],
              env: dict[str, str]) -> list[Case]:
    """Runs a program that writes its results as JUnit XML."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.xml"
        result = run(command(results), timeout=1800, env=env)
        try:
            tree = ElementTree.parse(results)
        except (OSError, ElementTree.ParseError):  # It crashed before the end.
            return [failed(name, f"exit status {result.code}\n{result.output}")]
    cases = [junit_case(test) for test in tree.iter("testcase")]
    return with_exit_status(name, cases, result.code, result.output)


def junit_case(test: ElementTree.Element) -> Case:
    name = f"{test.get('classname', '')}.{test.get('name', '')}"
    for problem in (*test.findall("failure"), *test.findall("error")):
        return failed(name, problem.text or problem.get("message") or "")
    omitted = test.find("skipped")
    # GoogleTest also marks disabled tests, which have no element, as not run.
    if omitted is not None or test.get("status") == "notrun":
        reason = omitted.get("message") if omitted is not None else "disabled"
        return skipped(name, " ".join((reason or "no reason given").split()))
    return passed(name)


def with_exit_status(name: str, cases: list[Case], code: int,
                     output: str) -> list[Case]:
    """A program that fails without a failing test, or has no test, fails."""
    if not cases:
        return [failed(name, f"ran no test\n{output}")]
    if code != 0 and all(case.status != "failed" for case in cases):
        return cases + [failed(name, f"exit status {code}\n{output}")]
    return cases


SUITES = [
    Suite("format", False, lambda directory: layout.check()),
    Suite("lint", False, lambda directory: lint.check()),
    Suite("lit", True, lit),
    Suite("roundtrip", True, lit_roundtrip),
    Suite("unit", True, unit),
    Suite("pytest", True, pytest),
    Suite("docs", True, generate.check),
    Suite("tidy", True, clang_tidy.check),
]
