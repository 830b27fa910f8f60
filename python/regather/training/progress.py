"""What `regather.compile` says while it works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

# Of the bar, in characters, and how often it is drawn.
_WIDTH = 24
_SECONDS = 0.1


class Progress:
    """Phases of work with their seconds, on standard error: a bar on a
    terminal, which goes when all is done, and a line for each phase elsewhere.
    Nothing if `quiet`."""

    def __init__(self, phases: int, quiet: bool,
                 stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._phases = phases
        self._quiet = quiet
        self._done = 0
        self._begin = time.monotonic()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """One phase, such as "capturing"."""
        if self._quiet:
            yield
            return
        begin = time.monotonic()
        if self._stream.isatty():
            with self._drawn(name):
                yield
        else:
            yield
            self._stream.write(f"regather: {name} took "
                               f"{time.monotonic() - begin:.1f} s\n")
        self._done += 1
        self._stream.flush()

    @contextmanager
    def _drawn(self, name: str) -> Iterator[None]:
        """Draws the bar again and again, whatever the caller waits for."""
        is_over = threading.Event()

        def draw() -> None:
            while True:
                full = _WIDTH * self._done // self._phases
                bar = "=" * full + ">" + " " * (_WIDTH - full - 1)
                self._stream.write(
                    f"\r\x1b[Kregather [{bar}] {name}, "
                    f"{time.monotonic() - self._begin:.1f} s")
                self._stream.flush()
                if is_over.wait(_SECONDS):
                    return

        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            self._stream.write("\r\x1b[K")
            self._stream.flush()


__all__ = ["Progress"]
