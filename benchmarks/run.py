#!/usr/bin/env python3
"""Runs benchmarks by name; without a name, lists them.

A benchmark is a module bench_NAME.py beside this file whose `main(args)` takes
the parsed arguments, prints a table and returns an exit status. Options of its
own are added by its `add_options(parser)` and written as --option=VALUE.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "scripts"), str(ROOT / "python")]
# For the processes that benchmarks start.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_")
                  for path in HERE.glob("bench_*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    # Before the others, whose names are those of the benchmarks.
    args, _ = parser.parse_known_args(
        [word for word in sys.argv[1:] if word not in ("-h", "--help")])
    for name in args.names:
        if name in names():
            module = importlib.import_module(f"bench_{name}")
            if hasattr(module, "add_options"):
                module.add_options(parser)
    args = parser.parse_args()
    args.build_dir = (ROOT / args.build_dir).resolve()
    if not args.names:
        for name in names():
            module = importlib.import_module(f"bench_{name}")
            print(f"{name:16} {(module.__doc__ or '').splitlines()[0]}")
        return 0
    if unknown := set(args.names) - set(names()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(names())}")
    status = 0
    for name in args.names:
        print(f"== {name}", flush=True)
        status |= importlib.import_module(f"bench_{name}").main(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
