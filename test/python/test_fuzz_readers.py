"""Readers of files under libFuzzer; see test/fuzz/readers.

Each reads its corpus, and some thousand changes of it. `./dev fuzz-readers` runs
more of them, where all code is instrumented.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from regather_tools import BUILD, ROOT

FOLDER = ROOT / "test" / "fuzz" / "readers"
sys.path.insert(0, str(FOLDER))
# pylint: disable=wrong-import-position
from campaign_readers import CORPUS, FLAGS, READERS  # noqa: E402

TOOL = BUILD / "bin" / "regather-fuzz-readers"
CAMPAIGN = FOLDER / "campaign_readers.py"
# The store starts a server for each input.
RUNS = {name: 300 if name == "store" else 2000 for name in READERS}

LIMITS = ["-timeout=60"]
# Counting lines takes more than a GiB from the start.
if "LLVM_PROFILE_FILE" in os.environ:
    LIMITS.append("-rss_limit_mb=4096")

pytestmark = pytest.mark.skipif(
    not TOOL.exists(), reason="no libFuzzer where this was built")


def fuzz(*arguments: str | Path, folder: Path,
         runs: int) -> subprocess.CompletedProcess[str]:
    # Finds are written to where it runs. A program begins with the peak memory of
    # the process that became it, which would be this one: with a process between
    # them, libFuzzer's limit is for the reader.
    return subprocess.run(
        ["timeout", "300", TOOL, *arguments, f"-runs={runs}", "-seed=1", *FLAGS, *LIMITS],
        cwd=folder, capture_output=True, text=True, errors="replace",
        check=False)


@pytest.mark.parametrize("reader", READERS)
def test_reader(reader: str, tmp_path: Path) -> None:
    files = list((CORPUS / reader).iterdir())
    # Inputs that are new are written to the first folder.
    (tmp_path / "new").mkdir()
    result = fuzz(f"--reader={reader}", "new", CORPUS / reader,
                  folder=tmp_path, runs=RUNS[reader])
    assert result.returncode == 0, result.stderr[-4000:]
    assert os.listdir(tmp_path) == ["new"]
    # What was in the corpus has been read, and was not all refused alike.
    assert f"seed corpus: files: {len(files)} " in result.stderr
    done = re.search(r"DONE .*corp: (\d+)/", result.stderr)
    assert done and int(done[1]) > len(files) / 2
    assert f"Done {RUNS[reader]} runs" in result.stderr


def test_faults_are_found(tmp_path: Path) -> None:
    """With a reader that has one."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "seed").write_text('{"planted": 1}')
    result = fuzz("--reader=planted", "corpus", folder=tmp_path, runs=100_000)
    assert result.returncode == 77
    assert "find: the planted fault" in result.stderr
    find, = tmp_path.glob("crash-*")
    again = fuzz("--reader=planted", find.name, folder=tmp_path, runs=1)
    assert "find: the planted fault" in again.stderr


def test_a_campaign_goes_on_after_a_find(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus" / "planted"
    corpus.mkdir(parents=True)
    (corpus / "seed").write_text('{"planted": 1}')
    runs = 2000
    result = subprocess.run(
        [sys.executable, CAMPAIGN, str(runs), "--readers=planted,order",
         "--seed=5", "--jobs=1", f"--build-dir={BUILD}",
         f"--output={tmp_path}"],
        capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 1, result.stderr
    planted, order = json.loads((tmp_path / "summary.json").read_text())
    assert order["runs"] == runs and not order["finds"]
    assert planted["runs"] >= runs or len(planted["finds"]) == 20
    first, second = planted["finds"][:2]
    assert (first["seed"], second["seed"]) == (5, 6)
    assert first["message"] == "find: the planted fault"
    assert f"crash: {first['message']}: {first['file']}" in result.stdout
    again = fuzz("--reader=planted", first["file"], folder=tmp_path, runs=1)
    assert "find: the planted fault" in again.stderr
    assert "the planted fault" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("arguments", [["1m"], ["0"], ["9", "--readers=x"]])
def test_wrong_budgets(arguments: list[str], tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, CAMPAIGN, *arguments, f"--output={tmp_path}"],
        capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 2
    assert arguments[-1].removeprefix("--readers=") in result.stderr


def test_other_readers_are_refused(tmp_path: Path) -> None:
    result = fuzz("--reader=what", folder=tmp_path, runs=1)
    assert result.returncode == 2
    # Each of those that there are has a corpus.
    names = result.stderr.strip().split("one of ")[1].split(", ")
    assert sorted(names) == sorted([*READERS, "planted"])
