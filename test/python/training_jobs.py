"""Jobs of processes that run `training_ranks.py`, as torchrun starts them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
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
    environment = os.environ | {
        "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1", **variables}
    # A group of its own, to be ended with all of its ranks.
    with subprocess.Popen([sys.executable, SCRIPT, what, str(folder)],
                          env=environment, start_new_session=True) as job:
        try:
            assert job.wait(timeout=240) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
    found = []
    codes = json.loads((folder / f"{what}-codes.json").read_text())
    for rank, code in enumerate(codes):
        if code == 0:
            path = folder / f"{what}-{rank}.json"
            found.append(json.loads(path.read_text()))
        else:
            errors = folder / f"{what}-{rank}.errors"
            assert code < 0, errors.read_text()
            found.append({})
    return found
