"""Orders that hide communication (regather-c/Schedule.h)."""

from __future__ import annotations

from array import array
from ctypes import (POINTER, Structure, byref, c_double, c_int64, c_uint32,
                    c_void_p)

from regather.library.arrays import address
from regather.library.loading import Function


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


_schedule = Function("regatherSchedule", POINTER(_TimedArrays),
                     POINTER(_ScheduleOptions), c_void_p, POINTER(Score),
                     POINTER(Score))

Lists = tuple["array[int]", "array[int]"]


def _lists(lists: Lists) -> _Lists:
    return _Lists(address(lists[0]), address(lists[1]))


def schedule(kinds: array[int], seconds: array[float], streams: array[int],
             collectives: array[int], predecessors: Lists, conflicts: Lists,
             buffer_bytes: array[int], buffer_writers: array[int],
             buffer_live_out: array[int], buffer_users: Lists,
             memory_limit: int, in_flight: int
             ) -> tuple[list[int], Score, Score]:
    """An order of operations (see regather-c/Schedule.h), what it takes, and
    what the given order takes."""
    arrays = _TimedArrays(
        len(kinds), address(kinds), address(seconds), address(streams),
        address(collectives), _lists(predecessors), len(conflicts[0]) - 1,
        _lists(conflicts), len(buffer_bytes), address(buffer_bytes),
        address(buffer_writers), address(buffer_live_out),
        _lists(buffer_users))
    options = _ScheduleOptions(memory_limit, in_flight)
    order = array("I", bytes(4 * len(kinds)))
    score, given = Score(), Score()
    _schedule(byref(arrays), byref(options), address(order), byref(score),
              byref(given))
    return order.tolist(), score, given
