"""Steps on CPU ranks over a slow link: predicted and measured time.

The link is injected (`regather run --comm`), so that it is known. The device is
calibrated by one number: how much longer or shorter computation takes than the
cost model says, from runs over no link at all. Everything else is predicted by
`regather simulate`, for the step as it was captured and for the order that
`--schedule=auto` gives it. All runs take turns, so that what else the machine
does falls on all of them alike; numbers are medians over the turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from project import ROOT

STEP = ROOT / "examples" / "llama3-debug.fx.json"
RANKS = 2
STEPS = 5
ROUNDS = 5


@dataclass(frozen=True)
class Link:
    """Seconds until the first byte, and bytes per second."""
    latency: float
    bandwidth: float

    @property
    def flag(self) -> str:
        return (f"--comm=threads,latency={self.latency * 1e6:.0f}us,"
                f"bandwidth={self.bandwidth / 1e6:.0f}MB/s")


LINKS = [Link(50e-6, 2e9), Link(200e-6, 500e6), Link(1e-3, 200e6),
         Link(2e-3, 100e6)]


@dataclass(frozen=True)
class Case:
    """A link, or none, and whether the step is scheduled for it."""
    link: Link | None = None
    scheduled: bool = False


@dataclass
class Times:
    """Seconds of a step, and those of them that communication adds."""
    step: float
    exposed: float


CASES = [Case()] + [Case(link, scheduled) for link in LINKS
                    for scheduled in (False, True)]


class Tool:
    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder

    def call(self, *arguments: str | Path) -> str:
        return subprocess.run([str(self.path), *map(str, arguments)],
                              check=True, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True).stdout

    def get_schedule(self, case: Case, slowdown: float) -> list[str]:
        if not case.scheduled or case.link is None:
            return []
        cluster = self.write_cluster(slowdown, case.link)
        return [f"--schedule=auto cluster={cluster}"]

    def write_cluster(self, slowdown: float, link: Link) -> Path:
        file = self.folder / f"cluster{LINKS.index(link)}.json"
        file.write_text(json.dumps(make_cluster(slowdown, link)))
        return file

    def measure(self, case: Case, slowdown: float) -> Times:
        flags = [case.link.flag] if case.link else []
        report = json.loads(self.call(
            "run", STEP, f"--ranks={RANKS}", "--random-inputs=1", "--quiet",
            f"--steps={STEPS}", "--threads=1", "--json", *flags,
            *self.get_schedule(case, slowdown)))
        return Times(report["seconds_per_step"],
                     report["exposed_seconds_per_step"])

    def simulate(self, case: Case, slowdown: float) -> dict[str, Any]:
        cluster = self.write_cluster(slowdown, case.link or LINKS[0])
        numbers = self.folder / "numbers.json"
        self.call("simulate", STEP, f"--ranks={RANKS}", "--kernels",
                  f"--cluster={cluster}", f"--json={numbers}",
                  *self.get_schedule(case, slowdown))
        return json.loads(numbers.read_text())


def make_cluster(slowdown: float, link: Link) -> dict[str, Any]:
    """A device that takes `slowdown` times what the cost model says."""
    cluster = json.loads((ROOT / "clusters" / "cpu-threads.json").read_text())
    device = cluster["device"]
    for rate in ("vector_flops_per_second",
                 "memory_bandwidth_bytes_per_second"):
        device[rate] /= slowdown
    for kind in device["peak_flops_per_second"]:
        device["peak_flops_per_second"][kind] /= slowdown
    device["launch_seconds"] *= slowdown
    cluster["links"] = [{"name": "injected", "protocols": [{
        "name": "injected", "latency_seconds": link.latency, "hop_seconds": 0,
        "bandwidth_bytes_per_second": link.bandwidth}]}]
    return cluster


def take_medians(runs: list[Times]) -> Times:
    return Times(statistics.median(run.step for run in runs),
                 statistics.median(run.exposed for run in runs))


def main(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(args.build_dir / "bin" / "regather", Path(folder))
        first = tool.measure(CASES[0], 1)
        computed = tool.simulate(CASES[0], 1)["compute_seconds"]
        # For the orders of the schedules; predictions take the medians.
        slowdown = (first.step - first.exposed) / computed
        runs: dict[Case, list[Times]] = {case: [] for case in CASES}
        for _ in range(ROUNDS):
            for case in CASES:
                runs[case].append(tool.measure(case, slowdown))
        measured = {case: take_medians(times) for case, times in runs.items()}
        alone = measured[CASES[0]]
        slowdown = (alone.step - alone.exposed) / computed
        print(f"computation {(alone.step - alone.exposed) * 1e3:.1f} ms, "
              f"{slowdown:.2f} times the cost model\n")
        print(f"{'link':>20} {'order':>9} {'step':>22} {'exposed':>22}")
        print(f"{'':20} {'':9} {'measured':>11}{'predicted':>11} "
              f"{'measured':>11}{'predicted':>11}  error of the step")
        for case in CASES[1:]:
            predicted = tool.simulate(case, slowdown)
            values = [measured[case].step, predicted["seconds"],
                      measured[case].exposed, predicted["exposed_seconds"]]
            columns = [f"{value * 1e3:8.1f} ms" for value in values]
            link = case.link
            print(f"{link.latency * 1e6:7.0f} us {link.bandwidth / 1e6:4.0f} MB/s"
                  f" {'scheduled' if case.scheduled else 'captured':>9}"
                  f" {columns[0]}{columns[1]} {columns[2]}{columns[3]}"
                  f"  {values[1] / values[0] - 1:+.1%}")
    return 0
