"""Where each traced node comes from.

One dispatch mode above functionalisation and decomposition sees every
operation as autograd issued it, and marks all nodes that the operation left
in the graph. That covers what the tracer's own metadata misses: modules
called in the backward pass, lines of custom backward functions, and the exact
pairing of an operation with the autograd node that differentiates it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch.fx import Graph
from torch.utils._python_dispatch import TorchDispatchMode

from regather.fx.source import user_line
from regather.fx.state import module_paths

#: Key of a node's ``Origin`` in its ``meta``.
KEY = "regather_origin"


@dataclass(frozen=True)
class Origin:
    """Module, source line, phase, pairing number and policy of a node."""

    module: str | None
    line: tuple[str, int] | None
    phase: str
    seq: int | None
    recompute: str | None


class Recorder(TorchDispatchMode):
    """Marks the nodes of ``graph`` while the step runs.

    ``stop`` is the file whose frames bound the model's (see ``user_line``).
    """

    def __init__(self, graph: Graph, model: torch.nn.Module, stop: str) -> None:
        super().__init__()
        self.phase = "forward"
        self.recompute: str | None = None
        self._graph = graph
        self._stop = stop
        self._paths = module_paths(model)
        self._modules: list[str] = []
        self._base = torch.autograd._get_sequence_nr()
        self._next = self._base
        # First forward origin of each number, for the backward nodes.
        self._forward: dict[int, Origin] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        before = len(self._graph.nodes)
        result = func(*args, **(kwargs or {}))
        added = len(self._graph.nodes) - before
        if added:
            origin = self._origin()
            for node in islice(reversed(self._graph.nodes), added):
                node.meta[KEY] = origin
        return result

    def _origin(self) -> Origin:
        line = user_line(self._stop)
        if self.phase == "backward":
            return self._backward_origin(line)
        seq = self._forward_seq()
        module = self._modules[-1] if self._modules else None
        origin = Origin(module, line, self.phase, seq, self.recompute)
        if seq is not None:
            self._forward.setdefault(seq, origin)
        return origin

    def _forward_seq(self) -> int | None:
        """Number of the autograd node that this operation belongs to.

        Autograd makes its node before it issues the operation. Without a
        new node the operation is either part of a function that runs with
        gradients off, and shares its number, or is not differentiated.
        """
        upcoming = torch.autograd._get_sequence_nr()
        fresh = upcoming != self._next
        self._next = upcoming
        if upcoming == self._base or (torch.is_grad_enabled() and not fresh):
            return None
        return upcoming - 1 - self._base

    def _backward_origin(self, line: tuple[str, int] | None) -> Origin:
        node = torch._C._current_autograd_node()
        seq = None if node is None else node._sequence_nr() - self._base
        pair = None if seq is None else self._forward.get(seq)
        if pair is None:
            return Origin(None, line, self.phase, None, None)
        return Origin(pair.module, line or pair.line, self.phase, seq, None)

    @contextlib.contextmanager
    def deferring(self) -> Iterator[Callable[[str], None]]:
        """Yields what sets the policy of the nodes made in the block."""
        before = len(self._graph.nodes)

        def mend(recompute: str) -> None:
            added = len(self._graph.nodes) - before
            for node in islice(reversed(self._graph.nodes), added):
                if KEY in node.meta:
                    node.meta[KEY] = replace(node.meta[KEY], recompute=recompute)

        yield mend

    @contextlib.contextmanager
    def following_modules(self) -> Iterator[None]:
        """Keeps track of which module runs, in a ``with`` block."""

        def enter(module: torch.nn.Module, args: Any) -> None:
            outer = self._modules[-1] if self._modules else ""
            self._modules.append(self._paths.get(id(module), outer))

        def leave(module: torch.nn.Module, args: Any, result: Any) -> None:
            self._modules.pop()

        hooks = torch.nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave, always_call=True),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
