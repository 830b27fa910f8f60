"""Collectives that start as one (regather-c/Buckets.h)."""

from __future__ import annotations

from array import array
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int64,
                    c_uint32, c_void_p)
from dataclasses import dataclass, field

from regather.library.arrays import address
from regather.library.loading import Function
from regather.library.module_paths import texts
from regather.library.schedule import (CLists, CTimedArrays, Lists,
                                       TimedArrays)


class _Mergeable(Structure):
    _fields_ = [("count", c_uint32), ("starts", c_void_p), ("keys", c_void_p),
                ("kinds", c_void_p), ("received_bytes", c_void_p),
                ("whole_bytes", c_void_p)]


class _BucketOptions(Structure):
    _fields_ = [("cluster", c_char_p), ("groups", CLists),
                ("is_early", c_void_p), ("planned", c_void_p),
                ("memory_limit", c_int64), ("unit_bytes", c_int64),
                ("max_bytes", c_int64), ("saturation", c_double),
                ("max_compute", c_double)]


_plan = Function("regatherPlanBuckets", c_char_p, c_char_p, c_uint32, c_void_p,
                 c_void_p)
_bucket = Function("regatherBucketCollectives", POINTER(CTimedArrays),
                   POINTER(_Mergeable), POINTER(_BucketOptions), c_void_p,
                   c_void_p, POINTER(c_uint32))


@dataclass
class Mergeable:
    """Collectives that may be merged; see RegatherMergeable."""

    starts: array[int] = field(default_factory=lambda: array("I"))
    keys: array[int] = field(default_factory=lambda: array("I"))
    kinds: array[int] = field(default_factory=lambda: array("B"))
    received_bytes: array[float] = field(default_factory=lambda: array("d"))
    whole_bytes: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True)
class BucketOptions:
    """How schedules choose buckets; see RegatherBucketOptions."""

    cluster: str
    memory_limit: int | None = None
    max_bytes: int = 0
    saturation: float = 0.9
    max_compute: float = 0


def plan_buckets(plan: str, what: str, paths: list[str]) -> list[int]:
    """By module path, the number of its bucket, or `NONE`."""
    buckets = array("I", bytes(4 * len(paths)))
    _plan(plan.encode(), what.encode(), len(paths), texts(paths),
          address(buckets))
    return buckets.tolist()


def bucket_collectives(timed: TimedArrays, mergeable: Mergeable, groups: Lists,
                       is_early: array[int], options: BucketOptions,
                       unit_bytes: int, planned: list[int] | None
                       ) -> tuple[list[int], list[int]]:
    """By collective, the first of those that start as one with it; and an order
    of the operations that are left. `planned` are buckets of a plan; without
    one schedules decide."""
    count = len(mergeable.starts)
    of_plan = None if planned is None else array("I", planned)
    limit = options.memory_limit
    collectives = _Mergeable(
        count, address(mergeable.starts), address(mergeable.keys),
        address(mergeable.kinds), address(mergeable.received_bytes),
        address(mergeable.whole_bytes))
    given = _BucketOptions(
        options.cluster.encode(), groups.to_c(), address(is_early),
        None if of_plan is None else address(of_plan),
        -1 if limit is None else limit, unit_bytes, options.max_bytes,
        options.saturation, options.max_compute)
    parts = array("I", bytes(4 * count))
    order = array("I", bytes(4 * len(timed.kinds)))
    left = c_uint32()
    arrays = timed.to_c()
    _bucket(byref(arrays), byref(collectives), byref(given), address(parts),
            address(order), byref(left))
    return parts.tolist(), order[:left.value].tolist()
