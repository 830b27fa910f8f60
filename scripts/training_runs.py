"""What the demos share: running the tools, and comparing losses."""

from __future__ import annotations

import json
from pathlib import Path

from project import run


class DemoError(Exception):
    """What went wrong, for the user."""


def call(command: list[str | Path]) -> str:
    """The output of a command, which must succeed."""
    result = run(command, split=True)
    if result.code != 0:
        raise DemoError(f"{' '.join(map(str, command))}\n{result.output}"
                        f"{result.errors}")
    return result.output


def call_json(command: list[str | Path]) -> dict:
    output = call(command)
    try:
        return json.loads(output)
    except json.JSONDecodeError as error:
        raise DemoError(f"{command[0]} wrote no JSON: {error}\n"
                        f"{output}") from error


def difference(a: float, b: float) -> float:
    """Relative; nan if either is not a number, which no limit admits."""
    return abs(a - b) / max(abs(a), abs(b), 1e-30)


def print_collectives(collectives: list[dict]) -> None:
    """A table of the field `collectives` of `regather stats` and `run`."""
    print(f"\n{'collectives per step':28}  {'count':>6}  {'bytes received':>14}")
    for row in collectives:
        print(f"  {row['kind'] + ', ' + row['phase']:26}  {row['count']:6}  "
              f"{row['bytes']:14,}")
