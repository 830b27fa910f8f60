"""Orders that hide communication (regather-c/Schedule.h)."""

from __future__ import annotations

from array import array
from ctypes import (POINTER, Structure, byref, c_double, c_int64, c_uint32,
                    c_void_p)
from dataclasses import dataclass, field
from itertools import accumulate, chain

from regather.library.arrays import address
from regather.library.loading import Function


class CLists(Structure):
    _fields_ = [("begins", c_void_p), ("elements", c_void_p)]


class CTimedArrays(Structure):
    _fields_ = [("num_ops", c_uint32), ("kinds", c_void_p),
                ("seconds", c_void_p), ("streams", c_void_p),
                ("collectives", c_void_p), ("predecessors", CLists),
                ("num_streams", c_uint32), ("conflicts", CLists),
                ("num_buffers", c_uint32), ("buffer_bytes", c_void_p),
                ("buffer_writers", c_void_p), ("buffer_live_out", c_void_p),
                ("buffer_users", CLists)]


class _ScheduleOptions(Structure):
    _fields_ = [("memory_limit", c_int64), ("memory_ratio", c_double),
                ("in_flight", c_uint32), ("effort", c_uint32),
                ("allows_conflicts", c_uint32)]


class Score(Structure):
    """What a step takes in some order: seconds, those of them in which
    computation waits, and the peak of bytes."""

    _fields_ = [("seconds", c_double), ("exposed_seconds", c_double),
                ("peak_bytes", c_int64)]


_schedule = Function("regatherSchedule", POINTER(CTimedArrays),
                     POINTER(_ScheduleOptions), c_void_p, POINTER(Score),
                     POINTER(Score))


@dataclass
class Lists:
    """Short lists of numbers, one after the other."""

    begins: array[int] = field(default_factory=lambda: array("I", [0]))
    elements: array[int] = field(default_factory=lambda: array("I"))

    @classmethod
    def of(cls, lists: list[list[int]]) -> Lists:
        return cls(array("I", accumulate(map(len, lists), initial=0)),
                   array("I", chain.from_iterable(lists)))

    def push(self, elements: list[int]) -> None:
        self.elements.extend(elements)
        self.begins.append(len(self.elements))

    def __len__(self) -> int:
        return len(self.begins) - 1

    def to_c(self) -> CLists:
        return CLists(address(self.begins), address(self.elements))


@dataclass
class TimedArrays:
    """Operations that take time; see RegatherTimedArrays."""

    kinds: array[int]
    seconds: array[float]
    streams: array[int]
    collectives: array[int]
    predecessors: Lists
    conflicts: Lists
    buffer_bytes: array[int]
    buffer_writers: array[int]
    buffer_live_out: array[int]
    buffer_users: Lists

    def to_c(self) -> CTimedArrays:
        """Valid as long as this is not changed."""
        return CTimedArrays(
            len(self.kinds), address(self.kinds), address(self.seconds),
            address(self.streams), address(self.collectives),
            self.predecessors.to_c(), len(self.conflicts),
            self.conflicts.to_c(), len(self.buffer_bytes),
            address(self.buffer_bytes), address(self.buffer_writers),
            address(self.buffer_live_out), self.buffer_users.to_c())


@dataclass(frozen=True)
class ScheduleOptions:
    """Without a `memory_limit` in bytes, memory is limited to `memory_ratio`
    times the peak of the given order."""

    memory_limit: int | None = None
    memory_ratio: float = 1
    in_flight: int = 16
    effort: int = 100
    overlap_groups: bool = False


def schedule(timed: TimedArrays, options: ScheduleOptions
             ) -> tuple[list[int], Score, Score]:
    """An order of operations (see regather-c/Schedule.h), what it takes, and
    what the given order takes."""
    limit = options.memory_limit
    given_options = _ScheduleOptions(
        -1 if limit is None else limit, options.memory_ratio,
        options.in_flight, options.effort, options.overlap_groups)
    order = array("I", bytes(4 * len(timed.kinds)))
    score, given = Score(), Score()
    arrays = timed.to_c()
    _schedule(byref(arrays), byref(given_options), address(order),
              byref(score), byref(given))
    return order.tolist(), score, given
