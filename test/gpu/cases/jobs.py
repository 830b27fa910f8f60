"""Jobs of one process for each GPU, by NCCL: losses, sums in rank order, graphs,
windows and copy engines, and what happens when a rank is killed."""

from __future__ import annotations

from pathlib import Path

from cases.builder import Cases

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "mlp-fsdp.mlir"
FLAGS = ["--random-inputs=1"]
# The example is written for four ranks.
RANKS = 4
# The oldest version whose windows and copy engines are used.
WINDOWS = "2.30.7"


def add_cases(cases: Cases) -> None:
    losses = cases.record(EXAMPLE, "fsdp", 20, *FLAGS)
    eager = cases.compile(EXAMPLE, "fsdp")
    full = cases.compile(EXAMPLE, "fsdp-full", "--cuda-graph=full")
    reaches = cases.reaches(losses, 1e-5)
    cases.add("shared-device", eager, FLAGS, check=reaches, stand_in_steps=4)

    def add_job(name: str, bundle: str, comm: str, check: dict,
                **fields: object) -> None:
        cases.add(name, bundle, [*FLAGS, f"--comm={comm}"], kind="job",
                  ranks=RANKS, check=check, stand_in_steps=4, **fields)

    add_job("job", eager, "nccl", reaches)
    add_job("job-full", full, "nccl", reaches)
    add_job("job-reproducible", eager, "nccl,reproducible",
            cases.same("shared-device"))
    add_job("job-windows", eager, "nccl", reaches, nccl=WINDOWS)
    for name, bundle in (("kill", eager), ("kill-full", full)):
        cases.add(name, bundle, [*FLAGS, "--comm=nccl", "--timeout=5"],
                  kind="kill", ranks=RANKS, steps=1000000000,
                  stand_in_steps=1000000000, deadline=90)
