"""Messages over a process group of PyTorch (`rg_transport` of Transport.h).

The bytes of collectives go through a group of our own with the ranks of the
caller's, so that no message meets one of the caller. Gloo does what it is given
in the background, but its sends and receives cannot be asked whether they are
done. So a thread for each channel waits for them in order. Gloo only ever sees
copies: whatever it does after `abort`, it touches no memory of the program.
What ends messages is a wait that times out, which closes all connections of the
group. That a rank stops in good order is told through the store of the job.
"""

from __future__ import annotations

import ctypes
import itertools
import queue
import re
import threading
import time
from ctypes import (CFUNCTYPE, POINTER, Structure, c_int32, c_int64,
                    c_uint64, c_void_p)
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from regather.fx.private import default_store
from regather.library.errors import RegatherError
from regather.training.agreement import (require_agreement,
                                         require_equal_batches)
from regather.training.rank_store import RankStore

# Seconds between two looks at whether another rank has said that it stops.
_LOOK_SECONDS = 0.25
# Seconds for which messages may still arrive that it had sent before.
_GRACE_SECONDS = 3.0
# A thread that is in a wait when the interpreter ends would end the process.
_JOIN_SECONDS = 5.0
# Seconds after which a step that still waits counts a rank that has stopped in
# good order as gone: that rank has done its part of a step that was under way.
_PATIENCE_SECONDS = 30.0
_UNUSED_CHANNEL = 1 << 20
_WATCH_CHANNEL = _UNUSED_CHANNEL + 1
# A wait that ends by itself closes the connections of the group.
_EVER = timedelta(days=3650)

_Transfer = CFUNCTYPE(c_int32, c_void_p, c_int32, c_int32, c_void_p, c_int64,
                      POINTER(c_uint64))
_Test = CFUNCTYPE(c_int32, c_void_p, c_uint64, POINTER(c_int32))
_Abort = CFUNCTYPE(None, c_void_p)
_Error = CFUNCTYPE(c_void_p, c_void_p)

_jobs = itertools.count()
_kept = threading.local()


class _Table(Structure):
    _fields_ = [("context", c_void_p), ("rank", c_int32), ("ranks", c_int32),
                ("send", _Transfer), ("receive", _Transfer), ("test", _Test),
                ("abort", _Abort), ("error", _Error), ("changes", c_void_p)]


@dataclass
class _Message:
    peer: int
    work: dist.Work
    tensor: torch.Tensor
    # Where what is received belongs; none for what is sent.
    address: int | None
    done: bool = False
    problem: str | None = None


