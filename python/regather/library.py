"""The C interface of Regather (`include/regather-c`), called by ctypes.

The library is looked for at `REGATHER_LIBRARY`, in this package, and in the
build directory beside it. It is loaded when it is first needed, with local
symbols, so that it stands beside any other LLVM, before or after torch.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int,
                    c_int64, c_uint32, c_void_p)
from functools import cache
from pathlib import Path
from typing import Any

VERSION = 1


class RegatherError(Exception):
    """A diagnostic of the library."""


class _GraphArrays(Structure):
    _fields_ = [("num_nodes", c_uint32), ("num_targets", c_uint32),
                ("targets", c_void_p), ("node_traits", c_void_p),
                ("target_traits", c_void_p), ("input_begins", c_void_p),
                ("inputs", c_void_p), ("bytes", c_void_p),
                ("input_bytes", c_void_p)]


class _PartitionOptions(Structure):
    _fields_ = [("mode", c_int), ("num_recorded", c_uint32),
                ("recorded", c_void_p), ("budget", c_int64),
                ("seconds", c_void_p)]


class _Lists(Structure):
    _fields_ = [("begins", c_void_p), ("elements", c_void_p)]


class _TimedArrays(Structure):
    _fields_ = [("num_ops", c_uint32), ("kinds", c_void_p),
                ("seconds", c_void_p), ("streams", c_void_p),
                ("collectives", c_void_p), ("predecessors", _Lists),
                ("num_streams", c_uint32), ("conflicts", _Lists),
                ("num_buffers", c_uint32), ("buffer_bytes", c_void_p),
                ("buffer_writers", c_void_p), ("buffer_live_out", c_void_p),
                ("buffer_users", _Lists)]


class _ScheduleOptions(Structure):
    _fields_ = [("memory_limit", c_int64), ("in_flight", c_uint32)]


class Score(Structure):
    """What a step takes in some order: seconds, those of them in which
    computation waits, and the peak of bytes."""

    _fields_ = [("seconds", c_double), ("exposed_seconds", c_double),
                ("peak_bytes", c_int64)]


class _Nodes(Structure):
    _fields_ = [("count", c_uint32), ("nodes", POINTER(c_uint32))]

    def to_list(self) -> list[int]:
        return self.nodes[:self.count] if self.count else []


def _candidates() -> list[Path]:
    package = Path(__file__).resolve().parent
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
    library = ctypes.CDLL(str(paths[0]))
    library.regatherGetVersion.restype = c_uint32
    if (version := library.regatherGetVersion()) != VERSION:
        raise RegatherError(f"{paths[0]} has version {version} of the C "
                            f"interface, expects {VERSION}")
    library.regatherGetBuildId.restype = c_char_p
    library.regatherStatusGetMessage.restype = c_char_p
    library.regatherStatusGetMessage.argtypes = [c_void_p]
    library.regatherStatusDestroy.argtypes = [c_void_p]
    for name, arguments in {
            "regatherGraphCreate": [POINTER(_GraphArrays), POINTER(c_void_p)],
            "regatherPartitionCreate": [c_void_p, POINTER(_PartitionOptions),
                                        POINTER(c_void_p)],
            "regatherComputeSeconds": [c_char_p, c_uint32, c_void_p, c_void_p,
                                       c_void_p, c_void_p],
            "regatherCollectiveSeconds": [c_char_p, c_uint32, c_void_p,
                                          c_uint32, c_void_p, c_void_p,
                                          c_void_p],
            "regatherSchedule": [POINTER(_TimedArrays),
                                 POINTER(_ScheduleOptions), c_void_p,
                                 POINTER(Score), POINTER(Score)]}.items():
        function = getattr(library, name)
        function.restype = c_void_p
        function.argtypes = arguments
    for name in ("regatherGraphDestroy", "regatherPartitionDestroy"):
        getattr(library, name).argtypes = [c_void_p]
    for part in ("Saved", "Forward", "Backward"):
        function = getattr(library, f"regatherPartitionGet{part}")
        function.restype = _Nodes
        function.argtypes = [c_void_p]
    return library


def get_build_id() -> str:
    """Names the build: equal texts decide alike."""
    return bytes(load().regatherGetBuildId()).decode()


def _check(status: int | None) -> None:
    if not status:
        return
    message = load().regatherStatusGetMessage(status).decode()
    load().regatherStatusDestroy(status)
    raise RegatherError(message)


def _address(values: array[Any]) -> int | None:
    return values.buffer_info()[0] if values else None


class Graph:
    """Nodes by number, each behind what it reads (see regather-c/Graph.h)."""

    def __init__(self, targets: array[int], node_traits: array[int],
                 target_traits: array[int], input_begins: array[int],
                 inputs: array[int], sizes: array[int],
                 input_sizes: array[int]) -> None:
        arrays = _GraphArrays(
            len(targets), len(target_traits), _address(targets),
            _address(node_traits), _address(target_traits),
            _address(input_begins), _address(inputs), _address(sizes),
            _address(input_sizes))
        self._pointer = c_void_p()
        self._library = load()
        _check(self._library.regatherGraphCreate(byref(arrays),
                                                 byref(self._pointer)))

    @property
    def pointer(self) -> c_void_p:
        return self._pointer

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.regatherGraphDestroy(self._pointer)


class Partition:
    """What is saved, and what the two parts run (see regather-c/Partition.h).

    `mode` is "min-cut", "match-pytorch", "default", "replay" or "budget".
    """

    MODES = ("min-cut", "match-pytorch", "default", "replay", "budget")

    def __init__(self, graph: Graph, mode: str, recorded: list[int] | None = None,
                 budget: int = 0, seconds: array[float] | None = None) -> None:
        library = load()
        record = array("I", recorded or [])
        options = _PartitionOptions(
            self.MODES.index(mode), len(record), _address(record), budget,
            _address(seconds) if seconds else None)
        pointer = c_void_p()
        _check(library.regatherPartitionCreate(graph.pointer, byref(options),
                                               byref(pointer)))
        try:
            self.saved: list[int] = (
                library.regatherPartitionGetSaved(pointer).to_list())
            self.forward: list[int] = (
                library.regatherPartitionGetForward(pointer).to_list())
            self.backward: list[int] = (
                library.regatherPartitionGetBackward(pointer).to_list())
        finally:
            library.regatherPartitionDestroy(pointer)


def compute_seconds(cluster: str, flops: array[float], sizes: array[float],
                    types: array[int]) -> array[float]:
    """What kernels take on a device of `cluster` (see regather-c/Cost.h)."""
    seconds = array("d", bytes(8 * len(flops)))
    _check(load().regatherComputeSeconds(
        cluster.encode(), len(flops), _address(flops), _address(sizes),
        _address(types), _address(seconds)))
    return seconds


def collective_seconds(cluster: str, members: list[int], kinds: list[int],
                       received: list[float]) -> array[float]:
    """What collectives of one group take (see regather-c/Cost.h)."""
    group, kind_array = array("q", members), array("B", kinds)
    sizes = array("d", received)
    seconds = array("d", bytes(8 * len(kinds)))
    _check(load().regatherCollectiveSeconds(
        cluster.encode(), len(group), _address(group), len(kinds),
        _address(kind_array), _address(sizes), _address(seconds)))
    return seconds


Lists = tuple["array[int]", "array[int]"]


def _lists(lists: Lists) -> _Lists:
    return _Lists(_address(lists[0]), _address(lists[1]))


def schedule(kinds: array[int], seconds: array[float], streams: array[int],
             collectives: array[int], predecessors: Lists, conflicts: Lists,
             buffer_bytes: array[int], buffer_writers: array[int],
             buffer_live_out: array[int], buffer_users: Lists,
             memory_limit: int, in_flight: int
             ) -> tuple[list[int], Score, Score]:
    """An order of operations (see regather-c/Schedule.h), what it takes, and
    what the given order takes."""
    arrays = _TimedArrays(
        len(kinds), _address(kinds), _address(seconds), _address(streams),
        _address(collectives), _lists(predecessors), len(conflicts[0]) - 1,
        _lists(conflicts), len(buffer_bytes), _address(buffer_bytes),
        _address(buffer_writers), _address(buffer_live_out),
        _lists(buffer_users))
    options = _ScheduleOptions(memory_limit, in_flight)
    order = array("I", bytes(4 * len(kinds)))
    score, given = Score(), Score()
    _check(load().regatherSchedule(byref(arrays), byref(options),
                                   _address(order), byref(score), byref(given)))
    return order.tolist(), score, given
