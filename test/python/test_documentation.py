"""Runs what the documentation shows: the blocks marked `sh` of each page, in
order, in one shell, in a folder that looks like a built checkout.

Blocks without the mark are what commands print, or what needs a cluster or
minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT

pytest.importorskip("torch", reason="capturing needs PyTorch")

# What a page leaves out: commands that install, build or start this test.
LEFT_OUT = re.compile(r"^\./dev\b")


def find_blocks(mark: str) -> dict[str, list[str]]:
    """The lines of the blocks of each page with a mark, by the page's path."""
    found: dict[str, list[str]] = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(),
                            re.MULTILINE | re.DOTALL)
        for kind, text in blocks:
            if kind == mark:
                lines = found.setdefault(str(page.relative_to(ROOT)), [])
                lines += [line for line in text.splitlines()
                          if not LEFT_OUT.match(line)]
    return {page: lines for page, lines in found.items() if lines}


EXAMPLES = find_blocks("sh")


@pytest.mark.parametrize("page", EXAMPLES)
def test_every_command_works(page: str, tmp_path: Path) -> None:
    for name in ("benchmarks", "examples", "python", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").symlink_to(BUILD)
    # A user has activated an environment with the package. This test may run
    # without: the launcher of PyTorch is that of the Python that runs it.
    commands = tmp_path / "commands"
    commands.mkdir()
    launcher = commands / "torchrun"
    launcher.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m torch.distributed.run "$@"\n')
    launcher.chmod(0o755)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(EXAMPLES[page])],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
             # Of Open MPI: as many ranks as asked for, and whoever asks.
             "OMPI_MCA_rmaps_base_oversubscribe": "1",
             "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "PATH": f"{commands}:{BUILD / 'bin'}:{os.environ['PATH']}"})
    assert result.returncode == 0, result.stdout + result.stderr
    if page == "docs/tutorial.md":
        assert result.stdout.count("step 20/20  loss") == 2
        assert "relative difference: at most" in result.stdout


def test_operator_is_the_one_that_was_added() -> None:
    """The code that docs/adding-an-operator.md shows is that of the project."""
    page = "docs/adding-an-operator.md"
    for kind, place in (("tablegen", "include/regather/Dialect/TG/Targets"),
                        ("cpp", "lib"), ("python", "test/python")):
        texts = [path.read_text() for path in (ROOT / place).rglob("*")
                 if path.suffix in (".td", ".cpp", ".py")]
        blocks = re.findall(rf"^```{kind}\n(.*?)^```$",
                            (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
        assert blocks, kind
        for block in blocks:
            assert any(block in text for text in texts), block


def test_no_command_is_left_out() -> None:
    """Blocks without a mark hold no command of ours: each is `sh`, or `console`
    where it needs a cluster or minutes."""
    assert len(EXAMPLES) >= 7
    commands = re.compile(r"(build/bin/)?regather(-opt|-run|-translate)? ")
    assert not [f"{page}: {line}" for page, lines in find_blocks("").items()
                for line in lines if commands.match(line)]