class ProcessGroupTransport:
    """The transport of this process. All ranks of `group` make one."""

    def __init__(self, group: dist.ProcessGroup | None, seconds: float) -> None:
        self.rank = dist.get_rank(group)
        self.ranks = dist.get_world_size(group)
        self._members = dist.get_process_group_ranks(
            group if group is not None else dist.group.WORLD)
        try:
            self._group = dist.new_group(
                self._members, timeout=timedelta(seconds=seconds),
                backend="gloo", use_local_synchronization=True)
        except (RuntimeError, ValueError) as error:
            raise RegatherError(
                "cannot make a Gloo group of the ranks of the process group, "
                f"whose backend is '{dist.get_backend(group)}': "
                f"{_first_line(error)}") from error
        # Ranks make their executables in one order.
        prefix = (f"regather/{'-'.join(map(str, self._members))}/"
                  f"{next(_jobs)}/")
        self._key = f"{prefix}stopped"
        self._store = default_store()
        self.store = RankStore(self._store, prefix, self.rank, self.ranks)
        self._messages: dict[int, _Message] = {}
        self._numbers = itertools.count(1)
        # Whoever asks for messages sees by it that one may be done, without
        # waiting for the interpreter.
        self._changes = _Changes()
        self._channels: dict[int, queue.SimpleQueue[_Message | None]] = {}
        self._threads: list[threading.Thread] = []
        self._next_look = 0.0
        # Which rank stopped, and when that was seen.
        self._stopped: tuple[str, float] | None = None
        self._closing = threading.Event()
        self._error = ctypes.create_string_buffer(b"")
        self._table = _Table(
            None, self.rank, self.ranks, _Transfer(self._send),
            _Transfer(self._receive), _Test(self._test), _Abort(self._abort),
            _Error(lambda _: ctypes.addressof(self._error)),
            self._changes.address)

    def compare(self, facts: dict[str, str]) -> None:
        """Raises `RegatherError` on all ranks if they have other facts. Before
        the first message."""
        require_agreement(self._gather(facts, "does not compile the step"))

    def compare_batches(self, batch: int, hashes: dict[str, str],
                        mesh: str) -> None:
        """Raises `RegatherError` on all ranks if two that are given the same
        batch have other inputs. Before the first message."""
        require_equal_batches(self._gather((batch, hashes), "does not run it"),
                              mesh)

    def _gather(self, own: Any, otherwise: str) -> list[Any]:
        found: list[Any] = [None] * self.ranks
        try:
            dist.all_gather_object(found, own, self._group)
        except RuntimeError as error:
            raise RegatherError(f"a rank is gone, or {otherwise}: "
                                f"{_first_line(error)}") from error
        return found

    def watch(self) -> None:
        """Lets ranks that communicate without messages of ours know that one is
        gone: each waits for a message of the next one that never comes, and tells
        all others by `store` when that connection ends."""
        following = (self.rank + 1) % self.ranks
        work = dist.irecv(torch.empty(1, dtype=torch.uint8, device="cpu"),
                          self._members[following], self._group, _WATCH_CHANNEL)
        thread = threading.Thread(target=self._await_end,
                                  args=(work, following), daemon=True,
                                  name=f"regather-watch-{following}")
        self._threads.append(thread)
        thread.start()

    def _await_end(self, work: dist.Work, rank: int) -> None:
        try:
            work.wait(_EVER)
        except Exception:
            # The connection has ended, as it does one day.
            pass
        if self._closing.is_set():
            return
        try:
            in_order = self._store.check([self._key])
        except Exception:
            return
        if in_order and self._closing.wait(_PATIENCE_SECONDS):
            return
        self.store.tell(f"rank {rank} is gone")

    @property
    def address(self) -> int:
        """Of the table of functions, valid as long as the transport."""
        return ctypes.addressof(self._table)

    def close(self) -> None:
        """Ends the threads, once no executable calls any more. Ranks that wait
        for this one from now on fail."""
        try:
            self._store.set(self._key, str(self.rank))
        except Exception:
            # The process that holds the store is gone, and all find out.
            pass
        self._closing.set()
        for channel in self._channels.values():
            channel.put(None)
        if not self._channels and self._threads:
            # The one that watches.
            self._disconnect()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)

    # Functions of the table. Exceptions cannot leave them.

    def _fail(self, text: object) -> int:
        self._error = ctypes.create_string_buffer(str(text).encode())
        return 1

    def _send(self, _: int, to: int, channel: int, data: int, size: int,
              number: ctypes._Pointer[c_uint64]) -> int:
        try:
            tensor = _view(data, size).clone()
            work = dist.isend(tensor, self._members[to], self._group, channel)
            number[0] = self._post(channel, _Message(to, work, tensor, None))
            return 0
        except Exception as error:
            return self._fail(f"rank {to} is gone: {_first_line(error)}")

    def _receive(self, _: int, source: int, channel: int, data: int, size: int,
                 number: ctypes._Pointer[c_uint64]) -> int:
        try:
            tensor = torch.empty(size, dtype=torch.uint8, device="cpu")
            work = dist.irecv(tensor, self._members[source], self._group,
                              channel)
            number[0] = self._post(channel,
                                   _Message(source, work, tensor, data))
            return 0
        except Exception as error:
            return self._fail(f"rank {source} is gone: {_first_line(error)}")

    def _test(self, _: int, number: int, done: ctypes._Pointer[c_int32]) -> int:
        _keep_thread()
        message = self._messages[number]
        # Asked once: a message that is done a moment later is not copied yet.
        if not message.done:
            done[0] = 0
            problem = message.problem or self._look()
            return self._fail(problem) if problem else 0
        del self._messages[number]
        if message.address is not None:
            _view(message.address,
                  message.tensor.numel()).copy_(message.tensor)
        done[0] = 1
        return 0

    def _abort(self, _: int) -> None:
        self._messages.clear()
        self._disconnect()

    def _disconnect(self) -> None:
        other = self._members[(self.rank + 1) % self.ranks]
        try:
            dist.irecv(torch.empty(1, dtype=torch.uint8, device="cpu"), other,
                       self._group, _UNUSED_CHANNEL).wait(timedelta(milliseconds=1))
        except Exception:
            # As it should: the connections are closed, now if not before.
            pass

    def _post(self, channel: int, message: _Message) -> int:
        number = next(self._numbers)
        self._messages[number] = message
        if channel not in self._channels:
            waiting: queue.SimpleQueue[_Message | None] = queue.SimpleQueue()
            self._channels[channel] = waiting
            thread = threading.Thread(target=_wait, args=(waiting, self._changes),
                                      daemon=True,
                                      name=f"regather-channel-{channel}")
            self._threads.append(thread)
            thread.start()
        self._channels[channel].put(message)
        return number

    def _look(self) -> str | None:
        """Which other rank has stopped, if one said so a while ago."""
        now = time.monotonic()
        if self._stopped:
            rank, seen = self._stopped
            return f"rank {rank} is gone" if now > seen + _GRACE_SECONDS else None
        if now < self._next_look:
            return None
        self._next_look = now + _LOOK_SECONDS
        try:
            if self._store.check([self._key]):
                self._stopped = (self._store.get(self._key).decode(), now)
        except Exception as error:
            return f"the store of the job is gone: {_first_line(error)}"
        return None


