"""Values of parameters of models on the meta device."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import torch

from regather.fx.private import children_of
from regather.library.errors import RegatherError


def initialize(model: torch.nn.Module,
               seed: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and values of all parameters and buffers on the meta device.

    Modules are made real one after the other, in the order of registration,
    and initialised by their `reset_parameters`. All ranks draw the same numbers
    from `seed`, so that a model starts alike on any number of them, and a rank
    holds no more than one module at a time beside its shards.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for path, module in model.named_modules():
            own = [*module.named_parameters(path, recurse=False),
                   *module.named_buffers(path, recurse=False)]
            if not any(tensor.is_meta for _, tensor in own):
                continue
            table = children_of(module)
            children = dict(table)
            table.clear()
            try:
                real = copy.deepcopy(module)
            finally:
                table.update(children)
            real.to_empty(device="cpu", recurse=False)
            values = [*real.named_parameters(path, recurse=False),
                      *real.named_buffers(path, recurse=False)]
            with torch.no_grad():
                for _, tensor in values:
                    if tensor.is_floating_point():
                        tensor.fill_(math.nan)
            reset = getattr(real, "reset_parameters", None)
            if reset is None:
                raise RegatherError(
                    f"module '{path}' ({type(module).__name__}) is on the meta "
                    "device and has no reset_parameters")
            reset()
            values = [*real.named_parameters(path, recurse=False),
                      *real.named_buffers(path, recurse=False)]
            unset = [name for name, tensor in values
                     if tensor.isnan().any()]
            if unset:
                raise RegatherError(
                    f"reset_parameters of module '{path}' "
                    f"({type(module).__name__}) does not set "
                    + ", ".join(unset))
            yield from values
