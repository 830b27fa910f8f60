"""Finds `libregather.so`, loads it, and types its functions.

The library is looked for at `REGATHER_LIBRARY`, in this package, and in the
build directory beside it. It is loaded when a function is first called, with
local symbols, so that it stands beside any other LLVM, before or after torch.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_uint32, c_void_p
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from regather.library.errors import RegatherError, take_error

VERSION = 5


def _candidates() -> list[Path]:
    package = Path(__file__).resolve().parent.parent
    found = [Path(path)] if (path := os.environ.get("REGATHER_LIBRARY")) else []
    return found + [package / "lib" / "libregather.so",
                    package.parent.parent / "build" / "lib" / "libregather.so"]


@cache
def load() -> ctypes.CDLL:
    """The library. Raises `RegatherError` if it is not there, or another one."""
    paths = [path for path in _candidates() if path.exists()]
    if not paths:
        raise RegatherError("libregather.so is at none of: "
                            + ", ".join(map(str, _candidates())))
    try:
        library = ctypes.CDLL(str(paths[0]))
        library.regatherGetVersion.restype = c_uint32
    except (OSError, AttributeError) as error:
        raise RegatherError(f"cannot load {paths[0]}: {error}") from error
    if (version := library.regatherGetVersion()) != VERSION:
        raise RegatherError(f"{paths[0]} has version {version} of the C "
                            f"interface, expects {VERSION}")
    return library


def _check(status: int | None, function: Any, arguments: Any) -> None:
    if status:
        raise take_error(load(), status)


class Function:
    """A function of the C interface, looked up when it is first called. One
    that returns a status raises it as `RegatherError`."""

    def __init__(self, name: str, *arguments: Any, returns: Any = None,
                 fails: bool = True) -> None:
        self._name, self._arguments = name, arguments
        self._returns, self._fails = returns, fails

    @cached_property
    def pointer(self) -> Any:
        """What ctypes calls; the quickest way for who calls it often."""
        # Not the attribute of the library, whose types all users share.
        function = load()[self._name]
        function.argtypes = self._arguments
        function.restype = self._returns
        if self._fails:
            function.restype = c_void_p
            function.errcheck = _check
        return function

    def __call__(self, *arguments: Any) -> Any:
        return self.pointer(*arguments)


def getter(name: str, *arguments: Any, returns: Any = None) -> Function:
    """A function that cannot fail."""
    return Function(name, *arguments, returns=returns, fails=False)


_get_build_id = getter("regatherGetBuildId", returns=c_char_p)


def get_build_id() -> str:
    """Names the build: equal texts decide alike."""
    return bytes(_get_build_id()).decode()
