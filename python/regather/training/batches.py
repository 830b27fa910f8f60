"""What a step is called with: batches, and micro-batches of them."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from regather.fx.private import pytree
from regather.fx.step import Step
from regather.library.errors import RegatherError


class BatchForm:
    """What batches of a step look like: names, and all that is no tensor, are
    those of the example."""

    def __init__(self, step: Step) -> None:
        names, values, _ = step.batch()
        self._names = names
        # A program was compiled for what is no tensor.
        self._constants = [(i, value) for i, value in enumerate(values)
                           if not isinstance(value, torch.Tensor)]
        numbers = itertools.count()
        self._has_names = isinstance(step.inputs, Mapping)
        self._inputs = _number(dict(step.inputs) if self._has_names
                               else tuple(step.inputs), numbers)
        self._targets = _number(tuple(step.targets), numbers)
        self._has_targets = step.loss is not None

    def list_leaves(self, batch: Any) -> list[Any]:
        """The leaves of a batch, in the order of `Step.batch`. With targets it
        is a pair of inputs and targets. Raises `RegatherError` if its parts are
        not those of the example, or what is no tensor is not the same."""
        inputs, targets = batch, ()
        if self._has_targets:
            if not isinstance(batch, tuple | list) or len(batch) != 2:
                raise RegatherError("expects a batch of inputs and targets, got "
                                    f"{type(batch).__name__}")
            inputs, targets = batch
        leaves: list[Any] = [None] * len(self._names)
        if self._has_names:
            if not isinstance(inputs, Mapping):
                raise RegatherError("expects inputs by name, as in the example, "
                                    f"got {type(inputs).__name__}")
            self._read("inputs", self._inputs, dict(inputs), leaves)
        else:
            self._read("inputs", self._inputs, _as_tuple("inputs", inputs),
                       leaves)
        self._read("targets", self._targets, _as_tuple("targets", targets),
                   leaves)
        for i, value in self._constants:
            if not _is_same(leaves[i], value):
                raise RegatherError(
                    f"input '{self._names[i]}': expects {_describe(value)}, as "
                    f"the step was compiled for, got {_describe(leaves[i])}")
        return leaves

    def _read(self, name: str, form: Any, given: Any, leaves: list[Any]) -> None:
        """Puts the leaves of `given` to the numbers that `form` has for them."""
        kind = type(form)
        if kind is int:
            leaves[form] = given
        elif isinstance(form, dict):
            if not isinstance(given, Mapping) or form.keys() != given.keys():
                raise RegatherError(
                    f"{name}: expects the names {', '.join(map(str, form))}, as "
                    "in the example, got " + (
                        ", ".join(map(str, given)) or "none"
                        if isinstance(given, Mapping) else type(given).__name__))
            for key, part in form.items():
                self._read(f"{name}[{key!r}]", part, given[key], leaves)
        elif kind is list or kind is tuple:
            if not isinstance(given, tuple | list) or len(given) != len(form):
                raise RegatherError(
                    f"{name}: expects {len(form)} parts, as in the example, got "
                    + (str(len(given)) if isinstance(given, tuple | list)
                       else type(given).__name__))
            for number, (part, value) in enumerate(zip(form, given)):
                self._read(f"{name}[{number}]", part, value, leaves)
        else:
            values, spec = pytree.tree_flatten(given)
            if spec != form.spec:
                raise RegatherError(f"{name}: expects a {form.kind} as in the "
                                    f"example, got a {type(given).__name__}")
            for number, value in zip(form.numbers, values):
                leaves[number] = value


@dataclass(frozen=True)
class _Container:
    """The numbers of the leaves of a container of another kind."""

    kind: str
    spec: Any
    numbers: list[int]


def _number(tree: Any, numbers: Iterator[int]) -> Any:
    """A batch with numbers in place of its leaves, in the order of them."""
    kind = type(tree)
    if kind in (dict, OrderedDict, defaultdict):
        return {key: _number(part, numbers) for key, part in tree.items()}
    if kind is list or kind is tuple:
        return kind(_number(part, numbers) for part in tree)
    leaves, spec = pytree.tree_flatten(tree)
    if len(leaves) == 1 and leaves[0] is tree:
        return next(numbers)
    return _Container(kind.__name__, spec, [next(numbers) for _ in leaves])


def _as_tuple(name: str, parts: Any) -> tuple[Any, ...]:
    if isinstance(parts, torch.Tensor):
        return (parts,)
    if not isinstance(parts, Sequence):
        raise RegatherError(f"{name}: expects a tensor, or several in a tuple, "
                            f"as in the example, got {type(parts).__name__}")
    return tuple(parts)


def _is_same(given: Any, expected: Any) -> bool:
    return given is expected or (
        type(given) is type(expected)
        and isinstance(given, _COMPARED) and given == expected)


_COMPARED = (bool, int, float, complex, str, bytes, torch.dtype, torch.device)


def _describe(value: Any) -> str:
    return (repr(value) if value is None or isinstance(value, _COMPARED)
            else f"another {type(value).__name__}"
            if not isinstance(value, torch.Tensor) else "a tensor")


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


__all__ = ["BatchForm", "first_micro_batch", "join_batches"]
