"""What `torch.compile` takes as options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regather.torch.overlap import OverlapPass
from regather.torch.partitioner import Partitioner
from regather.torch.plan import PlanLike, read_plan
from regather.torch.private import inductor_config


def choose_passes(*, mode: str | None, budget: int | str | None,
                  policy: str | None, reshard: str | None,
                  record: str | Path | None, cluster: str, bucket: str | None,
                  schedule: bool | str,
                  memory_limit: int | str | None, plan: PlanLike | None
                  ) -> tuple[Partitioner, OverlapPass | None]:
    """The passes that these ask for; see `options`."""
    text = schedule if isinstance(schedule, str) else None
    decided = read_plan(plan, policy=policy, reshard=reshard, bucket=bucket,
                        schedule=text)
    overlaps = (schedule is True or decided.bucket is not None
                or decided.schedule is not None)
    if memory_limit is not None and not overlaps:
        raise ValueError("a memory limit is for schedule=True")
    partitioner = Partitioner(mode=mode, budget=budget, policy=policy,
                              reshard=reshard, record=record, cluster=cluster,
                              plan=plan)
    return partitioner, OverlapPass(
        cluster=cluster, memory_limit=memory_limit, bucket=bucket,
        schedule=text, plan=plan) if overlaps else None


def options(*, mode: str | None = None, budget: int | str | None = None,
            policy: str | None = None, reshard: str | None = None,
            record: str | Path | None = None, cluster: str = "h100-nodes",
            bucket: str | None = None, schedule: bool | str = False,
            memory_limit: int | str | None = None, plan: PlanLike | None = None
            ) -> dict[str, Any]:
    """Options of `torch.compile` with which our passes run inside of Inductor,
    for the backward graph as well, which is compiled later.

    With `schedule` or `bucket`, or a plan that decides about either, both graphs
    go through `OverlapPass`, whose arguments `bucket`, `schedule` and
    `memory_limit` are; the other arguments are those of `Partitioner`.
    """
    partitioner, overlap = choose_passes(
        mode=mode, budget=budget, policy=policy, reshard=reshard,
        record=record, cluster=cluster, bucket=bucket, schedule=schedule,
        memory_limit=memory_limit, plan=plan)
    chosen: dict[str, Any] = {"custom_partitioner_fn": partitioner}
    if overlap is not None:
        chosen["post_grad_custom_post_pass"] = [overlap]
        # These would change the order again; the second is of 2.14.
        chosen["reorder_for_peak_memory"] = False
        if hasattr(inductor_config.aten_distributed_optimizations,
                   "enable_simple_overlap"):
            chosen["aten_distributed_optimizations.enable_simple_overlap"] = (
                False)
    return chosen
