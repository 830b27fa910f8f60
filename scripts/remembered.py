"""Results of tests that are remembered by a hash of all they depend on.

They lie in the user's cache folder (`$XDG_CACHE_HOME/regather/check`, beside
ccache's), so that a second clone on the same machine runs only what changed. Each
entry is one file with a digest of its content. What is missing or damaged is run
again; what failed is never remembered.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from project import Case

Item = TypeVar("Item")

# Entries that nobody asked for in this time are removed.
DAYS = 30


def cache_folder() -> Path:
    """Where this user's programs keep what they can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "regather"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Remembered:
    """The cases of tests that passed or were skipped, by key.

    Without a folder, nothing is found and nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def find(self, key: str) -> list[Case] | None:
        if not self.folder:
            return None
        path = self.folder / key
        try:
            content = path.read_bytes()
            recorded, _, text = content.partition(b"\n")
            if recorded.decode() != digest(text):
                return None
            cases = [Case(**{**case, "remembered": True})
                     for case in json.loads(text)]
            os.utime(path)
        except (OSError, ValueError, TypeError):
            return None
        return cases

    def keep(self, key: str, cases: list[Case]) -> None:
        if not self.folder or not cases or any(
                case.status == "failed" for case in cases):
            return
        text = json.dumps([dataclasses.asdict(case) for case in cases]).encode()
        scratch = self.folder / f"{key}.{os.getpid()}.new"
        try:
            scratch.write_bytes(digest(text).encode() + b"\n" + text)
            scratch.replace(self.folder / key)
        except OSError:  # A full disk costs time, never truth.
            scratch.unlink(missing_ok=True)

    def remove_old(self) -> None:
        """Entries and captures of tests that nobody used for long; kernels are
        removed by the compiler."""
        if not self.folder:
            return
        oldest = time.time() - DAYS * 24 * 3600
        for path in self.folder.iterdir():
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
        for path in self.folder.parent.glob("test-*/*"):
            # Kernels are files, which another process may remove meanwhile.
            if path.is_dir() and path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)


def run_new(remembered: Remembered, items: Sequence[Item],
            key_of: Callable[[Item], str],
            run: Callable[[list[Item]], dict[Item, list[Case]]]) -> list[Case]:
    """The cases of all items; `run` gets those that no entry is there for."""
    keys = {item: key_of(item) for item in items}
    found = {item: remembered.find(keys[item]) for item in items}
    missing = [item for item in items if found[item] is None]
    results = run(missing) if missing else {}
    for item in missing:
        remembered.keep(keys[item], results.get(item, []))
    cases: list[Case] = []
    for item in items:
        cases += found[item] if found[item] is not None else results.get(item, [])
    return cases
