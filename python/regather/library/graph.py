"""Joint graphs as flat arrays (regather-c/Graph.h)."""

from __future__ import annotations

from array import array
from ctypes import POINTER, Structure, byref, c_uint32, c_void_p

from regather.library.arrays import address
from regather.library.loading import Function, getter


class _GraphArrays(Structure):
    _fields_ = [("num_nodes", c_uint32), ("num_targets", c_uint32),
                ("targets", c_void_p), ("node_traits", c_void_p),
                ("target_traits", c_void_p), ("input_begins", c_void_p),
                ("inputs", c_void_p), ("bytes", c_void_p),
                ("input_bytes", c_void_p)]


_create = Function("regatherGraphCreate", POINTER(_GraphArrays),
                   POINTER(c_void_p))
_destroy = getter("regatherGraphDestroy", c_void_p)


class Graph:
    """Nodes by number, each behind what it reads (see regather-c/Graph.h)."""

    def __init__(self, targets: array[int], node_traits: array[int],
                 target_traits: array[int], input_begins: array[int],
                 inputs: array[int], sizes: array[int],
                 input_sizes: array[int]) -> None:
        arrays = _GraphArrays(
            len(targets), len(target_traits), address(targets),
            address(node_traits), address(target_traits),
            address(input_begins), address(inputs), address(sizes),
            address(input_sizes))
        self._pointer = c_void_p()
        # Python may have dropped this module when the last graph goes.
        self._release = _destroy.pointer
        _create(byref(arrays), byref(self._pointer))

    @property
    def pointer(self) -> c_void_p:
        return self._pointer

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._release(self._pointer)
