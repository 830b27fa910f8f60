"""Hooks on parameters: what they do to gradients is part of the step.

``Parameter.register_hook`` sees the gradient before it is accumulated, and
``register_post_accumulate_grad_hook`` runs with ``.grad`` set, where it may
update the parameter. Both are called while the backward pass is traced, at
the point at which PyTorch calls them: as soon as the gradient is final.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from regather.fx import private
from regather.fx.errors import CaptureError, at
from regather.fx.origin import Recorder
from regather.fx.source import definition_line
from regather.fx.standins import StandIns
from regather.fx.state import Tensor


def check(tensors: Sequence[Tensor], batch: Sequence[tuple[str, Any]]) -> None:
    """Raises CaptureError for hooks that cannot be part of a step."""
    for tensor in tensors:
        kind = "parameter" if tensor.parameter else "buffer"
        owner = f"{kind} '{tensor.name}'"
        for hook in private.accumulator_hooks(tensor.value):
            _refuse(
                owner, hook, "on the node that accumulates its gradient; expects "
                "'register_post_accumulate_grad_hook'"
            )
        for hook in private.gradient_hooks(tensor.value):
            if getattr(hook, "__module__", None) == torch.autograd.graph.__name__:
                _refuse(owner, hook, "that several tensors share")
            if not tensor.parameter:
                _refuse(owner, hook, "but no gradient in the step")
    for name, value in batch:
        for hook in private.gradient_hooks(value):
            _refuse(f"input '{name}'", hook, "but no gradient in the step")


def _refuse(owner: str, hook: Any, what: str) -> None:
    raise CaptureError(at(f"{owner} has a hook {what}", definition_line(hook)))


class ParameterHooks:
    """Runs the hooks of the trained parameters on their stand-ins.

    To be made before ``stand_ins`` is active.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        values: Sequence[Any],
        recorder: Recorder,
        stand_ins: StandIns,
    ) -> None:
        self._recorder = recorder
        self._stand_ins = stand_ins
        self._trained = [
            (t, v) for t, v in zip(tensors, values) if t.parameter and t.requires_grad
        ]
        # Read here: once `stand_ins` is active, this would ask for theirs.
        self._accumulated = [
            private.accumulated_hooks(t.value) for t, _ in self._trained
        ]
        for tensor, value in self._trained:
            for hook in private.gradient_hooks(tensor.value):
                value.register_hook(self._before(tensor, hook))

    def _before(self, tensor: Tensor, hook: Callable[..., Any]) -> Any:
        """``hook`` on the gradient of ``tensor``, marking what it issues."""

        def run(gradient: torch.Tensor) -> Any:
            with self._recorder.in_hook(tensor.module, self._recorder.phase):
                return self._call(tensor, hook, gradient)

        return run

    def _call(self, tensor: Tensor, hook: Callable[..., Any], argument: Any) -> Any:
        try:
            with self._stand_ins.allowing():
                return hook(argument)
        except (
            CaptureError,
            private.DataDependentOutputException,
            private.DynamicOutputShapeException,
        ):
            raise
        except Exception as error:
            raise CaptureError(
                at(
                    f"a hook of parameter '{tensor.name}' failed: "
                    f"{type(error).__name__}: {error}",
                    definition_line(hook),
                )
            ) from error

    def _accumulate(self, tensor: Tensor, value: Any, hooks: list[Any]) -> Any:
        """Accumulates a gradient as PyTorch does, and calls ``hooks``."""

        def run(gradient: torch.Tensor) -> None:
            with (
                torch.no_grad(),
                self._stand_ins.allowing(),
                self._recorder.in_hook(tensor.module, "optimizer"),
            ):
                known = value.grad
                value.grad = (
                    gradient.detach() if known is None else known + gradient
                )
                for hook in hooks:
                    # Code may know the parameter by identity.
                    self._call(tensor, hook, tensor.value)

        return run

    def gradients(self, loss: torch.Tensor) -> list[torch.Tensor | None]:
        """Final gradients of the trained parameters, in order."""
        values = [value for _, value in self._trained]
        accumulates = any(self._accumulated)
        if accumulates:
            with self._stand_ins.allowing():
                for (tensor, value), after in zip(self._trained, self._accumulated):
                    value.register_hook(self._accumulate(tensor, value, after))
        gradients = torch.autograd.grad(loss, values, allow_unused=True)
        if accumulates:
            return [value.grad for value in values]
        return list(gradients)
