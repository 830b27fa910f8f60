"""What the targets of an FX graph are, as bits of `regather-c/Graph.h`."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.fx import Node

from regather.torch.private import (OpOverload, TracingContext,
                                    inductor_config, partitioners)

VIEW, RECOMPUTABLE, FUSIBLE, CONCATENATION = 1, 2, 4, 8
LIBRARY_CALL, UNREPEATABLE, EFFECTS = 16, 32, 64
GATHER, COLLECTIVE, WAIT = 128, 256, 512

aten = torch.ops.aten

# Beside those that PyTorch's partitioner counts: what others lower to them.
_LIBRARY_CALLS = (
    "baddbmm", "_addmm_activation", "addbmm", "addmv", "mv", "dot", "linear",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_cudnn_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable", "_grouped_mm",
    "_scaled_grouped_mm", "_flash_attention_backward",
    "_efficient_attention_backward", "sort", "topk", "_embedding_bag")


@cache
def _operators() -> Any:
    return partitioners.get_default_op_list()


@cache
def _library_calls() -> frozenset[Any]:
    found = (getattr(aten, name, None) for name in _LIBRARY_CALLS)
    return frozenset(_operators().compute_intensive_ops) | {
        op for op in found if op is not None}


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
    if packet in _library_calls() or (
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
        self._numbers: dict[Any, int] = {}

    def get(self, node: Node) -> int:
        """The number of the target of a call."""
        number = self._numbers.get(node.target)
        if number is None:
            number = len(self.traits)
            self._numbers[node.target] = number
            self.traits.append(_traits_of_call(node, self._impure_random))
        return number
