"""Long chains on a small stack, many ranks, and two processes that write one file."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from regather_tools import (BUILD, ROOT, decode_safetensors, run_tool)

sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "scripts")]

import bench_limits  # noqa: E402

MLP = ROOT / "examples" / "mlp.mlir"
# Of the main thread and of all others. A recursion along the chain below would
# need ten times as much, with frames of 100 bytes.
STACK_BYTES = 512 << 10
CHAIN = 40_000


def limit_stack() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES))


def test_no_pass_recurses_along_a_chain(tmp_path: Path) -> None:
    step, out = tmp_path / "step.mlir", tmp_path / "out.mlir"
    assert bench_limits.write_step(
        step, CHAIN // bench_limits.NODES_PER_LAYER) > CHAIN * 0.9
    done = subprocess.run(
        [BUILD / "bin" / "regather-opt", step, "-o", out,
         f"--pass-pipeline={bench_limits.pipeline('dp:8')}"],
        preexec_fn=limit_stack, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "exec.program" in out.read_text()


def test_64_ranks_on_threads(tmp_path: Path) -> None:
    results = []
    for engine in "cpu", "interpreter":
        output = tmp_path / f"{engine}.safetensors"
        done = run_tool("regather", "run", MLP, "--mesh=dp:64",
                        "--batch=per-rank", "--random-inputs=1", "--steps=2",
                        f"--engine={engine}", "--outputs", output, timeout=100)
        assert done.code == 0, done.last_words
        assert b"on 64 ranks" in done.stdout
        results.append(decode_safetensors(output.read_bytes()))
    assert results[0] == results[1]
    assert "layers.0.weight" in results[0]


def test_two_processes_and_one_file(tmp_path: Path) -> None:
    """It is that of one of them, whole; neither fails."""
    def start(seed: int, output: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [BUILD / "bin" / "regather", "run", MLP, f"--random-inputs={seed}",
             "--quiet", "--outputs", output], stdout=subprocess.DEVNULL)
    wanted = []
    for seed in 1, 2:
        output = tmp_path / f"{seed}.safetensors"
        assert start(seed, output).wait() == 0
        wanted.append(output.read_bytes())
    assert wanted[0] != wanted[1]
    shared = tmp_path / "shared.safetensors"
    for _ in range(3):
        both = [start(seed, shared) for seed in (1, 2)]
        assert [process.wait() for process in both] == [0, 0]
        assert shared.read_bytes() in wanted
    # Nothing is left of what was written before it was complete.
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "1.safetensors", "2.safetensors", "shared.safetensors"]
