"""Bundles for GPUs as jobs of several processes, `--comm=nccl`, on the libraries
that stand in for CUDA and NCCL, which moves data between processes by files: what
jobs compute, how ranks find each other, and what they say if one fails."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

from regather_tools import (BUILD, ROOT, Result, decode_safetensors, run_tool)

STAND_IN = str(BUILD / "lib" / "libregather_recording.so")
LIBRARIES = {name: STAND_IN for name in
             ("REGATHER_CUDA_LIBRARY", "REGATHER_CUBLASLT_LIBRARY",
              "REGATHER_NCCL_LIBRARY", "NVTX_INJECTION64_PATH")}
RUN = ("--random-inputs=1", "--steps=2", "--quiet")


def compile_bundle(step: Path, folder: Path, *options: str) -> Path:
    bundle = folder / f"{step.stem}.rgb"
    result = run_tool("regather", "compile", step, "--target=nvptx:sm_90a",
                      "--emit=bundle", "--quiet", "-o", bundle, *options,
                      timeout=300)
    assert result.code == 0, result.last_words
    return bundle


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_bundle(ROOT / "examples" / "mlp.mlir",
                          tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def four_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_bundle(ROOT / "examples" / "mlp-fsdp.mlir",
                          tmp_path_factory.mktemp("job"))


def get_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get_environment(rank: int, ranks: int, port: int) -> dict[str, str]:
    """What torchrun tells a process."""
    return {**LIBRARIES, "RANK": str(rank), "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port)}


def run_rank(bundle: Path, rank: int, ranks: int, *options: str | Path,
             port: int = 1, **variables: str) -> Result:
    return run_tool("regather-run", bundle, "--comm=nccl", *RUN, *options,
                    timeout=300,
                    env={**get_environment(rank, ranks, port), **variables})


def run_ranks(bundle: Path, present: list[int], ranks: int,
              *options: str | Path, **variables: str) -> list[Result]:
    port = get_free_port()
    with ThreadPoolExecutor(len(present)) as pool:
        return list(pool.map(lambda rank: run_rank(bundle, rank, ranks,
                                                   *options, port=port,
                                                   **variables),
                             present))


def run_job(bundle: Path, folder: Path, *options: str | Path,
            **variables: str) -> list[Result]:
    """Four processes, whose NCCL moves data by files in the folder."""
    folder.mkdir(exist_ok=True)
    return run_ranks(bundle, [0, 1, 2, 3], 4, *options,
                     REGATHER_STAND_IN_NCCL_FOLDER=str(folder), **variables)


def losses_of(result: Result) -> list[float]:
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)["losses"]


def run_on_cpu(*options: str | Path) -> list[float]:
    return losses_of(run_tool("regather", "run",
                              ROOT / "examples" / "mlp-fsdp.mlir", *RUN,
                              "--json", *options))


def expect_close(path: Path, expected: Path) -> None:
    tensors, others = (decode_safetensors(file.read_bytes())
                       for file in (path, expected))
    assert tensors.keys() == others.keys() and tensors
    for name, tensor in tensors.items():
        numpy.testing.assert_allclose(
            tensor.to_floats(), others[name].to_floats(), rtol=1e-4, atol=1e-5,
            err_msg=f"{path.name} {name}")


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


@pytest.mark.parametrize("comm", ["nccl", "nccl,reproducible"])
def test_a_job_computes_what_the_cpu_computes(four_ranks: Path, tmp_path: Path,
                                              comm: str) -> None:
    folders = tmp_path / "job", tmp_path / "cpu"
    results = run_job(four_ranks, tmp_path / "nccl", f"--comm={comm}", "--json",
                      "--outputs-sharded", folders[0])
    # Rank 0 speaks for all.
    assert [result.code for result in results] == [0] * 4, results
    assert all(not result.stdout for result in results[1:])
    assert losses_of(results[0]) == pytest.approx(
        run_on_cpu("--outputs-sharded", folders[1]), rel=1e-5)
    names = sorted(path.name for path in folders[0].iterdir())
    assert len(names) == 4
    for name in names:
        expect_close(folders[0] / name, folders[1] / name)


def test_reproducible_sums_are_those_of_one_process(four_ranks: Path,
                                                    tmp_path: Path) -> None:
    one = run_tool("regather-run", four_ranks, *RUN, "--json", env=LIBRARIES)
    job = run_job(four_ranks, tmp_path, "--comm=nccl,reproducible", "--json")
    assert losses_of(job[0]) == losses_of(one)


@pytest.mark.parametrize("graphs", ["none", "full"])
def test_work_that_runs_later_computes_the_same(tmp_path: Path,
                                                graphs: str) -> None:
    """The device is behind the host, and streams are ahead of each other: what
    orders them are events."""
    bundle = compile_bundle(ROOT / "examples" / "mlp-fsdp.mlir", tmp_path,
                            f"--cuda-graph={graphs}")
    steps = ("--json", "--steps=3")
    expected = losses_of(run_tool("regather-run", bundle, *RUN, *steps,
                                  env=LIBRARIES))
    for seed in range(3):
        late = run_tool("regather-run", bundle, *RUN, *steps,
                        env={**LIBRARIES, "REGATHER_STAND_IN_DELAYS": str(seed)})
        assert losses_of(late) == expected
    job = run_job(bundle, tmp_path / "nccl", "--comm=nccl,reproducible", *steps,
                  REGATHER_STAND_IN_DELAYS="7")
    assert losses_of(job[0]) == expected


# The number of the collective, and what it is.
IN_COLLECTIVE = (r"rank \d is in collective 3 of group \[0, 1, 2, 3\]: "
                 r"tg.all_gather at [^ ]*mlp-fsdp.mlir:\d+:\d+ in module "
                 r"'layers.2'")


@pytest.mark.parametrize("fault", ["hang", "error"])
def test_a_rank_that_does_not_come_to_a_collective(
        four_ranks: Path, tmp_path: Path, fault: str) -> None:
    """Seconds of the limit are up at the others, unless the one has ended; who
    fails says why, and the others have heard it."""
    results = run_job(four_ranks, tmp_path / "nccl", "--timeout=3",
                      REGATHER_STAND_IN_NCCL_FAULT=f"{fault}:2:3",
                      REGATHER_COLLECTIVE_LOG=str(tmp_path / "log-"))
    for rank, result in enumerate(results):
        fails = fault == "error" and rank == 2
        # Of those whose time is over one may be ahead of the others.
        heard = (fault == "error" and not fails) * (
            "rank 2 of 4 has ended before the job has: ",)
        expect_error(result, f"rank {rank} stopped: ", *heard,
                     "an injected failure" if fault == "error" else
                     "the step is not done after 3 seconds")
        assert len(re.findall(IN_COLLECTIVE, result.stderr)) == 1
        # All processes are there.
        if fault == "hang":
            assert "nothing was heard of" not in result.stderr
        log = json.loads((tmp_path / f"log-{rank}.json").read_text())
        assert log["rank"] == rank
        assert log["collectives"][-1]["sequence"] == 3


def test_a_failure_within_a_graph(tmp_path: Path) -> None:
    """Graphs go before communicators, which NCCL does not end while they are in
    one; the message is that of the library."""
    bundle = compile_bundle(ROOT / "examples" / "mlp-fsdp.mlir", tmp_path,
                            "--cuda-graph=full")
    begin = time.monotonic()
    # The second step captures; each has five gathers.
    results = run_job(bundle, tmp_path, "--timeout=3",
                      REGATHER_STAND_IN_NCCL_FAULT="error:2:7")
    # NCCL would have been waited for as long.
    assert time.monotonic() - begin < 10
    for rank, result in enumerate(results):
        assert result.code == 1, result.stderr
        assert (f"rank {rank} stopped: an exchange for gathers of group "
                "[0, 1, 2, 3]: remote process exited" if rank == 2
                else "rank 2 of 4 has ended before the job has: "
                ) in result.stderr


def test_a_rank_that_is_killed(four_ranks: Path, tmp_path: Path) -> None:
    port = get_free_port()
    processes = [
        subprocess.Popen([BUILD / "bin" / "regather-run", four_ranks,
                          "--comm=nccl", "--random-inputs=1",
                          "--steps=1000000", "--quiet", "--timeout=3"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**os.environ, **get_environment(rank, 4, port),
                              "REGATHER_STAND_IN_NCCL_FOLDER": str(tmp_path)})
        for rank in range(4)]
    try:
        assert b"loss" in processes[0].stdout.readline()
        processes[2].kill()
        messages = [process.communicate(timeout=60)[1].decode()
                    for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [
        1, 1, -signal.SIGKILL, 1]
    for rank in (0, 1, 3):
        assert "rank 2 of 4 has ended before the job has; " in messages[rank]
        assert f"rank {rank} is in collective " in messages[rank]


@pytest.mark.parametrize("stopped", [0, 2])
def test_a_rank_that_stops_while_communicators_are_made(
        four_ranks: Path, tmp_path: Path, stopped: int) -> None:
    """The others end in time, and say who is missing."""
    port = get_free_port()
    begin = time.monotonic()
    processes = [
        subprocess.Popen([BUILD / "bin" / "regather-run", four_ranks,
                          "--comm=nccl", *RUN, "--timeout=2"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**os.environ, **get_environment(rank, 4, port),
                              "REGATHER_STAND_IN_NCCL_FAULT":
                                  f"stop:{stopped}:0",
                              "REGATHER_STAND_IN_NCCL_FOLDER": str(tmp_path)})
        for rank in range(4)]
    try:
        messages = {rank: process.communicate(timeout=60)[1].decode()
                    for rank, process in enumerate(processes)
                    if rank != stopped}
        seconds = time.monotonic() - begin
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    for rank, message in messages.items():
        assert processes[rank].returncode == 1
        # Rank 0 answers the others, perhaps not even when they ask for an id.
        assert ("rank 0 does not answer any more" if stopped == 0 else
                "ncclCommInitRankConfig for gathers of group [0, 1, 2, 3] is "
                "not done after 1.5 seconds; rank 2 of 4 did not answer "
                "within 0.5 seconds") in message, message
    assert seconds < 8


def test_a_signal_to_one_rank_ends_all_after_the_same_step(
        four_ranks: Path, tmp_path: Path) -> None:
    port, saved = get_free_port(), tmp_path / "saved"
    (tmp_path / "nccl").mkdir()
    processes = [
        subprocess.Popen([BUILD / "bin" / "regather-run", four_ranks,
                          "--comm=nccl,reproducible", "--random-inputs=1",
                          "--steps=1000000", "--quiet", "--timeout=20",
                          "--outputs-sharded", saved, "--save-every=2"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**os.environ, **get_environment(rank, 4, port),
                              "REGATHER_STAND_IN_NCCL_FOLDER":
                                  str(tmp_path / "nccl")})
        for rank in range(4)]
    try:
        while b"step 3/" not in processes[0].stdout.readline():
            assert processes[0].poll() is None, processes[0].stderr.read()
        # What is saved between steps is complete.
        assert len(list(saved.glob("rank-*-of-4.safetensors"))) == 4
        processes[2].terminate()
        ends = [process.communicate(timeout=60) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [143] * 4, ends
    assert [stderr for _, stderr in ends[1:]] == [b""] * 3
    last = int(re.search(rb"stopped by SIGTERM after step (\d+)",
                         ends[0][1])[1])
    whole = tmp_path / "whole"
    results = run_job(four_ranks, tmp_path / "again",
                      "--comm=nccl,reproducible", f"--steps={last}",
                      "--outputs-sharded", whole)
    assert [result.code for result in results] == [0] * 4, results
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()}


def test_ranks_use_the_algorithms_of_rank_zero(tmp_path: Path) -> None:
    matrix = "tensor<64x64xf32>"
    step = tmp_path / "product.mlir"
    step.write_text(f"""
