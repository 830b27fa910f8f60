"""Seeds faults in the compiler, and counts those that fuzzing finds.

    ./dev faults [FAULT..]

The compiler is built once with all faults of the tables (schemata.py), in a
folder of its own; the sources stay as they are. Cases are run without a fault
first, which says to which faults each comes. Then each fault is tried with the
cases that come to it until one finds something. What is done is kept in
OUTPUT/results.json, by the fault and the sources, and not done again.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fault_page import print_table, write_page
from fault_table import Fault, FaultError, read_faults
from schemata import build, digest_sources, write_copy
from trials import Case, find_fault, run_sound_cases

# The part of the faults that has to be caught.
GOAL = 0.95


class Results:
    """What became of faults, in a file."""

    def __init__(self, path: Path, key: str, cases: int, tries: int) -> None:
        self.path, self.key, self.cases, self.tries = path, key, cases, tries
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.known: dict[str, dict[str, Any]] = stored

    def get(self, fault: Fault) -> dict[str, Any] | None:
        """Nothing if a fault has survived fewer cases."""
        known = self.known.get(f"{fault.digest()} {self.key}")
        if known and (known["outcome"] == "caught" or
                      (known["cases"] >= self.cases and
                       known["tries"] >= self.tries)):
            return known
        return None

    def add(self, fault: Fault, result: dict[str, Any]) -> None:
        self.known[f"{fault.digest()} {self.key}"] = (
            result | {"name": fault.name, "cases": self.cases,
                      "tries": self.tries})
        self.path.write_text(json.dumps(self.known, indent=1) + "\n")


def choose(faults: list[Fault], names: list[str]) -> list[Fault]:
    """The named faults, those of named areas, or all."""
    known = {fault.name for fault in faults} | {fault.area for fault in faults}
    if unknown := set(names) - known:
        raise FaultError(f"no fault or area is called "
                         f"{', '.join(sorted(unknown))}")
    return [fault for fault in faults
            if not names or fault.name in names or fault.area in names]


def list_faults(faults: list[Fault]) -> None:
    for fault in faults:
        said = (f" (equivalent: {fault.equivalent})" if fault.equivalent else
                f" (survives: {fault.survives})" if fault.survives else "")
        print(f"{fault.area}/{fault.name}: {fault.file}{said}")


def try_faults(faults: list[Fault], cases: list[Case], tool: Path,
               results: Results, jobs: int, page: Path) -> list[dict[str, Any]]:
    """What became of each fault, in their order."""
    done: dict[str, dict[str, Any]] = {}

    def show(fault: Fault, result: dict[str, Any]) -> None:
        done[fault.name] = result | {"name": fault.name, "area": fault.area,
                                     "survives": fault.survives}
        kind = result.get("kind", f"{result['reached']} cases came to it")
        print(f"{len(done)}/{len(faults)} {fault.name}: {result['outcome']}, "
              f"{kind}", flush=True)
        write_page(list(done.values()), page)

    for fault in faults:
        if result := results.get(fault):
            show(fault, result)
    left = [fault for fault in faults if fault.name not in done]
    with ThreadPoolExecutor(jobs) as pool:
        tried = pool.map(lambda fault: find_fault(tool, fault.name, cases,
                                                  results.tries), left)
        for fault, result in zip(left, tried, strict=True):
            results.add(fault, result)
            show(fault, result)
    return [done[fault.name] for fault in faults]


def get_sound(cases: list[Case]) -> list[Case]:
    """Those that the fuzzer checks and finds nothing with."""
    for case in cases:
        if case.kind:
            print(f"case {case.number} is left out, since it finds something "
                  f"without a fault: {case.kind}: {case.message[:200]}",
                  flush=True)
    return [case for case in cases if not case.kind and not case.invalid]


def run(options: argparse.Namespace) -> int:
    faults = read_faults()
    chosen = [fault for fault in choose(faults, options.names)
              if options.list or not fault.equivalent]
    if options.list:
        list_faults(chosen)
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    source = options.build_dir.resolve() / "source"
    write_copy(faults, source)
    tool = build(source, options.build_dir.resolve() / "build", options.jobs)
    key = digest_sources()
    # What a case comes to depends on the faults that are there.
    seeded = json.dumps([key, *(fault.digest() for fault in faults)])
    cases = run_sound_cases(tool, options.seed, options.cases, options.jobs,
                            options.output / "cases.json", seeded)
    results = try_faults(
        chosen, get_sound(cases), tool,
        Results(options.output / "results.json", f"{key} {options.seed}",
                options.cases, options.tries),
        options.jobs, options.output / "index.html")
    caught = sum(one["outcome"] == "caught" for one in results)
    print_table(results)
    print(f"{caught} of {len(results)} faults caught, "
          f"{caught / max(len(results), 1):.1%}; {options.output}/index.html")
    is_good = caught >= GOAL * len(results) and not any(case.kind
                                                      for case in cases)
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev faults", description="Seed faults and count those found.")
    parser.add_argument("names", nargs="*", metavar="FAULT",
                        help="faults or areas (default: all)")
    parser.add_argument("--list", action="store_true",
                        help="list them, and do nothing else")
    parser.add_argument("--cases", type=int, default=400, metavar="N",
                        help="cases, of which those that come to a fault are "
                        "tried with it (default: 400)")
    parser.add_argument("--tries", type=int, default=150, metavar="N",
                        help="at most so many of them for one fault (default: "
                        "150)")
    parser.add_argument("--seed", type=int, default=0,
                        help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("fault-results"),
                        metavar="FOLDER", help="default: fault-results")
    parser.add_argument("--build-dir", type=Path,
                        default=Path("build/faults"), metavar="FOLDER",
                        help="where the copy with the faults is built "
                        "(default: build/faults)")
    options = parser.parse_args()
    if min(options.cases, options.tries, options.jobs) < 1:
        parser.error("--cases, --tries and --jobs are positive")
    try:
        return run(options)
    except (FaultError, OSError) as error:
        print(f"dev faults: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
