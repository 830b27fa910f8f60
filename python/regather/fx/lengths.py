"""Lengths of samples as tensors.

On fake tensors the mean of ``ctc_loss`` fails for lengths that are numbers,
because PyTorch makes a tensor of them in C++ and writes to its memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_PUBLIC = torch.nn.functional.ctc_loss


class LengthsAsTensors(TorchFunctionMode):
    """Makes tensors of the lengths in calls of ``ctc_loss`` while it is active."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is _PUBLIC:
            return _ctc_loss(*args, **kwargs)
        return func(*args, **kwargs)


def _ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    *others: Any,
    **named: Any,
) -> torch.Tensor:
    lengths = [value if isinstance(value, torch.Tensor)
               else torch.tensor(value, dtype=torch.int64, device=log_probs.device)
               for value in (input_lengths, target_lengths)]
    return _PUBLIC(log_probs, targets, *lengths, *others, **named)
