"""The memory planner beside a greedy one: gap to the liveness peak, and time.

Plans synthetic training steps and, if REGATHER_PLAN_CASES names a folder, the
.csv files in it. Both planners run in the same process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

# The hard cases are given more than the default, about 10 s each.
CASE_EFFORT = 10_000_000_000


def main(args: argparse.Namespace) -> int:
    program = args.build_dir / "bin" / "regather-plan-bench"
    status = subprocess.run([str(program)]).returncode
    if folder := os.environ.get("REGATHER_PLAN_CASES"):
        cases = sorted(Path(folder).glob("*.csv"))
        if not cases:
            print(f"no .csv files in {folder}")
            return 1
        for case in cases:
            status |= subprocess.run([str(program), "--effort",
                                      str(CASE_EFFORT), str(case)]).returncode
    return status
