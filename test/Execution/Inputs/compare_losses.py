"""Compares the losses of two runs: equal to a relative tolerance, and falling."""

import json
import sys
from pathlib import Path

first, second, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
a = json.loads(Path(first).read_text())["losses"]
b = json.loads(Path(second).read_text())["losses"]
if len(a) != len(b) or not a:
    sys.exit(f"{len(a)} losses against {len(b)}")
for step, (x, y) in enumerate(zip(a, b), 1):
    if not abs(x - y) <= tolerance * abs(x):
        sys.exit(f"step {step}: {x} against {y}")
if not a[-1] < a[0]:
    sys.exit(f"the loss does not fall: {a[0]} to {a[-1]}")
