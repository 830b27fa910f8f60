"""A handful of the trials of `scripts/kill_trials.py`: ranks that die, stop or fail,
what the others say, and that the last save goes on to the same losses. Its limits
of time are for machines that do nothing else, and not looked at here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT

sys.path.append(str(ROOT / "scripts"))

import kill_trials  # noqa: E402
from trial_jobs import Job, Jobs, Setting, has_mpi  # noqa: E402

TWO, FOUR = Setting("mpi", 2, False), Setting("mpi", 4, True)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> kill_trials.Trials:
    jobs = Jobs(BUILD, tmp_path_factory.mktemp("trials"), timeout=3)
    return kill_trials.Trials(jobs, death_seconds=60, stall_seconds=60)


@pytest.mark.parametrize(("setting", "fault", "victim", "share"), [
    (FOUR, "kill", 2, 0.9), (TWO, "stop", 0, 0.6), (TWO, "corrupt", 1, 0.8),
    (TWO, "full", 0, 0.5), (Setting("threads", 2, False), "kill", 0, 0.5),
    (Setting("nccl", 2, False), "kill", 1, 0.5)])
def test_the_others_end_and_the_save_goes_on(
        trials: kill_trials.Trials, setting: Setting, fault: str, victim: int,
        share: float) -> None:
    if setting.communicator == "mpi" and not has_mpi(BUILD):
        pytest.skip("needs an MPI")
    outcome = trials.run(kill_trials.Trial(0, setting, fault, victim, share, 0))
    assert outcome.problems == [], outcome
    assert outcome.resumed, outcome


def test_a_trial_that_goes_wrong_is_found(trials: kill_trials.Trials,
                                          monkeypatch: pytest.MonkeyPatch
                                          ) -> None:
    """Another run's losses, ranks that say nothing, and no time at all."""
    setting = Setting("nccl", 2, False)
    job = trials.jobs.get_job(setting)
    other = Job(setting, job.bundle, job.steps,
                tuple(loss + "1" for loss in job.losses))
    monkeypatch.setitem(trials.jobs._known, setting, other)
    monkeypatch.setitem(trials.limits, "kill", 0)
    for pattern in "PLACE", "BETWEEN_STEPS":
        monkeypatch.setattr(kill_trials, pattern, re.compile("pigeon"))
    outcome = trials.run(kill_trials.Trial(1, setting, "kill", 1, 0.5, 0))
    text = "; ".join(outcome.problems)
    assert "rank 0 does not say where it is" in text
    assert "the others end after" in text
    assert "does not go on to the losses of an undisturbed run" in text


def test_a_seed_draws_the_same_trials(tmp_path: Path) -> None:
    def draw(seed: int) -> list[kill_trials.Trial]:
        return [kill_trials.Trial.draw(seed, number, ["threads", "mpi"])
                for number in range(50)]

    assert draw(1) == draw(1) != draw(2)
    assert {trial.fault for trial in draw(1)} == set(kill_trials.FAULTS["mpi"])
    # The first that is over soon.
    number = next(
        number for number in range(100)
        for trial in [kill_trials.Trial.draw(5, number, ["nccl"])]
        if trial.fault == "kill" and trial.setting.ranks == 2
        and trial.share > 0.3)
    command = [sys.executable, ROOT / "scripts" / "kill_trials.py",
               "--build-dir", BUILD, "-o", tmp_path, "--seed", "5", "--only",
               str(number), "--communicators", "nccl", "--death-seconds", "60"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    summary = json.loads((tmp_path / "trials.json").read_text())
    assert [(each["number"], each["fault"], each["ranks"])
            for each in summary["trials"]] == [
                (number, "kill", 2)]
    assert "1 trials of seed 5" in (tmp_path / "index.html").read_text()
    refused = subprocess.run([*command, "--communicators=pigeons"],
                             capture_output=True, text=True)
    assert refused.returncode == 1 and "not 'pigeons'" in refused.stderr
