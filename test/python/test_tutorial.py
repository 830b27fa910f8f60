"""Runs docs/tutorial.md: its blocks marked `sh`, in order, in one shell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT

pytest.importorskip("torch", reason="capturing needs PyTorch")

TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_every_command_works(tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", TUTORIAL.read_text(),
                        re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    for name in ("examples", "python", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").symlink_to(BUILD)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)], cwd=tmp_path,
        capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("step 20/20  loss") == 2
    assert "relative difference: at most" in result.stdout
