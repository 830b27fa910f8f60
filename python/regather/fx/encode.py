"""Values of the captured graph as JSON."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch.fx import Node

from regather.fx.errors import CaptureError


def dtype_name(dtype: torch.dtype) -> str:
    """``torch.bfloat16`` as ``bfloat16``."""
    return str(dtype).removeprefix("torch.")


def reference(node: Node) -> dict[str, Any]:
    """How arguments and outputs name a result; selection is folded in."""
    output = 0
    if node.target is operator.getitem:
        node, output = node.args
        if node.target is operator.getitem:
            raise CaptureError(
                f"expects a flat list of results from node '{node.name}'"
            )
    return {"node": node.name, "output": output}


def argument(value: Any) -> Any:
    """One argument of a node; raises CaptureError for an unknown kind."""
    if isinstance(value, Node):
        return reference(value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [argument(value.real), argument(value.imag)]}
    if isinstance(value, list | tuple):
        return [argument(item) for item in value]
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device):
        return {"device": value.type}
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    raise CaptureError(f"cannot write an argument of type {type(value).__name__}")


def call_record(node: Node) -> dict[str, Any]:
    """What a node calls, with which arguments, and what it gives."""
    record: dict[str, Any] = {
        "name": node.name,
        "op": "call",
        "target": str(node.target),
        "args": argument(node.args),
    }
    if node.kwargs:
        record["kwargs"] = {k: argument(v) for k, v in node.kwargs.items()}
    record["outputs"] = results(node.meta.get("val"))
    return record


def results(value: Any) -> list[dict[str, Any] | None]:
    """``outputs`` of a node from its fake results; null where there is none."""
    if isinstance(value, torch.Tensor):
        return [
            {
                "shape": list(value.shape),
                "stride": list(value.stride()),
                "dtype": dtype_name(value.dtype),
            }
        ]
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [(results(item) or [None])[0] for item in value]
    raise CaptureError(f"cannot write a result of type {type(value).__name__}")
