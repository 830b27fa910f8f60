"""The captured graph as the document that ``docs/fx-json.md`` describes."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from regather.fx.cleanup import has_effects
from regather.fx.encode import call_record, reference, results
from regather.fx.mesh import Meshes
from regather.fx.origin import KEY, Origin
from regather.fx.source import portable
from regather.fx.state import Tensor
from regather.fx.trace import Trace, placeholders

SCHEMA = "regather.fx"
VERSION = 1


class _Numbering:
    """Strings by number, in the order of their first use."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.strings)
            self.strings.append(text)
        return self._numbers[text]


class _Nodes:
    """Writes nodes, numbering the modules and files they mention."""

    def __init__(self, root: str) -> None:
        self.modules = _Numbering()
        self.files = _Numbering()
        self._root = root
        self._portable: dict[str, str] = {}

    def _file(self, name: str) -> int:
        if name not in self._portable:
            self._portable[name] = portable(name, self._root)
        return self.files[self._portable[name]]

    def placeholder(self, node: Node) -> dict[str, Any]:
        return {
            "name": node.name,
            "op": "placeholder",
            "args": [],
            "outputs": results(node.meta["val"]),
            "phase": "forward",
        }

    def call(self, node: Node) -> dict[str, Any]:
        record = call_record(node)
        origin: Origin | None = node.meta.get(KEY)
        record["phase"] = origin.phase if origin else "forward"
        if origin is not None:
            if origin.module is not None:
                record["module"] = self.modules[origin.module]
            if origin.line is not None:
                record["loc"] = [self._file(origin.line[0]), origin.line[1]]
            if origin.seq is not None:
                record["seq"] = origin.seq
            if origin.recompute is not None:
                record["recompute"] = origin.recompute
        if has_effects(node):
            record["effects"] = True
        return record


def document(
    trace: Trace,
    constants: list[tuple[Node, torch.Tensor]],
    meshes: Meshes,
    model: dict[str, Any],
    root: str,
) -> dict[str, Any]:
    """The whole document; ``root`` is where source files are relative to."""
    graph = trace.module.graph
    groups = meshes.rename_groups(graph)
    writer = _Nodes(root)
    nodes = []
    for node in graph.nodes:
        if node.op == "placeholder":
            nodes.append(writer.placeholder(node))
        elif node.op == "call_function" and node.target is not operator.getitem:
            nodes.append(writer.call(node))

    def state(node: Node, tensor: Tensor) -> dict[str, Any]:
        record: dict[str, Any] = {"node": node.name, "name": tensor.name}
        if tensor.parameter:
            record["registration"] = tensor.registration
        record["module"] = writer.modules[tensor.module]
        if tensor.parameter:
            record["requires_grad"] = tensor.requires_grad
            record["aliases"] = tensor.aliases
        return with_placement(record, tensor.value)

    def with_placement(record: dict[str, Any], value: Any) -> dict[str, Any]:
        placement = meshes.placement(value)
        if placement is not None:
            record["placement"] = placement
        return record

    order = iter(placeholders(trace.module))
    parameters = [state(next(order), t) for t in trace.parameters]
    buffers = [state(next(order), t) for t in trace.buffers]
    inputs = [
        with_placement({"node": next(order).name, "name": name}, value)
        for name, value in trace.batch
    ]
    for index, (node, _) in enumerate(constants):
        buffers.append(
            {"node": node.name, "name": constant_name(index), "constant": True}
        )
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "torch": torch.__version__.split("+")[0],
        "model": model,
        "meshes": meshes.document(),
        "groups": groups,
        "modules": writer.modules.strings,
        "files": writer.files.strings,
        "nodes": nodes,
        "parameters": parameters,
        "buffers": buffers,
        "inputs": inputs,
        "outputs": _outputs(trace),
    }


def constant_name(index: int) -> str:
    """Name of a tensor that the model's code holds, beside its buffers."""
    return f"constants.{index}"


def _outputs(trace: Trace) -> list[dict[str, Any]]:
    last = next(iter(reversed(trace.module.graph.nodes)))
    records = []
    for node, output in zip(last.args[0], trace.outputs):
        record = {**reference(node), "role": output.role}
        if output.of is not None:
            record["of"] = output.of
        records.append(record)
    return records
