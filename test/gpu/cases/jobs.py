"""Jobs of one process for each GPU, by NCCL: losses, sums in rank order, graphs,
windows and copy engines, and what happens when a rank is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cases.builder import Cases

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FLAGS = ["--random-inputs=1"]
# The steps, and the options that make one of it for so many ranks.
STEPS = {2: ("mlp.mlir", ["--ranks=2"]), 4: ("mlp-fsdp.mlir", [])}
# The oldest version whose windows and copy engines are used.
WINDOWS = "2.30.7"


def add_ranks(cases: Cases, ranks: int) -> None:
    file, options = STEPS[ranks]
    step, name = EXAMPLES / file, f"job-{ranks}-ranks"
    losses = cases.record(step, name, 20, *FLAGS, *options)
    eager = cases.compile(step, name, *options)
    full = cases.compile(step, f"{name}-full", *options, "--cuda-graph=full")
    reaches = cases.reaches(losses, 1e-5)
    shared = f"shared-{ranks}-ranks"
    cases.add(shared, eager, FLAGS, check=reaches, stand_in_steps=4)

    def add_job(suffix: str, bundle: str, comm: str, check: dict[str, Any],
                **fields: Any) -> None:
        cases.add(name + suffix, bundle, [*FLAGS, f"--comm={comm}"], kind="job",
                  ranks=ranks, check=check, stand_in_steps=4, **fields)

    add_job("", eager, "nccl", reaches)
    add_job("-full", full, "nccl", reaches)
    add_job("-reproducible", eager, "nccl,reproducible", cases.same(shared))
    # Windows are used by themselves where NCCL has them.
    add_job("-windows", eager, "nccl", reaches, nccl=WINDOWS)
    for suffix, bundle in (("", eager), ("-full", full)):
        cases.add(f"kill-{ranks}-ranks{suffix}", bundle,
                  [*FLAGS, "--comm=nccl", "--timeout=5"], kind="kill",
                  ranks=ranks, steps=1000000000, deadline=60,
                  stand_in_steps=1000000000 if ranks == 2 else 0)


def add_llama(cases: Cases) -> None:
    """The debug Llama of `llama_text`, whose bundles these are."""
    for case in [case for case in cases.listed
                 if case["name"] in ("llama-2-ranks", "llama-4-ranks")]:
        for suffix, comm, check in (
                ("", "nccl", case["check"]),
                ("-reproducible", "nccl,reproducible",
                 cases.same(case["name"]))):
            cases.add(f"job-{case['name']}{suffix}", case["bundle"],
                      [*case["flags"], f"--comm={comm}"], kind="job",
                      ranks=int(case["name"].split("-")[1]), check=check)


def add_cases(cases: Cases) -> None:
    for ranks in STEPS:
        add_ranks(cases, ranks)
    add_llama(cases)
