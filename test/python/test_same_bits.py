"""Decisions never change a bit: fusion, memory plan, streams, threads, layout.

One step of a small Llama, sharded and with AdamW, runs under many settings;
every result of its last step must be the same file, byte by byte.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402
from regather_tools import run_tool  # noqa: E402

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

TEXT = bytes(index * index * 7 % 61 for index in range(321))
OPTIMIZER = "adamw betas=0.9,0.95 weight-decay=0.1 max-norm=1"
SETTINGS = {
    "single-ops": ["--pass-option=tg-form-kernels:max-ops=1"],
    "pairs": ["--pass-option=tg-form-kernels:max-ops=2"],
    "small-kernels": ["--pass-option=tg-form-kernels:max-ops=7"],
    "large-kernels": ["--pass-option=tg-form-kernels:max-ops=200",
                      "--pass-option=tg-form-kernels:max-operands=64"],
    "nothing-in-place": ["--pass-option=exec-plan-memory:in-place=false"],
    "nothing-donated": ["--pass-option=exec-plan-memory:donate=false"],
    "quick-plan": ["--pass-option=exec-plan-memory:effort=0"],
    "streams": ["--pass-option=convert-tg-to-exec:comm-streams=3"],
    "one-thread": ["--threads=1"],
    "three-threads": ["--threads=3"],
}


def capture(folder: Path, **options: str) -> Path:
    graph = capture_step(make_step(f"{ROOT}/examples/llama3.py:step",
                                   {"config": "tiny", "batch": 8, **options}))
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    (folder / "text").write_bytes(TEXT)
    return folder


@pytest.fixture(scope="module", name="llama")
def capture_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture(tmp_path_factory.mktemp("bits"))


def results(llama: Path, ranks: int, *options: str) -> bytes:
    result = run_tool(
        "regather", "run", "step.fx.json", "--inputs", "weights.safetensors",
        "--text", "text", f"--ranks={ranks}", f"--optimizer={OPTIMIZER}",
        "--learning-rate=0.01", "--steps=3", "--outputs", "out.safetensors",
        "--quiet", *options, cwd=llama, timeout=300)
    assert result.code == 0, result.stderr
    return (llama / "out.safetensors").read_bytes()


@pytest.fixture(scope="module", name="expected")
def run_default(llama: Path) -> dict[int, bytes]:
    return {ranks: results(llama, ranks) for ranks in (1, 2, 4)}


def test_steps_differ(llama: Path, expected: dict[int, bytes]) -> None:
    """The comparison sees a difference if there is one."""
    assert results(llama, 2, "--first-step=2") != expected[2]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_bits(llama: Path, expected: dict[int, bytes], ranks: int,
                   setting: str) -> None:
    assert results(llama, ranks, *SETTINGS[setting]) == expected[ranks]


@pytest.mark.parametrize("ranks", [2, 4])
def test_repeats(llama: Path, expected: dict[int, bytes], ranks: int) -> None:
    assert results(llama, ranks, "--cache-dir=") == expected[ranks]


def test_parameters_of_another_type_than_states(tmp_path: Path) -> None:
    """In bf16 the states of the optimizer are f32; all are updated in place."""
    llama = capture(tmp_path, dtype="bfloat16")
    expected = results(llama, 2)
    for setting in ("single-ops", "nothing-in-place", "nothing-donated"):
        assert results(llama, 2, *SETTINGS[setting]) == expected
