"""What checkpointed units keep (regather-c/Policy.h)."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import POINTER, Structure, byref, c_uint32, c_void_p
from dataclasses import dataclass, field
from typing import Any

from regather.library.arrays import address
from regather.library.graph import Graph
from regather.library.loading import Function
from regather.library.module_paths import texts

POLICIES = ("none", "full", "selective")


class _Texts(Structure):
    _fields_ = [("count", c_uint32), ("elements", c_void_p)]


class _Policy(Structure):
    _fields_ = [("plan", c_uint32), ("every_second_product", c_uint32),
                ("patterns", _Texts), ("pattern_plans", c_void_p),
                ("saved", _Texts), ("modules", _Texts),
                ("module_of_node", c_void_p), ("target_names", c_void_p),
                ("is_parameter", c_void_p), ("units", c_uint32),
                ("others", c_uint32)]


_apply = Function("regatherGraphApplyPolicy", c_void_p, POINTER(_Policy))


@dataclass(frozen=True)
class Policy:
    """A plan for all units, or, if they have a number, for so many and another
    one for those behind them, plans of module patterns, and what selective plans save; see
    RegatherPolicy."""

    plan: str = "none"
    modules: list[tuple[str, str]] = field(default_factory=list)
    save: list[str] = field(default_factory=list)
    every_second_product: bool = False
    units: int = 0
    others: str = "none"


def apply_policy(graph: Graph, policy: Policy, modules: list[str],
                 module_of_node: array[int], target_names: list[str],
                 is_parameter: array[int]) -> None:
    """Marks nodes of forward. `module_of_node` are numbers of `modules`, or
    `NONE`; `target_names` are by target."""
    kept: list[Any] = []

    def keep(strings: list[str]) -> _Texts:
        kept.append(texts(strings))
        return _Texts(len(strings), ctypes.addressof(kept[-1]))

    plans = array("I", [POLICIES.index(plan) for _, plan in policy.modules])
    given = _Policy(
        POLICIES.index(policy.plan), policy.every_second_product,
        keep([pattern for pattern, _ in policy.modules]), address(plans),
        keep(policy.save), keep(modules), address(module_of_node),
        keep(target_names).elements, address(is_parameter),
        policy.units, POLICIES.index(policy.others))
    _apply(graph.pointer, byref(given))
