"""What PyTorch takes for nodes of a captured graph, each by itself.

Operands are drawn: floats, or zeros where a node wants integers, which are
indices everywhere. A node is timed with its operands in the caches if they
fit, as PyTorch's own profiler would find it in a loop, not in a step.
"""

from __future__ import annotations

import time
from typing import Any

import torch

SECONDS = 0.05
MOST_CALLS = 1000


class CannotTime(Exception):
    """A node has an argument that nothing is made of here."""


class Nodes:
    """Of one fx.json document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.nodes = {node["name"]: node for node in document["nodes"]}

    def make(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self.make(each) for each in argument]
        if not isinstance(argument, dict):
            return argument
        if "node" in argument:
            return self.make_tensor(argument)
        if "dtype" in argument:
            return getattr(torch, argument["dtype"])
        raise CannotTime(str(argument))

    def make_tensor(self, argument: dict[str, Any]) -> torch.Tensor:
        output = self.nodes[argument["node"]]["outputs"][
            argument.get("output", 0)]
        dtype = getattr(torch, output["dtype"])
        shape, stride = output["shape"], output["stride"]
        length = 1 + sum((size - 1) * step
                         for size, step in zip(shape, stride))
        storage = (torch.rand(length) + 0.5 if dtype.is_floating_point
                   else torch.zeros(length)).to(dtype)
        return storage.as_strided(shape, stride)

    def time(self, name: str) -> float | None:
        """Seconds of one call, the fastest; None if it cannot be called."""
        node = self.nodes[name]
        package, operator, overload = node["target"].split(".")
        try:
            function = getattr(getattr(getattr(torch.ops, package), operator),
                               overload)
            args = [self.make(each) for each in node["args"]]
            kwargs = {key: self.make(each)
                      for key, each in node.get("kwargs", {}).items()}
            with torch.no_grad():
                return measure(lambda: function(*args, **kwargs))
        except (CannotTime, AttributeError, RuntimeError, TypeError,
                IndexError):
            return None


def measure(call: Any) -> float:
    call()
    begin = time.perf_counter()
    fastest = float("inf")
    for _ in range(MOST_CALLS):
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        fastest = min(fastest, end - start)
        if end - begin > SECONDS:
            break
    return fastest


def time_nodes(document: dict[str, Any], names: list[str]) -> float | None:
    """Their sum; None if one of them cannot be timed, or there is none."""
    nodes = Nodes(document)
    seconds = [nodes.time(name) for name in names]
    known = [each for each in seconds if each is not None]
    return sum(known) if known and len(known) == len(seconds) else None
