"""One rank of a job that `kill_trials.py` disturbs: runs a command, and writes down
when and how it ended, and what it said.

    trial_rank.py FOLDER RANKS COMMAND...

Launchers end all processes of a job when one of them ends. What the others would
have done by themselves is to be seen, so this one stays until all have ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Longer than any rank may take.
PATIENCE_SECONDS = 30.0


def get_rank() -> int:
    return int(os.environ.get("OMPI_COMM_WORLD_RANK",
                              os.environ.get("RANK", "0")))


def write_whole(path: Path, text: str) -> None:
    """Whoever waits for the file finds all of it."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def main() -> int:
    folder, ranks, command = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    rank = get_rank()
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        write_whole(folder / f"rank-{rank}.pid", str(process.pid))
        _, stderr = process.communicate()
    end = time.monotonic_ns()
    write_whole(folder / f"rank-{rank}.json", json.dumps(
        {"rank": rank, "code": process.returncode, "end": end,
         "stderr": stderr.decode(errors="replace")}))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (len(list(folder.glob("rank-*.json"))) < ranks
           and time.monotonic() < deadline):
        time.sleep(0.02)
    code = process.returncode
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
