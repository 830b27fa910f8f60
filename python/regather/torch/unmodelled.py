"""What our passes leave to those of PyTorch."""

from __future__ import annotations

import warnings


class Unmodelled(Exception):
    """The graph holds something that only PyTorch's own pass knows."""


_warned: set[str] = set()


def warn_once(what: str, reason: Unmodelled) -> None:
    """Says once for each reason what happens instead."""
    message = f"regather: {what}, because {reason}"
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, stacklevel=3)
