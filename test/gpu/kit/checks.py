"""Compares what a case has left with what it should have.

    losses   file, tolerance   relative to the losses in a file
    near     case, tolerance   relative to the losses of another case
    same     case              losses and results of another case, bit for bit
"""

from __future__ import annotations

import filecmp
import json
import math
from typing import Any

from case import Run, Skipped


class Wrong(Exception):
    """What differs."""


def losses_of(run: Run, name: str) -> list[float]:
    return json.loads((run.work / f"{name}.json").read_text())["losses"]


def get_other(run: Run, name: str) -> str:
    if name not in run.results or run.results[name].status != "passed":
        raise Skipped(f"{name}, which it is compared with, has not passed")
    return name


def compare(actual: list[float], expected: list[float], steps: int,
            tolerance: float) -> float:
    """The largest relative difference; the runs may be of different length."""
    count = min(steps, len(expected))
    if len(actual) < count or count == 0:
        raise Wrong(f"{len(actual)} losses instead of {count}")
    worst = 0.0
    for x, y in zip(actual[:count], expected):
        if x is None or y is None or not math.isfinite(x - y):
            raise Wrong("a loss is not finite")
        worst = max(worst, abs(x - y) / abs(y) if y else abs(x))
    if worst > tolerance:
        raise Wrong(f"losses are off by {worst:.1e}, at most {tolerance:.0e} "
                    "is allowed")
    return worst


def check_same(run: Run, case: dict[str, Any], other: str) -> None:
    if losses_of(run, case["name"]) != losses_of(run, other):
        raise Wrong(f"losses differ from those of {other}")
    files = [run.work / f"{name}.safetensors" for name in (case["name"], other)]
    if not filecmp.cmp(*files, shallow=False):
        raise Wrong(f"results differ from those of {other}")


def check(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    """Raises `Wrong`; figures otherwise."""
    how = case.get("check")
    if how is None:
        return {}
    if how["kind"] == "same":
        check_same(run, case, get_other(run, how["case"]))
        return {"same bits as": how["case"]}
    expected = (json.loads((run.cases / how["file"]).read_text())
                if how["kind"] == "losses"
                else losses_of(run, get_other(run, how["case"])))
    return {"losses off by": compare(losses_of(run, case["name"]), expected,
                                     run.steps(case), how["tolerance"])}
