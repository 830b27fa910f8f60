"""The C interface of Regather (`include/regather-c`), called by ctypes: one module
for each header, and one that loads the library when it is first needed."""

from regather.library.cost import collective_seconds, compute_seconds
from regather.library.errors import Diagnostic, RegatherError
from regather.library.graph import Graph
from regather.library.loading import get_build_id, load
from regather.library.module_paths import NONE, find_units, match_modules
from regather.library.partition import Partition
from regather.library.schedule import Lists, Score, schedule

__all__ = ["Diagnostic", "Graph", "Lists", "NONE", "Partition",
           "RegatherError", "Score", "collective_seconds", "compute_seconds",
           "find_units", "get_build_id", "load", "match_modules", "schedule"]
