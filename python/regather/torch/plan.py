"""What options and plans decide about the passes that run inside of PyTorch.

Texts and plans are those of `regather`: `"auto memory-limit=1.2x"`, or the path
of a JSON file such as `{"tg-schedule": {"mode": "auto"}}`, or what is in it.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regather import library

PlanLike = str | Path | Mapping[str, Mapping[str, Any]]

# By pass, the option that is for it.
_PASSES = {"tg-apply-policy": "policy", "tg-reshard-after-forward": "reshard",
           "tg-partition": "recompute", "tg-bucket-collectives": "bucket",
           "tg-schedule": "schedule"}


@dataclass(frozen=True)
class Plan:
    """The options of each pass that somebody has decided about, by the names of
    pass options; `files` are those that were read."""

    policy: dict[str, Any] | None = None
    reshard: dict[str, Any] | None = None
    recompute: dict[str, Any] | None = None
    bucket: dict[str, Any] | None = None
    schedule: dict[str, Any] | None = None
    files: list[Path] = field(default_factory=list)

    @property
    def key(self) -> dict[str, Any]:
        """For the keys of caches."""
        return {name: getattr(self, name) for name in _PASSES.values()}


def refuse(pass_name: str, options: Mapping[str, Any],
           supported: Mapping[str, Any]) -> None:
    """Raises ValueError if options have values that only a compiler of whole
    steps can follow. `supported` are the defaults of these."""
    changed = [f"{name}={options[name]}" for name, value in supported.items()
               if options[name] != value]
    if changed:
        raise ValueError(f"{', '.join(changed)} of {pass_name} is not for "
                         "graphs of PyTorch")


def read_bytes(name: str, value: int | str | None) -> int | None:
    """A number of bytes, or text such as "2GB". Raises ValueError for others:
    a fraction, as `activation_memory_budget` of PyTorch is, says of nothing of
    ours what it is a part of."""
    if value is None:
        return None
    count = -1
    with suppress(TypeError, ValueError):
        if not isinstance(value, str):
            count = operator.index(value)
        elif value.isalnum():
            read = read_plan(recompute=f"budget budget={value}").recompute or {}
            count = int(read["budget"])
    if count < 0:
        raise ValueError(f"{name} expects a number of bytes, or text such as "
                         f"'2GB', got {value!r}")
    return count


def _plan_text(plan: PlanLike) -> str:
    if isinstance(plan, Mapping):
        return json.dumps(plan)
    return str(plan)


def read_plan(plan: PlanLike | None = None, **texts: str | None) -> Plan:
    """Reads a plan, and texts for policy, reshard, recompute, bucket and
    schedule. Raises ValueError for what is malformed, for passes that do not run
    inside of PyTorch, and for a pass that both decide about."""
    options = [(name, text) for name, text in texts.items() if text]
    if plan is not None:
        options.append(("plan", _plan_text(plan)))
    try:
        decided = library.read_step_plan(options)
    except library.RegatherError as error:
        raise ValueError(str(error)) from error
    named = decided.pop("named-passes")
    if others := [name for name in named if name not in _PASSES]:
        raise ValueError(f"plan names {', '.join(others)}, but inside of "
                         f"PyTorch run {', '.join(_PASSES)}")
    if both := [name for name in named if texts.get(_PASSES[name])]:
        raise ValueError(f"{', '.join(both)} of the plan and "
                         f"{', '.join(_PASSES[name] for name in both)} decide "
                         "about the same")
    for name, found in decided.items():
        if found is not None and not found.pop("runs", True):
            decided[name] = None
    is_file = plan is not None and not isinstance(plan, Mapping) and (
        not str(plan).lstrip().startswith("{") and Path(plan).is_file())
    return Plan(**decided, files=[Path(str(plan))] if is_file else [])
