"""What a step is called with: batches, and micro-batches of them."""

from __future__ import annotations

from collections.abc import Mapping
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
    names, values, rebuild = step.batch()
    tensors = [(name, value) for name, value in zip(names, values)
               if isinstance(value, torch.Tensor) and value.dim()]
    if not tensors:
        raise RegatherError(f"expects a batch to cut into {count} "
                            "micro-batches, got no tensor with rows")
    name, first = tensors[0]
    rows = first.shape[0]
    if rows % count:
        raise RegatherError(f"input '{name}': expects a batch that can be cut "
                            f"into {count} micro-batches, got {rows} rows")
    cut = [value[:rows // count]
           if isinstance(value, torch.Tensor) and value.dim()
           and value.shape[0] == rows else value for value in values]
    args, kwargs, targets = rebuild(cut)
    return replace(step, inputs=kwargs if kwargs else args, targets=targets)


__all__ = ["first_micro_batch", "list_leaves"]
