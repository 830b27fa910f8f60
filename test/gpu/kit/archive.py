"""One archive of the report and all logs, for whoever reads them elsewhere."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

# Of one log; of a longer one the end, where it says why it ended.
LONGEST = 64 << 10
# Before compression, so that the archive has at most 10 MB.
ALL = 9_000_000


def write(output: Path) -> None:
    """Logs are all that is in their folder: no tensors."""
    logs = sorted(path for path in (output / "logs").iterdir()
                  if path.is_file())
    reports = [output / "gpu-report.json", output / "gpu-report.html"]
    longest = min(LONGEST, ALL // max(1, len(logs)))
    with tarfile.open(output / "gpu-logs.tar.gz", "w:gz") as archive:
        for path in [*reports, *logs]:
            content = path.read_bytes()
            if path.parent.name == "logs":
                content = content[-longest:]
            entry = tarfile.TarInfo(f"gpu-logs/{path.name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
