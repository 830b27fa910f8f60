"""Operators that nodes call (regather-c/Targets.h)."""

from __future__ import annotations

from ctypes import c_char_p, c_uint32

from regather.library.loading import getter

_is_expensive = getter("regatherIsExpensiveTarget", c_char_p, returns=c_uint32)


def is_expensive_target(target: str) -> bool:
    """True if saving what `target`, such as `aten.mm.default`, gives is better
    than computing it again."""
    return bool(_is_expensive(target.encode()))
