"""The cache of compiled kernels: what it saves, and that nothing else changes."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from regather_tools import BUILD, run_tool

STEP = """
func.func @step(%x: tensor<64x64xf32>, %y: tensor<64x64xbf16>,
                %z: tensor<32x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<32x64xf32>) {
  %a = math.tanh %x : tensor<64x64xf32>
  %b = arith.addf %y, %y : tensor<64x64xbf16>
  %c = arith.mulf %z, %z : tensor<32x64xf32>
  %d = arith.mulf %c, %z : tensor<32x64xf32>
  return %a, %b, %d : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<32x64xf32>
}
"""
# The two products are one kernel.
COUNT = 3
# The code of a kernel is kept by its text, and once more by its program of LLVM.
ENTRIES = 2 * COUNT


@dataclass(frozen=True)
class Outcome:
    results: bytes
    compiled: int
    cached: int
    stderr: str


@pytest.fixture(name="step")
def fixture_step(tmp_path: Path) -> Path:
    path = tmp_path / "step.mlir"
    path.write_text(STEP)
    return path


def run_step(step: Path, *options: str, env: dict[str, str] | None = None,
             name: str = "results") -> Outcome:
    """Runs the step; the numbers add up."""
    results = step.parent / f"{name}.safetensors"
    result = run_tool("regather", "run", step, "--random-inputs=1", "--json",
                      "--quiet", f"--outputs={results}", *options, env=env)
    assert result.code == 0, result.last_words
    kernels = json.loads(result.stdout)["kernels"]
    assert kernels["count"] == kernels["compiled"] + kernels["cached"] == COUNT
    return Outcome(results.read_bytes(), kernels["compiled"], kernels["cached"],
                   result.stderr)


def get_entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("llvmcache-*"))


def test_the_second_run_compiles_nothing(step: Path, tmp_path: Path) -> None:
    cache = f"--cache-dir={tmp_path / 'cache'}"
    plain = run_step(step, "--cache-dir=")
    cold = run_step(step, cache)
    warm = run_step(step, cache)
    assert [plain.compiled, cold.compiled, warm.compiled] == [COUNT, COUNT, 0]
    assert plain.results == cold.results == warm.results
    assert plain.stderr == cold.stderr == warm.stderr == ""
    assert len(get_entries(tmp_path / "cache")) == ENTRIES


def test_the_number_of_threads_changes_nothing(step: Path,
                                               tmp_path: Path) -> None:
    for threads in (1, 3):
        run_step(step, f"--cache-dir={tmp_path / str(threads)}",
                 f"--compile-threads={threads}")
    first, second = (
        [(entry.name, entry.read_bytes())
         for entry in get_entries(tmp_path / str(threads))]
        for threads in (1, 3))
    assert len(first) == ENTRIES
    assert first == second


def test_another_step_shares_its_kernels(step: Path, tmp_path: Path) -> None:
    """Neither the order of kernels in a step nor their places are in the key."""
    cache = f"--cache-dir={tmp_path / 'cache'}"
    run_step(step, cache)
    lines = STEP.splitlines()
    lines[5], lines[6] = lines[6], lines[5]
    other = tmp_path / "other.mlir"
    other.write_text("// Further down.\n\n" + "\n".join(lines))
    assert run_step(other, cache).cached == COUNT


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    lambda data: data[:100] + bytes([data[100] ^ 64]) + data[101:],
    lambda data: data[:len(data) // 2],
    lambda data: b"",
], ids=["last-bit", "middle-bit", "half", "empty"])
def test_a_damaged_entry_is_rebuilt(step: Path, tmp_path: Path, damage) -> None:
    cache = f"--cache-dir={tmp_path / 'cache'}"
    before = run_step(step, cache)
    entries = get_entries(tmp_path / "cache")
    # By its text or by its program: the other one gives its code.
    contents = [entry.read_bytes() for entry in entries]
    for entry, data in zip(entries, contents, strict=True):
        entry.write_bytes(damage(data))
        assert run_step(step, cache).compiled == 0
        entry.write_bytes(data)
    for entry, data in zip(entries, contents, strict=True):
        entry.write_bytes(damage(data))
    after = run_step(step, cache)
    assert (after.compiled, after.cached) == (COUNT, 0)
    assert after.results == before.results
    assert [entry.read_bytes() for entry in entries] == contents
    assert run_step(step, cache).compiled == 0


def test_another_build_compiles_nothing(step: Path, tmp_path: Path) -> None:
    """As long as it lowers kernels to the same programs."""
    cache = f"--cache-dir={tmp_path / 'cache'}"
    first = run_step(step, cache)
    copy = tmp_path / "regather"
    shutil.copy(BUILD / "bin/regather", copy)
    outputs = tmp_path / "copy.safetensors"
    result = subprocess.run(
        [copy, "run", step, "--random-inputs=1", "--json", "--quiet", cache,
         f"--outputs={outputs}"],
        capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["kernels"]["cached"] == COUNT
    assert outputs.read_bytes() == first.results
    # By the texts of this build.
    assert len(get_entries(tmp_path / "cache")) == ENTRIES + COUNT


def test_processes_fill_one_cache_at_once(step: Path, tmp_path: Path) -> None:
    cache = f"--cache-dir={tmp_path / 'cache'}"
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(run_step, step, cache, name=f"results{i}")
                for i in range(3)]
    outcomes = [run.result() for run in runs]
    assert len({outcome.results for outcome in outcomes}) == 1
    assert {outcome.stderr for outcome in outcomes} == {""}
    assert len(get_entries(tmp_path / "cache")) == ENTRIES
    assert run_step(step, cache).compiled == 0


def test_a_folder_that_cannot_be_made_is_a_warning(step: Path,
                                                   tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("precious")
    expected = run_step(step, "--cache-dir=")
    outcome = run_step(step, f"--cache-dir={folder}")
    assert outcome.results == expected.results
    assert outcome.compiled == COUNT
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith(
        f"regather: warning: cannot write to the kernel cache '{folder}': ")
    assert folder.read_text() == "precious"


def test_a_full_disk_is_a_warning(step: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: none has a byte.

    Going over it is a signal as well, which LLVM writes about.
    """
    folder = tmp_path / "cache"
    command = (f"trap '' XFSZ; ulimit -f 0; exec '{BUILD}/bin/regather' run "
               f"'{step}' --random-inputs=1 --json --quiet "
               f"'--cache-dir={folder}'")
    result = subprocess.run(["bash", "-c", command], capture_output=True,
                            text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["kernels"]["compiled"] == COUNT
    assert (f"regather: warning: cannot write to the kernel cache '{folder}': "
            "File too large\n") in result.stderr
    assert get_entries(folder) == [], "left a temporary file"


def test_where_the_cache_is(step: Path, tmp_path: Path) -> None:
    """The option, then the variable, then the user's cache folder."""
    home = {"XDG_CACHE_HOME": str(tmp_path / "xdg")}
    variable = {**home, "REGATHER_CACHE_DIR": str(tmp_path / "variable")}
    run_step(step, f"--cache-dir={tmp_path / 'option'}", env=variable)
    assert len(get_entries(tmp_path / "option")) == ENTRIES
    assert not (tmp_path / "variable").exists()
    run_step(step, env=variable)
    assert len(get_entries(tmp_path / "variable")) == ENTRIES
    run_step(step, env={**variable, "REGATHER_CACHE_DIR": ""})
    run_step(step, "--cache-dir=", env=variable)
    assert not (tmp_path / "xdg").exists()
    result = subprocess.run(
        [BUILD / "bin/regather", "run", step, "--random-inputs=1", "--quiet"],
        env=home, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert len(get_entries(tmp_path / "xdg/regather")) == ENTRIES
