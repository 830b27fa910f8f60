"""Arrays that are handed to the library without a copy."""

from __future__ import annotations

from array import array
from typing import Any


def address(values: array[Any]) -> int | None:
    """Where the elements lie; None if there are none."""
    return values.buffer_info()[0] if values else None
