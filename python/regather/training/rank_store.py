"""The store of a job of PyTorch for our runtime (`rg_store` of Store.h).

Ranks on GPUs find each other by it before NCCL has communicators. Nothing
blocks: the runtime asks again and again, from several threads, which would else
wait for each other.
"""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64,
                    c_void_p)
from typing import Any

# As lib/Runtime/Store/CallerStore.h has it.
_FAILED = "failed"

_Set = CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p, c_int64)
_Get = CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p, c_int64,
                 POINTER(c_int64))
_Error = CFUNCTYPE(c_void_p, c_void_p)


class _Table(Structure):
    _fields_ = [("context", c_void_p), ("rank", c_int32), ("ranks", c_int32),
                ("set", _Set), ("get", _Get), ("error", _Error)]


class RankStore:
    """`store` is that of torch.distributed; `prefix` keeps the keys of one
    executable apart from all others."""

    def __init__(self, store: Any, prefix: str, rank: int, ranks: int) -> None:
        self._store = store
        self._prefix = prefix
        self._error = ctypes.create_string_buffer(b"")
        self._table = _Table(
            None, rank, ranks, _Set(self._set), _Get(self._get),
            _Error(lambda _: ctypes.addressof(self._error)))

    @property
    def address(self) -> int:
        """Of the table of functions, valid as long as the store."""
        return ctypes.addressof(self._table)

    def tell(self, reason: str) -> None:
        """Lets steps of all ranks that wait for others fail with a reason, unless
        there is one already. Whether the store is gone they find by
        themselves."""
        name = self._prefix + _FAILED
        with contextlib.suppress(Exception):
            if not self._store.check([name]):
                self._store.set(name, reason)

    # Functions of the table. Exceptions cannot leave them.

    def _fail(self, error: Exception) -> int:
        lines = str(error).splitlines()
        text = lines[0] if lines else type(error).__name__
        self._error = ctypes.create_string_buffer(text.encode())
        return 1

    def _set(self, _: int, key: bytes, value: int, size: int) -> int:
        try:
            self._store.set(self._prefix + key.decode(),
                            ctypes.string_at(value, size))
            return 0
        except Exception as error:
            return self._fail(error)

    def _get(self, _: int, key: bytes, value: int, capacity: int,
             size: ctypes._Pointer[c_int64]) -> int:
        try:
            name = self._prefix + key.decode()
            if not self._store.check([name]):
                size[0] = -1
                return 0
            found: bytes = self._store.get(name)
            ctypes.memmove(value, found, min(capacity, len(found)))
            size[0] = len(found)
            return 0
        except Exception as error:
            return self._fail(error)


__all__ = ["RankStore"]
