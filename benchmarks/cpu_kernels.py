"""The slowest kernels of a profiled step beside PyTorch on the same nodes.

A kernel is launched at places: a module and a line of source. The nodes of the
captured graph of these modules whose operators the kernel is named after are
those that it computes, and perhaps others of the same operators, such as the
three products of a linear layer. PyTorch is timed on each by itself, and its
time is the mean of a node for as many as the kernel computes: an estimate, which
says where to look.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWEST = 3


@dataclass
class Comparison:
    name: str
    # Of one step; None where PyTorch cannot be timed.
    seconds: float
    torch_seconds: float | None
    nodes: int
    roof_share: float

    def __str__(self) -> str:
        text = f"{self.seconds * 1e3:9.3f} ms {self.roof_share:4.0%} of roof  "
        if self.torch_seconds is None:
            text += f"{'-':>9}    PyTorch"
        else:
            text += f"{self.torch_seconds * 1e3:9.3f} ms PyTorch"
        return f"{text}, {self.nodes} nodes  {self.name}"


def find_operators(kernel: str, operators: set[str]) -> set[str]:
    """Those that a kernel is named after; a longer one hides one within it."""
    found = set()
    for operator in sorted(operators, key=lambda each: (-len(each), each)):
        if operator in kernel:
            found.add(operator)
            kernel = kernel.replace(operator, "")
    return found


def operator_of(node: dict[str, Any]) -> str:
    return node["target"].split(".")[1].strip("_")


def find_nodes(kernel: dict[str, Any], document: dict[str, Any]
               ) -> list[dict[str, Any]]:
    """By module; by line where a kernel fuses nodes of several modules."""
    modules = {place["module"] for place in kernel["places"]} - {""}
    sources = {place["source"].rsplit(":", 1)[0]
               for place in kernel["places"] if not place["module"]}
    nodes = [node for node in document["nodes"]
             if "target" in node and "loc" in node]
    operators = find_operators(kernel["name"], set(map(operator_of, nodes)))

    def is_of_kernel(node: dict[str, Any]) -> bool:
        file, line = node["loc"]
        module = (document["modules"][node["module"]] if "module" in node
                  else "")
        return operator_of(node) in operators and (
            module in modules or f"{document['files'][file]}:{line}" in sources)
    return [node for node in nodes if is_of_kernel(node)]


def compare_kernels(profile: dict[str, Any], document: Path,
                    ask: Callable[[str], Any]) -> list[Comparison]:
    """The slowest kernels; `ask` questions the worker of PyTorch."""
    graph = json.loads(document.read_text())
    slowest = []
    for kernel in profile["kernels"][:SLOWEST]:
        nodes = find_nodes(kernel, graph)
        names = ",".join(node["name"] for node in nodes)
        seconds = ask(f"nodes {document} {names}") if nodes else None
        if seconds is not None:
            # Of the nodes that are found, as many as the kernel computes.
            operators = len(set(map(operator_of, nodes)))
            seconds *= min(1, kernel["calls"] * operators / len(nodes))
        slowest.append(Comparison(kernel["name"], kernel["seconds"], seconds,
                                  len(nodes), kernel.get("roof_share", 0)))
    return slowest
