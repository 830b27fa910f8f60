#!/usr/bin/env python3
"""Checks the layout of all C++ files with clang-format, or fixes it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from project import (CXX_SUFFIXES, ROOT, Case, failed, passed, project_files,
                     report, run)

CLANG_FORMAT = "clang-format-22"
BANNER = re.compile(r"^//===- (.*?) -+(\*- (?:C\+\+|tablegen) -\*-)?===//$")


def check(only: frozenset[Path] | None = None) -> list[Case]:
    """Of all files, or of those in `only`."""
    files = [path for path in project_files(*CXX_SUFFIXES)
             if only is None or path in only]
    if not files and only is not None:
        return []
    if not files:
        return [failed("format", "found no C++ files")]
    result = run([CLANG_FORMAT, "--dry-run", "-Werror", *files])
    findings: dict[str, list[str]] = {str(path): [] for path in files}
    for line in result.output.splitlines():
        name, _, rest = line.partition(":")
        if name in findings:
            findings[name].append(rest)
    cases = [failed(name, f"{name}:{lines[0]}\nrun ./dev format")
             if lines else passed(name) for name, lines in findings.items()]
    # An error without a place, such as a bad .clang-format.
    if result.code != 0 and not any(findings.values()):
        cases.append(failed("clang-format", result.output))
    return cases


def fit_banner(line: str) -> str:
    """Cuts or fills the dashes of a file's first line to 80 columns.

    clang-format would break a wider one in two.
    """
    banner = BANNER.match(line)
    if not banner:
        return line
    start, end = f"//===- {banner[1]} ", f"{banner[2] or ''}===//"
    return start + "-" * max(1, 80 - len(start) - len(end)) + end


def fix() -> int:
    for path in project_files(*CXX_SUFFIXES, ".td"):
        text = (ROOT / path).read_text()
        line, newline, rest = text.partition("\n")
        if (fitted := fit_banner(line)) != line:
            (ROOT / path).write_text(fitted + newline + rest)
    result = run([CLANG_FORMAT, "-i", *project_files(*CXX_SUFFIXES)])
    print(result.output, end="")
    return result.code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    return fix() if parser.parse_args().fix else report(check())


if __name__ == "__main__":
    sys.exit(main())
