"""Kills, stops and disturbs ranks of jobs, and looks at what becomes of the rest.

    ./dev kill-trials N [--seed S]      N trials, drawn by the seed
    ./dev kill-trials --only K --seed S the K-th of them again

A trial runs a small training step on 2 to 8 ranks that saves after each step, and
does one of these to one rank, at a message or step that is drawn:

    kill      SIGKILL
    stop      SIGSTOP
    close     all connections of the process end
    corrupt   a message of it arrives with another bit (messages are checked)
    full      it can write no file any more

It expects that each other rank ends with a code that is not 0 and no signal, within
2 s of a death and 10 s of a stall, that one of them names the rank, and each the
collective with its group and number, or what it did between steps; that the last
save can be read, and that the losses behind it are those of a run that nothing
disturbed, to the last digit. Writes `trials.json` and `index.html`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from project import ROOT
from trial_jobs import (STEP_LINE, Job, Jobs, Setting, has_mpi, has_torch,
                        read_records)
from trial_page import write_page

FAULTS = {"threads": ("kill", "full"),
          "mpi": ("kill", "stop", "close", "corrupt", "full"),
          # What stands in for NCCL moves data by files itself.
          "nccl": ("kill", "stop"),
          "torch": ("kill", "stop", "close")}
# How often each is drawn; those at the end take tens of seconds.
WEIGHTS = {"threads": 2, "mpi": 8, "nccl": 2, "torch": 1}
RANKS = {"threads": (2, 4, 8), "mpi": (2, 4, 8), "nccl": (2, 4),
         "torch": (2, 4)}
# No rank takes longer, whatever was done to it.
PATIENCE_SECONDS = 40.0
# Until the fault strikes; PyTorch takes long to begin on a busy machine.
START_SECONDS = 300.0

# "'all_reduce at a.mlir:7' (collective 3 of group [0, 1])", "rank 1 is in
# collective 3 (...) of group [0, 1]".
PLACE = re.compile(r"collective \d+ .*of group \[|collective \d+ of group \[")
BETWEEN_STEPS = re.compile(
    r"between steps|before the first step|does not answer|did not arrive|"
    r"cannot (write|save|collect)|"
    # What torch.distributed says where it saves.
    r"Connection (closed|reset)|distributed_c10d|torch.distributed")

# Open MPI ends a process itself where it cannot go on without a connection, and
# says no more than where in its own source that is.
ENDED_BY_MPI = re.compile(r"(ompi|opal)/mca/.* FATAL")


@dataclass(frozen=True)
class Trial:
    number: int
    setting: Setting
    fault: str
    victim: int
    # A share of the messages, or of the steps, that a rank goes through.
    share: float
    # Seconds behind the step, where no message is counted.
    delay: float

    @staticmethod
    def draw(seed: int, number: int, communicators: list[str]) -> Trial:
        chance = random.Random(f"{seed}/{number}")
        communicator = chance.choices(
            communicators, [WEIGHTS[each] for each in communicators])[0]
        ranks = chance.choice(RANKS[communicator])
        is_mesh = (ranks > 2 and communicator in ("threads", "mpi")
                   and chance.random() < 0.5)
        return Trial(number, Setting(communicator, ranks, is_mesh),
                     chance.choice(FAULTS[communicator]),
                     chance.randrange(ranks), chance.random(),
                     chance.random() * 0.01)


@dataclass
class Outcome:
    number: int
    communicator: str
    ranks: int
    is_mesh: bool
    fault: str
    victim: int
    at: str
    # Seconds from the fault to the end of the last of the others.
    seconds: float | None = None
    # Whether a step was done before.
    printed: bool = False
    # The step behind which the run went on, and what is wrong.
    resumed: int | None = None
    problems: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class Trials:
    def __init__(self, jobs: Jobs, death_seconds: float, stall_seconds: float,
                 ) -> None:
        self.jobs = jobs
        self.limits = {"kill": death_seconds, "full": death_seconds,
                       "corrupt": death_seconds, "stop": stall_seconds,
                       # Whether that is told depends on the transport.
                       "close": stall_seconds}

    def run(self, trial: Trial) -> Outcome:
        setting = trial.setting
        job = self.jobs.get_job(setting)
        folder = self.jobs.folder / f"trial-{trial.number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        is_counted = bool(job.messages) and trial.fault != "full"
        messages = job.messages[trial.victim] if is_counted else 0
        message = int(trial.share * messages)
        step = int(trial.share * (job.steps - 1))
        outcome = Outcome(trial.number, setting.communicator, setting.ranks,
                          setting.is_mesh, trial.fault, trial.victim,
                          f"message {message} of {messages}" if is_counted
                          else f"step {step + 1} of {job.steps}")
        mark = folder / "mark"
        variables = {"REGATHER_FAULT_MARK": str(mark)}
        if is_counted:
            variables["REGATHER_FAULT"] = (f"{trial.fault}:{trial.victim}:"
                                           f"{message}")
        process = self.jobs.start(job, folder, ("--quiet",),
                                  is_tcp=trial.fault == "close", **variables)
        printed = b""
        victim = 0 if setting.communicator == "threads" else trial.victim
        try:
            if not is_counted:
                # The line of the step before.
                while step and f"step {step}/".encode() not in printed:
                    line = process.stdout.readline()
                    if not line:
                        break
                    printed += line
                time.sleep(trial.delay)
                self._strike(trial.fault, folder, victim)
                mark.write_text(str(time.monotonic_ns()))
            records = self._await_others(folder, setting, trial.fault, victim,
                                         mark)
        finally:
            self._end_all(folder, setting)
            printed += process.communicate()[0]
        outcome.printed = bool(STEP_LINE.search(printed))
        if not mark.exists():
            outcome.problems.append("the fault was not reached")
        self._judge_ranks(trial, victim, records, mark, outcome)
        self._judge_save(job, folder, printed, outcome)
        if not outcome.problems:
            shutil.rmtree(folder)
        return outcome

    def _strike(self, fault: str, folder: Path, victim: int) -> None:
        path = folder / f"rank-{victim}.pid"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process = int(path.read_text())
        try:
            if fault == "full":
                # What is there stays; not a byte more can be written.
                resource.prlimit(process, resource.RLIMIT_FSIZE, (100, 100))
            else:
                os.kill(process, {"kill": signal.SIGKILL,
                                  "stop": signal.SIGSTOP}[fault])
        except ProcessLookupError:
            # It has just ended, which is judged.
            pass

    def _await_others(self, folder: Path, setting: Setting, fault: str,
                      victim: int, mark: Path) -> dict[int, dict]:
        expected = (1 if setting.communicator == "threads" else setting.ranks)
        awaited = set(range(expected)) - ({victim} if fault == "stop" else set())
        deadline = time.monotonic() + START_SECONDS
        is_struck = False
        while time.monotonic() < deadline:
            if mark.exists() and not is_struck:
                is_struck = True
                deadline = (time.monotonic() + PATIENCE_SECONDS
                            + self.jobs.timeout)
            records = read_records(folder)
            if awaited <= records.keys():
                return records
            time.sleep(0.02)
        return read_records(folder)

    def _end_all(self, folder: Path, setting: Setting) -> None:
        """Those that were stopped, and those that hang. A process that has
        written its record has ended."""
        for path in folder.glob("rank-*.pid"):
            if not path.with_suffix(".json").exists():
                try:
                    os.kill(int(path.read_text()), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def _judge_ranks(self, trial: Trial, victim: int, records: dict[int, dict],
                     mark: Path, outcome: Outcome) -> None:
        is_process = trial.setting.communicator == "threads"
        others = {rank: record for rank, record in records.items()
                  if rank != victim or trial.fault in ("full", "corrupt")}
        expected = (0 if is_process and trial.fault == "kill" else
                    1 if is_process else trial.setting.ranks
                    - (trial.fault in ("kill", "stop", "close")))
        missing = expected - len(others)
        if missing > 0:
            outcome.problems.append(f"{missing} of the others hang")
        for rank, record in sorted(others.items()):
            text = " ".join(record["stderr"].split())
            outcome.messages.append(f"rank {rank}: {text[-400:]}")
            if record["code"] <= 0:
                outcome.problems.append(f"rank {rank} ends with code "
                                        f"{record['code']}")
            elif not (PLACE.search(text) or BETWEEN_STEPS.search(text)
                      or self._is_ended_by_mpi(trial, text)):
                outcome.problems.append(f"rank {rank} does not say where it is")
        if others and mark.exists():
            begin = int(mark.read_text())
            if trial.fault == "full":
                # It begins when the first finds out.
                begin = max(begin, min(r["end"] for r in others.values()))
            outcome.seconds = (max(record["end"] for record in others.values())
                               - begin) / 1e9
            # Ranks that have not met cannot know of each other.
            limit = self.limits[trial.fault if outcome.printed else "stop"]
            if outcome.seconds > limit:
                outcome.problems.append(f"the others end after "
                                        f"{outcome.seconds:.1f} s, not {limit:g}")
        named = any(re.search(rf"\branks? (\d+, )*{victim}\b", record["stderr"])
                    for rank, record in others.items()
                    if rank != victim or trial.fault == "full") or any(
            self._is_ended_by_mpi(trial, record["stderr"])
            for record in others.values())
        if expected and not is_process and not named:
            outcome.problems.append(f"nobody names rank {victim}")

    @staticmethod
    def _is_ended_by_mpi(trial: Trial, text: str) -> bool:
        return trial.fault == "close" and ENDED_BY_MPI.search(text) is not None

    def _judge_save(self, job: Job, folder: Path, printed: bytes,
                    outcome: Outcome) -> None:
        done = len(STEP_LINE.findall(printed))
        # Between a save and the line of its step, or the other way round.
        for step in (done, done - 1, done + 1):
            if not 0 < step < job.steps:
                continue
            losses = self.jobs.resume(job, folder, step)
            if tuple(losses) == job.losses[job.steps - len(losses):] and losses:
                outcome.resumed = job.steps - len(losses)
                return
        # After the last step, or before the first save, nothing is left to do.
        if done >= job.steps - 1 or done <= 1:
            return
        outcome.problems.append(f"after {done} steps the last save does not go "
                                "on to the losses of an undisturbed run")


def find_communicators(wanted: str | None, build: Path) -> list[str]:
    known = [each for each in WEIGHTS
             if (each != "mpi" or has_mpi(build))
             and (each != "torch" or has_torch())]
    if not wanted:
        return known
    chosen = wanted.split(",")
    for each in chosen:
        if each not in known:
            raise SystemExit(f"kill-trials: --communicators knows "
                             f"{', '.join(known)} here, not '{each}'")
    return chosen


def write_summary(folder: Path, arguments: argparse.Namespace,
                  communicators: list[str], trials: Trials,
                  outcomes: list[Outcome]) -> None:
    summary = {"seed": arguments.seed, "date": date.today().isoformat(),
               "timeout": arguments.timeout, "communicators": communicators,
               "limits": trials.limits,
               "load": os.getloadavg()[0], "cores": os.cpu_count(),
               "failed": sum(bool(each.problems) for each in outcomes),
               "by_fault": Counter(f"{each.communicator} {each.fault}"
                                   for each in outcomes),
               "trials": [asdict(each) for each in outcomes]}
    (folder / "trials.json").write_text(json.dumps(summary, indent=1) + "\n")
    write_page(folder / "index.html", summary)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev kill-trials", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this trial alone")
    parser.add_argument("--communicators", help="some of "
                        + ",".join(WEIGHTS) + "; those that are here by default")
    parser.add_argument("--timeout", type=float, default=4,
                        help="seconds after which ranks give up (default 4)")
    parser.add_argument("--death-seconds", type=float, default=2)
    parser.add_argument("--stall-seconds", type=float, default=10)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    parser.add_argument("-o", dest="folder", type=Path)
    arguments = parser.parse_args()
    build = arguments.build_dir.resolve()
    folder = (arguments.folder or build / "kill-trials").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    communicators = find_communicators(arguments.communicators, build)
    trials = Trials(Jobs(build, folder, arguments.timeout),
                    arguments.death_seconds, arguments.stall_seconds)
    numbers = ([arguments.only] if arguments.only is not None
               else range(arguments.count))
    outcomes = []
    for number in numbers:
        trial = Trial.draw(arguments.seed, number, communicators)
        begin = time.monotonic()
        outcome = trials.run(trial)
        outcomes.append(outcome)
        # After each, so that what was found is there if the rest is not waited
        # for.
        write_summary(folder, arguments, communicators, trials, outcomes)
        print(f"[{len(outcomes)}/{len(numbers)}] trial {number}: {trial.fault} "
              f"of rank {trial.victim} of {trial.setting.ranks}, "
              f"{trial.setting.communicator}, at {outcome.at}: "
              f"{'; '.join(outcome.problems) or 'as it should'} "
              f"({time.monotonic() - begin:.1f} s)", flush=True)
        if outcome.problems:
            print(f"  again: ./dev kill-trials --only {number} --seed "
                  f"{arguments.seed} --communicators {','.join(communicators)}",
                  flush=True)
    failed = sum(bool(each.problems) for each in outcomes)
    print(f"{len(outcomes)} trials, {failed} failed; {folder / 'index.html'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
