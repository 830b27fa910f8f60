"""Steps on CPU ranks over a slow link: predicted and measured time.

The link is injected (`regather run --comm`). Predictions are those of `regather
simulate` on two kinds of clusters: that which `regather calibrate` writes, and
the one that comes with Regather with one factor for all computation, from runs
over no link at all. Both are for the step in the order of its capture and for
the one that a schedule gives it. Calibrations and runs take turns, so that what
else the machine does falls on all of them alike; numbers are medians over the
turns.
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
ROUNDS = 3


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

    def write_cluster(self, slowdown: float, link: Link) -> Path:
        file = self.folder / f"cluster{LINKS.index(link)}.json"
        file.write_text(json.dumps(make_cluster(slowdown, link)))
        return file

    def calibrate(self, link: Link, turn: int) -> Path:
        file = self.folder / f"calibrated{LINKS.index(link)}-{turn}.json"
        self.call("calibrate", "-o", file, f"--ranks={RANKS}", "--threads=1",
                  "--quiet", link.flag)
        return file

    def measure(self, case: Case, cluster: Path) -> Times:
        flags = [case.link.flag] if case.link else []
        report = json.loads(self.call(
            "run", STEP, f"--ranks={RANKS}", "--random-inputs=1", "--quiet",
            f"--steps={STEPS}", "--threads=1", "--json", *flags,
            *get_order(case, cluster)))
        return Times(report["seconds_per_step"],
                     report["exposed_seconds_per_step"])

    def simulate(self, case: Case, scheduled: Path, cluster: Path
                 ) -> dict[str, Any]:
        """The order that was made for one cluster, on another one."""
        numbers = self.folder / "numbers.json"
        self.call("simulate", STEP, f"--ranks={RANKS}", "--kernels",
                  f"--cluster={cluster}", f"--json={numbers}",
                  *get_order(case, scheduled))
        return json.loads(numbers.read_text())


def get_order(case: Case, cluster: Path) -> list[str]:
    if not case.scheduled:
        return ["--schedule=none", "--bucket=none"]
    return ["--bucket=none", f"--schedule=auto cluster={cluster}"]


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


def predict(tool: Tool, case: Case, scheduled: Path, clusters: list[Path]
            ) -> Times:
    predicted = [tool.simulate(case, scheduled, cluster)
                 for cluster in clusters]
    return take_medians([Times(p["seconds"], p["exposed_seconds"])
                         for p in predicted])


def main(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(args.build_dir / "bin" / "regather", Path(folder))
        # What schedules are made for: one cluster, so that all turns run the
        # same order.
        first = {link: tool.calibrate(link, ROUNDS) for link in LINKS}
        runs: dict[Case, list[Times]] = {case: [] for case in CASES}
        calibrated: dict[Link, list[Path]] = {link: [] for link in LINKS}
        for turn in range(ROUNDS):
            for case in CASES:
                link = case.link or LINKS[0]
                if case.scheduled:
                    calibrated[link].append(tool.calibrate(link, turn))
                runs[case].append(tool.measure(case, first[link]))
        measured = {case: take_medians(times) for case, times in runs.items()}
        alone = measured[CASES[0]]
        shipped = tool.write_cluster(1, LINKS[0])
        computed = tool.simulate(CASES[0], shipped, shipped)["compute_seconds"]
        slowdown = (alone.step - alone.exposed) / computed
        print(f"computation {(alone.step - alone.exposed) * 1e3:.1f} ms, "
              f"{slowdown:.2f} times the cost model\n")
        print(f"{'':30} {'measured':>20} {'calibrated':>29} "
              f"{'one factor':>29}")
        print(f"{'link':>20} {'order':>9}" + f"{'step':>11}{'exposed':>10}"
              + 2 * f"{'step':>11}{'exposed':>10}{'error':>8} ")
        for case in CASES[1:]:
            link = case.link
            text = (f"{link.latency * 1e6:7.0f} us {link.bandwidth / 1e6:4.0f} "
                    f"MB/s {'scheduled' if case.scheduled else 'captured':>9}"
                    f"{measured[case].step * 1e3:8.1f} ms"
                    f"{measured[case].exposed * 1e3:7.1f} ms")
            for clusters in (calibrated[link],
                             [tool.write_cluster(slowdown, link)]):
                times = predict(tool, case, first[link], clusters)
                text += (f"{times.step * 1e3:8.1f} ms{times.exposed * 1e3:7.1f}"
                         f" ms{times.step / measured[case].step - 1:+8.1%} ")
            print(text)
    return 0
