#!/usr/bin/env python3
"""Compiles and trains an example: `llama`, or the smaller `mlp`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import demo_llama
import demo_mlp
from project import ROOT
from training_runs import DemoError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("example", nargs="?", default="llama",
                        choices=("llama", "mlp"))
    parser.add_argument("--build-dir", type=Path, default=Path("build"))
    parser.add_argument("--steps", type=int, metavar="N",
                        help="of the Llama; by default all that PyTorch's "
                        "losses are recorded of")
    parser.add_argument("--ranks", type=int, metavar="N", default=4,
                        help="of the Llama (default 4)")
    arguments = parser.parse_args()
    build = ROOT / arguments.build_dir
    try:
        if arguments.example == "mlp":
            good = demo_mlp.demo(build / "bin")
        else:
            good = demo_llama.demo(build, arguments.ranks, arguments.steps)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
