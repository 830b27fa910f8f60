"""Runs readers under libFuzzer, several at a time, and collects what they say.

    ./dev fuzz-readers 600s --readers fx,bundle --seed 7
    ./dev fuzz-readers 1000000

Each of the readers gets so many seconds or executions. After a find it goes on
with the next seed. `fuzz-readers-results` has for each reader the inputs that
reached something new, from which the next campaign begins, and the inputs of
finds; `regather-fuzz-readers --reader=NAME FILE` repeats one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
# pylint: disable=wrong-import-position
from page import STYLE, table  # noqa: E402

CORPUS = HERE / "corpus"
READERS = sorted(path.name for path in CORPUS.iterdir())
# A reader that has so many is broken in one place over and over.
MOST_FINDS = 20
MAX_LENGTH = 20_000
# Without the last one, libFuzzer seldom changes what many others resemble: in a
# build without instrumentation all inputs that are read.
FLAGS = ("-rss_limit_mb=1024", f"-max_len={MAX_LENGTH}", "-entropic=0")


@dataclass(frozen=True)
class Budget:
    """Of one reader; one of both."""
    runs: int = 0
    seconds: float = 0

    @classmethod
    def parse(cls, text: str) -> Budget:
        if re.fullmatch(r"[1-9]\d*s", text):
            return cls(seconds=int(text[:-1]))
        if re.fullmatch(r"[1-9]\d*", text):
            return cls(runs=int(text))
        raise argparse.ArgumentTypeError(
            f"expects executions, or seconds as in 60s, got {text!r}")


@dataclass
class Find:
    seed: int
    kind: str
    message: str
    file: str


@dataclass
class Tally:
    reader: str
    seed: int
    runs: int = 0
    seconds: float = 0.0
    # What libFuzzer counts of the code that it has instrumented: 0 if none is.
    coverage: int = 0
    corpus: int = 0
    finds: list[Find] = field(default_factory=list)

    @property
    def rate(self) -> int:
        return round(self.runs / self.seconds) if self.seconds else 0


class FuzzerError(Exception):
    """A process that did not run at all."""


def last(pattern: str, text: str) -> str | None:
    found = re.findall(pattern, text)
    return found[-1] if found else None


def read_find(output: str, seed: int) -> Find:
    """What libFuzzer, a sanitizer or a reader said of the last input."""
    file = last(r"Test unit written to (\S+)", output)
    summary = last(r"SUMMARY: (.*)", output) or "no summary"
    message = (last(r"regather-fuzz-readers: (find: .*)", output)
               or last(r"(?m)^(.*runtime error: .*)$", output)
               or last(r"(?m)^\s*what\(\):\s+(.*)$", output) or summary)
    kind = Path(file).name.partition("-")[0] if file else "other"
    return Find(seed, kind, message, file or "")


class ReaderCampaign:
    """One reader until its budget is spent."""

    def __init__(self, tool: Path, reader: str, seed: int, budget: Budget,
                 output: Path, timeout: int) -> None:
        self.tool, self.budget, self.tally = tool, budget, Tally(reader, seed)
        self.timeout = timeout
        self.corpus = output / "corpus" / reader
        self.finds = output / "finds" / reader
        self.log = output / f"{reader}.log"

    def run(self) -> Tally:
        for folder in (self.corpus, self.finds):
            folder.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        goes_on = True
        while goes_on and self.is_left():
            goes_on = self.run_once(self.tally.seed + len(self.tally.finds))
        return self.tally

    def is_left(self) -> bool:
        return (self.tally.runs < self.budget.runs
                or self.tally.seconds < self.budget.seconds)

    def get_limit(self) -> str:
        if self.budget.runs:
            return f"-runs={self.budget.runs - self.tally.runs}"
        left = self.budget.seconds - self.tally.seconds
        return f"-max_total_time={max(1, round(left))}"

    def run_once(self, seed: int) -> bool:
        """False if another seed would find the same."""
        given = [CORPUS / self.tally.reader] * (self.tally.reader in READERS)
        begin = time.monotonic()
        process = subprocess.run(
            [self.tool, f"--reader={self.tally.reader}", self.corpus,
             *given, self.get_limit(), f"-seed={seed}",
             *FLAGS, f"-timeout={self.timeout}",
             f"-artifact_prefix={self.finds}/",
             "-print_final_stats=1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True, errors="replace",
            check=False)
        self.tally.seconds += time.monotonic() - begin
        output = process.stderr
        with self.log.open("a") as log:
            log.write(output)
        runs = last(r"stat::number_of_executed_units: *(\d+)", output)
        if runs is None:
            raise FuzzerError(f"{self.tally.reader}: {output[-2000:]}")
        self.tally.runs += int(runs)
        self.tally.coverage = max(self.tally.coverage,
                                  int(last(r" cov: (\d+) ", output) or 0))
        self.tally.corpus = sum(1 for _ in self.corpus.iterdir())
        if not process.returncode:
            return True
        find = read_find(output, seed)
        # An input of the corpus is read again each time.
        is_known = any(one.file == find.file for one in self.tally.finds)
        self.tally.finds.append(find)
        return not is_known and len(self.tally.finds) < MOST_FINDS


def run_campaign(tool: Path, readers: list[str], seed: int, budget: Budget,
                 output: Path, jobs: int, timeout: int) -> Iterator[Tally]:
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(
            lambda reader: ReaderCampaign(tool, reader, seed, budget, output,
                                          timeout).run(), readers)


def write_results(tallies: list[Tally], output: Path) -> None:
    summary = [{**asdict(one), "seconds": round(one.seconds, 1)}
               for one in tallies]
    (output / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    runs, finds = (sum(counts) for counts in zip(
        *((one.runs, len(one.finds)) for one in tallies)))
    parts = [
        "<!doctype html><meta charset='utf-8'><title>Readers</title>",
        f"<style>{STYLE}</style><h1>Readers under libFuzzer</h1>",
        f"<p>{runs} executions, {finds} finds.</p>",
        table(("reader", "seed", "executions", "a second", "coverage",
               "corpus", "finds"),
              ((one.reader, one.seed, one.runs, one.rate, one.coverage,
                one.corpus, len(one.finds)) for one in tallies)),
        "<h2>Finds</h2>",
        table(("reader", "seed", "kind", "message", "file"),
              ((one.reader, find.seed, find.kind, find.message[:300],
                find.file) for one in tallies for find in one.finds))
        if finds else "<p>None.</p>"]
    (output / "index.html").write_text("\n".join(parts) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev fuzz-readers",
        description="Run readers of files under libFuzzer.")
    parser.add_argument("budget", type=Budget.parse, nargs="?",
                        default=Budget(seconds=60), metavar="RUNS|SECONDSs",
                        help="of each reader (default: 60s)")
    parser.add_argument("--readers", default=",".join(READERS),
                        metavar="A,B", help="default: all of %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2,
                        help="readers at a time (default: 2)")
    parser.add_argument("--timeout", type=int, default=5, metavar="SECONDS",
                        help="of one input; more on a busy machine")
    parser.add_argument("--output", type=Path,
                        default=Path("fuzz-readers-results"),
                        metavar="FOLDER",
                        help="default: fuzz-readers-results")
    parser.add_argument("--build-dir", type=Path, default=Path("build-fuzz"))
    options = parser.parse_args()
    readers = options.readers.split(",")
    if unknown := [one for one in readers
                   if one not in READERS and one != "planted"]:
        parser.error(f"no reader {', '.join(unknown)}; there are "
                     f"{', '.join(READERS)}")
    if min(options.jobs, options.seed, options.timeout) < 1:
        parser.error("--jobs, --seed and --timeout are positive")
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    tool = options.build_dir.resolve() / "bin" / "regather-fuzz-readers"
    tallies = []
    try:
        for tally in run_campaign(tool, readers, options.seed, options.budget,
                                  output, options.jobs, options.timeout):
            print(f"{tally.reader}: {tally.runs} executions, {tally.rate} a "
                  f"second, coverage {tally.coverage}, {tally.corpus} inputs, "
                  f"{len(tally.finds)} finds", flush=True)
            for find in tally.finds:
                print(f"  {find.kind}: {find.message[:200]}: {find.file}")
            tallies.append(tally)
    except (FuzzerError, OSError) as error:
        print(f"dev fuzz-readers: {error}", file=sys.stderr)
        return 2
    write_results(tallies, output)
    finds = sum(len(one.finds) for one in tallies)
    print(f"{sum(one.runs for one in tallies)} executions, {finds} finds; "
          f"{options.output}/index.html")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
