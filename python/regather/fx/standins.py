"""The traced tensors stand in for the model's, wherever code finds those.

A module reads its parameters from its tables, where ``state.replaced`` puts
the traced ones. Hooks, closures and lists hold the parameters themselves; this
mode exchanges them in every call of PyTorch. It also refuses what changes a
tensor behind autograd's back.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from regather.fx.errors import CaptureError, at
from regather.fx.private import pytree
from regather.fx.source import user_line
from regather.fx.state import Tensor

_Function = torch.autograd.Function


class StandIns(TorchFunctionMode):
    """Exchanges the model's tensors for their stand-ins while it is active.

    ``stop`` is the file whose frames bound the model's (see ``user_line``).
    """

    def __init__(
        self, tensors: Sequence[Tensor], values: Sequence[Any], stop: str
    ) -> None:
        super().__init__()
        self._allows = False
        self._stop = stop
        # Identity to stand-in; `tensors` keeps what the numbers mean alive.
        self._values = {id(t.value): v for t, v in zip(tensors, values)}
        self._tensors = tensors
        self._parameters = {
            id(v): t.name for t, v in zip(tensors, values) if t.parameter
        }
        self._compute: torch.dtype | None = None
        # Of parameters, by the identity of their stand-ins.
        self._casts: dict[int, torch.Tensor] = {}

    def exchange(self, value: Any) -> Any:
        """``value`` with stand-ins, also inside lists, tuples and mappings."""
        if isinstance(value, torch.Tensor):
            value = self._values.get(id(value), value)
            if self._compute and id(value) in self._parameters:
                return self._cast(value)
            return value
        kind = type(value)
        if kind in (list, tuple):
            return kind(map(self.exchange, value))
        if kind is dict:
            return {key: self.exchange(item) for key, item in value.items()}
        return value

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        args, kwargs = self.exchange(args), self.exchange(kwargs or {})
        owner = getattr(func, "__self__", None)
        # The descriptors of these two know how to read and to write.
        if owner is torch.Tensor.data:
            if func.__name__ == "__get__":
                return args[0].detach()
            # As `Module.to` does where nothing is to be converted.
            if args[1] is args[0]:
                return None
            raise self._refusal(f"sets '.data' of {self._name(args[0])}")
        if func in _BACKWARD:
            raise self._refusal(
                "runs a backward pass of its own; expects 'torch.autograd.grad'"
            )
        name = self._parameters.get(id(args[0])) if args else None
        if name is not None and not self._allows:
            if owner is torch.Tensor.grad and func.__name__ != "__get__":
                raise self._refusal(
                    f"sets '.grad' of parameter '{name}' before the backward pass"
                )
            if func in _HOOKING:
                raise self._refusal(
                    f"registers a hook on parameter '{name}', one more in each "
                    "step; register it before the capture"
                )
            if func is torch.Tensor.requires_grad_ or (
                owner is torch.Tensor.requires_grad and func.__name__ != "__get__"
            ):
                raise self._refusal(
                    f"changes whether parameter '{name}' is trained"
                )
        return func(*args, **kwargs)

    @contextlib.contextmanager
    def computing_in(self, dtype: torch.dtype | None) -> Iterator[None]:
        """Lets the block compute with parameters that are cast to ``dtype``,
        each where it is used first."""
        self._compute = dtype
        try:
            yield
        finally:
            self._compute = None

    def narrow(self, tree: Any) -> Any:
        """Inputs as FSDP2 gives them to a module of mixed precision."""
        dtype = self._compute
        if dtype is None:
            return tree
        return pytree.tree_map_only(
            torch.Tensor,
            lambda leaf: leaf.to(dtype) if leaf.is_floating_point() else leaf,
            tree,
        )

    def _cast(self, value: torch.Tensor) -> torch.Tensor:
        if value.dtype == self._compute or not value.is_floating_point():
            return value
        if id(value) not in self._casts:
            self._casts[id(value)] = value.to(self._compute)
        return self._casts[id(value)]

    @contextlib.contextmanager
    def allowing(self) -> Iterator[None]:
        """Lets the block set gradients and hooks, as hooks of parameters do."""
        outer, self._allows = self._allows, True
        try:
            yield
        finally:
            self._allows = outer

    def _name(self, value: Any) -> str:
        name = self._parameters.get(id(value))
        return "a tensor" if name is None else f"parameter '{name}'"

    def _refusal(self, what: str) -> CaptureError:
        return CaptureError(at(f"the model {what}", user_line(self._stop)))

    @contextlib.contextmanager
    def in_functions(self) -> Iterator[None]:
        """Makes arguments of custom functions stand-ins as well."""
        apply = inspect.getattr_static(_Function, "apply")

        def exchanged(kind: Any, *args: Any, **kwargs: Any) -> Any:
            run = apply.__get__(None, kind)
            return run(*self.exchange(args), **self.exchange(kwargs))

        with mock.patch.object(_Function, "apply", classmethod(exchanged)):
            yield


_BACKWARD = (torch.Tensor.backward, torch.autograd.backward)
_HOOKING = (
    torch.Tensor.register_hook,
    torch.Tensor.register_post_accumulate_grad_hook,
)
