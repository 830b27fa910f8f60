"""What `torch.compile` takes as options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regather.torch.partitioner import Partitioner


def options(*, mode: str | None = None, budget: int | None = None,
            reshard: str = "never", record: str | Path | None = None,
            cluster: str = "h100-nodes") -> dict[str, Any]:
    """Options of `torch.compile` with which our passes run inside of Inductor,
    for the backward graph as well, which is compiled later.

    The arguments are those of `Partitioner`.
    """
    return {"custom_partitioner_fn": Partitioner(
        mode=mode, budget=budget, reshard=reshard, record=record,
        cluster=cluster)}
