"""Drawn routings of one layer, with rows that are sent; see expert_routings."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")

from expert_routings import capture, compare, write_text  # noqa: E402


@pytest.mark.parametrize("chunks", [1, 2])
def test_drawn_routings_equal_one_device(tmp_path: Path, chunks: int) -> None:
    steps = 60
    captured = capture(tmp_path)
    write_text(tmp_path / "text", steps, seed=1, ranks=4)
    repeated, losses, results = compare(captured, tmp_path / "text", steps,
                                        "ep:4", "1.25", chunks)
    # Some have room enough, and some have not.
    assert 10 <= repeated <= 50
    assert losses < 1e-5
    assert results < 1e-4
