#!/usr/bin/env python3
"""Runs clang-tidy on the project's sources, one process on each core.

What is compiled together (see REGATHER_UNITY) is checked together: most of the
time goes to the headers. A clean result is remembered by a hash of the command
and of all that is included; findings are never remembered.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import inputs
from project import ROOT, Case, failed, passed, report, run
from remembered import Remembered, cache_folder

CLANG_TIDY = "clang-tidy-22"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error):", re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """What one command compiles: a file, or several of one library."""

    file: str
    command: str
    members: tuple[Path, ...]  # absolute


@functools.cache
def included_by(path: Path) -> tuple[Path, ...]:
    """Files of this repository that a file includes itself.

    A header that TableGen writes stands for the .td files beside its name.
    """
    found: list[Path] = []
    for name in INCLUDE.findall(path.read_text(errors="replace")):
        for folder in (path.parent, ROOT / "include", ROOT / "lib",
                       *path.parents):
            candidate = folder / name
            if candidate.is_file() and candidate.is_relative_to(ROOT):
                found.append(candidate.resolve())
                break
            if name.endswith(".inc") and (found_td := sorted(
                    candidate.parent.glob("*.td"))):
                found += found_td
                break
    return tuple(found)


@functools.cache
def closure(path: Path) -> frozenset[Path]:
    """A file and all of this repository that it includes."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += included_by(one)
    return frozenset(found)


def units(build: Path) -> list[Unit]:
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.is_relative_to(build):
            members = INCLUDE.findall(file.read_text())
        else:
            members = [entry["file"]]
        own = tuple(Path(one) for one in members
                    if Path(one).is_relative_to(ROOT)
                    and not Path(one).is_relative_to(build))
        if own:
            found.append(Unit(entry["file"], entry["command"], own))
    return found


def key(unit: Unit, build: Path) -> str:
    """Neither the clone's folder nor that of the build is part of it."""
    command = unit.command.replace(str(build), "BUILD").replace(str(ROOT), "ROOT")
    paths: set[Path] = set()
    for member in unit.members:
        paths |= closure(member)
    # Precompiled headers come before all others.
    for header in ("TG/IR/TG.h", "Exec/IR/Exec.h"):
        if "PrecompiledDialects" in command:
            paths |= closure(ROOT / "include/regather/Dialect" / header)
    files = [path.relative_to(ROOT) for path in paths]
    return inputs.key("tidy", ",".join(str(one.relative_to(ROOT))
                                       for one in unit.members),
                      command.encode(), inputs.hash_of_files(files),
                      inputs.hash_of_file(ROOT / ".clang-tidy"))


def tidy(build: Path, unit: Unit) -> list[Case]:
    """A case for each file; what is found in a header is the last one's."""
    start = time.monotonic()
    result = run(["nice", "-n", "10", CLANG_TIDY, "-p", build, "--quiet",
                  unit.file], timeout=1800)
    seconds = (time.monotonic() - start) / len(unit.members)
    if result.code == 0:
        return [passed(str(path.relative_to(ROOT)), seconds)
                for path in unit.members]
    bad = {Path(name) for name in FINDING.findall(result.output)}
    if not bad & set(unit.members):
        bad = {unit.members[-1]}
    return [failed(str(path.relative_to(ROOT)), "\n" + result.output, seconds)
            if path in bad else passed(str(path.relative_to(ROOT)), seconds)
            for path in unit.members]


def check(build: Path, remembered: Remembered,
          only: set[Path] | None = None) -> list[Case]:
    """Of all files, or of the units with one of `only` (relative paths)."""
    if not (build / "compile_commands.json").exists():
        return [failed("clang-tidy", f"no {build}/compile_commands.json")]
    chosen = [unit for unit in units(build) if only is None
              or {one.relative_to(ROOT) for one in unit.members} & only]
    if not chosen and only is None:
        return [failed("clang-tidy", "no sources to check")]
    keys = {unit: key(unit, build) for unit in chosen}
    found = {unit: remembered.find(keys[unit]) for unit in chosen}
    missing = [unit for unit in chosen if found[unit] is None]
    # Those of many files first, so that no core is left with one at the end.
    missing.sort(key=lambda unit: -len(unit.members))

    def check_unit(unit: Unit) -> list[Case]:
        cases = tidy(build, unit)
        remembered.keep(keys[unit], cases)
        return cases

    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        found |= dict(zip(missing, pool.map(check_unit, missing)))
    return [case for unit in chosen for case in found[unit]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    build = parser.parse_args().build_dir.resolve()
    return report(check(build, Remembered(cache_folder() / "check")))


if __name__ == "__main__":
    sys.exit(main())
