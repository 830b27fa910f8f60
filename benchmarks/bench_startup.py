"""Start-up time of regather-opt beside mlir-opt (`--help`, median of 9).

The two alternate, so that a change of the machine's speed meets both.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from pathlib import Path

from project import LLVM_BIN

ROUNDS = 9


def seconds(program: Path) -> float:
    start = time.perf_counter()
    subprocess.run([str(program), "--help"], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(args: argparse.Namespace) -> int:
    programs = [args.build_dir / "bin" / "regather-opt", LLVM_BIN / "mlir-opt"]
    for program in programs:  # Reads the program from disk once.
        seconds(program)
    rounds = [[seconds(program) for program in programs]
              for _ in range(ROUNDS)]
    medians = [statistics.median(column) for column in zip(*rounds)]
    print(f"{'program':16} {'median':>9} {'least':>9}")
    for program, median, column in zip(programs, medians, zip(*rounds)):
        print(f"{program.name:16} {median * 1e3:6.1f} ms "
              f"{min(column) * 1e3:6.1f} ms")
    print(f"ratio            {medians[0] / medians[1]:6.2f}")
    return 0
