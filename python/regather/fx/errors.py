"""The one exception that capturing raises for the caller's mistakes."""

from __future__ import annotations


class CaptureError(Exception):
    """A model that cannot be captured, or a request that makes no sense.

    The message is complete: it says what is wrong and, where a line of the
    model is to blame, names it as ``file:line``.
    """


def at(message: str, location: tuple[str, int] | None) -> str:
    """``message`` with the source line it speaks of, if one is known."""
    if location is None:
        return message
    return f"{location[0]}:{location[1]}: {message}"
