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
    inputs = [flag for flag in INPUTS
              if not any(str(a).startswith(flag.split("=")[0])
                         for a in arguments)]
    result = run_tool(tool, *arguments, *inputs, "--json")
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
    (("--comm=ucx",), '--comm expects threads, with latency=SECONDS, '
                      'bandwidth=BYTES_PER_SECOND or '
                      'host-bandwidth=BYTES_PER_SECOND behind commas, mpi or '
                      'nccl, got "ucx"'),
    (("--comm=nccl",), "--comm=nccl needs a bundle for GPUs"),
    (("--comm=threads,latency=5",
      "--engine=interpreter"), "--comm needs the cpu engine")])
def test_bad_flags_are_errors(arguments: tuple[str, ...],
                              message: str) -> None:
    result = run_tool("regather", "run", STEP, *INPUTS, *arguments)
    assert result.code == 1
    assert message in result.stderr


@pytest.mark.parametrize("tool", ["regather", "regather-run"])
def test_traces_show_what_ranks_wait_for(tool: str, bundle: Path,
                                         tmp_path: Path) -> None:
    """The last step: every collective takes at least the latency, and the
    waits of a rank are those that its report counts."""
    path = tmp_path / "trace.json"
    command = (tool, "run") if tool == "regather" else (tool,)
    report = run(*command, bundle, LINK, "--steps=1", f"--trace={path}")
    events = json.loads(path.read_text())["traceEvents"]
    for rank in range(report["ranks"]):
        spans = [e for e in events if e["pid"] == rank and e["ph"] == "X"]
        transfers = [e for e in spans if e["cat"] == "communication"]
        assert len(transfers) == report["collective_count"]
        # Microseconds.
        assert min(e["dur"] for e in transfers) >= LATENCY * 1e6
        assert all(e["name"].startswith("tg.") for e in transfers)
        waits = sum(e["dur"] for e in spans if e["cat"] == "exposed") / 1e6
        assert waits >= report["exposed_seconds_by_rank"][rank]
        assert {e["tid"] for e in spans if e["cat"] == "computation"} == {0}
        assert max(e["ts"] + e["dur"] for e in spans) <= (
            report["seconds_per_step"] * 1e6)


def test_the_interpreter_has_no_trace(tmp_path: Path) -> None:
    result = run_tool("regather", "run", STEP, "--engine=interpreter",
                      f"--trace={tmp_path / 'trace.json'}", *INPUTS)
    assert result.code == 1
    assert "--trace needs the cpu engine" in result.last_words
