"""What operations take (regather-c/Cost.h)."""

from __future__ import annotations

from array import array
from ctypes import c_char_p, c_uint32, c_void_p

from regather.library.arrays import address
from regather.library.loading import Function

_compute = Function("regatherComputeSeconds", c_char_p, c_uint32, c_void_p,
                    c_void_p, c_void_p, c_void_p)
_collective = Function("regatherCollectiveSeconds", c_char_p, c_uint32,
                       c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)


def compute_seconds(cluster: str, flops: array[float], sizes: array[float],
                    types: array[int]) -> array[float]:
    """What kernels take on a device of `cluster` (see regather-c/Cost.h)."""
    seconds = array("d", bytes(8 * len(flops)))
    _compute(cluster.encode(), len(flops), address(flops), address(sizes),
             address(types), address(seconds))
    return seconds


def collective_seconds(cluster: str, members: list[int], kinds: list[int],
                       received: list[float]) -> array[float]:
    """What collectives of one group take (see regather-c/Cost.h)."""
    group, kind_array = array("q", members), array("B", kinds)
    sizes = array("d", received)
    seconds = array("d", bytes(8 * len(kinds)))
    _collective(cluster.encode(), len(group), address(group), len(kinds),
                address(kind_array), address(sizes), address(seconds))
    return seconds
