#!/usr/bin/env python3
"""Runs the test suites and counts their tests over all suites.

The last line reads `N passed, N failed`, with `, N skipped` if any were. The
exit status is 1 if something failed. A suite that cannot run has failed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import suites
from project import ROOT, Case, failed, summary


@dataclass(frozen=True)
class Outcome:
    suite: str
    cases: list[Case]
    seconds: float

    def count(self, status: str) -> int:
        return sum(case.status == status for case in self.cases)


def say(text: str) -> None:
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
    say(f"[{name}] {summary(cases)} in {outcome.seconds:.1f} s")
    return outcome


def run_suites(directory: Path, preset: str, only: set[str]) -> list[Outcome]:
    chosen = [suite for suite in suites.SUITES
              if not only or suite.name in only]
    outcomes = []
    built = True
    # Suites without a build come first: they fail within seconds.
    for suite in (one for one in chosen if not one.needs_build):
        outcomes.append(run_suite(suite.name, suite.cases, directory))
    if not only or any(suite.needs_build for suite in chosen):
        outcome = run_suite("build", suites.build, directory, preset)
        built = outcome.count("failed") == 0
        outcomes.append(outcome)
    for suite in (one for one in chosen if one.needs_build):
        if built:
            outcomes.append(run_suite(suite.name, suite.cases, directory))
        else:
            case = failed(suite.name, "did not run: the build failed")
            outcomes.append(run_suite(suite.name, lambda case=case: [case]))
    return outcomes


def print_skipped(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        for case in outcome.cases:
            if case.status == "skipped":
                say(f"skipped [{outcome.suite}] {case.name}: {case.detail}")


def print_table(outcomes: list[Outcome]) -> None:
    say(f"\n{'suite':10} {'passed':>7} {'failed':>7} {'skipped':>7} "
        f"{'seconds':>8}")
    for outcome in outcomes:
        say(f"{outcome.suite:10} {outcome.count('passed'):7} "
            f"{outcome.count('failed'):7} {outcome.count('skipped'):7} "
            f"{outcome.seconds:8.1f}")
    say("")


def main() -> int:
    names = [suite.name for suite in suites.SUITES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--only", default="", metavar="SUITES",
                        help=f"comma-separated, of {', '.join(names)}")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    if unknown := only - set(names):
        parser.error(f"no suite {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(names)}")
    directory = (ROOT / arguments.build_dir).resolve()
    outcomes = run_suites(directory, arguments.preset, only)
    print_table(outcomes)
    print_skipped(outcomes)
    cases = [case for outcome in outcomes for case in outcome.cases]
    say(summary(cases))
    return int(any(case.status == "failed" for case in cases))


if __name__ == "__main__":
    sys.exit(main())