func.func @step(%a: {matrix}, %b: {matrix}) -> {matrix} {{
  %c = tg.node "aten.mm.default"(%a, %b) : ({matrix}, {matrix}) -> {matrix}
  return %c : {matrix}
}}""")
    bundle = compile_bundle(step, tmp_path)
    port = get_free_port()

    def run(rank: int) -> Result:
        # Each would find another one fastest.
        seconds = ["3,1,2", "1,2,3", "2,3,1", "1,1,1"][rank]
        return run_rank(bundle, rank, 4, "--algorithms=timed", port=port,
                        REGATHER_STAND_IN_NCCL_FOLDER=str(tmp_path),
                        REGATHER_STAND_IN_GEMM_SECONDS=seconds,
                        REGATHER_RECORD=str(tmp_path / f"calls-{rank}"))

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(run, range(4)):
            assert result.code == 0, result.stderr
    for rank in range(4):
        lines = (tmp_path / f"calls-{rank}").read_text().splitlines()
        algorithms = [call["algorithm"] for call in map(json.loads, lines)
                      if call["call"] == "cublasLtMatmul"]
        # Rank 0 times all of them first.
        assert set(algorithms) == ({0, 1, 2} if rank == 0 else {1})
        assert algorithms[-1] == 1


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
    ({"REGATHER_STAND_IN_NCCL": "22501"},
     ("version 2.25.1, but 2.26.2 or newer is needed",)),
])
def test_jobs_that_cannot_run(one_rank: Path, variables: dict[str, str],
                              words: tuple[str, ...]) -> None:
    expect_error(run_rank(one_rank, 0, 1, **variables), *words)


def test_rank_zero_writes_the_results_of_all(four_ranks: Path,
                                             tmp_path: Path) -> None:
    files = tmp_path / "job", tmp_path / "cpu"
    results = run_job(four_ranks, tmp_path / "nccl", "--outputs", files[0])
    assert [result.code for result in results] == [0] * 4, results
    run_on_cpu("--outputs", files[1])
    expect_close(*files)


def test_jobs_go_on_from_files(four_ranks: Path, tmp_path: Path) -> None:
    """Each rank reads its part of what another job has saved."""
    saved = tmp_path / "saved"
    comm = ("--comm=nccl,reproducible", "--json")
    first = run_job(four_ranks, tmp_path / "1", *comm, "--outputs", saved)
    second = run_job(four_ranks, tmp_path / "2", *comm, "--inputs", saved)
    whole = run_job(four_ranks, tmp_path / "3", *comm, "--steps=4")
    assert (losses_of(first[0]) + losses_of(second[0])
            == losses_of(whole[0]))


@pytest.mark.parametrize("layout", ["flat", "per-parameter"])
def test_ranks_read_their_parts(tmp_path: Path, layout: str) -> None:
    """Flat arguments are slices of many tensors, which are drawn or in a file."""
    torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
    pytest.importorskip("transformers", reason="its model is captured here")
    from test_capture_models import llama
    import regather

    torch.manual_seed(0)
    model, batch = llama()
    model.train()
    step = tmp_path / "step.fx.json"
    regather.capture(model, batch).save(step)
    options = ("--ranks=2", f"--layout={layout}", "--optimizer=adamw")
    bundle = compile_bundle(step, tmp_path, *options)
    files = tmp_path / "files"
    for i, more in enumerate((("--outputs", files), ("--inputs", files))):
        train = ("--json", "--learning-rate=0.01", *more)
        expected = losses_of(run_tool("regather", "run", step, *options, *RUN,
                                      *train))
        folder = tmp_path / f"nccl{i}"
        folder.mkdir()
        job = run_ranks(bundle, [0, 1], 2, *train,
                        REGATHER_STAND_IN_NCCL_FOLDER=str(folder))
        assert losses_of(job[0]) == pytest.approx(expected, rel=1e-5)
    # What has no value, all say, whoever has a part of it.
    for rank in range(2):
        expect_error(run_tool("regather-run", bundle, "--comm=nccl",
                              "--learning-rate=0.01",
                              env=get_environment(rank, 2, 1)),
                     " arguments have no value: ", "lm_head.weight")


def test_a_rank_that_ends_before_its_results_are_collected(
        four_ranks: Path, tmp_path: Path) -> None:
    port, output = get_free_port(), tmp_path / "all"

    def run(rank: int) -> Result:
        options = ("--outputs", output) if rank != 2 else ()
        return run_rank(four_ranks, rank, 4, *options, port=port,
                        REGATHER_STAND_IN_NCCL_FOLDER=str(tmp_path))

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(4)))
    assert results[2].code == 0
    for rank in (0, 1, 3):
        assert results[rank].code == 1
        assert "cannot collect the results: " in results[rank].stderr
    assert "rank 2 has ended" in results[0].stderr
    assert not output.exists()


def test_one_process_tells_the_losses(four_ranks: Path, tmp_path: Path) -> None:
    results = run_job(four_ranks, tmp_path)
    assert results[0].stdout.count(b"loss") == 2
    assert b"on the device" in results[0].stdout
    assert [(result.stdout, result.stderr) for result in results[1:]] == [
        (b"", "")] * 3


def test_processors_have_no_nccl(tmp_path: Path) -> None:
    bundle = tmp_path / "cpu.rgb"
    result = run_tool("regather", "compile", ROOT / "examples" / "mlp.mlir",
                      "--quiet", "-o", bundle)
    assert result.code == 0, result.last_words
    expect_error(run_rank(bundle, 0, 1), "--comm=nccl needs a bundle for GPUs")
