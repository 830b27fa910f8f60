#!/usr/bin/env python3
"""Runs the tests of captures, drop-ins and training steps with the newest PyTorch.

The project itself is developed with the version of requirements-check.txt. An
environment with the newest one is made once, in the user's cache folder; that
takes minutes and 6 GB. Needs the tools in the build folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from project import ROOT, Case, failed, passed, report, run, skipped

TORCH = "2.15.0"
TESTS = (
    *sorted(path.name for kind in ("attention", "capture", "complex",
                                   "decompositions", "position", "torch",
                                   "training")
            for path in
            (ROOT / "test" / "python").glob(f"test_{kind}*.py")),
    "test_match_pytorch.py",
)


def packages() -> list[str]:
    """Those that the tests need, with another PyTorch."""
    lines = [line.strip()
             for file in ("requirements.txt", "requirements-check.txt")
             for line in (ROOT / file).read_text().splitlines()]
    names = [line for line in lines if line and not line.startswith("#")]
    return [f"torch=={TORCH}" if name.startswith("torch==") else name
            for name in names]


def environment() -> Path:
    """Where the environment is, or will be."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "regather" / f"torch-{TORCH}"


def make(folder: Path) -> str:
    """Makes the environment unless it is there; returns what went wrong."""
    stamp = folder / "packages.txt"
    wanted = "\n".join(packages()) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"[torch-newest] installing PyTorch {TORCH} in {folder}", flush=True)
    made = run([sys.executable, "-m", "venv", folder])
    if made.code == 0:
        made = run([folder / "bin" / "pip", "install", "--quiet", *packages()],
                   timeout=3600)
    if made.code != 0:
        shutil.rmtree(folder, ignore_errors=True)
        return made.output
    # Written last: without it, what is there is not complete.
    stamp.write_text(wanted)
    return ""


def read_cases(results: Path) -> list[Case]:
    cases = []
    for test in ElementTree.parse(results).iter("testcase"):
        name = f"{test.get('classname')}::{test.get('name')}"
        problem = next((child for child in test
                        if child.tag in ("failure", "error")), None)
        skip = test.find("skipped")
        if problem is not None:
            cases.append(failed(name, problem.text or problem.get("message", "")))
        elif skip is not None:
            cases.append(skipped(name, skip.get("message", "")))
        else:
            cases.append(passed(name))
    return cases


def check(build_dir: Path) -> list[Case]:
    folder = environment()
    problem = make(folder)
    if problem:
        return [failed(f"PyTorch {TORCH}", problem)]
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.xml"
        result = run(
            [folder / "bin" / "python", "-m", "pytest", "-q", "-n", "auto",
             "-p", "no:cacheprovider", "--dist", "loadfile",
             f"--junitxml={results}",
             *(ROOT / "test" / "python" / name for name in TESTS)],
            timeout=7200, env={"REGATHER_BUILD_DIR": str(build_dir),
                               "PYTHONPATH": str(ROOT / "python"),
                               "PYTHONDONTWRITEBYTECODE": "1"})
        cases = read_cases(results) if results.exists() else []
    succeeded = result.code == 0 and cases
    if not succeeded and all(case.status != "failed" for case in cases):
        cases.append(failed("pytest", f"exit {result.code}\n{result.output}"))
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    return report(check(parser.parse_args().build_dir.resolve()))


if __name__ == "__main__":
    sys.exit(main())
