"""Jobs of processes that run `training_ranks.py`, as torchrun starts them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("training_ranks.py")


def launch(what: str, count: int, folder: Path, **variables: str) -> list[dict]:
    """What each rank of a job wrote; nothing of those that died. `variables` are
    of the environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(count):
        environment = os.environ | {
            "RANK": str(rank), "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1", **variables}
        processes.append(subprocess.Popen(
            [sys.executable, SCRIPT, what, str(folder)],
            env=environment, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate(timeout=240)[1] for process in processes]
    found = []
    for rank, process in enumerate(processes):
        path = folder / f"{what}-{rank}.json"
        if process.returncode == 0:
            found.append(json.loads(path.read_text()))
        else:
            assert process.returncode < 0, errors[rank]
            found.append({})
    return found
