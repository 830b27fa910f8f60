"""`./dev demo`: the main road with the tools, and its verdict with stand-ins.

PyTorch is not needed: its losses come with the example.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT

DEMO = ROOT / "scripts" / "demo.py"
RECORD = json.loads((ROOT / "examples/llama3-debug.losses.json").read_text())


def run_demo(build: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(DEMO), "--build-dir", str(build), *options],
        capture_output=True, text=True, timeout=900, check=False)


def stand_ins(folder: Path, losses: list[float]) -> Path:
    """A build whose tools compile nothing and train to `losses`."""
    report = {"ranks": 4, "tokens_per_second": 1.5, "seconds_per_step": 2.0,
              "parameter_bytes_per_rank": 3456, "peak_bytes_per_rank": 7890,
              "collectives": [{"kind": "all_gather", "phase": "forward",
                               "count": 2, "bytes": 1234}],
              "collective_count": 2, "collective_bytes": 1234}
    lines = "".join(f"step {i}/{len(losses)}  loss {loss!r}  1.00 ms\n"
                    for i, loss in enumerate(losses, 1))
    (folder / "bin").mkdir()
    for name, body in {
            "regather-translate": "", "regather-opt": "",
            "regather": "import sys\n"
                        "path = sys.argv[sys.argv.index('--report') + 1]\n"
                        f"open(path, 'w').write({json.dumps(report)!r})\n"
                        f"print({lines!r}, end='')\n"}.items():
        tool = folder / "bin" / name
        tool.write_text(f"#!{sys.executable}\n{body}")
        os.chmod(tool, 0o755)
    return folder


def test_tells_what_a_user_wants_to_know(tmp_path: Path) -> None:
    build = stand_ins(tmp_path, RECORD["losses"][:3])
    result = run_demo(build, "--steps=3")
    assert result.returncode == 0, result.stderr
    for text in (f"   3  {RECORD['losses'][2]:12.9g}", "all_gather, forward", "1,234", "1.5 tokens",
                 "3,456 bytes", "7,890 bytes", "equal, to 0.0e+00",
                 "--ranks 1 ", "--ranks 2 ", "--ranks 4 ", "--ranks 8 "):
        assert text in result.stdout, text


@pytest.mark.parametrize("wrong", [1 + 2e-4, float("nan")])
def test_fails_if_one_step_differs(tmp_path: Path, wrong: float) -> None:
    losses = RECORD["losses"][:3]
    losses[1] *= wrong
    result = run_demo(stand_ins(tmp_path, losses), "--steps=3")
    assert result.returncode == 1
    assert "NOT EQUAL" in result.stdout


def test_fails_if_steps_are_missing(tmp_path: Path) -> None:
    result = run_demo(stand_ins(tmp_path, RECORD["losses"][:2]), "--steps=3")
    assert result.returncode == 1
    assert "expects 3 losses, got 2" in result.stderr


def test_says_which_steps_it_can_compare(tmp_path: Path) -> None:
    for steps in ("1", "51"):
        result = run_demo(tmp_path, f"--steps={steps}")
        assert result.returncode == 1
        assert f"expects 2 to 50 steps, got {steps}" in result.stderr


def test_trains_the_perceptron() -> None:
    result = run_demo(BUILD, "mlp")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "sharded = whole   yes" in result.stdout


def test_equals_pytorch() -> None:
    result = run_demo(BUILD, "--steps=2")
    assert result.returncode == 0, result.stdout + result.stderr
