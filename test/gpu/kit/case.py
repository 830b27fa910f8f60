"""What a case is, and what all kinds of cases share.

A case in `cases.json` has

    name, section   of the report
    kind            a key of `kinds.KINDS`
    bundle, flags   what regather-run is given, in the folder of the cases
    steps           how many; `stand_in_steps` on stand-ins, 0 or none if the
                    case is not for them
    check           what its losses and results are compared with, see `checks`
    variables       added to the environment
    deadline        seconds after which it has failed
    outputs         false if its results are too large to be written
    algorithms      name of the file of algorithms that it shares with others
    ranks, nccl     of a job: processes, and the oldest version of NCCL

    tool            of compute-sanitizer
    of              the cases that are compared, eager and as a graph

Those of PyTorch have other fields: see torch_cases.py.
"""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEADLINE = 60


class Skipped(Exception):
    """Why a case cannot be run here."""


@dataclass
class Result:
    name: str
    section: str
    status: str = "failed"
    reason: str = ""
    seconds: float = 0
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    """One run of the kit. `end` is when the last case has to be done."""
    kit: Path
    output: Path
    stand_in: bool
    end: float
    environments: list[Any]
    libraries: dict[str, Any]
    machine: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def runner(self) -> Path:
        return self.kit / "bin" / "regather-run"

    @property
    def cases(self) -> Path:
        return self.kit / "cases"

    @property
    def logs(self) -> Path:
        return self.output / "logs"

    @property
    def work(self) -> Path:
        return self.output / "work"

    def unpack(self, bundle: str) -> str:
        """The path of a bundle, which travels compressed."""
        path = self.work / bundle
        if not path.exists():
            packed = self.cases / f"{bundle}.gz"
            path.write_bytes(gzip.decompress(packed.read_bytes()))
        return str(path)

    def seconds_left(self) -> float:
        return self.end - time.monotonic()

    def deadline(self, case: dict[str, Any]) -> float:
        return max(1, min(case.get("deadline", DEADLINE), self.seconds_left()))

    def steps(self, case: dict[str, Any]) -> int:
        return case["stand_in_steps"] if self.stand_in else case["steps"]

    def environment_of_torch(self) -> dict[str, str]:
        """Caches stay in the output; PyTorch finds its libraries by itself."""
        work = str(self.work)
        return {**os.environ, "TMPDIR": work, "XDG_CACHE_HOME": work,
                "CUDA_CACHE_PATH": f"{work}/cuda",
                "TORCHINDUCTOR_CACHE_DIR": f"{work}/inductor",
                "TRITON_CACHE_DIR": f"{work}/triton", "TRITON_HOME": work,
                "PYTHONDONTWRITEBYTECODE": "1"}

    def environment(self, case: dict[str, Any]) -> dict[str, str]:
        """Libraries that were found, and caches that stay in the output."""
        paths = [folder for library in self.libraries.values()
                 for folder in library.folders]
        if loader := os.environ.get("LD_LIBRARY_PATH"):
            paths.insert(0, loader)
        algorithms = case.get("algorithms", case["name"])
        environment = {
            **os.environ, "CUDA_CACHE_PATH": str(self.work / "cuda"),
            "TMPDIR": str(self.work), "XDG_CACHE_HOME": str(self.work),
            "REGATHER_ALGORITHM_FILE":
                str(self.work / f"{algorithms}.algorithms.json"),
            **{library.variable: library.path
               for library in self.libraries.values() if library.path}}
        if paths:
            environment["LD_LIBRARY_PATH"] = os.pathsep.join(
                dict.fromkeys(paths))
        if self.stand_in:
            # A device for each rank of a job.
            environment["REGATHER_STAND_IN_DEVICES"] = "8"
        return environment | case.get("variables", {})
