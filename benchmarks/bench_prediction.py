"""Steps on CPU ranks over a slow link: predicted and measured time.

The link is injected (`regather run --comm`), so that it is known. The device is
calibrated by one number: how much longer or shorter computation takes than the
cost model says, from a run over no link at all. Everything else is predicted by
`regather simulate`.
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


class Tool:
    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder

    def call(self, *arguments: str | Path) -> str:
        return subprocess.run([str(self.path), *map(str, arguments)],
                              check=True, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True).stdout

    def measure(self, *flags: str) -> tuple[float, float]:
        """Seconds of a step and the exposed part, medians of some runs."""
        reports = [json.loads(self.call(
            "run", STEP, f"--ranks={RANKS}", "--random-inputs=1", "--quiet",
            f"--steps={STEPS}", "--threads=1", "--json", *flags))
            for _ in range(ROUNDS)]
        return (statistics.median(r["seconds_per_step"] for r in reports),
                statistics.median(r["exposed_seconds_per_step"]
                                  for r in reports))

    def simulate(self, cluster: dict[str, Any]) -> dict[str, Any]:
        file = self.folder / "cluster.json"
        file.write_text(json.dumps(cluster))
        numbers = self.folder / "numbers.json"
        self.call("simulate", STEP, f"--ranks={RANKS}", "--kernels",
                  f"--cluster={file}", f"--json={numbers}")
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


def main(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(args.build_dir / "bin" / "regather", Path(folder))
        seconds, exposed = tool.measure()
        computed = tool.simulate(make_cluster(1, LINKS[0]))["compute_seconds"]
        slowdown = (seconds - exposed) / computed
        print(f"computation {(seconds - exposed) * 1e3:.1f} ms, "
              f"{slowdown:.2f} times the cost model\n")
        print(f"{'link':>22} {'step':>22} {'exposed':>22}")
        print(f"{'':22} {'measured':>11}{'predicted':>11} "
              f"{'measured':>11}{'predicted':>11}  error of the step")
        for link in LINKS:
            step, waited = tool.measure(link.flag)
            predicted = tool.simulate(make_cluster(slowdown, link))
            values = [step, predicted["seconds"], waited,
                      predicted["exposed_seconds"]]
            columns = [f"{value * 1e3:8.1f} ms" for value in values]
            print(f"{link.latency * 1e6:7.0f} us {link.bandwidth / 1e6:6.0f} MB/s"
                  f" {columns[0]}{columns[1]} {columns[2]}{columns[3]}"
                  f"  {predicted['seconds'] / step - 1:+.1%}")
    return 0
