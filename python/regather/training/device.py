"""Where a step runs."""

from __future__ import annotations

import re

import torch

from regather.library.errors import RegatherError


def choose_device(device: str | torch.device | None,
                  model: torch.nn.Module) -> str:
    """`device` as the C interface calls it; by default, that of the parameters
    of the model, of which those on the meta device lie anywhere. Raises
    `RegatherError` for another kind of device, and for parameters on several."""
    found = {str(parameter.device): name
             for name, parameter in model.named_parameters()
             if not parameter.is_meta}
    if len(found) > 1:
        raise RegatherError("expects all parameters on one device, got " +
                            " and ".join(f"'{name}' on {place}"
                                         for place, name in found.items()))
    chosen = str(device) if device is not None else next(iter(found), "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", chosen):
        raise RegatherError("steps run on cpu, cuda and cuda:N, got device "
                            f"'{chosen}'")
    return chosen


__all__ = ["choose_device"]
