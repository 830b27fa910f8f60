"""How each kind of case is run: a function that gives figures, or raises."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import Any

import checks
import jobs
import torch_cases
from case import Run, Skipped
from processes import Ended, run as run_process

# What a step says if a library is not there, or if it does not fit.
MISSING = re.compile(r"cannot open (the CUDA driver|cuBLASLt|cuDNN|NCCL)")
TOO_LARGE = re.compile(r"the step needs .* bytes are free")
# What cuDNN of this version or on this device is not asked for, and why.
DECLINES = re.compile(r"but it does not compute\n.*\): (.*)")


def expect_success(run: Run, case: dict[str, Any], ended: Ended) -> None:
    if ended.code is None:
        raise checks.Wrong(f"not done after {run.deadline(case):.0f} seconds")
    if ended.code == 0:
        return
    message = (ended.stderr.strip().splitlines() or ["no message"])[0]
    if missing := MISSING.search(ended.stderr):
        name = missing[1].removeprefix("the ")
        if run.libraries[name].path is None:
            raise Skipped(f"there is no {name} that can be used")
    if TOO_LARGE.search(ended.stderr):
        raise Skipped(message)
    if declines := DECLINES.search(ended.stderr):
        raise Skipped(f"cuDNN is not used: {declines[1]}")
    raise checks.Wrong(f"exit code {ended.code}: {message}")


def expect_device(run: Run) -> None:
    if error := run.machine.get("error"):
        raise Skipped(error)
    if not run.machine["devices"]:
        raise Skipped("the driver shows no device")


def figures_of(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    told = json.loads((run.work / f"{case['name']}.json").read_text())
    names = {"seconds_per_step": "step", "device_seconds_per_step": "on device",
             "peak_bytes_per_rank": "peak bytes"}
    return {short: told[name] for name, short in names.items()
            if name in told}


def run_bundle(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    """One process, with all ranks."""
    expect_device(run)
    name = case["name"]
    if (how := case.get("check")) and "case" in how:
        checks.get_other(run, how["case"])
    command = [str(run.runner), run.unpack(case["bundle"]), *case["flags"], "--quiet",
               f"--steps={run.steps(case)}",
               f"--report={run.work / name}.json"]
    if case.get("outputs", True):
        command.append(f"--outputs={run.work / name}.safetensors")
    ended = run_process(command, run.logs / name, run.environment(case),
                        run.cases, run.deadline(case))
    expect_success(run, case, ended)
    return {**checks.check(run, case), **figures_of(run, case)}


def find_sanitizer() -> str | None:
    folders = [os.environ.get("PATH", "")] + [
        f"{home}/{folder}" for home in (os.environ.get("CUDA_HOME"),
                                        os.environ.get("CUDA_PATH"),
                                        "/usr/local/cuda")
        for folder in ("bin", "compute-sanitizer") if home]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


# What the tool says if it cannot watch here, whatever the program does.
REFUSES = re.compile(r"(Device not supported|Unable to find|not permitted|"
                     r"Failed to initialize|Error: No attachable process|"
                     r"Internal Sanitizer Error).*")


def run_sanitizer(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    """One step under NVIDIA's checker of memory and races."""
    expect_device(run)
    sanitizer = find_sanitizer()
    if sanitizer is None:
        raise Skipped("there is no compute-sanitizer")
    found = 9
    ended = run_process(
        [sanitizer, "--tool", case["tool"], "--error-exitcode", str(found),
         str(run.runner), run.unpack(case["bundle"]), *case["flags"], "--quiet",
         "--steps=1"], run.logs / case["name"], run.environment(case),
        run.cases, run.deadline(case))
    text = ended.stdout + ended.stderr
    if ended.code != 0 and (refuses := REFUSES.search(text)):
        raise Skipped(f"compute-sanitizer refuses: {refuses[0]}")
    if ended.code == found:
        summary = re.search(r"ERROR SUMMARY.*", text)
        raise checks.Wrong(summary[0] if summary else "it found errors")
    expect_success(run, case, ended)
    return {}


def run_job(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    expect_device(run)
    jobs.expect_ranks(run, case)
    for ended in jobs.run_job(run, case):
        expect_success(run, case, ended)
    return {**checks.check(run, case), **figures_of(run, case)}


def run_kill(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    expect_device(run)
    jobs.expect_ranks(run, case)
    return {"seconds until all ended": jobs.kill_one(run, case)}


def run_torch(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    expect_device(run)
    return torch_cases.compare(run, case)


def find_gaps(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    """What cases say about each other: the same step, launched in other ways."""
    eager, graph = (run.results[checks.get_other(run, name)].figures
                    for name in case["of"])
    return {"saved on device by a graph, time":
                eager["on device"] - graph["on device"],
            "host beyond device, time": eager["step"] - eager["on device"],
            "the same with a graph, time": graph["step"] - graph["on device"]}


KINDS = {"run": run_bundle, "sanitizer": run_sanitizer, "job": run_job,
         "kill": run_kill, "torch": run_torch, "gaps": find_gaps}
