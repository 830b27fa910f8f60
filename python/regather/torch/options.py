"""What `torch.compile` takes as options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regather.torch.overlap import OverlapPass
from regather.torch.partitioner import Partitioner
from regather.torch.private import inductor_config


def options(*, mode: str | None = None, budget: int | None = None,
            reshard: str = "never", record: str | Path | None = None,
            cluster: str = "h100-nodes", schedule: bool = False,
            memory_limit: int | None = None) -> dict[str, Any]:
    """Options of `torch.compile` with which our passes run inside of Inductor,
    for the backward graph as well, which is compiled later.

    With `schedule`, both graphs are ordered by `OverlapPass`, whose argument
    `memory_limit` is; the other arguments are those of `Partitioner`.
    """
    if memory_limit is not None and not schedule:
        raise ValueError("a memory limit is for schedule=True")
    chosen: dict[str, Any] = {"custom_partitioner_fn": Partitioner(
        mode=mode, budget=budget, reshard=reshard, record=record,
        cluster=cluster)}
    if schedule:
        chosen["post_grad_custom_post_pass"] = [
            OverlapPass(cluster=cluster, memory_limit=memory_limit)]
        # These would change the order again; the second is of 2.14.
        chosen["reorder_for_peak_memory"] = False
        if hasattr(inductor_config.aten_distributed_optimizations,
                   "enable_simple_overlap"):
            chosen["aten_distributed_optimizations.enable_simple_overlap"] = (
                False)
    return chosen
