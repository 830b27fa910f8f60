"""What the targets of an FX graph are, as bits of `regather-c/Graph.h`."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.fx import Node

from regather import library
from regather.torch.private import (OpOverload, TracingContext,
                                    inductor_config, partitioners)

VIEW, RECOMPUTABLE, FUSIBLE, CONCATENATION = 1, 2, 4, 8
LIBRARY_CALL, UNREPEATABLE, EFFECTS = 16, 32, 64
GATHER, COLLECTIVE, WAIT = 128, 256, 512

aten = torch.ops.aten

@cache
def _operators() -> Any:
    return partitioners.get_default_op_list()


def is_random(target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def _traits_of_call(node: Node, impure_random: bool) -> int:
    kinds, target = _operators(), node.target
    packet = getattr(target, "overloadpacket", target)
    namespace = getattr(target, "namespace", "")
    traits = 0
    if packet in kinds.view_ops:
        traits |= VIEW
    if packet in kinds.recomputable_ops:
        traits |= RECOMPUTABLE
    if packet in kinds.fusible_ops:
        traits |= FUSIBLE
    if packet is aten.cat:
        traits |= CONCATENATION
    # What we do not know may take long.
    if library.is_expensive_target(str(target)) or (
            isinstance(target, OpOverload)
            and namespace not in ("aten", "prims", "_c10d_functional")):
        traits |= LIBRARY_CALL
    if is_random(target):
        traits |= UNREPEATABLE
    if node.is_impure(impure_random):
        traits |= EFFECTS
    if namespace == "_c10d_functional":
        name = getattr(packet, "__name__", "")
        traits |= (WAIT if name == "wait_tensor" else
                   GATHER if name.startswith("all_gather") else COLLECTIVE)
    return traits


class TargetTable:
    """Numbers for the targets of one graph."""

    def __init__(self) -> None:
        # Without a tracing context random operators count as impure.
        context = TracingContext.try_get()
        self._impure_random = (context is None
                               or inductor_config.fallback_random)
        # What is no call has the first number.
        self.traits = [0]
        self.names = [""]
        self._numbers: dict[Any, int] = {}

    def get(self, node: Node) -> int:
        """The number of the target of a call."""
        number = self._numbers.get(node.target)
        if number is None:
            number = len(self.traits)
            self._numbers[node.target] = number
            self.traits.append(_traits_of_call(node, self._impure_random))
            self.names.append(str(node.target))
        return number
