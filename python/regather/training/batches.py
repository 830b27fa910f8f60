"""What a step is called with: batches, and micro-batches of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from regather.fx.private import pytree
from regather.fx.step import Step
from regather.library.errors import RegatherError


def list_leaves(batch: Any, has_targets: bool) -> list[Any]:
    """The leaves of a batch, in the order of `Step.batch`. With targets it is a
    pair of inputs and targets."""
    inputs, targets = batch, ()
    if has_targets:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise RegatherError("expects a batch of inputs and targets, got "
                                f"{type(batch).__name__}")
        inputs, targets = batch
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if isinstance(targets, torch.Tensor):
        targets = (targets,)
    args, kwargs = (((), dict(inputs)) if isinstance(inputs, Mapping)
                    else (tuple(inputs), {}))
    return pytree.tree_leaves((args, kwargs, tuple(targets)))


def first_micro_batch(step: Step, count: int) -> Step:
    """`step` on the first of `count` equal parts of its batch. The batch is
    dimension 0 of the first tensor; others that have as many rows are cut, too.
    Raises `RegatherError` if it cannot be cut."""
    if count == 1:
        return step

    def cut(name: str, value: torch.Tensor) -> torch.Tensor:
        rows = value.shape[0]
        if rows % count:
            raise RegatherError(f"input '{name}': expects a batch that can be "
                                f"cut into {count} micro-batches, got {rows} "
                                "rows")
        return value[:rows // count]

    return _map_rows(step, cut, f"to cut into {count} micro-batches")


def join_batches(step: Step, ranks: int) -> Step:
    """`step` on the batch of so many ranks, of which each has as many rows as
    `step`; only shapes and types of tensors mean anything. The batch is found
    as by `first_micro_batch`."""
    if ranks == 1:
        return step
    return _map_rows(step, lambda _, value: torch.cat([value] * ranks),
                     f"of which each of {ranks} ranks has rows")


def _map_rows(step: Step, change: Callable[[str, torch.Tensor], torch.Tensor],
              purpose: str) -> Step:
    """`step` with other rows in all tensors that have the batch."""
    names, values, rebuild = step.batch()
    rows = next((value.shape[0] for value in values
                 if isinstance(value, torch.Tensor) and value.dim()), None)
    if rows is None:
        raise RegatherError(f"expects a batch {purpose}, got no tensor with "
                            "rows")
    changed = [change(name, value)
               if isinstance(value, torch.Tensor) and value.dim()
               and value.shape[0] == rows else value
               for name, value in zip(names, values)]
    args, kwargs, targets = rebuild(changed)
    return replace(step, inputs=kwargs if kwargs else args, targets=targets)


__all__ = ["first_micro_batch", "join_batches", "list_leaves"]
