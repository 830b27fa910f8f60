#!/usr/bin/env python3
"""Runs clang-tidy on the project's sources, one on each core.

A clean result is remembered under BUILD/tidy by a hash of all that it depends
on, so that a second run takes seconds. Findings are never remembered.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from project import ROOT, Case, failed, passed, project_files, report, run

CLANG_TIDY = "clang-tidy-22"


@functools.cache
def hash_of_file(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def read_dependencies(build: Path) -> dict[str, list[Path]]:
    """What each object file includes, as the last build recorded it."""
    result = run(["ninja", "-C", build, "-t", "deps"])
    found: dict[str, list[Path]] = {}
    paths: list[Path] = []
    for line in result.output.splitlines():
        if line.startswith("    "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                paths.append(path)
        elif ": #deps" in line:
            paths = found.setdefault(line.split(": #deps")[0], [])
    return found


def all_headers(build: Path) -> list[Path]:
    """Stands in for the dependencies of a file that was not built yet."""
    generated = (build / "include").rglob("*.inc")
    return [ROOT / path for path in project_files(".h")] + sorted(generated)


def key(entry: dict, dependencies: list[Path], common: bytes) -> str:
    hashed = hashlib.sha256(common)
    hashed.update(entry["command"].encode())
    for path in [Path(entry["file"]), *sorted(set(dependencies))]:
        hashed.update(str(path).encode())
        hashed.update(hash_of_file(path) if path.is_file() else b"gone")
    return hashed.hexdigest()


def tidy(build: Path, file: str, stamp: Path) -> Case:
    name = str(Path(file).relative_to(ROOT))
    if stamp.exists():
        return passed(name)
    result = run([CLANG_TIDY, "-p", build, "--quiet", file], timeout=900)
    if result.code != 0:
        print(f"[tidy] {name}: failed", flush=True)
        return failed(name, "\n" + result.output)
    print(f"[tidy] {name}: ok", flush=True)
    stamp.touch()
    return passed(name)


def check(build: Path) -> list[Case]:
    commands = build / "compile_commands.json"
    if not commands.exists():
        return [failed("clang-tidy", f"no {commands}; configure first")]
    ours = {str(ROOT / path) for path in project_files(".cpp", ".c")}
    entries = {entry["file"]: entry
               for entry in json.loads(commands.read_text())
               if entry["file"] in ours}
    if not entries:
        return [failed("clang-tidy", "no sources to check")]
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    common = (run([CLANG_TIDY, "--version"]).output.encode()
              + (ROOT / ".clang-tidy").read_bytes())
    recorded = read_dependencies(build)
    fallback = all_headers(build)

    def check_entry(entry: dict) -> Case:
        dependencies = recorded.get(entry.get("output", ""), fallback)
        return tidy(build, entry["file"],
                    stamps / key(entry, dependencies, common))

    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return list(pool.map(check_entry, entries.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    return report(check(parser.parse_args().build_dir.resolve()))


if __name__ == "__main__":
    sys.exit(main())
