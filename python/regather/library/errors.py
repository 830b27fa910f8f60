"""Diagnostics of the library, and the exception that carries them."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_uint32, c_void_p
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `severity` is "note", "warning", "error" or
    "remark"; `file` is empty, and `line` and `column` are 0, where no place is
    known."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: list[Diagnostic] = field(default_factory=list)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}{self.severity}: {self.message}"


class RegatherError(Exception):
    """Something that the library refuses. Its text is what the command line
    prints, `diagnostics` are the messages one by one."""

    def __init__(self, message: str,
                 diagnostics: list[Diagnostic] | None = None) -> None:
        super().__init__(message)
        self.diagnostics = (diagnostics if diagnostics is not None
                            else [Diagnostic("error", message)])


class CDiagnostic(Structure):
    """RegatherDiagnostic of regather-c/Status.h."""


CDiagnostic._fields_ = [
    ("severity", c_int), ("file", c_char_p), ("line", c_uint32),
    ("column", c_uint32), ("message", c_char_p), ("num_notes", c_uint32),
    ("notes", POINTER(CDiagnostic))]


class CDiagnostics(Structure):
    """RegatherDiagnostics: the messages, one behind the other."""

    _fields_ = [("count", c_uint32), ("elements", POINTER(CDiagnostic))]

    def to_list(self) -> list[Diagnostic]:
        return [_convert(self.elements[i]) for i in range(self.count)]


_SEVERITIES = ("note", "warning", "error", "remark")


def _convert(diagnostic: CDiagnostic) -> Diagnostic:
    return Diagnostic(
        _SEVERITIES[diagnostic.severity],
        diagnostic.message.decode(errors="replace"),
        diagnostic.file.decode(errors="replace"), diagnostic.line,
        diagnostic.column,
        [_convert(diagnostic.notes[i]) for i in range(diagnostic.num_notes)])


def take_error(library: ctypes.CDLL, status: int) -> RegatherError:
    """The exception for a status, which is destroyed."""
    get_message = library.regatherStatusGetMessage
    get_message.restype, get_message.argtypes = c_char_p, [c_void_p]
    get_diagnostics = library.regatherStatusGetDiagnostics
    get_diagnostics.restype = CDiagnostics
    get_diagnostics.argtypes = [c_void_p]
    destroy = library.regatherStatusDestroy
    destroy.restype, destroy.argtypes = None, [c_void_p]
    error = RegatherError(get_message(status).decode(errors="replace"),
                          get_diagnostics(status).to_list())
    destroy(status)
    return error
