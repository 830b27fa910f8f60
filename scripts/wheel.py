#!/usr/bin/env python3
"""Builds the Python package, installs it into an empty environment, and runs the
functions there.

The build lies in `build-wheel`, so that a second run compiles what changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from project import ROOT, Case, failed, passed, report, run

MOST_SECONDS = 3600
PROGRAM = """
import sys, pathlib, regather
from regather.library.loading import load
step = sys.argv[1]
assert pathlib.Path(load()._name).is_relative_to(sys.prefix), load()._name
assert regather.stats(step).nodes > 0
assert regather.tree(step, depth=1).text
assert regather.simulate(step, mesh="dp:4").seconds > 0
assert regather.report(step, ranks=4).html
assert regather.compile(step, sys.argv[2], ranks=2).path.exists()
try:
    regather.simulate(step, schedule="fast")
except regather.RegatherError as error:
    assert error.diagnostics
else:
    raise AssertionError("expects an error")
"""


def check_contents(wheel: Path) -> Case:
    """One library, types, and a tag for all versions of Python."""
    names = zipfile.ZipFile(wheel).namelist()
    libraries = [name for name in names if re.search(r"\.(so|a)\b|bin/", name)]
    name = "wheel::contents"
    if not re.search(r"-py3-none-(many)?linux[0-9_]*_x86_64\.whl$", wheel.name):
        return failed(name, f"the tag of {wheel.name} is another one")
    if libraries != ["regather/lib/libregather.so"]:
        return failed(name, f"expects one library, got {libraries}")
    if "regather/py.typed" not in names:
        return failed(name, "the package has no types")
    return passed(name)


def check_install(folder: Path, wheel: Path) -> Case:
    name = "wheel::functions"
    environment = folder / "environment"
    # Not the library of a build folder that somebody's shell names.
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith("REGATHER_")}
    for command in (
            [sys.executable, "-m", "venv", environment],
            [environment / "bin" / "pip", "install", "--quiet", "--no-index",
             wheel],
            [environment / "bin" / "python", "-I", "-c", PROGRAM,
             ROOT / "examples" / "llama3-debug.fx.json", folder / "step.rgb"]):
        done = subprocess.run(list(map(str, command)), cwd=folder, text=True,
                              env=variables, capture_output=True,
                              timeout=600)
        if done.returncode != 0:
            return failed(name, done.stdout + done.stderr)
    return passed(name)


def check_in(folder: Path) -> list[Case]:
    built = run([sys.executable, "-m", "pip", "wheel", "--no-deps",
                 "--wheel-dir", folder, ROOT / "python"], timeout=MOST_SECONDS)
    wheels = list(folder.glob("*.whl"))
    if built.code != 0 or len(wheels) != 1:
        return [failed("wheel::build", built.output)]
    return [passed("wheel::build"), check_contents(wheels[0]),
            check_install(folder, wheels[0])]


def check(build_dir: Path) -> list[Case]:
    """Needs nothing of the build folder of development."""
    del build_dir
    with tempfile.TemporaryDirectory() as folder:
        return check_in(Path(folder))


def main() -> int:
    return report(check(ROOT / "build"))


if __name__ == "__main__":
    sys.exit(main())
