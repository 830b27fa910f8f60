"""Interrupts that arrive in the middle of a step."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class DeferredInterrupt:
    """Keeps SIGINT from tearing a step apart.

    An interrupt inside of the block takes effect at its end, when parameters,
    states and the count of steps agree. Only the main thread gets any.
    """

    def __enter__(self) -> DeferredInterrupt:
        self._handler: Any = None
        self._received: tuple[int, FrameType | None] | None = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                signal.signal(signal.SIGINT, self._receive)
                self._handler = handler
        return self

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = number, frame

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._handler is None:
            return
        signal.signal(signal.SIGINT, self._handler)
        if self._received:
            self._handler(*self._received)


__all__ = ["DeferredInterrupt"]
