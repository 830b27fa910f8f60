"""Speed beside a device copy and PyTorch."""

from __future__ import annotations

from cases.builder import Cases


def add_cases(cases: Cases) -> None:
    pass
