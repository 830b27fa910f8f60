"""Runs the cases of a kit one after the other, and writes the report."""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

import archive
import kinds
import libraries
import machine
import pythons
import report
from case import Result, Run, Skipped

KIT = Path(__file__).resolve().parent.parent
# What writing the report may take of the time that all may take.
RESERVE = 10


def give_up(reason: str) -> NoReturn:
    print(f"run.sh: {reason}", file=sys.stderr)
    sys.exit(2)


def prepare_output(output: Path) -> None:
    """An empty folder, but for what is not ours."""
    output.mkdir(parents=True, exist_ok=True)
    for name in ("logs", "work"):
        shutil.rmtree(output / name, ignore_errors=True)
        (output / name).mkdir()
    for name in report.FILES:
        (output / name).unlink(missing_ok=True)


def run_case(run: Run, case: dict) -> Result:
    """A case of its own: whatever goes wrong in it, the others go on."""
    result = Result(case["name"], case["section"])
    start = time.monotonic()
    try:
        if run.seconds_left() < 5:
            raise Skipped("the time for all cases is used up")
        if run.stand_in and not case.get("stand_in_steps"):
            raise Skipped("needs a GPU" if case["kind"] == "sanitizer"
                          else "takes too long on the stand-in")
        result.figures = kinds.KINDS[case["kind"]](run, case)
        result.status = "passed"
    except Skipped as reason:
        result.status, result.reason = "skipped", str(reason)
    except Exception as error:  # noqa: BLE001
        result.reason = str(error) or type(error).__name__
    result.seconds = time.monotonic() - start
    return result


def show(result: Result) -> None:
    text = result.reason or ", ".join(
        f"{name} {report.format_figure(name, value)}"
        for name, value in result.figures.items())
    print(f"{result.status:<8}{result.name:<28} {result.seconds:6.1f} s  "
          f"{text}", flush=True)


def select(cases: list[dict], patterns: str) -> list[dict]:
    chosen = [case for case in cases if any(
        fnmatch.fnmatchcase(case["name"], pattern)
        for pattern in patterns.split(","))]
    if not chosen:
        give_up(f"no case matches {patterns}")
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=KIT / "output",
                        help="folder of the report (default: output, in the "
                        "kit)")
    parser.add_argument("--stand-in", action="store_true",
                        help="run short cases on libraries that stand in for "
                        "CUDA's; needs no GPU")
    parser.add_argument("--only", default="*", metavar="NAME,NAME*",
                        help="cases to run; they may need others before")
    parser.add_argument("--seconds", type=float, default=480,
                        help="for everything (default %(default)s)")
    args = parser.parse_args()
    start = time.monotonic()
    # As by Ctrl-C: what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cases = select(json.loads((KIT / "cases" / "cases.json").read_text()),
                   args.only)
    output = args.output.resolve()
    try:
        prepare_output(output)
    except OSError as error:
        give_up(f"cannot write to the output, -o names another: {error}")
    environments = pythons.find()
    found = libraries.find(KIT, environments, args.stand_in)
    run = Run(kit=KIT, output=output, stand_in=args.stand_in,
              end=start + args.seconds - RESERVE, environments=environments,
              libraries=found)
    run.machine = machine.describe(run)
    for line in (*libraries.describe(found), *machine.lines(run.machine)):
        print(line, flush=True)
    for case in cases:
        run.results[case["name"]] = result = run_case(run, case)
        show(result)
    shutil.rmtree(output / "work", ignore_errors=True)
    results = list(run.results.values())
    report.write(run, results, time.monotonic() - start)
    archive.write(output)
    counts = report.count(results)
    print(", ".join(f"{number} {status}" for status, number in counts.items())
          + f"; see {output / 'gpu-report.html'}")
    if counts["failed"]:
        return 1
    return 0 if counts["passed"] else 2


if __name__ == "__main__":
    sys.exit(main())
