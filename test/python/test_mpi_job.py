"""Jobs of MPI, `--comm=mpi`, one process for each rank: the bits of threads, files
that one rank writes, and what ranks say if they cannot run or one is gone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT, Result, run_tool

STEP = ROOT / "examples" / "mlp-fsdp.mlir"
RUN = ("--random-inputs=1", "--steps=3", "--quiet")

pytestmark = pytest.mark.skipif(
    not (BUILD / "lib" / "libregather_mpi.so").exists()
    or not shutil.which("mpirun"), reason="needs an MPI")


def get_command(ranks: int, tool: str, *arguments: str | Path) -> list[str]:
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n",
            str(ranks), str(BUILD / "bin" / tool), *map(str, arguments)]


def run_job(ranks: int, tool: str, *arguments: str | Path,
            **variables: str) -> Result:
    result = subprocess.run(get_command(ranks, tool, *arguments),
                            capture_output=True, timeout=60,
                            env={**os.environ, **variables})
    return Result(result.returncode, result.stdout,
                  result.stderr.decode(errors="replace"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mpi") / "step.rgb"
    result = run_tool("regather", "compile", STEP, "--quiet", "-o", path)
    assert result.code == 0, result.last_words
    return path


def describe_files(folder: Path) -> dict[str, bytes]:
    """Without the number by which the files of one save know each other, which
    is made of what a process knows."""
    return {path.name: re.sub(rb'"regather.save":"[0-9a-f]+"', b"",
                              path.read_bytes())
            for path in sorted(folder.iterdir())}


def test_a_job_has_the_bits_of_threads(bundle: Path, tmp_path: Path) -> None:
    def outputs(name: str) -> tuple[str, ...]:
        return ("--json", f"--outputs={tmp_path / name}.safetensors",
                f"--outputs-sharded={tmp_path / name}",
                f"--trace={tmp_path / name}.json")

    threads = run_tool("regather", "run", STEP, *RUN, *outputs("threads"))
    module = run_job(4, "regather", "run", STEP, "--comm=mpi", *RUN,
                     *outputs("module"))
    bundled = run_job(4, "regather-run", bundle, "--comm=mpi", *RUN,
                      *outputs("bundle"))
    expected = json.loads(threads.stdout)
    for name, job in ("module", module), ("bundle", bundled):
        assert job.code == 0, job.stderr
        # Rank 0 speaks for all.
        report = json.loads(job.stdout)
        assert report["losses"] == expected["losses"]
        assert len(report["exposed_seconds_by_rank"]) == report["ranks"] == 4
        assert ((tmp_path / f"{name}.safetensors").read_bytes()
                == (tmp_path / "threads.safetensors").read_bytes())
        assert (describe_files(tmp_path / name)
                == describe_files(tmp_path / "threads"))
        assert json.loads((tmp_path / f"{name}.json").read_text())


def test_an_elastic_job_has_the_bits_of_one_rank(tmp_path: Path) -> None:
    """Ranks exchange their sums and add them themselves."""
    step = ROOT / "examples" / "mlp.mlir"
    options = (*RUN, "--elastic=4")
    alone = run_tool("regather", "run", step, "--ranks=1", *options,
                     "--outputs", tmp_path / "alone")
    assert alone.code == 0, alone.stderr
    for ranks in (2, 4):
        job = run_job(ranks, "regather", "run", step, "--comm=mpi", *options,
                      "--outputs", tmp_path / "job")
        assert job.code == 0, job.stderr
        assert ((tmp_path / "job").read_bytes()
                == (tmp_path / "alone").read_bytes())


def test_a_step_without_a_mesh_and_in_two_parts(tmp_path: Path) -> None:
    """The job says how many ranks there are; forward and backward take turns on
    its messages."""
    step = ROOT / "examples" / "mlp.mlir"
    options = (*RUN, "--json")
    threads = run_tool("regather", "run", step, "--ranks=2", *options)
    job = run_job(2, "regather", "run", step, "--comm=mpi", *options)
    assert job.code == 0, job.stderr
    assert (json.loads(job.stdout)["losses"]
            == json.loads(threads.stdout)["losses"])
    parts = tmp_path / "parts.mlir"
    split = run_tool("regather-opt", STEP, "--tg-partition", "-o", parts)
    assert split.code == 0, split.stderr
    threads = run_tool("regather", "run", parts, *options)
    job = run_job(4, "regather", "run", parts, "--comm=mpi", *options)
    assert job.code == 0, job.stderr
    assert (json.loads(job.stdout)["losses"]
            == json.loads(threads.stdout)["losses"])


def test_a_job_goes_on_from_its_save(bundle: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    first = run_job(4, "regather-run", bundle, "--comm=mpi", "--steps=2",
                    "--random-inputs=1", "--json", f"--outputs-sharded={saved}")
    second = run_job(4, "regather-run", bundle, "--comm=mpi", "--steps=1",
                     "--random-inputs=1", "--json", "--first-step=3",
                     f"--inputs={saved}")
    whole = run_tool("regather-run", bundle, *RUN, "--json")
    assert first.code == second.code == 0, first.stderr + second.stderr
    assert (json.loads(first.stdout)["losses"]
            + json.loads(second.stdout)["losses"]
            == json.loads(whole.stdout)["losses"])


@pytest.mark.parametrize("compiled", [False, True])
def test_another_number_of_ranks(bundle: Path, compiled: bool) -> None:
    command = (("regather-run", bundle) if compiled
               else ("regather", "run", STEP))
    job = run_job(2, *command, "--comm=mpi", *RUN)
    assert job.code == 1 and job.stdout == b""
    # All ranks fail, and one says why.
    assert job.stderr.count("error: ") == 1, job.stderr
    assert ("4 ranks, but the MPI job has 2: start it with 'mpirun -n 4'"
            in job.stderr)
    asked = run_job(2, *command, "--comm=mpi", "--ranks=4", *RUN)
    assert asked.stderr.count("error: ") == 1, asked.stderr
    assert "--ranks asks for 4 ranks, but the MPI job has 2" in asked.stderr


def test_ranks_that_compiled_other_steps(bundle: Path, tmp_path: Path) -> None:
    """Found before the first collective."""
    other = tmp_path / "other.rgb"
    result = run_tool("regather", "compile", STEP, "--quiet", "-o", other,
                      "--bucket=[.],[*]")
    if result.code:
        result = run_tool("regather", "compile", STEP, "--quiet", "-o", other,
                          "--bucket=[*]")
    assert result.code == 0, result.stderr
    command = get_command(2, "regather-run", bundle, "--comm=mpi", *RUN)
    second = get_command(2, "regather-run", other, "--comm=mpi", *RUN)[4:]
    job = subprocess.run([*command, ":", "-n", *second], capture_output=True,
                         text=True, timeout=60)
    assert job.returncode == 1
    assert re.search("mismatch: ranks . and . have programs with different "
                     r"collectives of group \[0, 1, 2, 3\]", job.stderr)


@pytest.mark.parametrize(("library", "words"), [
    ("/nowhere/libregather_mpi.so", "which is built where CMake finds an MPI"),
    (str(BUILD / "lib" / "libregather_recording.so"),
     "needs a libregather_mpi.so of version 2, got one of none")])
def test_a_library_that_is_none(bundle: Path, library: str,
                                words: str) -> None:
    result = run_tool("regather-run", bundle, "--comm=mpi",
                      env={"REGATHER_MPI_LIBRARY": library})
    assert result.code == 1
    assert words in result.stderr


def find_ranks(job: subprocess.Popen[bytes]) -> dict[int, int]:
    """The process of each rank."""
    ranks = {}
    for child in Path(f"/proc/{job.pid}/task/{job.pid}/children"
                      ).read_text().split():
        for text in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            if text.startswith(b"OMPI_COMM_WORLD_RANK="):
                ranks[int(text.split(b"=")[1])] = int(child)
    return ranks


@pytest.mark.parametrize(("number", "words"), [
    (signal.SIGKILL, "rank 2 is gone: its process has ended"),
    (signal.SIGSTOP, r"timeout: .*; the process of rank 2 is stopped\n")])
def test_a_rank_that_dies_or_stops(bundle: Path, number: int,
                                   words: str) -> None:
    """Nothing but a process tells that it was killed, since messages go through
    memory. That it was stopped is known when the time is over, also by ranks that
    wait for another one, which waits for it."""
    command = get_command(4, "regather-run", bundle, "--comm=mpi",
                          "--random-inputs=1", "--steps=100000000", "--quiet",
                          "--timeout=5")
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as job:
        assert b"loss" in job.stdout.readline()
        stopped = find_ranks(job)[2]
        os.kill(stopped, number)
        begin = time.monotonic()
        try:
            _, stderr = job.communicate(timeout=30)
        finally:
            job.kill()
            if number == signal.SIGSTOP:
                subprocess.run(["kill", "-KILL", str(stopped)],
                               capture_output=True)
    seconds = time.monotonic() - begin
    text = stderr.decode()
    assert job.returncode != 0
    assert re.search(words, text), text
    # The others are in a collective or, as they say then, between two steps.
    assert re.search(r"\(collective \d+ of group \[0, 1, 2, 3\]\)|cannot "
                     r"exchange what ranks tell each other between steps: ",
                     text), text
    # The test is generous, where ./dev kill-trials is not.
    assert seconds < 20


def test_a_signal_ends_all_ranks_after_the_same_step(bundle: Path,
                                                     tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    command = get_command(4, "regather-run", bundle, "--comm=mpi",
                          "--random-inputs=1", "--steps=100000000", "--quiet",
                          f"--outputs-sharded={saved}")
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as job:
        assert b"loss" in job.stdout.readline()
        os.kill(find_ranks(job)[1], signal.SIGTERM)
        _, stderr = job.communicate(timeout=60)
    last = int(re.search(rb"stopped by SIGTERM after step (\d+)", stderr)[1])
    assert job.returncode == 143
    again = tmp_path / "again"
    run_job(4, "regather-run", bundle, "--comm=mpi", "--random-inputs=1",
            f"--steps={last}", "--quiet", f"--outputs-sharded={again}")
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()}