class _Changes:
    """A number in memory that is another one after each `note`."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._number = c_uint64(0)

    @property
    def address(self) -> int:
        return ctypes.addressof(self._number)

    def note(self) -> None:
        self._number.value = next(self._numbers)


def _wait(waiting: queue.SimpleQueue[_Message | None],
          changes: _Changes) -> None:
    """Messages of one channel are needed in their order."""
    while (message := waiting.get()) is not None:
        try:
            message.work.wait()
            message.done = True
        except Exception as error:
            message.problem = (f"rank {message.peer} is gone: "
                               f"{_first_line(error)}")
        changes.note()


def _keep_thread() -> None:
    """Keeps what the interpreter knows of a thread that is not its own until the
    process ends. Otherwise it is made and thrown away, with pages of memory, each
    time that such a thread asks whether a message is done. A step has one such
    thread for each program."""
    if not hasattr(_kept, "state"):
        _kept.state = ctypes.pythonapi.PyGILState_Ensure()


def _view(address: int, size: int) -> torch.Tensor:
    return torch.frombuffer((ctypes.c_char * size).from_address(address),
                            dtype=torch.uint8)


def _first_line(error: BaseException) -> str:
    """Of what Gloo says, without the place in its source and without advice."""
    text = (str(error) or type(error).__name__).splitlines()[0]
    text = re.sub(r"^\[[^\]]*\.cc:\d+\] ", "", text)
    return text.split(". ")[0].removesuffix(".")


def require_group(ranks: int) -> dist.ProcessGroup | None:
    """The default group, made from the environment of torchrun if there is none.
    Raises `RegatherError` if it carries no messages."""
    if not dist.is_available():
        raise RegatherError("this PyTorch has no torch.distributed")
    if not dist.is_initialized():
        if not dist.is_torchelastic_launched():
            raise RegatherError(
                f"expects a process for each of {ranks} ranks: start with "
                f"torchrun --nproc-per-node {ranks}, or call "
                "torch.distributed.init_process_group")
        dist.init_process_group("gloo")
    # PyTorch 2.15 crashes where it makes a group of Gloo beside such a one.
    if dist.get_backend() == "fake":
        raise RegatherError(
            "expects a process group that carries messages, got one with the "
            "backend 'fake', such as regather.fake_mesh makes")
    return dist.group.WORLD


__all__ = ["ProcessGroupTransport", "require_group"]
