"""Where the time of a clean build goes, and seconds after editing one pass.

A clean build is made in a folder of its own, without a compiler cache. Seconds of
a step are those that it took while others ran beside it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from project import ROOT, run

PASS = ROOT / "lib/Dialect/TG/Transforms/ReshardAfterForward.cpp"
LIT_TEST = "test/Dialect/TG/Transforms/reshard-after-forward.mlir"
DEMO = ("regather", "regather-translate")
# Every compilation is real.
ENV = {"CCACHE_DISABLE": "1"}
SLOWEST = 15


def seconds(*command: str | Path) -> float:
    start = time.perf_counter()
    result = run(list(command), timeout=7200, env=ENV)
    if result.code != 0:
        raise RuntimeError(result.output)
    return time.perf_counter() - start


def steps(build: Path) -> list[tuple[float, str]]:
    """Seconds and output of each step that ninja ran."""
    found = []
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, *_ = line.split("\t")
        found.append(((int(end) - int(start)) / 1000, output))
    return found


def folder(output: str) -> str:
    """Where the sources of an output lie: lib/Dialect/TG, test/Unit, ..."""
    parts = Path(output).parts
    if "CMakeFiles" in parts:
        parts = parts[:parts.index("CMakeFiles")] or parts[1:2]
    return "/".join(parts[:3 if parts[:1] == ("lib",) else 2])


def print_breakdown(build: Path) -> None:
    found = steps(build)
    total = sum(duration for duration, _ in found)
    print(f"\n{len(found)} steps, {total:.0f} s on {os.cpu_count()} cores")
    by_folder: Counter[str] = Counter()
    for duration, output in found:
        by_folder[folder(output)] += duration
    for name, duration in by_folder.most_common(SLOWEST):
        print(f"{duration:8.1f} s  {100 * duration / total:4.1f} %  {name}")
    print("\nthe slowest steps")
    for duration, output in sorted(found, reverse=True)[:SLOWEST]:
        print(f"{duration:8.1f} s  {output}")


def main(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as name:
        build = Path(name)
        configure = seconds("cmake", "--preset", "dev", "-B", build)
        print(f"configure               {configure:8.1f} s", flush=True)
        demo = seconds("cmake", "--build", build, "--target", *DEMO)
        print(f"what the demo needs     {demo:8.1f} s", flush=True)
        rest = seconds("cmake", "--build", build)
        print(f"all                     {demo + rest:8.1f} s", flush=True)
        print_breakdown(build)
        PASS.touch()
        edited = seconds("cmake", "--build", build, "--target", "regather-opt")
        edited += seconds("/usr/lib/llvm-22/bin/lit", "-q", build / LIT_TEST)
        print(f"\nedit one pass, link, test {edited:6.1f} s")
    return 0
