"""Keeps a find in a folder, with a smaller step that shows the same fault."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Seconds that shrinking one find may take.
LIMIT = 900


def show(tool: Path, captures: Path, number: int, *options: str) -> str:
    return subprocess.run(
        [tool, "show", f"--first={number}", f"--captures={captures}",
         *options], check=True, capture_output=True, text=True).stdout


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def check_command(tool: Path, folder: Path, step: str, kind: str) -> str:
    return (f"{shlex.quote(str(tool))} check {step} "
            f"--plan={shlex.quote(str(folder / 'plan.txt'))} "
            f"--kind={shlex.quote(kind)}")


def count_operations(text: str) -> int:
    return sum(" = tg." in line or " = arith." in line or " = linalg." in line
               or " = tensor." in line for line in text.splitlines())


def save_find(tool: Path, reducer: Path | None, captures: Path,
              find: dict[str, Any], output: Path,
              flags: Sequence[str] = ()) -> None:
    folder = (output / f"case-{find['case']}").resolve()
    folder.mkdir(exist_ok=True)
    step = show(tool, captures, find["case"])
    (folder / "step.mlir").write_text(step)
    (folder / "plan.txt").write_text(
        show(tool, captures, find["case"], "--plan-only", *flags))
    (folder / "message.txt").write_text(f"{find['kind']}\n{find['message']}\n")
    command = check_command(tool, folder, '"$1"', find["kind"])
    # regather-reduce keeps what gives status 1.
    write_script(folder / "is-find.sh", f"{command} >/dev/null 2>&1")
    name = "step.mlir"
    if reducer and shrink(reducer, folder):
        name = "reduced.mlir"
    write_script(folder / "replay.sh", "exec " + check_command(
        tool, folder, shlex.quote(str(folder / name)), find["kind"]))


def shrink(reducer: Path, folder: Path) -> bool:
    """Writes reduced.mlir; False if nothing smaller was found."""
    try:
        result = subprocess.run(
            [reducer, folder / "step.mlir",
             f"-step-reduction=test={folder / 'is-find.sh'}",
             "-o", folder / "reduced.mlir"],
            capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    if result.returncode != 0:
        return False
    operations = count_operations((folder / "reduced.mlir").read_text())
    with (folder / "message.txt").open("a") as file:
        file.write(f"reduced to {operations} operations\n")
    return True
