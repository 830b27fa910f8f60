"""Wrappers that PyTorch puts around a model.

Those that run the same step on several devices are taken off: what they do is
what ``--mesh`` and the passes do. Those that own the parameters are refused.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from regather.fx import private
from regather.fx.errors import CaptureError, at
from regather.fx.source import definition_line
from regather.fx.state import clean

_REPLICATES = {
    "DistributedDataParallel": "torch.nn.parallel",
    "DataParallel": "torch.nn.parallel",
}
_SHARDS = {
    "FSDPModule": ("fully_shard", "torch.distributed.fsdp"),
    "FullyShardedDataParallel": (
        "FullyShardedDataParallel", "torch.distributed.fsdp"
    ),
}


def unwrap(model: nn.Module) -> tuple[nn.Module, list[str]]:
    """The model itself, and what to tell the user about what was taken off.

    Raises CaptureError for wrappers that cannot be taken off.
    """
    notes: list[str] = []
    while True:
        name = _replicating(model)
        if name is not None:
            _check_hooks(model, name)
            notes.append(
                f"{name} is taken off: 'regather run --mesh=dp:{_ranks(model)}' runs "
                "the step of as many ranks (with '--replicate-axis' as copies)"
            )
            model = model.module
        else:
            inside = private.compiled_module(model)
            if inside is None:
                break
            model = inside
    for path, module in model.named_modules():
        _check(clean(path), module)
    return model, notes


def _class(name: str, module: str) -> Any:
    """A class of PyTorch if its module was imported, else no class at all.

    What was not imported wraps nothing.
    """
    return getattr(sys.modules.get(module), name, ())


def _replicating(module: nn.Module) -> str | None:
    for name, place in _REPLICATES.items():
        if isinstance(module, _class(name, place)):
            return name
    return None


def _ranks(module: nn.Module) -> int:
    group = getattr(module, "process_group", None)
    if group is not None:
        return group.size()
    return max(1, len(getattr(module, "device_ids", ())))


def _check_hooks(module: nn.Module, name: str) -> None:
    hooks = private.communication_hooks(module)
    if hooks:
        raise CaptureError(
            at(
                f"{name} has a communication hook, which no graph can hold",
                definition_line(hooks[0]),
            )
        )


def _check(path: str, module: nn.Module) -> None:
    where = f"module '{path}'" if path else "the model"
    for name, (function, place) in _SHARDS.items():
        if isinstance(module, _class(name, place)):
            raise CaptureError(
                f"{where} is sharded by '{function}', whose hooks no graph can "
                "hold; expects the model before that: '--mesh=dp:N' shards it in "
                "the same way"
            )
    name = _replicating(module)
    if name is not None:
        raise CaptureError(
            f"{where} is wrapped in {name}; expects that around the whole model "
            "or not at all"
        )
    for state in private.composable_states(module):
        if state != "checkpoint":
            raise CaptureError(
                f"{where} is wrapped by '{state}', whose hooks no graph can hold; "
                "expects the model before that"
            )


@contextlib.contextmanager
def without_compilers() -> Iterator[None]:
    """Runs what ``torch.compile`` wraps as it was written."""
    # What was never imported has compiled nothing.
    if not private.can_compile():
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
