"""Processes that end: each with all its children, at a deadline at the latest."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# What the system may take to end a process that was killed; one in a call of the
# driver may take forever.
GRACE = 5


@dataclass
class Ended:
    """`code` is none if the deadline has passed."""
    code: int | None
    stdout: str
    stderr: str
    seconds: float


def start(command: list[str], log: Path, environment: dict[str, str],
          folder: Path) -> subprocess.Popen:
    """Standard output goes to `LOG.log`, errors to `LOG.err`."""
    with open(f"{log}.log", "wb") as stdout, open(f"{log}.err", "wb") as stderr:
        return subprocess.Popen(command, cwd=folder, env=environment,
                                stdin=subprocess.DEVNULL, stdout=stdout,
                                stderr=stderr, start_new_session=True)


def kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass


def wait(process: subprocess.Popen, log: Path, begin: float,
         deadline: float) -> Ended:
    """`deadline` in seconds since `begin`."""
    code = None
    try:
        code = process.wait(max(0.1, begin + deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        kill(process)
    return Ended(code, Path(f"{log}.log").read_text(errors="replace"),
                 Path(f"{log}.err").read_text(errors="replace"),
                 time.monotonic() - begin)


def run(command: list[str], log: Path, environment: dict[str, str],
        folder: Path, deadline: float) -> Ended:
    begin = time.monotonic()
    return wait(start(command, log, environment, folder), log, begin, deadline)


def ask(command: list[str], seconds: float,
        environment: dict[str, str] | None = None) -> tuple[str, str]:
    """What a short command prints, and if it fails, why."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace",
                              timeout=seconds, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return done.stdout, words[-1] if done.returncode else ""
