"""Jobs of one process for each rank, as torchrun would start them."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

import libraries
import processes
from case import Run, Skipped
from checks import Wrong


def expect_ranks(run: Run, case: dict[str, Any]) -> None:
    devices = len(run.machine["devices"])
    if devices < case["ranks"]:
        raise Skipped(f"needs {case['ranks']} GPUs, there "
                      + ("is 1" if devices == 1 else f"are {devices}"))
    nccl = run.libraries["NCCL"]
    if nccl.path is None:
        raise Skipped("there is no NCCL that can be used")
    oldest = tuple(map(int, case.get("nccl", "0").split(".")))
    if nccl.version < oldest:
        raise Skipped(f"needs NCCL {case['nccl']}, there is "
                      f"{libraries.dotted(nccl.version)}")


def get_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def log_of(run: Run, case: dict[str, Any], rank: int) -> Path:
    suffix = f"-rank-{rank}" if case["ranks"] > 1 else ""
    return run.logs / f"{case['name']}{suffix}"


def start_job(run: Run, case: dict[str, Any]) -> list[Popen]:
    name, ranks, port = case["name"], case["ranks"], get_free_port()
    environment = run.environment(case) | {
        "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "REGATHER_COLLECTIVE_LOG": str(run.logs / f"{name}-collectives-"),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_FILE": str(run.logs / f"{name}-nccl-%p.log")}
    if run.stand_in:
        folder = run.work / f"{name}-nccl"
        folder.mkdir()
        environment["REGATHER_STAND_IN_NCCL_FOLDER"] = str(folder)
    command = [str(run.runner), run.unpack(case["bundle"]), *case["flags"],
               f"--steps={run.steps(case)}", "--quiet"]
    if case["kind"] == "job":
        command.append(f"--outputs={run.work / name}.safetensors")
    started = []
    for rank in range(ranks):
        # Rank 0 speaks for all.
        report = [f"--report={run.work / name}.json"] if rank == 0 else []
        started.append(processes.start(
            command + report, log_of(run, case, rank),
            {**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            run.cases))
    return started


def wait_for_all(run: Run, case: dict[str, Any], started: list[Popen],
                 deadline: float) -> list[processes.Ended]:
    begin = time.monotonic()
    try:
        return [processes.wait(process, log_of(run, case, rank), begin,
                               deadline)
                for rank, process in enumerate(started)]
    finally:
        for process in started:
            processes.kill(process)


def run_job(run: Run, case: dict[str, Any]) -> list[processes.Ended]:
    """How the ranks ended; those that failed by themselves before those that
    waited for them."""
    ended = wait_for_all(run, case, start_job(run, case), run.deadline(case))
    return sorted(ended, key=lambda one: (one.code in (None, 0), one.seconds))


def kill_one(run: Run, case: dict[str, Any]) -> float:
    """Kills the last rank in the middle of training; the seconds until all have
    ended, with an error."""
    started = start_job(run, case)
    deadline = run.deadline(case)
    begin = time.monotonic()
    first = Path(f"{log_of(run, case, 0)}.log")
    try:
        while "loss" not in first.read_text(errors="replace"):
            if time.monotonic() - begin > deadline / 2:
                raise Wrong("the job makes no steps")
            if any(process.poll() is not None for process in started):
                raise Wrong("the job has ended by itself")
            time.sleep(0.05)
        started[-1].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        left = begin + deadline - killed
    except BaseException:
        for process in started:
            processes.kill(process)
        raise
    for rank, one in enumerate(wait_for_all(run, case, started[:-1], left)):
        if one.code is None:
            raise Wrong(f"rank {rank} has not ended {left:.0f} seconds after "
                        "another one was killed")
        if one.code == 0:
            raise Wrong(f"rank {rank} has ended as if all were well")
    return time.monotonic() - killed
