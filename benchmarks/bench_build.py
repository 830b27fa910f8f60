"""Seconds of a clean build, and of a rebuild after editing one pass."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from project import ROOT, run

PASS = ROOT / "lib/Dialect/TG/Transforms/VerifyStep.cpp"
# Every compilation is real.
ENV = {"CCACHE_DISABLE": "1"}


def seconds(*command: str | Path) -> float:
    start = time.perf_counter()
    result = run(list(command), timeout=7200, env=ENV)
    if result.code != 0:
        raise RuntimeError(result.output)
    return time.perf_counter() - start


def main(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as build:
        configure = seconds("cmake", "--preset", "dev", "-B", build)
        print(f"configure     {configure:8.1f} s", flush=True)
        clean = seconds("cmake", "--build", build)
        print(f"clean build   {clean:8.1f} s", flush=True)
        PASS.touch()
        edited = seconds("cmake", "--build", build)
        print(f"edit one pass {edited:8.1f} s")
    return 0
