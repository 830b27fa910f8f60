"""What forward saves for backward (regather-c/Partition.h)."""

from __future__ import annotations

from array import array
from ctypes import (POINTER, Structure, byref, c_int, c_int64, c_uint32,
                    c_void_p)

from regather.library.arrays import address
from regather.library.graph import Graph
from regather.library.loading import Function, getter


class _PartitionOptions(Structure):
    _fields_ = [("mode", c_int), ("num_recorded", c_uint32),
                ("recorded", c_void_p), ("budget", c_int64),
                ("seconds", c_void_p)]


class _Nodes(Structure):
    _fields_ = [("count", c_uint32), ("nodes", POINTER(c_uint32))]

    def to_list(self) -> list[int]:
        return self.nodes[:self.count] if self.count else []


_create = Function("regatherPartitionCreate", c_void_p,
                   POINTER(_PartitionOptions), POINTER(c_void_p))
_destroy = getter("regatherPartitionDestroy", c_void_p)
_get_saved = getter("regatherPartitionGetSaved", c_void_p, returns=_Nodes)
_get_forward = getter("regatherPartitionGetForward", c_void_p, returns=_Nodes)
_get_backward = getter("regatherPartitionGetBackward", c_void_p, returns=_Nodes)


class Partition:
    """What is saved, and what the two parts run (see regather-c/Partition.h).

    `mode` is "min-cut", "match-pytorch", "default", "replay" or "budget".
    """

    MODES = ("min-cut", "match-pytorch", "default", "replay", "budget")

    def __init__(self, graph: Graph, mode: str, recorded: list[int] | None = None,
                 budget: int = 0, seconds: array[float] | None = None) -> None:
        record = array("I", recorded or [])
        options = _PartitionOptions(
            self.MODES.index(mode), len(record), address(record), budget,
            address(seconds) if seconds else None)
        pointer = c_void_p()
        _create(graph.pointer, byref(options), byref(pointer))
        try:
            self.saved: list[int] = _get_saved(pointer).to_list()
            self.forward: list[int] = _get_forward(pointer).to_list()
            self.backward: list[int] = _get_backward(pointer).to_list()
        finally:
            _destroy(pointer)
