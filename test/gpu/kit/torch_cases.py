"""Cases that PyTorch runs, for the ratio to ours."""

from __future__ import annotations

from typing import Any

from case import Run


def compare(run: Run, case: dict[str, Any]) -> dict[str, Any]:
    raise NotImplementedError
