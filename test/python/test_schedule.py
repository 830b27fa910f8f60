"""The order of a step changes no bit of what it computes.

Steps sharded by us and captured with their collectives run in the order in
which they come, and in those of tg-schedule: from nodes, from kernels, and from
a bundle.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import capture_llama, capture_parallel_llama  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402

TIMEOUT = 240


def import_step(capture, directory: Path) -> Path:
    graph, path = directory / "step.fx.json", directory / "step.mlir"
    capture(graph)
    result = run_tool("regather-translate", "--import-fx", graph, "-o", path)
    assert result.code == 0, result.stderr
    return path


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_step(partial(capture_llama, batch=8),
                       tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_step(capture_parallel_llama,
                       tmp_path_factory.mktemp("parallel"))


def run(step: Path, directory: Path, ranks: int, *options: str) -> bytes:
    """What two steps of training leave behind."""
    outputs = directory / "outputs.safetensors"
    result = run_tool("regather", "run", step, f"--ranks={ranks}",
                      "--random-inputs=5", "--steps=2", "--quiet",
                      "--outputs", outputs, *options, timeout=TIMEOUT)
    assert result.code == 0, result.stderr
    return outputs.read_bytes()


TRAINED = ("--optimizer=adamw", "--reshard=always")
RATE = ("--learning-rate=0.01",)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_same_bits(llama: Path, tmp_path: Path, ranks: int,
                   engine: str) -> None:
    options = (*TRAINED, *RATE, f"--engine={engine}")
    plain = run(llama, tmp_path, ranks, *options)
    for schedule in ("manual", "manual prefetch=3", "auto",
                     "auto memory-limit=2x in-flight=2"):
        assert run(llama, tmp_path, ranks, *options,
                   f"--schedule={schedule}") == plain, schedule


@pytest.mark.parametrize("engine", ENGINES)
def test_same_bits_with_tensor_parallelism(parallel: Path, tmp_path: Path,
                                           engine: str) -> None:
    plain = run(parallel, tmp_path, 4, f"--engine={engine}")
    for schedule in ("manual", "auto", "auto memory-limit=2x overlap-groups"):
        assert run(parallel, tmp_path, 4, f"--engine={engine}",
                   f"--schedule={schedule}") == plain, schedule


def test_same_bits_in_bundles(llama: Path, tmp_path: Path) -> None:
    plain = run(llama, tmp_path, 4, *TRAINED, *RATE)
    bundle = tmp_path / "step.rgb"
    result = run_tool("regather", "compile", llama, "--ranks=4", *TRAINED,
                      "--schedule=auto memory-limit=2x", "--quiet",
                      "-o", bundle, timeout=TIMEOUT)
    assert result.code == 0, result.stderr
    assert run(bundle, tmp_path, 4, *RATE) == plain


def test_lowering_keeps_the_order(llama: Path) -> None:
    """Collectives and computation come in the program as in the step."""
    passes = ("--tg-shard-parameters=mesh=dp:4", "--tg-form-kernels",
              "--tg-schedule=memory-limit=2x cluster=cpu-threads")
    step = run_tool("regather-opt", llama, *passes)
    program = run_tool("regather-opt", llama, *passes, "--convert-tg-to-exec")
    assert step.code == 0 and program.code == 0, step.stderr + program.stderr

    def order(text: bytes, launch: str, collective: str) -> list[str]:
        found = re.findall(rf"{launch} @(\w+)\(|{collective}", text.decode())
        assert any(found) and not all(found)
        return found

    before = order(step.stdout, "tg.launch",
                   r"tg\.(?:all_gather|reduce_scatter|all_reduce) ")
    after = order(program.stdout, "exec.launch", r"exec\.collective ")
    # Views that move data become kernels as well.
    assert [name for name in after if not name or name in before] == before


def test_verifies(parallel: Path) -> None:
    result = run_tool("regather-opt", parallel, "--tg-schedule",
                      "--tg-verify-step")
    assert result.code == 0, result.stderr


def test_unknown_modes_are_refused(llama: Path, tmp_path: Path) -> None:
    for engine in ENGINES:
        result = run_tool("regather", "run", llama, "--ranks=2",
                          f"--engine={engine}", "--random-inputs=5",
                          "--schedule=soon")
        assert result.code == 1 and "soon" in result.stderr, result.stderr
