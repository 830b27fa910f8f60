"""Policies of checkpoints: the decisions of the pass tg-apply-policy for a joint
graph."""

from __future__ import annotations

from array import array
from typing import Any

from regather import library
from regather.torch.joint import FlatJoint, Joint, find_parameters, is_tangent
from regather.torch.modules import module_of
from regather.torch.plan import refuse


def read_policy(options: dict[str, Any] | None) -> library.Policy | None:
    """Reads options of tg-apply-policy, by their names. Raises ValueError."""
    if options is None:
        return None
    # The partitioner has a mode for it.
    refuse("tg-apply-policy", options, {"budget": -1})
    modules = []
    for item in options["modules"]:
        pattern, _, plan = item.rpartition(":")
        if not pattern or plan not in library.POLICIES:
            raise ValueError("'modules' of policy expects PATTERN:none, "
                             f"PATTERN:full or PATTERN:selective, got {item!r}")
        modules.append((pattern, plan))
    units, others = options["units"], options["others"]
    if units < -1:
        raise ValueError(f"'units' expects a number of units, got {units}")
    if units >= 0 and options["policy"] == "none":
        raise ValueError("'units' has no effect without 'policy'")
    if units < 0 and others != "none":
        raise ValueError("'others' has no effect without 'units'")
    plans = [options["policy"], others, *(plan for _, plan in modules)]
    every_second = options["every-second-product"]
    if every_second and ("selective" not in plans or options["save"]):
        raise ValueError("'every-second-product' has no effect without "
                         "'policy=selective', and with 'save'")
    # No unit at all is what the others are.
    plan = others if units == 0 else options["policy"]
    return library.Policy(plan, modules, options["save"], every_second,
                          max(units, 0), others)


def apply_policy(joint: Joint, flat: FlatJoint, policy: library.Policy) -> None:
    """Marks the nodes of forward whose module is known. Raises `RegatherError`
    for patterns that match nothing."""
    parameters = find_parameters(joint)
    is_parameter = array("B", bytes(len(flat.numbers)))
    arguments = [node for node in joint.placeholders if not is_tangent(node)]
    for position in parameters:
        is_parameter[flat.numbers[arguments[position]]] = 1
    modules: dict[str, int] = {}
    of_node = array("I", [
        modules.setdefault(module_of(node), len(modules))
        if node.op == "call_function" else library.NONE
        for node in flat.numbers])
    library.apply_policy(flat.graph, policy, list(modules), of_node,
                         flat.target_names, is_parameter)
