"""The same bytes under other conditions: a few trials of `./dev determinism`, that
it finds what differs, and the library in a process with another locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT

sys.path.append(str(ROOT / "scripts"))

import determinism  # noqa: E402

STEP = ROOT / "examples" / "mlp-fsdp.mlir"
MLP = ROOT / "examples" / "mlp.mlir"

# Simulates, counts and compiles, and prints what came of it. The options have
# numbers with a decimal point, the results more.
PROGRAM = """
import hashlib, locale, sys
from pathlib import Path
import regather
if sys.argv[3]:
    locale.setlocale(locale.LC_ALL, sys.argv[3])
    assert locale.localeconv()["decimal_point"] == ","
step, bundle = sys.argv[1:3]
options = {"mesh": "dp:2", "batch": "per-rank",
           "schedule": "auto memory-limit=1.1x"}
simulation = regather.simulate(step, **options)
made = [simulation.text, repr(simulation.json), simulation.html,
        repr(regather.tree(step, cluster="h100-8").json),
        regather.report(step, **options).html,
        regather.compile(step, bundle, cache_dir="", **options).text,
        Path(bundle).read_bytes()]
if sys.argv[3]:
    # The process has the locale that it had.
    assert locale.localeconv()["decimal_point"] == ","
for one in made:
    data = one if isinstance(one, bytes) else one.encode()
    print(hashlib.sha256(data).hexdigest())
"""


def test_other_conditions_give_the_same_bytes(tmp_path: Path) -> None:
    trials = determinism.Trials([BUILD], [STEP], tmp_path, seed=3)
    done = [trials.run(number) for number in range(3)]
    # They are under other conditions indeed, and something was written.
    assert len({trial.conditions for trial in done}) == 3
    empty = determinism.hashlib.sha256(b"").hexdigest()
    files = [name for name in trials.expect(STEP) if "messages" not in name]
    assert len(files) == 4
    assert empty not in [trials.expect(STEP)[name] for name in files]
    assert [trial.different for trial in done] == [[], [], []]


@pytest.mark.parametrize(("writes", "different"), [
    ("pwd", ["cpu.rgb", "gpu.ptx", "report.html", "simulation.json"]),
    ("echo ${#REGATHER_PADDING} >&2; echo",
     [f"messages of {name}" for name in
      ("cpu.rgb", "gpu.ptx", "report.html", "simulation.json")])])
def test_what_differs_is_found(writes: str, different: list[str],
                               tmp_path: Path) -> None:
    """A tool that writes where it runs, or says how much its environment has."""
    tool = tmp_path / "build" / "bin" / "regather"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\nfor last; do true; done\n"
                    f"{writes} > ${{last#--json=}}\n")
    tool.chmod(0o755)
    trials = determinism.Trials([tmp_path / "build"], [STEP],
                                tmp_path / "scratch", seed=3)
    assert trials.run(0).different == different


def test_numbers_of_the_library_have_no_locale(tmp_path: Path) -> None:
    if determinism.COMMA not in determinism.locales(tmp_path):
        pytest.skip("needs a locale with a decimal comma")
    environment = os.environ | {
        "LOCPATH": str(tmp_path / "locales"),
        "PYTHONPATH": str(ROOT / "python"),
        "REGATHER_LIBRARY": str(BUILD / "lib" / "libregather.so")}

    def run(locale: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, MLP, tmp_path / "step.rgb", locale],
            env=environment, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
    plain = run("")
    assert plain.count("\n") == 7
    assert run(determinism.COMMA) == plain


def test_a_trial_can_be_run_again(tmp_path: Path) -> None:
    """By its number and the seed, from the command line."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "determinism.py", "--only", "7",
         "--seed", "3", "--step", STEP, "--build-dir", BUILD,
         "--output", tmp_path / "found.json"],
        text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    drawn = determinism.Conditions.draw(3, 7, found["locales"], 1)
    assert found["trials"][0]["number"] == 7
    assert found["trials"][0]["conditions"] == determinism.asdict(drawn)
