"""Compiles steps again and again under other conditions, and compares the bytes.

    ./dev determinism N [--seed S]        N trials, drawn by the seed
    ./dev determinism --only K --seed S   the K-th of them again
    ./dev determinism N --build-dir A --build-dir B
                                          with the tools of two builds in turn,
                                          such as one by gcc and one by clang

A trial imports, simulates, reports and compiles one step for CPUs and for GPUs,
under conditions that are drawn:

    addresses   random or not, and an environment of another size, which moves
                the stack
    memory      what fresh memory holds (MALLOC_PERTURB_), how many arenas
    threads     1 to 16 that compile kernels
    cache       none, an empty one, or one that is full
    locale      those that the machine has, and one with a decimal comma where
                localedef can make it; a time zone
    folder      in which the tools are started, with the step beside them

What is written has to be what the first trial of the step has written, to the byte,
and so have the messages. The first trial runs under plain conditions. Writes
`determinism.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from project import ROOT

STEPS = [ROOT / "examples" / name for name in
         ("mlp.mlir", "mlp-fsdp.mlir", "llama3-debug.fx.json")]
SHARDED = ["--mesh=dp:2", "--batch=per-rank"]
COMMA = "de_DE.UTF-8"
TIME_ZONES = ("", "UTC", "Pacific/Apia", "Asia/Kathmandu")
TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Conditions:
    """Under which the tools run. The defaults are those of the first trial."""

    randomizes: bool = True
    padding: int = 0
    perturb: int = 0
    arenas: int = 0
    threads: int = 1
    cache: str = "none"
    locale: str = "C"
    zone: str = ""
    folder: str = "a"
    build: int = 0

    @staticmethod
    def draw(seed: int, number: int, locales: list[str], builds: int
             ) -> "Conditions":
        dice = random.Random(f"{seed} {number}")
        return Conditions(
            dice.random() < 0.75, dice.randrange(0, 8192),
            dice.randrange(1, 256), dice.choice((0, 1, 4)),
            dice.randrange(1, 17), dice.choice(("none", "empty", "full")),
            dice.choice(locales), dice.choice(TIME_ZONES),
            "b" * dice.randrange(1, 60), dice.randrange(builds))

    def environment(self) -> dict[str, str]:
        chosen = {"LC_ALL": self.locale, "TZ": self.zone,
                  "REGATHER_PADDING": "x" * self.padding}
        if self.perturb:
            chosen["MALLOC_PERTURB_"] = str(self.perturb)
        if self.arenas:
            chosen["MALLOC_ARENA_MAX"] = str(self.arenas)
        return chosen


@dataclass
class Trial:
    number: int
    step: str
    conditions: Conditions
    seconds: float = 0.0
    # What was another one than in the first trial of the step.
    different: list[str] = field(default_factory=list)


def commands(step: str, flags: list[str], threads: int, cache: str
             ) -> dict[str, tuple[str, list[str]]]:
    """What is written, by its file's name: the tool and its arguments."""
    kernels = [f"--compile-threads={threads}", f"--cache-dir={cache}",
               "--quiet"]
    made = {
        "simulation.json": ("regather", ["simulate", step, *flags, "--quiet",
                                         "--json=simulation.json"]),
        "report.html": ("regather", ["report", step, *flags, "--quiet",
                                     "-o", "report.html"]),
        "cpu.rgb": ("regather", ["compile", step, *flags, *kernels,
                                 "-o", "cpu.rgb"]),
        "gpu.ptx": ("regather", ["compile", step, *flags, *kernels,
                                 "--target=nvptx:sm_90a", "--emit=ptx",
                                 "-o", "gpu.ptx"])}
    if step.endswith(".fx.json"):
        made["step.mlir"] = ("regather-translate",
                             ["--import-fx", step, "-o", "step.mlir"])
    return made


def locales(scratch: Path) -> list[str]:
    """Those of the machine, and one with a decimal comma if it can be made."""
    listed = subprocess.run(["locale", "-a"], text=True, capture_output=True,
                            check=False).stdout.split()
    made = scratch / "locales"
    made.mkdir(parents=True, exist_ok=True)
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8",
                        str(made / COMMA)], capture_output=True, check=False)
    if (made / COMMA).exists():
        listed.append(COMMA)
    return sorted(set(listed)) or ["C"]


