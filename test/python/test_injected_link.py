"""`--comm` with a link that is injected: slower, and the same bits.

Times are asserted from below only: what the link takes is certain, what the
machine adds is not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from regather_tools import ROOT, run_tool

STEP = ROOT / "examples" / "mlp-fsdp.mlir"
LATENCY = 0.004
BANDWIDTH = 1e6
LINK = f"--comm=threads,latency={LATENCY * 1e3:g}ms,bandwidth=1MB/s"
INPUTS = ("--random-inputs=1", "--steps=2")


def run(tool: str, *arguments: str | Path) -> dict[str, Any]:
    result = run_tool(tool, *arguments, *INPUTS, "--json")
    assert result.code == 0, result.last_words
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("link") / "step.rgb"
    result = run_tool("regather", "compile", STEP, "-o", path)
    assert result.code == 0, result.last_words
    return path


def check_times(report: dict[str, Any]) -> None:
    # All collectives of the step are of one group, so they follow each other.
    least = (report["collective_count"] * LATENCY
             + report["collective_bytes"] / BANDWIDTH)
    assert report["seconds_per_step"] >= least
    exposed = report["exposed_seconds_by_rank"]
    assert len(exposed) == report["ranks"]
    assert report["exposed_seconds_per_step"] == max(exposed)
    assert min(exposed) > 0
    # Medians of the same two steps.
    assert max(exposed) <= report["seconds_per_step"]


def test_steps_take_as_long_as_the_link(tmp_path: Path) -> None:
    plain, slow = tmp_path / "plain", tmp_path / "slow"
    fast = run("regather", "run", STEP, f"--outputs={plain}")
    report = run("regather", "run", STEP, LINK, f"--outputs={slow}")
    assert report["collective_count"] > 1
    check_times(report)
    assert report["losses"] == fast["losses"]
    assert plain.read_bytes() == slow.read_bytes()


@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_schedules_keep_the_bits(mode: str, tmp_path: Path) -> None:
    """Communication that goes on while ranks compute changes nothing."""
    scheduled = tmp_path / "step.mlir"
    result = run_tool("regather-opt", STEP, f"--tg-schedule=mode={mode}",
                      "-o", scheduled)
    assert result.code == 0, result.last_words
    outputs = tmp_path / "plain", tmp_path / "scheduled"
    run("regather", "run", STEP, f"--outputs={outputs[0]}")
    check_times(run("regather", "run", scheduled, LINK,
                    f"--outputs={outputs[1]}"))
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize("command", [("regather", "run"), ("regather-run",)])
def test_bundles_take_the_flag(command: tuple[str, ...], bundle: Path) -> None:
    fast = run(*command, bundle)
    report = run(*command, bundle, LINK)
    check_times(report)
    assert report["losses"] == fast["losses"]


@pytest.mark.parametrize("arguments, message", [
    (("--comm=mpi",), '--comm expects threads, with latency=SECONDS or '
                      'bandwidth=BYTES_PER_SECOND behind commas, got "mpi"'),
    (("--comm=threads,latency=5",
      "--engine=interpreter"), "--comm needs the cpu engine")])
def test_bad_flags_are_errors(arguments: tuple[str, ...],
                              message: str) -> None:
    result = run_tool("regather", "run", STEP, *INPUTS, *arguments)
    assert result.code == 1
    assert message in result.stderr
