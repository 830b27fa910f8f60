"""Steps that run on the caller's memory (`include/regather-c/Execution.h`)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)
from dataclasses import dataclass
from functools import cache
from typing import Any

from regather import library
from regather.library.errors import take_error


class _Option(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class _Options(Structure):
    _fields_ = [("is_capture", c_int32), ("threads", c_int32),
                ("name", c_char_p), ("num_options", c_uint32),
                ("options", POINTER(_Option)), ("transport", c_void_p),
                ("timeout_seconds", c_double), ("device", c_char_p),
                ("memory_of", c_void_p), ("store", c_void_p),
                ("has_room_for_all", c_int32)]


class _Shard(Structure):
    _fields_ = [("dimension", c_uint32), ("count", c_uint32),
                ("index", c_uint32), ("num_axes", c_uint32),
                ("axes", POINTER(c_uint32))]


@dataclass(frozen=True)
class Shard:
    """That `dimension` is cut into `count` parts, of which this is `index`, over
    axes of the mesh, by their numbers, of which the first changes most slowly.
    """

    dimension: int
    count: int
    index: int
    axes: tuple[int, ...]


class _Value(Structure):
    _fields_ = [("name", c_char_p), ("element_type", c_char_p),
                ("role", c_char_p), ("argument", c_int32),
                ("is_donated", c_int32), ("rank", c_uint32),
                ("shape", POINTER(c_int64)), ("bytes", c_uint64),
                ("global_shape", POINTER(c_int64)), ("num_shards", c_uint32),
                ("shards", POINTER(_Shard)), ("is_partial", c_int32)]


class Value:
    """An argument or a result, of which `shape` is what this rank has.

    `role` is empty for a value without one; `argument` is the number of what a
    gradient or an update belongs to, else -1. `donated` says of an argument
    that the step writes to it, and of a result that it lies in its argument.
    """

    def __init__(self, value: _Value) -> None:
        self.name: str = value.name.decode()
        self.element_type: str = value.element_type.decode()
        self.role: str = value.role.decode()
        self.argument: int = value.argument
        self.donated = bool(value.is_donated)
        self.shape = tuple(value.shape[:value.rank])
        self.bytes: int = value.bytes
        self.global_shape = tuple(value.global_shape[:value.rank])
        self.shards = [Shard(shard.dimension, shard.count, shard.index,
                             tuple(shard.axes[:shard.num_axes]))
                       for shard in value.shards[:value.num_shards]]
        self.partial = bool(value.is_partial)

    @property
    def global_bytes(self) -> int:
        """Of the value that all ranks together hold."""
        count = math.prod(self.shape)
        size = self.bytes // count if count else 0
        return size * math.prod(self.global_shape)


@cache
def _load() -> ctypes.CDLL:
    loaded = library.load()
    for name, arguments in {
            "Create": [c_char_p, c_size_t, POINTER(_Options),
                       POINTER(c_void_p)],
            "Run": [c_void_p, c_void_p, c_void_p],
            "Write": [c_void_p, c_uint32, c_void_p, c_int32],
            "Read": [c_void_p, c_uint32, c_void_p]}.items():
        function = getattr(loaded, f"regatherExecutable{name}")
        function.restype, function.argtypes = c_void_p, arguments
    loaded.regatherExecutableDestroy.argtypes = [c_void_p]
    loaded.regatherExecutableGetBytes.argtypes = [c_void_p]
    loaded.regatherExecutableGetBytes.restype = c_uint64
    loaded.regatherExecutableGetDevice.argtypes = [c_void_p]
    loaded.regatherExecutableGetDevice.restype = c_int32
    for kind in ("Argument", "Result"):
        count = getattr(loaded, f"regatherExecutableGetNum{kind}s")
        count.restype, count.argtypes = c_uint32, [c_void_p]
        get = getattr(loaded, f"regatherExecutableGet{kind}")
        get.restype, get.argtypes = _Value, [c_void_p, c_uint32]
    return loaded


def _check(status: int | None) -> None:
    if not status:
        return
    raise take_error(_load(), status)


class Executable:
    """A step, compiled in this process for one rank.

    `document` is a captured graph (docs/fx-json.md) if `is_capture`, else a
    module of MLIR. `options` are flags of `regather run` without dashes, with
    their values. `threads` compute; 0 stands for all of the machine. With a
    `transport`, the address of an `rg_transport`, this process is one rank of a
    job and waits `timeout` seconds for others; 0 stands for 600. `device` is
    "cpu", "cuda:N" or "cuda"; on a GPU arguments lie on the device, and those
    that are no inputs in the memory of the executable `memory_of`, if there is
    one. There, a rank of a job has a `store`, the address of an `rg_store`,
    instead of a transport. With `has_room_for_all` it is what runs a step again
    that had too little room for the rows of experts. Raises `RegatherError` for
    what cannot be compiled, and what is missing to run.
    """

    def __init__(self, document: str | bytes,
                 options: Iterable[tuple[str, str]] = (), *,
                 is_capture: bool = True, threads: int = 0,
                 name: str = "step", transport: int | None = None,
                 timeout: float = 0, device: str = "cpu",
                 memory_of: Executable | None = None,
                 store: int | None = None,
                 has_room_for_all: bool = False) -> None:
        text = document.encode() if isinstance(document, str) else document
        pairs = [_Option(key.encode(), value.encode()) for key, value in options]
        given = _Options(is_capture, threads, name.encode(), len(pairs),
                         (_Option * len(pairs))(*pairs), transport, timeout,
                         device.encode(),
                         memory_of.handle if memory_of else None, store,
                         has_room_for_all)
        self._library = _load()
        self._pointer = c_void_p()
        _check(self._library.regatherExecutableCreate(
            text, len(text), byref(given), byref(self._pointer)))
        self.arguments = self._values("Argument")
        self.results = self._values("Result")
        self._arguments_type = c_void_p * len(self.arguments)
        self._results_type = c_void_p * len(self.results)
        self._run = self._library.regatherExecutableRun

    def _values(self, kind: str) -> list[Value]:
        count = getattr(self._library, f"regatherExecutableGetNum{kind}s")
        get = getattr(self._library, f"regatherExecutableGet{kind}")
        return [Value(get(self._pointer, i))
                for i in range(count(self._pointer))]

    @property
    def bytes(self) -> int:
        """Of memory that the executable holds outside of its arguments."""
        return int(self._library.regatherExecutableGetBytes(self._pointer))

    @property
    def handle(self) -> c_void_p:
        """The object of the C interface, as long as this one is not closed."""
        return self._pointer

    @property
    def device(self) -> int | None:
        """The number of the GPU that it runs on; none for processors."""
        number = int(self._library.regatherExecutableGetDevice(self._pointer))
        return None if number < 0 else number

    def write(self, argument: int, address: int, *,
              on_device: bool = False) -> None:
        """On a GPU: copies an argument from memory of the host, or from other
        memory of the device that no work under way writes to."""
        _check(self._library.regatherExecutableWrite(
            self._pointer, argument, address, on_device))

    def read(self, argument: int, address: int) -> None:
        """On a GPU: copies an argument to memory of the host."""
        _check(self._library.regatherExecutableRead(self._pointer, argument,
                                                    address))

    def run(self, arguments: Sequence[int | None],
            results: Sequence[int | None]) -> None:
        """Runs the step on addresses, one for each argument and result.

        What has no bytes, and results that lie in their argument, may have
        None. On a GPU all may: such arguments stay as they are on the device,
        and such results are not copied to the host. Arrays of `c_void_p` of the right length are taken as they are.
        Releases the interpreter; threads that call at once take turns.
        """
        if not isinstance(arguments, self._arguments_type):
            arguments = self._arguments_type(*arguments)
        if not isinstance(results, self._results_type):
            results = self._results_type(*results)
        status = self._run(self._pointer, arguments, results)
        if status:
            _check(status)

    def close(self) -> None:
        """Frees everything. Nothing but `close` may be called after it."""
        pointer: Any = getattr(self, "_pointer", None)
        if pointer:
            self._library.regatherExecutableDestroy(pointer)
            # When Python ends, this module may have nothing else any more.
            pointer.value = None

    def __del__(self) -> None:
        self.close()
