#!/usr/bin/env python3
"""Runs clang-tidy on the project's sources, one process on each core.

Several sources of one folder that are compiled alike are checked as one: most of
the time goes to the headers, whose declarations some checks visit for each file
anew. A clean result is remembered by a hash of the command
and of all that is included; findings are never remembered.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shlex
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import inputs
from project import ROOT, Case, Run, failed, passed, report, run
from remembered import Remembered, cache_folder

CLANG_TIDY = "clang-tidy-22"
SUSPICIOUS = "// NOLINTNEXTLINE(bugprone-suspicious-include)"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error):", re.MULTILINE)


# What a file keeps to itself, or a program has: two that define it cannot be one.
OWN_NAME = re.compile(r"^(?:static|int) [^;=(]*?(\w+)\s*[(;={]", re.MULTILINE)

# Files that are checked at a time, if so many are compiled alike.
MOST_FILES = 24


@dataclass(frozen=True)
class Unit:
    """What one command checks: a file, or several of one library."""

    sources: tuple[str, ...]  # what the build compiles; the first is the command's
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
    """In the order of the build's commands."""
    found: list[Unit] = []
    batches: dict[str, int] = {}  # the last unit of what is compiled alike
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file, command = entry["file"], entry["command"]
        own = members_of(file, build)
        if not own:
            continue
        unit = Unit((file,), command, own)
        # The command without the names of what it reads and writes.
        alike = command.partition(" -o ")[0] + str(Path(file).parent)
        last = batches.get(alike)
        if (last is not None
                and len(found[last].members) + len(own) <= MOST_FILES
                and not own_names(found[last].members) & own_names(own)):
            found[last] = join(found[last], unit)
            continue
        batches[alike] = len(found)
        found.append(unit)
    return found


def own_names(files: tuple[Path, ...]) -> set[str]:
    return {name for file in files
            for name in OWN_NAME.findall(file.read_text(errors="replace"))}


def members_of(file: str, build: Path) -> tuple[Path, ...]:
    """The files of this repository that the build compiles as `file`."""
    members = [file]
    if Path(file).is_relative_to(build):
        members = INCLUDE.findall(Path(file).read_text())
    return tuple(Path(one) for one in members
                 if Path(one).is_relative_to(ROOT)
                 and not Path(one).is_relative_to(build))


def join(first: Unit, second: Unit) -> Unit:
    return Unit(first.sources + second.sources, first.command,
                first.members + second.members)


def halves_of(unit: Unit, build: Path) -> list[Unit]:
    half = len(unit.sources) // 2
    return [Unit(sources, unit.command,
                 tuple(member for source in sources
                       for member in members_of(source, build)))
            for sources in (unit.sources[:half], unit.sources[half:])]


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


def run_tidy(build: Path, unit: Unit) -> Run:
    """With the build's command for the first source, of all of them."""
    flags = shlex.split(unit.command.partition(" -o ")[0])[1:]
    # In the build's folder, so that the configurations of folders apply.
    with tempfile.TemporaryDirectory(dir=build) as folder:
        file = Path(unit.sources[0])
        if len(unit.sources) > 1:
            file = Path(folder) / "sources.cpp"
            file.write_text("".join(f'{SUSPICIOUS}\n#include "{source}"\n'
                                    for source in unit.sources))
        return run(["nice", "-n", "10", CLANG_TIDY, "--quiet", file, "--",
                    *flags], timeout=1800)


def tidy(build: Path, unit: Unit) -> list[Case]:
    """A case for each file; what is found in a header is the last one's."""
    start = time.monotonic()
    result = run_tidy(build, unit)
    if "[clang-diagnostic-error]" in result.output and len(unit.sources) > 1:
        # Two sources define the same name, as the compiler does not see.
        return [case for half in halves_of(unit, build)
                for case in tidy(build, half)]
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
