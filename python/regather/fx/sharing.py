"""Parameters and buffers that share memory without being one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regather.fx.errors import CaptureError
from regather.fx.state import Tensor


def check(tensors: Sequence[Tensor], updated: set[str]) -> None:
    """Raises CaptureError if a step writes into one tensor and so into another.

    ``updated`` are the names of those that are trained or written into. Takes
    time for the storages alone in which one tensor begins before another ends.
    """
    by_storage: dict[int, list[Tensor]] = {}
    for tensor in tensors:
        value = tensor.value
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            continue
        if value.layout == torch.strided and value.numel() and value.data_ptr():
            key = value.untyped_storage().data_ptr()
            by_storage.setdefault(key, []).append(tensor)
    for group in by_storage.values():
        if _may_overlap(group) and any(one.name in updated for one in group):
            _check_elements(group, updated)


def _may_overlap(group: list[Tensor]) -> bool:
    ends = 0
    for tensor in sorted(group, key=lambda one: one.value.data_ptr()):
        value = tensor.value
        if value.data_ptr() < ends:
            return True
        last = sum((n - 1) * step for n, step in zip(value.shape, value.stride()))
        ends = value.data_ptr() + (last + 1) * value.element_size()
    return False


def _check_elements(group: list[Tensor], updated: set[str]) -> None:
    owners = torch.zeros(
        len(group[0].value.untyped_storage()), dtype=torch.int32, device="cpu"
    )
    for number, tensor in enumerate(group, 1):
        # The first byte of each element, once of what is repeated.
        value, size = tensor.value, tensor.value.element_size()
        part = owners.as_strided(
            [n if step else 1 for n, step in zip(value.shape, value.stride())],
            [size * step for step in value.stride()],
            size * value.storage_offset(),
        )
        for other in part.unique().tolist():
            pair = (group[other - 1], tensor)
            if other and any(one.name in updated for one in pair):
                first, second = (
                    f"{'parameter' if one.parameter else 'buffer'} '{one.name}'"
                    for one in pair
                )
                raise CaptureError(
                    f"{first} and {second} share memory, so that a step that "
                    "updates one changes the other; expects one tensor under "
                    "two names, or copies"
                )
        part.fill_(number)
