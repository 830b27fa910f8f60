"""The processes that run a step together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch.distributed as dist

from regather.library.errors import RegatherError
from regather.training.process_group import require_group


@dataclass(frozen=True)
class Job:
    """`group` is none where one process runs alone."""

    group: dist.ProcessGroup | None
    rank: int
    ranks: int


def join(axes: list[tuple[str, int]]) -> Job:
    """The job that this process belongs to: one rank for each of the mesh, or
    as many as there are if `axes` is empty. Raises `RegatherError` if there are
    other processes than the mesh has ranks."""
    wanted = math.prod(size for _, size in axes)
    is_job = wanted > 1 or (not axes and (
        (dist.is_available() and dist.is_initialized())
        or dist.is_torchelastic_launched()))
    if not is_job:
        return Job(None, 0, 1)
    group = require_group(wanted)
    ranks = dist.get_world_size(group)
    if axes and wanted != ranks:
        mesh = ",".join(f"{name}:{size}" for name, size in axes)
        raise RegatherError(f"expects {wanted} ranks for the mesh \"{mesh}\", "
                            f"got a process group of {ranks}")
    return Job(group, dist.get_rank(group), ranks)


__all__ = ["Job", "join"]
