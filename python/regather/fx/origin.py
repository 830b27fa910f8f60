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

from regather.fx import private
from regather.fx.errors import CaptureError, at
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


class WritesUntraced(CaptureError):
    """An operation writes into a tensor that is not part of the trace."""

    def __init__(self, message: str, tensor: torch.Tensor) -> None:
        super().__init__(message)
        self.tensor = tensor


class Recorder(private.TorchDispatchMode):
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
        self._hook: tuple[str, str] | None = None
        self._base = private.sequence_number()
        self._next = self._base
        # First forward origin of each number, for the backward nodes.
        self._forward: dict[int, Origin] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, private.OpOverload):
            self._check(func)
            if private.schema(func).is_mutable:
                self._check_written(func, args, kwargs)
        before = len(self._graph.nodes)
        result = func(*args, **kwargs)
        added = len(self._graph.nodes) - before
        if added:
            origin = self._origin()
            for node in islice(reversed(self._graph.nodes), added):
                node.meta[KEY] = origin
        return result

    def _check(self, func: Any) -> None:
        """Refuses collectives that no graph can hold."""
        if func.namespace == "c10d":
            name = private.schema(func).name.split("::")[1].strip("_")
            raise CaptureError(
                at(
                    f"'{name}' of torch.distributed communicates in place, which "
                    "no graph can hold; expects the functions of "
                    f"{private.FUNCTIONAL_COLLECTIVES}",
                    user_line(self._stop),
                )
            )

    def _check_written(self, func: Any, args: Any, kwargs: Any) -> None:
        """Refuses what would change tensors outside of the trace, for good."""
        for index, argument in enumerate(private.schema(func).arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            written = (
                args[index] if index < len(args) else kwargs.get(argument.name)
            )
            for value in written if isinstance(written, list | tuple) else (written,):
                if type(value) in (torch.Tensor, torch.nn.Parameter):
                    raise WritesUntraced(
                        at(
                            f"operator '{func}' writes into a tensor of shape "
                            f"{list(value.shape)} that is neither parameter nor "
                            "buffer nor made in the step",
                            user_line(self._stop),
                        ),
                        value,
                    )

    def _origin(self) -> Origin:
        line = user_line(self._stop)
        if self._hook is not None:
            return Origin(self._hook[0], line, self._hook[1], None, None)
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
        upcoming = private.sequence_number()
        fresh = upcoming != self._next
        self._next = upcoming
        if upcoming == self._base or (torch.is_grad_enabled() and not fresh):
            return None
        return upcoming - 1 - self._base

    def _backward_origin(self, line: tuple[str, int] | None) -> Origin:
        number = private.autograd_node_number()
        seq = None if number is None else number - self._base
        pair = None if seq is None else self._forward.get(seq)
        if pair is None:
            return Origin(None, line, self.phase, None, None)
        return Origin(pair.module, line or pair.line, self.phase, seq, None)

    @contextlib.contextmanager
    def in_hook(self, module: str, phase: str) -> Iterator[None]:
        """Nodes of the block are of a hook on a parameter of ``module``."""
        outer, self._hook = self._hook, (module, phase)
        try:
            yield
        finally:
            self._hook = outer

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
