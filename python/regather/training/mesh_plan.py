"""A plan of `regather.plan` as arguments of `regather.compile`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regather.library.errors import RegatherError


@dataclass
class MeshPlan:
    """What `regather.plan` found: a mesh, and flags of `regather run`."""

    mesh: str
    replicate_axis: str
    flags: list[tuple[str, str]]


def read_mesh_plan(plan: Mapping[str, Any]) -> MeshPlan:
    """Reads an entry of `regather.plan(...).plans`. Raises `RegatherError` for
    what is none.

    Whose batch the plan was made for is left out: a rank is always given the
    batch that its step was compiled with.
    """
    flags = plan.get("flags")
    if not isinstance(flags, list) or not flags:
        raise RegatherError("expects an entry of regather.plan(...).plans, got "
                            f"a dictionary of {', '.join(map(str, plan))}")
    read = [_read_flag(flag) for flag in flags]
    found = dict(read)
    if "mesh" not in found:
        raise RegatherError(f"a plan names no mesh: {' '.join(map(str, flags))}")
    return MeshPlan(found["mesh"], found.get("replicate-axis", ""),
                    [(name, text) for name, text in read
                     if name not in ("mesh", "replicate-axis", "batch")])


def _read_flag(flag: Any) -> tuple[str, str]:
    if not isinstance(flag, str) or not flag.startswith("--"):
        raise RegatherError(f"expects a flag such as '--mesh=dp:4' in a plan, "
                            f"got {flag!r}")
    name, equals, text = flag[2:].partition("=")
    return name, text if equals else "true"


__all__ = ["MeshPlan", "read_mesh_plan"]
