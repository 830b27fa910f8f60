"""What is captured: a model, a batch and a loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from regather.fx.errors import CaptureError
from regather.fx.mesh import is_distributed
from regather.fx.private import pytree
from regather.fx.state import clean


@dataclass
class Step:
    """One training step.

    ``inputs`` are the model's arguments: a tensor, a sequence of positional
    ones or a mapping of keyword ones, tensors anywhere inside. ``loss`` is
    called as ``loss(model(...), *targets)`` and returns a tensor with one
    element; without it the model's result is the loss, or has an attribute
    or a key ``loss``. ``meshes`` names device meshes that the model uses.
    ``compute`` is what parameters and inputs of floating point are cast to
    before the model computes with them, as with the ``param_dtype`` of FSDP2;
    gradients have the types of the parameters. ``fuse_attention``: attention
    that is written as products and a softmax becomes one node.
    """

    model: torch.nn.Module
    inputs: Any
    loss: Callable[..., Any] | None = None
    targets: Sequence[Any] = ()
    meshes: Mapping[str, Any] = field(default_factory=dict)
    compute: torch.dtype | None = None
    fuse_attention: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.model, torch.nn.Module):
            raise CaptureError(
                "expects a torch.nn.Module as the model, got "
                f"{type(self.model).__name__}"
            )
        if self.loss is not None and not callable(self.loss):
            raise CaptureError("expects a callable as the loss")
        if isinstance(self.inputs, torch.Tensor):
            self.inputs = (self.inputs,)
        if isinstance(self.targets, torch.Tensor):
            self.targets = (self.targets,)
        if not isinstance(self.inputs, Mapping | Sequence):
            raise CaptureError(
                "expects example inputs in a tuple or a dictionary, got "
                f"{type(self.inputs).__name__}"
            )

    def batch(self) -> tuple[list[str], list[Any], Callable[[list[Any]], Any]]:
        """Names and values of all leaves of the batch, and its rebuilder.

        The rebuilder maps such values to ``(args, kwargs, targets)``.
        """
        if isinstance(self.inputs, Mapping):
            args, kwargs = (), dict(self.inputs)
        else:
            args, kwargs = tuple(self.inputs), {}
        targets = tuple(self.targets)
        names: list[str] = []
        values: list[Any] = []
        taken = _state_names(self.model)

        def add(label: str, tree: Any) -> None:
            for path, leaf in pytree.tree_flatten_with_path(tree)[0]:
                steps = [str(getattr(k, "key", getattr(k, "idx", k))) for k in path]
                name = ".".join([label, *steps])
                while name in taken:
                    name = f"input.{name}"
                names.append(name)
                values.append(leaf)

        for label, tree in zip(_positional(self.model.forward, len(args)), args):
            add(label, tree)
        for label, tree in kwargs.items():
            add(label, tree)
        labels = _positional(self.loss, len(targets) + 1)[1:]
        for label, tree in zip(labels, targets):
            add(label if label not in names else f"loss.{label}", tree)

        spec = pytree.tree_structure((args, kwargs, targets))
        return names, values, lambda flat: pytree.tree_unflatten(flat, spec)


def loss_of(step: Step, result: Any, targets: Any) -> torch.Tensor:
    """The loss as a scalar tensor that depends on a trained parameter."""
    loss: Any = result
    if step.loss is not None:
        loss = step.loss(result, *targets)
    elif isinstance(result, Mapping):
        loss = result.get("loss")
    elif hasattr(result, "loss"):
        loss = result.loss
    if not isinstance(loss, torch.Tensor):
        raise CaptureError(
            "expects a tensor as the loss, got "
            f"{type(loss).__name__}; give a loss function, or let the model "
            "return its loss"
        )
    if is_distributed(loss):
        loss = loss.full_tensor()
    if loss.numel() != 1:
        raise CaptureError(
            f"expects a loss with one element, got shape {list(loss.shape)}"
        )
    if loss.is_complex():
        raise CaptureError(
            "expects a real loss, got one of type "
            f"{str(loss.dtype).removeprefix('torch.')}"
        )
    if not loss.requires_grad:
        raise CaptureError("the loss depends on no parameter that is trained")
    return loss if loss.dim() == 0 else loss.reshape(())


def _state_names(model: torch.nn.Module) -> set[str]:
    """Names that inputs of the step cannot have."""
    return {
        clean(name)
        for named in (model.named_parameters, model.named_buffers)
        for name, _ in named(remove_duplicate=False)
    }


def _positional(function: Callable[..., Any] | None, count: int) -> list[str]:
    """Names of the first ``count`` positional parameters of ``function``."""
    names: list[str] = []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for parameter in parameters:
        if parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(parameter.name)
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]
