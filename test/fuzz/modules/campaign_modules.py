"""Captures random modules on several workers and collects what they say.

    ./dev fuzz-modules 500 --seed 7

The numbers of the modules are SEED, SEED + 1, ...; `./dev fuzz-modules 1 --seed
NUMBER` repeats one. A worker that dies or takes too long with a module is a
find; another one goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

FUZZ = Path(__file__).resolve().parent.parent
CHECK = Path(__file__).resolve().with_name("check_module.py")
if str(FUZZ) not in sys.path:
    sys.path.append(str(FUZZ))

# pylint: disable=wrong-import-position
from page import STYLE, table  # noqa: E402
from tally import without_names  # noqa: E402

RESULTS = ("equal", "refused", "invalid", "find")


@dataclass(frozen=True)
class ModuleCampaign:
    first: int
    count: int
    jobs: int = 2
    # Every so-manieth capture is run by the CPU engine, too; 0 for none.
    engine: int = 4
    # Seconds that one module may take.
    seconds: float = 180


@dataclass
class ModuleTally:
    first: int
    results: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    engine: Counter[str] = field(default_factory=Counter)
    finds: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return sum(self.results.values())

    def add(self, case: dict[str, Any]) -> None:
        self.results[case["result"]] += 1
        if case["result"] == "find":
            self.finds.append(case)
        elif case["message"]:
            message = case["message"].split(": ", 1)[-1] if \
                case["result"] == "refused" else case["message"]
            self.reasons[f"{case['result']}: {without_names(message)}"] += 1
        if "engine" in case:
            self.engine[without_names(case["engine"])] += 1

    def summary(self) -> dict[str, Any]:
        def most(counts: Counter[str]) -> dict[str, int]:
            return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
        return {"first": self.first, "cases": self.cases,
                "seconds": round(self.seconds, 1),
                "results": {one: self.results[one] for one in RESULTS},
                "engine": most(self.engine), "reasons": most(self.reasons),
                "finds": sorted(self.finds, key=lambda find: find["case"])}


class Worker:
    """A process that checks every `jobs`-th module; started anew behind one that
    ends it."""

    def __init__(self, campaign: ModuleCampaign, number: int) -> None:
        self.campaign = campaign
        self.next = campaign.first + number
        self.end = campaign.first + campaign.count

    def run(self, lines: Queue) -> None:
        while self.next < self.end:
            last = self.run_process(lines)
            if last is not None:
                lines.put({"case": self.next, "result": "find", "message": last})
                self.next += self.campaign.jobs
        lines.put(None)

    def run_process(self, lines: Queue) -> str | None:
        """How the process ended before its modules did, or None."""
        count = len(range(self.next, self.end, self.campaign.jobs))
        process = subprocess.Popen(
            [sys.executable, CHECK, f"--first={self.next}", f"--count={count}",
             f"--stride={self.campaign.jobs}", f"--engine={self.campaign.engine}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        spoken: Queue = Queue()

        def listen() -> None:
            for line in process.stdout:  # type: ignore[union-attr]
                spoken.put(line)
            spoken.put(None)
        threading.Thread(target=listen, daemon=True).start()
        while True:
            try:
                line = spoken.get(timeout=self.campaign.seconds)
            except Empty:
                process.kill()
                process.wait()
                return f"it takes more than {self.campaign.seconds:g} s"
            if line is None:
                code = process.wait()
                return f"the process ended with status {code}" if code else None
            case = json.loads(line)
            if "result" in case:
                lines.put(case)
                self.next = case["case"] + self.campaign.jobs


def run_campaign(campaign: ModuleCampaign) -> ModuleTally:
    tally, begin, lines = ModuleTally(campaign.first), time.monotonic(), Queue()
    for number in range(campaign.jobs):
        threading.Thread(target=Worker(campaign, number).run, args=(lines,),
                         daemon=True).start()
    running = campaign.jobs
    while running:
        case = lines.get()
        if case is None:
            running -= 1
            continue
        tally.add(case)
        if sys.stderr.isatty() or tally.cases % 50 == 0 or \
                tally.cases == campaign.count:
            end = "\r" if sys.stderr.isatty() and tally.cases < campaign.count else "\n"
            print(f"{tally.cases}/{campaign.count} modules, "
                  f"{len(tally.finds)} finds", end=end, file=sys.stderr, flush=True)
    tally.seconds = time.monotonic() - begin
    return tally


def write_page(summary: dict[str, Any], path: Path) -> None:
    last = summary["first"] + summary["cases"] - 1
    parts = [
        "<!doctype html><meta charset='utf-8'><title>Captured modules</title>",
        f"<style>{STYLE}</style><h1>Modules {summary['first']} to {last}</h1>",
        f"<p>{summary['cases']} modules in {summary['seconds']} s.</p>",
        table(("result", "modules"), summary["results"].items()),
        "<h2>Finds</h2>",
        table(("module", "message"), ((find["case"], find["message"][:400])
                                      for find in summary["finds"])),
        "<h2>On the CPU engine</h2>",
        table(("result", "modules"), summary["engine"].items()),
        "<h2>Refused, and invalid in eager PyTorch</h2>",
        table(("reason", "modules"), summary["reasons"].items())]
    path.write_text("\n".join(parts) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev fuzz-modules",
        description="Capture random modules and compare with eager PyTorch.")
    parser.add_argument("count", type=int, nargs="?", default=100, metavar="N",
                        help="modules (default: 100)")
    parser.add_argument("--seed", type=int, default=0,
                        help="number of the first module")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", type=int, default=4, metavar="N",
                        help="run every N-th capture on the CPU engine; 0: none")
    parser.add_argument("--seconds", type=float, default=180,
                        help="limit of one module")
    parser.add_argument("--output", type=Path, default=Path("fuzz-modules-results"),
                        metavar="FOLDER", help="default: fuzz-modules-results")
    arguments = parser.parse_args()
    if arguments.count < 1 or arguments.jobs < 1 or arguments.seed < 0:
        parser.error("expects at least one module and one job, and a seed of at "
                     "least 0")
    tally = run_campaign(ModuleCampaign(
        arguments.seed, arguments.count, arguments.jobs, arguments.engine,
        arguments.seconds))
    summary = tally.summary()
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    write_page(summary, arguments.output / "index.html")
    for find in summary["finds"]:
        print(f"module {find['case']}: {find['message']}")
    print(", ".join(f"{tally.results[one]} {one}" for one in RESULTS)
          + f"; {arguments.output}/index.html")
    return 1 if summary["finds"] else 0


if __name__ == "__main__":
    sys.exit(main())
