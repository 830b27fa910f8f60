#!/usr/bin/env python3
"""Counts the lines of our C++ that the tests run, by file and folder.

Builds everything with clang's source-based coverage in a folder of its own, runs
the suites that are asked for, merges what all their processes counted, and writes
a page: each folder and file with its lines, and each file's source with counts.
Files below the goal are listed. Processes that a signal ends count nothing.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from project import LLVM_BIN, ROOT

PRESET = "coverage"
# Where the preset builds.
BUILD = ROOT / "build-coverage"
# Ours, without tests.
FOLDERS = ("include", "lib", "tools")
SUITES = ("lit", "unit", "pytest")
SECTION = b"__llvm_covmap"
# Several processes of a program share a file; more of them wait less.
PROFILES = "%4m.profraw"
STYLE = """
body { margin: 0 auto; padding: 28px; max-width: 1000px; color: #1c2430;
  font: 15px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { border-bottom: 1px solid #e3e8ef; padding: 3px 10px 3px 0;
  text-align: right; }
th:first-child, td:first-child { text-align: left; }
.folder td { font-weight: 640; background: #f6f8fb; }
.low { color: #b45309; } a { color: #1f5fbf; text-decoration: none; }
"""


@dataclass(frozen=True)
class Lines:
    covered: int = 0
    count: int = 0

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.covered + other.covered, self.count + other.count)

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.count if self.count else 100.0


def run(*command: str | Path, **options: Any) -> None:
    """Ends the program if the command fails."""
    result = subprocess.run([str(word) for word in command], **options)
    if result.returncode != 0:
        raise SystemExit(f"coverage: {command[0]} failed")


# -----------------------------------------------------------------------------
# Building and running
# -----------------------------------------------------------------------------


def build(targets: list[str]) -> None:
    if not (BUILD / "build.ninja").exists():
        run("cmake", "--preset", PRESET, "-DREGATHER_BUILD_TESTS=ON", cwd=ROOT)
    run("cmake", "--build", BUILD, *(["--target", *targets] if targets else []))


def run_tests(profiles: Path, suites: str, programs: list[str]) -> bool:
    """True if all passed. Their processes write what they count to
    `profiles`."""
    env = {**os.environ, "LLVM_PROFILE_FILE": str(profiles / PROFILES)}
    if programs:
        # Each runs, whatever the others say.
        codes = [subprocess.run([BUILD / "bin" / name], env=env).returncode
                 for name in programs]
        return not any(codes)
    # What is remembered to have passed would count nothing.
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "check.py", "--preset", PRESET,
         "--build-dir", BUILD, "--only", suites, "--no-cache"],
        env=env).returncode == 0


def find_objects() -> list[Path]:
    """All programs and shared libraries that count."""
    files = [*(BUILD / "bin").glob("*"), *BUILD.rglob("*.so")]
    return sorted({path.resolve() for path in files
                   if path.is_file() and SECTION in path.read_bytes()})


def merge(profiles: Path, output: Path) -> None:
    files = sorted(profiles.glob("*.profraw"))
    if not files:
        raise SystemExit("coverage: no process has counted anything")
    # One that was killed while it wrote is left out, and named.
    run(LLVM_BIN / "llvm-profdata", "merge", "-sparse", "--failure-mode=all",
        *files, "-o", output)


def run_llvm_cov(command: str, objects: list[Path], *options: str | Path
                 ) -> bytes:
    first, *others = objects
    result = subprocess.run(
        [str(word) for word in
         (LLVM_BIN / "llvm-cov", command, first,
          *(f"--object={each}" for each in others), *options)],
        stdout=subprocess.PIPE)
    if result.returncode != 0:
        raise SystemExit(f"coverage: llvm-cov {command} failed")
    return result.stdout


# -----------------------------------------------------------------------------
# Reading and writing
# -----------------------------------------------------------------------------


def read_lines(export: dict[str, Any], root: Path) -> dict[Path, Lines]:
    """Of each file of ours, by its path from the root."""
    files = {}
    for file in export["data"][0]["files"]:
        path = Path(file["filename"])
        if not path.is_relative_to(root):
            continue
        path = path.relative_to(root)
        if path.parts[0] in FOLDERS:
            lines = file["summary"]["lines"]
            files[path] = Lines(lines["covered"], lines["count"])
    return dict(sorted(files.items()))


def total(lines: Iterable[Lines]) -> Lines:
    return sum(lines, Lines())


def by_folder(files: dict[Path, Lines]) -> Iterator[tuple[Path, list[Path]]]:
    folders = defaultdict(list)
    for path in files:
        folders[path.parent].append(path)
    yield from sorted(folders.items())


def format_row(name: str, lines: Lines, goal: float, kind: str = "") -> str:
    low = ' class="low"' if lines.percent < goal else ""
    return (f'<tr class="{kind}"><td>{name}</td><td>{lines.covered:,}</td>'
            f"<td>{lines.count:,}</td><td{low}>{lines.percent:.1f} %</td></tr>")


def render(files: dict[Path, Lines], goal: float, what: str,
           source_page: dict[Path, str]) -> str:
    """The page; `source_page` says where the source of a file is."""
    rows = [format_row("all", total(files.values()), goal, "folder")]
    for folder, paths in by_folder(files):
        rows.append(format_row(html.escape(str(folder)),
                               total(files[path] for path in paths), goal,
                               "folder"))
        for path in paths:
            name = html.escape(path.name)
            if path in source_page:
                name = f'<a href="{html.escape(source_page[path])}">{name}</a>'
            rows.append(format_row(name, files[path], goal))
    below = sum(lines.percent < goal for lines in files.values())
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Coverage</title><style>{STYLE}</style></head><body>"
        f"<h1>{total(files.values()).percent:.1f} % of lines</h1>"
        f"<p>{html.escape(what)}; {below} of {len(files)} files are below "
        f"{goal:g} %.</p>\n<table><thead><tr><th>file</th><th>covered</th>"
        "<th>lines</th><th></th></tr></thead><tbody>\n" + "\n".join(rows)
        + "\n</tbody></table></body></html>\n")


def write_sources(objects: list[Path], data: Path, files: dict[Path, Lines],
                  folder: Path) -> dict[Path, str]:
    """The source of each file with counts, as pages of llvm-cov."""
    run_llvm_cov("show", objects, f"--instr-profile={data}", "--format=html",
                 f"--output-dir={folder / 'sources'}",
                 *(ROOT / path for path in files))
    return {path: str(page.relative_to(folder)) for path in files
            if (page := folder / "sources" / "coverage"
                / f"{str(ROOT / path).lstrip('/')}.html").exists()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SUITES), metavar="SUITE,..",
                        help="suites of ./dev check (default %(default)s)")
    parser.add_argument("--programs", metavar="NAME,..", default=[],
                        type=lambda text: text.split(","),
                        help="instead: build and run these programs of unit "
                        "tests alone, such as RegatherExecutionTests")
    parser.add_argument("--goal", type=float, default=95,
                        help="percent of lines (default %(default)s)")
    args = parser.parse_args()
    profiles = BUILD / "profiles"
    build(args.programs)
    # What an earlier run has counted is no part of this one.
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(parents=True)
    passed = run_tests(profiles, args.only, args.programs)
    page = BUILD / "coverage"
    shutil.rmtree(page, ignore_errors=True)
    page.mkdir()
    data = page / "all.profdata"
    merge(profiles, data)
    objects = ([BUILD / "bin" / name for name in args.programs]
               or find_objects())
    files = read_lines(json.loads(run_llvm_cov(
        "export", objects, f"--instr-profile={data}", "--summary-only")), ROOT)
    what = "By " + ", ".join(args.programs or args.only.split(","))
    sources = write_sources(objects, data, files, page)
    (page / "index.html").write_text(render(files, args.goal, what, sources))
    for path, lines in files.items():
        if lines.percent < args.goal:
            print(f"{lines.percent:6.1f} %  {lines.covered}/{lines.count}  {path}")
    everything = total(files.values())
    print(f"{everything.percent:.1f} % of {everything.count} lines in "
          f"{len(files)} files; wrote {page / 'index.html'}")
    if not passed:
        print("coverage: tests have failed", file=sys.stderr)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
