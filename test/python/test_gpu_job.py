"""Bundles for GPUs as jobs of several processes, `--comm=nccl`, on the libraries
that stand in for CUDA and NCCL: how ranks find each other, and what they say if
they do not."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT, Result, run_tool

STAND_IN = str(BUILD / "lib" / "libregather_recording.so")
LIBRARIES = {name: STAND_IN for name in
             ("REGATHER_CUDA_LIBRARY", "REGATHER_CUBLASLT_LIBRARY",
              "REGATHER_NCCL_LIBRARY")}
RUN = ("--random-inputs=1", "--steps=2", "--quiet")


def compile_bundle(example: str, folder: Path) -> Path:
    bundle = folder / f"{example}.rgb"
    result = run_tool("regather", "compile", ROOT / "examples" / f"{example}.mlir",
                      "--target=nvptx:sm_90a", "--emit=bundle", "--quiet", "-o",
                      bundle, timeout=300)
    assert result.code == 0, result.last_words
    return bundle


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_bundle("mlp", tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def four_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_bundle("mlp-fsdp", tmp_path_factory.mktemp("job"))


def get_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_rank(bundle: Path, rank: int, ranks: int, *options: str | Path,
             port: int = 1, **variables: str) -> Result:
    """A process as torchrun starts it."""
    return run_tool("regather-run", bundle, "--comm=nccl", *RUN, *options,
                    timeout=300,
                    env={**LIBRARIES, "RANK": str(rank),
                         "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                         **variables})


def run_ranks(bundle: Path, present: list[int], ranks: int,
              *options: str) -> list[Result]:
    port = get_free_port()
    with ThreadPoolExecutor(len(present)) as pool:
        return list(pool.map(lambda rank: run_rank(bundle, rank, ranks,
                                                   *options, port=port),
                             present))


def expect_error(result: Result, *words: str) -> None:
    assert result.code == 1, result.stderr
    assert result.stdout == b""
    for word in words:
        assert word in result.stderr, result.stderr


def test_a_job_of_one_rank_does_what_a_process_does(one_rank: Path,
                                                    tmp_path: Path) -> None:
    outputs = tmp_path / "job", tmp_path / "process"
    job = run_rank(one_rank, 0, 1, "--json", "--outputs-sharded", outputs[0])
    process = run_tool("regather-run", one_rank, *RUN, "--json",
                       "--outputs-sharded", outputs[1], env=LIBRARIES)
    assert job.code == 0, job.stderr
    losses = [json.loads(result.stdout)["losses"] for result in (job, process)]
    assert losses[0] == losses[1]
    files = [sorted(path.iterdir()) for path in outputs]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    assert [path.read_bytes() for path in files[0]] == [
        path.read_bytes() for path in files[1]]


def test_ranks_that_do_not_arrive_are_named(four_ranks: Path) -> None:
    for result in run_ranks(four_ranks, [0, 2], 4, "--timeout=3"):
        expect_error(result, "ranks 1, 3 of 4 did not arrive within 3 seconds")


def test_rank_zero_that_does_not_arrive(four_ranks: Path) -> None:
    result = run_ranks(four_ranks, [1], 4, "--timeout=1")[0]
    expect_error(result, "rank 0 does not answer at 127.0.0.1:",
                 "within 1 seconds: Connection refused")


def test_a_bundle_for_another_mesh(four_ranks: Path) -> None:
    expect_error(run_rank(four_ranks, 0, 2),
                 "compiled for 4 ranks, but the job has 2")


@pytest.mark.parametrize(("variables", "words"), [
    ({"RANK": "7"}, ("RANK is '7', expected a number from 0 to 0",)),
    ({"REGATHER_NCCL_LIBRARY": "/nowhere/libnccl.so"},
     ("cannot open NCCL", "/nowhere/libnccl.so")),
    ({"REGATHER_STAND_IN_NCCL": "21705"},
     ("version 2.17.5, but 2.18.0 or newer is needed",)),
])
def test_jobs_that_cannot_run(one_rank: Path, variables: dict[str, str],
                              words: tuple[str, ...]) -> None:
    expect_error(run_rank(one_rank, 0, 1, **variables), *words)


def test_results_of_all_ranks_need_one_process(one_rank: Path,
                                               tmp_path: Path) -> None:
    expect_error(run_rank(one_rank, 0, 1, f"--outputs={tmp_path / 'all'}"),
                 "use --outputs-sharded")


def test_processors_have_no_nccl(tmp_path: Path) -> None:
    bundle = tmp_path / "cpu.rgb"
    result = run_tool("regather", "compile", ROOT / "examples" / "mlp.mlir",
                      "--quiet", "-o", bundle)
    assert result.code == 0, result.last_words
    expect_error(run_rank(bundle, 0, 1), "--comm=nccl needs a bundle for GPUs")
