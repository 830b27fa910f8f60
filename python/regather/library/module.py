"""Steps and what the compiler says of them (regather-c/Module.h)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ctypes import (POINTER, Structure, byref, c_char_p, c_size_t, c_uint32,
                    c_void_p, string_at)
from dataclasses import dataclass
from typing import Any

from regather.library.errors import CDiagnostics, Diagnostic
from regather.library.loading import Function, getter


class _Text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def __str__(self) -> str:
        return string_at(self.data, self.size).decode(errors="replace")


class _Option(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class COptions(Structure):
    _fields_ = [("count", c_uint32), ("elements", POINTER(_Option))]


_read = Function("regatherModuleRead", c_char_p, POINTER(c_void_p))
_parse = Function("regatherModuleParse", c_char_p, c_char_p, c_size_t,
                  POINTER(c_void_p))
_destroy = getter("regatherModuleDestroy", c_void_p)
_destroy_output = getter("regatherOutputDestroy", c_void_p)
_get_text = getter("regatherOutputGetText", c_void_p, returns=_Text)
_get_json = getter("regatherOutputGetJson", c_void_p, returns=_Text)
_get_html = getter("regatherOutputGetHtml", c_void_p, returns=_Text)
_get_trace = getter("regatherOutputGetTrace", c_void_p, returns=_Text)
_get_diagnostics = getter("regatherOutputGetDiagnostics", c_void_p,
                          returns=CDiagnostics)
_list_options = Function("regatherListOptions", c_char_p, POINTER(c_void_p))
_calibrate = Function("regatherCalibrate", COptions, POINTER(c_void_p))
_print = Function("regatherModulePrint", c_void_p, POINTER(c_void_p))
_compile = Function("regatherModuleCompile", c_void_p, c_char_p, COptions,
                    POINTER(c_void_p))
_COMMANDS = {
    command: Function(name, c_void_p, COptions, POINTER(c_void_p))
    for command, name in {"stats": "regatherModuleCount",
                          "tree": "regatherModuleDescribe",
                          "simulate": "regatherModuleSimulate",
                          "plan": "regatherModulePlan",
                          "report": "regatherModuleReport"}.items()}


@dataclass(frozen=True)
class Output:
    """What a call tells; empty texts for what it does not have."""

    text: str
    json: str
    html: str
    trace: str
    diagnostics: list[Diagnostic]


def take_output(pointer: c_void_p) -> Output:
    try:
        return Output(str(_get_text(pointer)), str(_get_json(pointer)),
                      str(_get_html(pointer)), str(_get_trace(pointer)),
                      _get_diagnostics(pointer).to_list())
    finally:
        _destroy_output(pointer)


def _encode(text: str) -> bytes:
    """For C, which takes a zero for the end."""
    if "\0" in text:
        raise ValueError("expects text without a zero character")
    return text.encode()


def list_options(command: str) -> list[dict[str, Any]]:
    """The name, value and help of each option of a command."""
    pointer = c_void_p()
    _list_options(_encode(command), byref(pointer))
    options: list[dict[str, Any]] = json.loads(take_output(pointer).json)
    return options


Options = Sequence[tuple[str, str]]


def make_options(options: Options) -> COptions:
    elements = (_Option * len(options))(
        *((_encode(name), _encode(value)) for name, value in options))
    return COptions(len(options), elements)


def calibrate(options: Options = ()) -> Output:
    """Measures this machine."""
    pointer = c_void_p()
    _calibrate(make_options(options), byref(pointer))
    return take_output(pointer)


class Module:
    """A module, which calls do not change. Threads may share it; their calls
    wait for each other."""

    def __init__(self, name: str, contents: bytes | None = None) -> None:
        """Reads the file `name`, or `contents` that are called so. A name that
        ends in `.fx.json` is that of a captured graph."""
        self._pointer = c_void_p()
        # Python may have dropped this module when the last object goes.
        self._release = _destroy.pointer
        if contents is None:
            _read(_encode(name), byref(self._pointer))
        else:
            _parse(_encode(name), contents, len(contents),
                   byref(self._pointer))

    @property
    def pointer(self) -> c_void_p:
        return self._pointer

    def __str__(self) -> str:
        pointer = c_void_p()
        _print(self._pointer, byref(pointer))
        return take_output(pointer).text

    def run(self, command: str, options: Options = ()) -> Output:
        """Runs "stats", "tree", "simulate" or "report"."""
        pointer = c_void_p()
        _COMMANDS[command](self._pointer, make_options(options), byref(pointer))
        return take_output(pointer)

    def compile(self, path: str, options: Options = ()) -> Output:
        """Writes a bundle to `path`."""
        pointer = c_void_p()
        _compile(self._pointer, _encode(path), make_options(options),
                 byref(pointer))
        return take_output(pointer)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._release(self._pointer)
