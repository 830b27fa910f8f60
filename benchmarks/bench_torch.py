"""Our passes inside of PyTorch beside PyTorch's own, in seconds of one core.

The graph is that of Llama 8B with 32 layers and FSDP over 8 ranks. Ours take the
FX graph and give FX graphs back. PyTorch's passes for overlap, automatic and by
module, get the same times of operators and collectives (see torch_schedule.py).
Writes nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONFIG = {"config": "8B", "dp": 8}


def call(*command: Any) -> dict[str, Any]:
    result = subprocess.run([sys.executable, *map(str, command)], check=True,
                            stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def main(args: argparse.Namespace) -> int:
    ours = call(HERE / "torch_dropins.py", "--model",
                HERE.parent / "examples" / "llama3.py:sharded_step",
                "--config", json.dumps({**CONFIG, "tp": 1}))
    with tempfile.TemporaryDirectory() as folder:
        theirs = call(HERE / "torch_schedule.py", "--config",
                      json.dumps(CONFIG), "--output", folder)
    seconds = ours["seconds"]
    rows = [(f"PyTorch {ours['torch']}, min-cut", seconds["PyTorch"]),
            ("ours, match-pytorch", seconds["match-pytorch"]),
            ("ours, min-cut", seconds["min-cut"]),
            *((f"PyTorch, overlap, {entry['name']}, "
               f"{entry['collectives']} collectives", entry["seconds"])
              for entry in theirs.values() if entry["name"] != "captured"),
            *((f"ours, {name}, {entry['collectives']} collectives",
               entry["seconds"]) for name, entry in ours["overlaps"].items())]
    print(f"{ours['nodes']} nodes; same modules: {ours['same_text']}")
    for name, taken in rows:
        print(f"{name:52} {taken:8.3f} s")
    return 0 if ours["same_text"] else 1
