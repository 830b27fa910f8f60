"""Which line of the user's program is running."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
from types import FrameType, TracebackType

import torch

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PYTHON = sysconfig.get_paths()["stdlib"] + os.sep
_SITE = tuple(
    sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib")
)

# Files whose frames are never the user's, by name; filled as they are met.
_internal: dict[str, bool] = {}


def _is_internal(name: str) -> bool:
    known = _internal.get(name)
    if known is None:
        in_site = name.startswith(_SITE)
        known = (
            name.startswith((_TORCH, _HERE, "<"))
            or (name.startswith(_PYTHON) and not in_site)
        )
        _internal[name] = known
    return known


def user_line(stop: str) -> tuple[str, int] | None:
    """Innermost frame of user code as (file, line).

    Frames outside the one that runs file ``stop`` are not looked at: what
    calls the capture is not part of the model.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == stop:
            return None
        if not _is_internal(name):
            return name, frame.f_lineno
        frame = frame.f_back
    return None


def raising_line(
    trace: TracebackType | None, stop: str
) -> tuple[str, int] | None:
    """Innermost user line of an exception that passed through ``stop``."""
    found = None
    inside = False
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name == stop:
            inside, found = True, None
        elif inside and not _is_internal(name):
            found = (name, trace.tb_lineno)
        trace = trace.tb_next
    return found


def portable(name: str, root: str) -> str:
    """File name as it is recorded: the same on every machine where possible.

    Relative to ``root`` or to the directory of installed packages if it lies
    in one of them, else absolute; always with forward slashes.
    """
    name = os.path.abspath(name)
    for base in (root, *_SITE):
        base = os.path.join(os.path.abspath(base), "")
        if name.startswith(base):
            name = name[len(base):]
            break
    return name.replace(os.sep, "/")


def is_users(function: object) -> bool:
    """Whether a function was written in Python outside of PyTorch."""
    code = getattr(function, "__code__", None)
    return code is not None and not _is_internal(code.co_filename)


def definition_line(function: object) -> tuple[str, int] | None:
    """Where a function of the user's was written, if that can be told."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    if not _is_internal(code.co_filename):
        return code.co_filename, code.co_firstlineno
    # One of PyTorch's around one of the user's.
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            if is_users(cell.cell_contents):
                return definition_line(cell.cell_contents)
    return None
