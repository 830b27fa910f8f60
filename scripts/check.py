#!/usr/bin/env python3
"""Runs the test suites and counts their tests over all suites.

The last line reads `N passed, N failed`, with `, N skipped` if any were. The
exit status is 1 if something failed. A suite that cannot run has failed. What
passed before with the same inputs is counted and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import changed
import suites
import torch_newest
import vendor
import wheel
from project import ROOT, Case, failed, summary
from remembered import Remembered, cache_folder

SLOWEST = 20
# Above, suites run side by side; below, they would only slow each other.
FEW_CORES = 4
# Suites that have to be asked for.
EXTRA = {"torch-newest": torch_newest.check, "vendor": vendor.check,
         "wheel": wheel.check}


@dataclass(frozen=True)
class Outcome:
    suite: str
    cases: list[Case]
    seconds: float

    def count(self, status: str) -> int:
        return sum(case.status == status for case in self.cases)

    @property
    def remembered(self) -> int:
        return sum(case.remembered for case in self.cases)


printing = threading.Lock()


def say(text: str) -> None:
    with printing:
        print(text, flush=True)


def run_suite(name: str, cases_of: Callable[..., list[Case]],
              *arguments: object) -> Outcome:
    say(f"[{name}] ...")
    start = time.monotonic()
    try:
        cases = cases_of(*arguments)
    except Exception:  # A broken suite must not hide the results of others.
        cases = [failed(name, traceback.format_exc())]
    outcome = Outcome(name, cases, time.monotonic() - start)
    for case in cases:
        if case.status == "failed":
            say(f"[{name}] FAILED {case.name}\n{case.detail.rstrip()}\n")
    known = f", {outcome.remembered} remembered" if outcome.remembered else ""
    say(f"[{name}] {summary(cases)}{known} in {outcome.seconds:.1f} s")
    return outcome


def run_suites(context: suites.Context, preset: str, only: set[str],
               targets: list[str]) -> list[Outcome]:
    """clang-tidy, which waits for nobody, has what the others leave idle."""
    chosen = [suite for suite in suites.SUITES
              if not only or suite.name in only]
    outcomes = [run_suite(suite.name, suite.cases, context)
                for suite in chosen if not suite.needs_build]
    waiting = [suite for suite in chosen if suite.needs_build]
    if only and not waiting:
        return outcomes
    built = run_suite("build", suites.build, context.build, preset, targets)
    outcomes.append(built)
    if built.count("failed"):
        return outcomes + [
            Outcome(suite.name,
                    [failed(suite.name, "did not run: the build failed")], 0.0)
            for suite in waiting]
    cores = os.cpu_count() or 2
    lanes = len(waiting) if cores > FEW_CORES else 1
    with ThreadPoolExecutor(1) as aside, ThreadPoolExecutor(max(1, lanes)) as pool:
        running: list[Future[Outcome]] = [
            (aside if suite.name == "tidy" else pool).submit(
                run_suite, suite.name, suite.cases, context)
            for suite in waiting]
        return outcomes + [one.result() for one in running]


def print_skipped(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        for case in outcome.cases:
            if case.status == "skipped":
                say(f"skipped [{outcome.suite}] {case.name}: {case.detail}")


def print_slowest(outcomes: list[Outcome]) -> None:
    ran = [(case.seconds, outcome.suite, case.name) for outcome in outcomes
           for case in outcome.cases if not case.remembered and case.seconds >= 1]
    if ran:
        say(f"\nthe {min(SLOWEST, len(ran))} slowest tests, in seconds")
    for seconds, suite, name in sorted(ran, reverse=True)[:SLOWEST]:
        say(f"{seconds:8.1f}  [{suite}] {name}")


def write_seconds(outcomes: list[Outcome], path: Path) -> None:
    """Those of the tests that ran, by suite and name. `test/python/seconds.json`,
    which the order of the Python tests follows, has their sums over files."""
    ran = {outcome.suite: {case.name: round(case.seconds, 2)
                           for case in outcome.cases if not case.remembered}
           for outcome in outcomes}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ran, indent=1) + "\n")


def print_table(outcomes: list[Outcome]) -> None:
    say(f"\n{'suite':10} {'passed':>7} {'failed':>7} {'skipped':>7} "
        f"{'remembered':>10} {'seconds':>8}")
    for outcome in outcomes:
        say(f"{outcome.suite:10} {outcome.count('passed'):7} "
            f"{outcome.count('failed'):7} {outcome.count('skipped'):7} "
            f"{outcome.remembered:10} {outcome.seconds:8.1f}")
    say("")


def main() -> int:
    names = [suite.name for suite in suites.SUITES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--only", default="", metavar="SUITES",
                        help=f"comma-separated, of {', '.join(names)}; and of "
                        f"those that run only then: {', '.join(EXTRA)}")
    parser.add_argument("--no-cache", action="store_true",
                        help="run what passed before with the same inputs, too")
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="BASE",
                        help="run what the changes since BASE (HEAD: what is "
                        "not committed) can affect, and say what is left out")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    if unknown := only - set(names) - set(EXTRA):
        parser.error(f"no suite {', '.join(sorted(unknown))}; "
                     f"there are {', '.join([*names, *EXTRA])}")
    directory = (ROOT / arguments.build_dir).resolve()
    remembered = Remembered(None if arguments.no_cache
                            else cache_folder() / "check")
    remembered.remove_old()
    context, targets = suites.Context(directory, remembered), []
    if arguments.changed:
        try:
            selection = changed.select(arguments.changed)
        except ValueError as error:
            parser.error(str(error))
        for path in selection.changed:
            say(f"changed: {path}")
        say(f"left out: {selection.left_out}")
        context = suites.Context(directory, remembered,
                                 selection.tests | selection.sources)
        targets = selection.targets
        only = only or {"format", "lint"} | (
            {"lit", "unit", "pytest", "tidy"} if targets else set()
        ) | ({"docs"} if any(path.suffix in (".md", ".td")
                             for path in selection.changed) else set())
    regular, outcomes = only - set(EXTRA), []
    if regular or not only:
        outcomes = run_suites(context, arguments.preset, regular, targets)
    outcomes += [run_suite(name, EXTRA[name], directory)
                 for name in EXTRA if name in only]
    print_slowest(outcomes)
    write_seconds(outcomes, directory / "check-seconds.json")
    print_table(outcomes)
    print_skipped(outcomes)
    cases = [case for outcome in outcomes for case in outcome.cases]
    say(summary(cases))
    return int(any(case.status == "failed" for case in cases))


if __name__ == "__main__":
    sys.exit(main())
