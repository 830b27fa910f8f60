"""What is to be done to a step (regather-c/StepPlan.h)."""

from __future__ import annotations

import json
from ctypes import POINTER, byref, c_void_p
from typing import Any

from regather.library.loading import Function
from regather.library.module import COptions, Options, make_options, take_output

_read = Function("regatherReadStepPlan", COptions, POINTER(c_void_p))


def read_step_plan(options: Options) -> dict[str, Any]:
    """What `options` (plan, policy, reshard, recompute, bucket, schedule) decide
    about each pass; see regatherReadStepPlan."""
    pointer = c_void_p()
    _read(make_options(options), byref(pointer))
    plan: dict[str, Any] = json.loads(take_output(pointer).json)
    return plan
