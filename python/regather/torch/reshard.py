"""Which parameters backward gathers again: the decisions of the pass
tg-reshard-after-forward for a joint graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from regather import library
from regather.torch.joint import Joint, find_parameters, is_tangent
from regather.torch.modules import module_of
from regather.torch.plan import refuse
from regather.torch.targets import GATHER, TargetTable

@dataclass(frozen=True)
class Reshard:
    """What is released after forward: a mode for all, and modes of patterns."""

    mode: str
    patterns: tuple[tuple[str, str], ...] = ()


def read_reshard(options: dict[str, Any] | None) -> Reshard:
    """Reads options of tg-reshard-after-forward, by their names. Raises
    ValueError."""
    if options is None:
        return Reshard("never")
    # A partitioner cannot make process groups of its own.
    refuse("tg-reshard-after-forward", options, {"group": 0})
    patterns = []
    for item in options["modules"]:
        pattern, _, chosen = item.rpartition(":")
        if not pattern or chosen not in ("always", "never"):
            raise ValueError("'modules' of reshard expects PATTERN:always or "
                             f"PATTERN:never, got {item!r}")
        patterns.append((pattern, chosen))
    return Reshard(options["mode"], tuple(patterns))


@dataclass
class _Gathered:
    """A parameter that forward gathers."""

    position: int
    module: str
    first_use: int


class _Finder:
    def __init__(self, joint: Joint) -> None:
        self.numbers = {node: i for i, node in enumerate(joint.nodes)}
        self.table = TargetTable()

    def find(self, position: int, parameter: Node) -> _Gathered | None:
        """Follows what is made of the parameter alone."""
        left, seen = [parameter], {parameter}
        gather, first_use = None, library.NONE
        while left:
            node = left.pop()
            for user in node.users:
                if user in seen or user.op != "call_function" or (
                        user.meta.get("partitioner_tag") == "is_backward"):
                    continue
                seen.add(user)
                if len(user.all_input_nodes) > 1:
                    first_use = min(first_use, self.numbers[user])
                    continue
                if self.table.traits[self.table.get(user)] & GATHER and (
                        gather is None
                        or self.numbers[user] < self.numbers[gather]):
                    gather = user
                left.append(user)
        if gather is None:
            return None
        return _Gathered(position, module_of(gather), first_use)


def _find_last_unit(gathered: list[_Gathered]) -> set[int]:
    """Numbers of what belongs to the unit that forward comes to last."""
    units = library.find_units([one.module for one in gathered],
                               [one.first_use for one in gathered])
    first_uses: dict[int, int] = {}
    for one, unit in zip(gathered, units):
        if one.first_use != library.NONE:
            first_uses[unit] = min(first_uses.get(unit, one.first_use),
                                   one.first_use)
    if not first_uses:
        return set()
    last = max(first_uses, key=lambda unit: first_uses[unit])
    return {i for i, unit in enumerate(units) if unit == last}


def find_released(joint: Joint, reshard: Reshard) -> frozenset[int]:
    """Positions, among the arguments, of parameters that backward gathers again.
    Raises `RegatherError` for patterns that match nothing, or the same."""
    if reshard == Reshard("never"):
        return frozenset()
    parameters = find_parameters(joint)
    if reshard == Reshard("always"):
        return parameters
    finder = _Finder(joint)
    arguments = [node for node in joint.placeholders if not is_tangent(node)]
    gathered = [one for position in sorted(parameters)
                if isinstance(arguments[position].meta.get("val"), torch.Tensor)
                and (one := finder.find(position, arguments[position]))]
    if not gathered:
        return frozenset()
    matches = library.match_modules(
        "modules", "module of a gathered parameter",
        [pattern for pattern, _ in reshard.patterns],
        [one.module for one in gathered])
    kept = _find_last_unit(gathered) if reshard.mode == "default" else set()
    released = []
    for i, (one, match) in enumerate(zip(gathered, matches)):
        mode = (reshard.patterns[match][1] if match != library.NONE else
                "never" if i in kept else reshard.mode)
        if mode != "never":
            released.append(one.position)
    return frozenset(released)
