"""Parameters and buffers of a model: who they are, and standing in for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn

from regather.fx import private


def clean(path: str) -> str:
    """Module or parameter path without the names of PyTorch's wrappers."""
    return ".".join(part for part in path.split(".") 
                    if part not in private.WRAPPERS)


def module_paths(model: nn.Module) -> dict[int, str]:
    """First path of each submodule by identity; the model itself is ''."""
    return {id(m): clean(name) for name, m in model.named_modules()}


@dataclass
class Tensor:
    """A parameter or a buffer, with every place that holds it."""

    name: str
    module: str
    value: torch.Tensor
    parameter: bool
    registration: int
    requires_grad: bool
    aliases: list[str] = field(default_factory=list)
    slots: list[tuple[dict[str, torch.Tensor | None], str]] = field(
        default_factory=list
    )


def collect(model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """Parameters and buffers in registration order, tied ones once.

    A tensor is tied to another when it is the same object.
    """
    seen: dict[int, Tensor] = {}
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    for path, module in model.named_modules():
        for kind, slots in enumerate(
            (private.parameters_of(module), private.buffers_of(module))
        ):
            for key, value in slots.items():
                if value is None:
                    continue
                name = clean(f"{path}.{key}" if path else key)
                known = seen.get(id(value))
                if known is None:
                    known = Tensor(
                        name=name,
                        module=clean(path),
                        value=value,
                        parameter=kind == 0,
                        registration=len(found[kind]),
                        requires_grad=kind == 0 and value.requires_grad,
                    )
                    seen[id(value)] = known
                    found[kind].append(known)
                else:
                    known.aliases.append(name)
                known.slots.append((slots, key))
    return found


@contextlib.contextmanager
def replaced(
    tensors: Sequence[Tensor], values: Sequence[torch.Tensor]
) -> Iterator[None]:
    """Puts ``values`` where the model holds ``tensors``, for a while."""
    try:
        for tensor, value in zip(tensors, values):
            for slots, key in tensor.slots:
                slots[key] = value
        yield
    finally:
        for tensor in tensors:
            for slots, key in tensor.slots:
                slots[key] = tensor.value


def current(tensor: Tensor) -> torch.Tensor | None:
    """What the model holds now in the first place of ``tensor``."""
    slots, key = tensor.slots[0]
    return slots.get(key)
