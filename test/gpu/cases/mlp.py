"""A perceptron and its FSDP twin on four ranks that share the device."""

from __future__ import annotations

from pathlib import Path

from cases.builder import Cases

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FLAGS = ["--random-inputs=1"]


def add_cases(cases: Cases) -> None:
    for name in ("mlp", "mlp-fsdp"):
        step = EXAMPLES / f"{name}.mlir"
        losses = cases.record(step, name, 20, *FLAGS)
        cases.add(name, cases.compile(step, name), [*FLAGS, "--check-plan"],
                  check=cases.reaches(losses, 1e-5), stand_in_steps=4)
        cases.add_graphs(step, name, FLAGS, {"unit": "unit", "full": "full"},
                         stand_in_steps=4)
    # A job of one process.
    cases.add("mlp-nccl", "mlp.rgb", [*FLAGS, "--comm=nccl"], kind="job",
              ranks=1, check=cases.reaches("mlp.losses.json", 1e-5),
              stand_in_steps=4)
    for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
        cases.add(f"compute-sanitizer-{tool}", "mlp.rgb", FLAGS,
                  kind="sanitizer", tool=tool, stand_in_steps=0)
