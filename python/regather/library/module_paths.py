"""Modules by path (regather-c/ModulePaths.h)."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import c_char_p, c_uint32, c_void_p

from regather.library.arrays import address
from regather.library.loading import Function

# Stands for nothing among numbers.
NONE = 2**32 - 1

_match = Function("regatherMatchModules", c_char_p, c_char_p, c_uint32,
                  c_void_p, c_uint32, c_void_p, c_void_p)
_find_units = Function("regatherFindUnits", c_uint32, c_void_p, c_void_p,
                       c_void_p)


def texts(strings: list[str]) -> ctypes.Array[c_char_p]:
    return (c_char_p * len(strings))(*(text.encode() for text in strings))


def match_modules(option: str, what: str, patterns: list[str],
                  paths: list[str]) -> list[int]:
    """By path, the number of the pattern that matches it, or `NONE`."""
    matches = array("I", bytes(4 * len(paths)))
    _match(option.encode(), what.encode(), len(patterns), texts(patterns),
           len(paths), texts(paths), address(matches))
    return matches.tolist()


def find_units(paths: list[str], first_uses: list[int]) -> list[int]:
    """By path, the number of its unit; `first_uses` are places or `NONE`."""
    uses, units = array("I", first_uses), array("I", bytes(4 * len(paths)))
    _find_units(len(paths), texts(paths), address(uses), address(units))
    return units.tolist()
