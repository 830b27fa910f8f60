"""Runs cases of regather-fuzz with a fault, and finds out what each comes to
without one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).resolve().parents[1] / "fuzz" / "captures"
# Of the time of a processor that one case may take, in seconds.
LIMIT = 30
# What a fault may add to the time of a case before that counts as a hang.
SLOWER = 20
SHORTEST = 30


@dataclass
class Case:
    """A case without a fault."""

    number: int
    seconds: float
    # What the fuzzer finds, and why it does not look, both empty if all is well.
    kind: str
    invalid: str
    message: str = ""
    reached: list[str] = field(default_factory=list)

    @property
    def timeout(self) -> float:
        return max(SHORTEST, SLOWER * self.seconds)


def run_case(tool: Path, number: int, variables: dict[str, str],
             timeout: float) -> dict[str, Any]:
    """What regather-fuzz says of a case; a process that is late or broken is a
    find as well."""
    with subprocess.Popen(
            ["nice", "-n", "10", tool, "run", f"--first={number}",
             f"--captures={CAPTURES}", f"--seconds={LIMIT}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, text=True, start_new_session=True,
            env={**os.environ, **variables}) as process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"kind": "hang", "invalid": "",
                    "message": f"takes more than {timeout:.0f} seconds"}
    try:
        return json.loads(said)
    except json.JSONDecodeError:
        return {"kind": "crash", "invalid": "",
                "message": f"ended with status {process.returncode}"}


def run_sound(tool: Path, number: int) -> Case:
    """The case without a fault, with the faults that it comes to."""
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        begin = time.monotonic()
        said = run_case(tool, number, {"REGATHER_FAULT": "",
                                       "REGATHER_FAULTS_REACHED": str(reached)},
                        10 * LIMIT)
        seconds = time.monotonic() - begin
        names = set(reached.read_text().split()) if reached.exists() else set()
    return Case(number, round(seconds, 2), said["kind"], said["invalid"],
                said["message"], sorted(names))


def run_sound_cases(tool: Path, first: int, count: int, jobs: int, known: Path,
                    key: str) -> list[Case]:
    """The cases without a fault; those of an earlier run with the same key are
    read from `known`."""
    cases: dict[int, Case] = {}
    if known.exists():
        stored = json.loads(known.read_text())
        if stored["key"] == key:
            cases = {one["number"]: Case(**one) for one in stored["cases"]}
    numbers = range(first, first + count)
    missing = [number for number in numbers if number not in cases]
    with ThreadPoolExecutor(jobs) as pool:
        made = pool.map(lambda number: run_sound(tool, number), missing)
        for done, case in enumerate(made, 1):
            cases[case.number] = case
            if done % 50 == 0 or done == len(missing):
                known.write_text(json.dumps({
                    "key": key,
                    "cases": [asdict(one) for one in cases.values()]}))
                print(f"{done}/{len(missing)} cases without a fault",
                      flush=True)
    return [cases[number] for number in numbers]


def find_fault(tool: Path, name: str, cases: list[Case],
               tries: int) -> dict[str, Any]:
    """The first case that shows the fault, of at most `tries` that come to it:
    the shortest come first."""
    reached = sorted((case for case in cases if name in case.reached),
                     key=lambda case: (case.seconds, case.number))
    begin = time.monotonic()
    result: dict[str, Any] = {"outcome": "survived", "reached": len(reached),
                              "tried": min(tries, len(reached))}
    for count, case in enumerate(reached[:tries], 1):
        said = run_case(tool, case.number, {"REGATHER_FAULT": name},
                        case.timeout)
        # A busy machine takes its time, but hardly twice.
        if said["kind"] == "hang":
            said = run_case(tool, case.number, {"REGATHER_FAULT": name},
                            case.timeout)
        # A step that is refused as a whole, but was not before, is a find.
        kind = said["kind"] or ("refused" if said["invalid"] else "")
        if kind:
            result |= {"outcome": "caught", "tried": count,
                       "case": case.number, "kind": kind,
                       "message": (said["message"] or said["invalid"])[:300]}
            break
    return result | {"seconds": round(time.monotonic() - begin, 1)}
