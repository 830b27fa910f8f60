"""Runs a captured graph with PyTorch's own operators, one node at a time.

Knows the document alone (docs/fx-json.md), not how it was made, so that what
the tests compare with eager PyTorch is what a reader of the file would get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def operator(target: str) -> Any:
    """``aten.mm.default`` as the operator of that name."""
    if target == "aten.view.default":
        # Results are values here; a kernel may lay its result out otherwise
        # than the tracer expected.
        return torch.ops.aten.reshape.default
    namespace, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def argument(value: Any, results: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [argument(item, results) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "node":
        return results[content][value["output"]]
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*(argument(part, results) for part in content))
    if kind == "device":
        return torch.device(content)
    assert kind in ("dtype", "layout", "memory_format")
    return getattr(torch, content)


def evaluate(
    document: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    inputs: Mapping[str, torch.Tensor],
) -> dict[tuple[str, str | None], torch.Tensor]:
    """Results of the step by (role, of).

    ``tensors``: parameters, buffers and constants by name; ``inputs`` by name.
    """
    results: dict[str, list[Any]] = {}
    for entry in document["parameters"] + document["buffers"]:
        results[entry["node"]] = [tensors[entry["name"]].detach()]
    for entry in document["inputs"]:
        results[entry["node"]] = [inputs[entry["name"]]]
    for node in document["nodes"]:
        if node["op"] == "call":
            value = operator(node["target"])(
                *argument(node["args"], results),
                **{
                    key: argument(item, results)
                    for key, item in node.get("kwargs", {}).items()
                },
            )
            value = list(value) if isinstance(value, list | tuple) else [value]
            results[node["name"]] = value
        value = results[node["name"]]
        for got, told in zip(value, node["outputs"]):
            if told is None or got is None:
                continue
            assert list(got.shape) == told["shape"], node["name"]
            assert str(got.dtype) == f"torch.{told['dtype']}", node["name"]
    return {
        (entry["role"], entry.get("of")):
            results[entry["node"]][entry["output"]]
        for entry in document["outputs"]
    }
