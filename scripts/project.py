"""What the scripts share: where things are, which files are ours, results."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LLVM_BIN = Path("/usr/lib/llvm-22/bin")
CXX_SUFFIXES = (".cpp", ".h", ".c")


@dataclass(frozen=True)
class Case:
    """One test of a suite. `detail` says why it failed or was skipped."""

    name: str
    status: str  # "passed", "failed" or "skipped"
    detail: str = ""
    seconds: float = 0.0
    # It did not run now, but did with the same inputs before.
    remembered: bool = False


def passed(name: str, seconds: float = 0.0) -> Case:
    return Case(name, "passed", seconds=seconds)


def failed(name: str, detail: str, seconds: float = 0.0) -> Case:
    return Case(name, "failed", detail, seconds)


def skipped(name: str, reason: str, seconds: float = 0.0) -> Case:
    return Case(name, "skipped", reason, seconds)


@dataclass(frozen=True)
class Run:
    """A finished command; `output` holds stderr too unless it was split off."""

    code: int
    output: str
    errors: str = ""


def run(command: list[str | Path], timeout: float = 600,
        env: dict[str, str] | None = None, stdin: str | None = None,
        split: bool = False) -> Run:
    """Runs a command in the project's root; ends its children on time-out.

    With `split`, stderr goes to `errors` and the output is stdout alone.
    """
    try:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=ROOT, text=True,
            errors="replace", env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if split else subprocess.STDOUT,
            start_new_session=True)
    except OSError as error:
        return Run(127, f"{command[0]}: {error.strerror}\n")
    try:
        output, errors = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        output += f"\nended after {timeout:.0f} s\n"
        return Run(124, output, errors or "")
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return Run(process.returncode, output, errors or "")


@functools.cache
def all_files() -> tuple[Path, ...]:
    """Files that git tracks or would track, relative to the root, sorted; as
    they were when they were first asked for."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        paths = [Path(name) for name in listing.stdout.split("\0") if name]
    else:  # A release tarball has no git directory.
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        paths = [path for path in paths if not path.parts[0].startswith(
            ("build", ".venv", ".git", ".cache"))]
    return tuple(sorted({path for path in paths if (ROOT / path).is_file()}))


def project_files(*suffixes: str) -> list[Path]:
    """Those of `all_files` with one of the suffixes, if any are named."""
    return [path for path in all_files()
            if not suffixes or path.suffix in suffixes]


def summary(cases: list[Case]) -> str:
    """`N passed, N failed`, and skipped ones if there are any."""
    count = {status: sum(case.status == status for case in cases)
             for status in ("passed", "failed", "skipped")}
    text = f"{count['passed']} passed, {count['failed']} failed"
    return text + (f", {count['skipped']} skipped" if count["skipped"] else "")


def report(cases: list[Case]) -> int:
    """Prints what failed and the summary; the exit status of a script."""
    for case in cases:
        if case.status == "failed":
            print(f"{case.name}: {case.detail}".rstrip())
    print(summary(cases))
    return int(any(case.status == "failed" for case in cases))
