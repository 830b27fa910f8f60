"""Runs cases of regather-fuzz on several workers and collects what they say.

    ./dev fuzz 2000 --seed 7

The numbers of the cases are SEED, SEED + 1, ...; `./dev fuzz 1 --seed NUMBER`
repeats one. A find leaves a folder `case-NUMBER` with the step, how it is
checked, what was wrong, a smaller step that shows the same, and `replay.sh`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from page import write_page
from shrink import save_find
from tally import Tally

FUZZ = Path(__file__).resolve().parent
CAPTURES = FUZZ / "captures"


@dataclass(frozen=True)
class Campaign:
    tool: Path
    first: int
    count: int
    jobs: int
    # Seconds that one case may take.
    seconds: int = 60
    captures: Path = field(default=CAPTURES)
    # Three of ten cases, and few with optimised kernels, otherwise.
    compiles_all: bool = False

    @property
    def flags(self) -> list[str]:
        return ["--compile-all"] if self.compiles_all else []


class WorkerError(Exception):
    """A worker that ended before its cases did."""


def read_worker(campaign: Campaign, worker: int, lines: Queue) -> None:
    count = len(range(worker, campaign.count, campaign.jobs))
    process = subprocess.Popen(
        [campaign.tool, "run", f"--first={campaign.first + worker}",
         f"--count={count}", f"--stride={campaign.jobs}",
         f"--captures={campaign.captures}", f"--seconds={campaign.seconds}",
         *campaign.flags],
        stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None if process.wait() == 0 else WorkerError(
        f"worker {worker} ended with status {process.returncode}"))


def run_cases(campaign: Campaign) -> Iterator[dict]:
    """What became of each case, in the order in which they end."""
    lines: Queue = Queue()
    for worker in range(campaign.jobs):
        threading.Thread(target=read_worker, daemon=True,
                         args=(campaign, worker, lines)).start()
    running = campaign.jobs
    while running:
        line = lines.get()
        if isinstance(line, WorkerError):
            raise line
        if line is None:
            running -= 1
        else:
            yield json.loads(line)


def show_progress(tally: Tally, total: int, begin: float) -> None:
    if sys.stderr.isatty() or tally.cases % 100 == 0 or tally.cases == total:
        rate = tally.cases / max(time.monotonic() - begin, 1e-9) * 60
        end = "\r" if sys.stderr.isatty() and tally.cases < total else "\n"
        print(f"{tally.cases}/{total} cases, {len(tally.finds)} finds, "
              f"{tally.invalid} invalid, {rate:.0f} a minute",
              end=end, file=sys.stderr, flush=True)


def run_campaign(campaign: Campaign, output: Path | None,
                 reducer: Path | None) -> Tally:
    """Without `output`, nothing is written."""
    tally, begin = Tally(campaign.first), time.monotonic()
    for case in run_cases(campaign):
        tally.add(case)
        # A campaign that is stopped leaves their numbers at least.
        if case["kind"] and output:
            print(f"case {case['case']}: {case['kind']}", file=sys.stderr,
                  flush=True)
        show_progress(tally, campaign.count, begin)
    tally.seconds = time.monotonic() - begin
    tally.finish()
    if output is None:
        return tally
    output.mkdir(parents=True, exist_ok=True)
    for find in tally.finds:
        save_find(campaign.tool, reducer, campaign.captures, find, output,
                  campaign.flags)
    (output / "summary.json").write_text(
        json.dumps(tally.summary(), indent=1) + "\n")
    write_page(tally.summary(), output / "index.html")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev fuzz", description="Check random steps on all engines.")
    parser.add_argument("count", type=int, nargs="?", default=200,
                        metavar="N", help="cases (default: 200)")
    parser.add_argument("--seed", type=int, default=0,
                        help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60,
                        help="limit of one case")
    parser.add_argument("--output", type=Path, default=Path("fuzz-results"),
                        metavar="FOLDER", help="default: fuzz-results")
    parser.add_argument("--no-shrink", action="store_true",
                        help="leave finds as large as they are")
    parser.add_argument("--compile-all", action="store_true",
                        help="run every case compiled, with optimised kernels")
    parser.add_argument("--build-dir", type=Path, default=Path("build"))
    options = parser.parse_args()
    if options.count < 1 or options.jobs < 1:
        parser.error("N and --jobs are positive")
    tools = options.build_dir.resolve() / "bin"
    campaign = Campaign(tools / "regather-fuzz", options.seed, options.count,
                        min(options.jobs, options.count), options.seconds,
                        compiles_all=options.compile_all)
    reducer = None if options.no_shrink else tools / "regather-reduce"
    try:
        tally = run_campaign(campaign, options.output, reducer)
    except (WorkerError, OSError) as error:
        print(f"dev fuzz: {error}", file=sys.stderr)
        return 2
    for find in tally.finds:
        print(f"{options.output}/case-{find['case']}: {find['kind']}: "
              f"{find['message'][:200]}")
    print(f"{tally.cases} cases, {len(tally.finds)} finds, {tally.invalid} "
          f"invalid; {options.output}/index.html")
    return 1 if tally.finds else 0


if __name__ == "__main__":
    sys.exit(main())