class Trials:
    """Trials of some steps with the tools of some builds."""

    def __init__(self, builds: list[Path], steps: list[Path], scratch: Path,
                 seed: int) -> None:
        self.builds, self.steps = builds, steps
        self.scratch, self.seed = scratch, seed
        self.locales = locales(scratch)
        self.can_fix_addresses = subprocess.run(
            ["setarch", "-R", "true"], capture_output=True,
            check=False).returncode == 0 if shutil.which("setarch") else False
        # By step: what the first trial has written.
        self._expected: dict[Path, dict[str, str]] = {}

    def make(self, step: Path, conditions: Conditions) -> dict[str, str]:
        """Hashes of what is written, and of messages, by the file's name."""
        folder = self.scratch / conditions.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(step, folder)
        cache = {"none": "", "empty": str(folder / "cache"),
                 "full": str(self.scratch / "full-cache")}[conditions.cache]
        environment = os.environ | conditions.environment() | {
            "LOCPATH": str(self.scratch / "locales")
            if conditions.locale == COMMA else ""}
        if not environment["LOCPATH"]:
            del environment["LOCPATH"]
        fixed = not conditions.randomizes and self.can_fix_addresses
        flags = [] if b"tg.mesh" in step.read_bytes() else SHARDED
        hashes = {}
        for name, (tool, arguments) in commands(
                step.name, flags, conditions.threads, cache).items():
            program = self.builds[conditions.build] / "bin" / tool
            done = subprocess.run(
                [*(["setarch", "-R"] if fixed else []), program, *arguments],
                cwd=folder, env=environment, capture_output=True, check=False,
                timeout=TIMEOUT_SECONDS)
            path = folder / name
            hashes[name] = hashlib.sha256(
                path.read_bytes() if path.exists() else b"").hexdigest()
            hashes[f"messages of {name}"] = hashlib.sha256(
                b"%d" % done.returncode + done.stdout + done.stderr).hexdigest()
            if done.returncode:
                hashes[f"exit code of {name}: {done.returncode}"] = ""
        return hashes

    def expect(self, step: Path) -> dict[str, str]:
        if step not in self._expected:
            self._expected[step] = self.make(step, Conditions())
            for name in self._expected[step]:
                if name.startswith("exit code"):
                    raise SystemExit(f"determinism: {step.name}: {name}")
        return self._expected[step]

    def run(self, number: int) -> Trial:
        step = self.steps[number % len(self.steps)]
        trial = Trial(number, step.name, Conditions.draw(
            self.seed, number, self.locales, len(self.builds)))
        expected = self.expect(step)
        begin = time.monotonic()
        found = self.make(step, trial.conditions)
        trial.seconds = time.monotonic() - begin
        trial.different = sorted(name for name in expected.keys() | found.keys()
                                 if expected.get(name) != found.get(name))
        return trial


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="K")
    parser.add_argument("--build-dir", type=Path, action="append",
                        help="may be given several times (default build)")
    parser.add_argument("--step", type=Path, action="append",
                        help="may be given several times (default: examples)")
    parser.add_argument("--output", type=Path,
                        default=ROOT / "build" / "determinism.json")
    given = parser.parse_args()
    builds = [path.resolve() for path in given.build_dir or [ROOT / "build"]]
    steps = [path.resolve() for path in given.step or STEPS]
    numbers = range(given.count) if given.only is None else [given.only]
    done: list[Trial] = []
    with tempfile.TemporaryDirectory() as scratch:
        trials = Trials(builds, steps, Path(scratch), given.seed)
        for number in numbers:
            done.append(trials.run(number))
            if done[-1].different:
                print(f"trial {number}, {done[-1].step}: "
                      f"{', '.join(done[-1].different)}; "
                      f"{done[-1].conditions}", file=sys.stderr)
        found = {"date": date.today().isoformat(), "seed": given.seed,
                 "builds": [str(path) for path in builds],
                 "locales": trials.locales,
                 "fixes addresses": trials.can_fix_addresses,
                 "trials": [asdict(trial) for trial in done]}
    given.output.write_text(json.dumps(found, indent=1) + "\n")
    bad = sum(bool(trial.different) for trial in done)
    print(f"{len(done)} trials, {bad} with other bytes; {given.output}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
