"""The C interface of Regather (`include/regather-c`), called by ctypes: one module
for each header, and one that loads the library when it is first needed."""

from regather.library.buckets import (BucketOptions, Mergeable,
                                      bucket_collectives, plan_buckets)
from regather.library.cost import collective_seconds, compute_seconds
from regather.library.errors import Diagnostic, RegatherError
from regather.library.graph import Graph
from regather.library.loading import get_build_id, load
from regather.library.module_paths import NONE, find_units, match_modules
from regather.library.partition import Partition
from regather.library.policy import POLICIES, Policy, apply_policy
from regather.library.schedule import (Lists, ScheduleOptions, Score,
                                       TimedArrays, schedule)
from regather.library.step_plan import read_step_plan
from regather.library.targets import is_expensive_target

__all__ = ["BucketOptions", "Diagnostic", "Graph", "Lists", "Mergeable", "NONE",
           "POLICIES", "Partition", "Policy", "RegatherError",
           "ScheduleOptions", "Score", "TimedArrays", "apply_policy",
           "bucket_collectives", "collective_seconds",
           "compute_seconds", "find_units", "get_build_id",
           "is_expensive_target", "load", "match_modules", "plan_buckets",
           "read_step_plan", "schedule"]
