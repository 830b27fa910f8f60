"""Attributes of modules that forward changes.

A parameter or a registered buffer is part of the step. Any other attribute
that forward assigns is harmless if each step writes it before reading it. One
that a step reads first carries something from step to step: a tensor of
unchanging shape then becomes a buffer of the step, everything else is refused.

What is read first is seen by tracing once more, with the attributes that
changed taken out of the modules' tables, so that each reading is asked for.

A setting that the first step makes, such as a flag that hooks are installed,
and the hooks that it installs are kept for another trace, on request: if that
changes nothing, what it gives is what all later steps do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import nn

from regather.fx import private
from regather.fx.errors import CaptureError, at
from regather.fx.source import definition_line, user_line
from regather.fx.state import Tensor, clean

_ABSENT = object()
_PLAIN = (bool, int, float, str, bytes, type(None))
_ROUNDS = 8
_CARRIED = (
    "which the next step would read: no step can hold that; expects "
    "a buffer, or a model that ran once before if this is a cache"
)


@dataclass
class _Change:
    module: nn.Module
    path: str
    key: str
    old: Any
    new: Any
    line: tuple[str, int] | None

    @property
    def name(self) -> str:
        return f"{self.path}.{self.key}" if self.path else self.key

    def refusal(self, what: str) -> CaptureError:
        return CaptureError(at(f"forward changes '{self.name}', {what}", self.line))


@dataclass
class _Hooked:
    """Hooks of modules after a step that changed some, those of ``path``."""

    path: str
    line: tuple[str, int] | None
    tables: list[tuple[dict[Any, Any], dict[Any, Any]]]


class Attributes:
    """Watches the attributes of a model while its step is traced.

    ``promoted`` are attributes that are state of the step, to be treated as
    buffers. ``stop`` is the file whose frames bound the model's.
    """

    def __init__(self, model: nn.Module, stop: str) -> None:
        self.promoted: list[Tensor] = []
        self._stop = stop
        self._modules = [(clean(n), m) for n, m in model.named_modules()]
        self._watched: dict[tuple[int, str], Any] = {}
        self._read: set[tuple[int, str]] = set()
        self._lines: dict[tuple[int, str], tuple[str, int] | None] = {}
        self._changes: list[_Change] = []
        self._settings: list[_Change] = []
        self._hooked: _Hooked | None = None
        self._kept: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._rounds = 0

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        """Notes what changes in the block, and undoes it in the end."""
        self._read, self._lines, self._changes = set(), {}, []
        self._hooked = None
        before = [dict(module.__dict__) for _, module in self._modules]
        tables = [
            [(table, dict(table)) for table in self._tables(module)]
            for _, module in self._modules
        ]
        hooks = [
            [(table, dict(table)) for table in private.hooks_of(module)]
            for _, module in self._modules
        ]
        held = {id(s): k for t in self.promoted for s, k in t.slots}
        for _, module in self._modules:
            for key in [k for i, k in self._watched if i == id(module)]:
                module.__dict__.pop(key, None)
        try:
            with self._patched():
                yield
            for (path, module), old, saved in zip(self._modules, before, tables):
                self._compare_tables(path, module, saved)
                self._compare(path, module, old, held)
            self._compare_hooks(hooks)
        finally:
            for (_, module), old, saved, hooked in zip(
                self._modules, before, tables, hooks
            ):
                _fill(module.__dict__, old)
                for table, content in (*saved, *hooked):
                    _fill(table, content)

    @staticmethod
    def _tables(module: nn.Module) -> tuple[dict[str, Any], ...]:
        return (
            private.parameters_of(module),
            private.buffers_of(module),
            private.children_of(module),
        )

    @contextlib.contextmanager
    def _patched(self) -> Iterator[None]:
        write, read = nn.Module.__setattr__, nn.Module.__getattr__

        def set_attribute(module: nn.Module, key: str, value: Any) -> None:
            place = id(module), key
            if place not in self._lines:
                self._lines[place] = user_line(self._stop)
            write(module, key, value)

        def get_attribute(module: nn.Module, key: str) -> Any:
            place = id(module), key
            if place in self._watched:
                self._read.add(place)
                if self._watched[place] is not _ABSENT:
                    return self._watched[place]
            return read(module, key)

        with contextlib.ExitStack() as stack:
            patch = mock.patch.object
            stack.enter_context(patch(nn.Module, "__setattr__", set_attribute))
            if self._watched:
                stack.enter_context(patch(nn.Module, "__getattr__", get_attribute))
            yield

    def _compare_tables(self, path: str, module: nn.Module, saved: Any) -> None:
        kinds = ("parameter", "buffer", "module")
        for kind, (table, content) in zip(kinds, saved):
            for key in {**content, **table}:
                old, new = content.get(key), table.get(key)
                # A buffer may get a new value; `trace` takes it from here.
                rebound = kind == "buffer" and key in content and key in table
                if new is old or (rebound and old is not None and new is not None):
                    continue
                change = self._change(path, module, key, old, new)
                what = "adds" if old is None else "replaces"
                raise CaptureError(
                    at(f"forward {what} {kind} '{change.name}'", change.line)
                )

    def _compare(
        self, path: str, module: nn.Module, old: dict[str, Any], held: Any
    ) -> None:
        now = module.__dict__
        # PyTorch's own modules keep caches of their weights.
        own = type(module).__module__.startswith("torch.")
        for key in {**old, **now}:
            if held.get(id(now)) == key or (own and key.startswith("_")):
                continue
            before, after = old.get(key, _ABSENT), now.get(key, _ABSENT)
            place = id(module), key
            if place in self._watched and after is _ABSENT:
                after = before
            if before is after or _equal(before, after):
                if place not in self._watched:
                    continue
            self._changes.append(self._change(path, module, key, before, after))

    def _compare_hooks(
        self, before: list[list[tuple[dict[Any, Any], dict[Any, Any]]]]
    ) -> None:
        for (path, module), saved in zip(self._modules, before):
            if all(_same_items(table, content) for table, content in saved):
                continue
            self._hooked = _Hooked(
                path,
                definition_line(type(module).forward),
                [(t, dict(t)) for tables in before for t, _ in tables],
            )
            return

    def _change(
        self, path: str, module: nn.Module, key: str, old: Any, new: Any
    ) -> _Change:
        line = self._lines.get((id(module), key))
        return _Change(module, path, key, old, new, line)

    def settled(self) -> bool:
        """Whether the trace that was observed last is the step.

        If not, it is to be traced again. Raises CaptureError if an attribute
        carries from step to step what no step can hold.
        """
        again = False
        self._settings = []
        for change in self._changes:
            place = id(change.module), change.key
            if place in self._read or (
                change.old is _ABSENT and hasattr(type(change.module), change.key)
            ):
                if _is_plain(change.new) and _is_plain(change.old):
                    self._settings.append(change)
                    continue
                self._promote(change)
                self._watched.pop(place, None)
                again = True
            elif place not in self._watched:
                self._watched[place] = change.old
                again = True
        self._rounds += 1
        if again and self._rounds > _ROUNDS:
            raise self._changes[0].refusal("differently each time it runs")
        return not again

    def change(self) -> CaptureError | None:
        """The error that names a setting or a hook that is not as it was."""
        if self._settings:
            return self._settings[0].refusal(_CARRIED)
        if self._hooked:
            module = f"module '{self._hooked.path}'" if self._hooked.path else "the model"
            return CaptureError(
                at(f"the step changes the hooks of {module}, which the next step "
                   "would call; expects hooks that are there before",
                   self._hooked.line)
            )
        return None

    def keep(self) -> None:
        """Lets the next trace begin with what ``change`` spoke of."""
        for change in self._settings:
            table = change.module.__dict__
            self._kept.append((table, dict(table)))
            table[change.key] = change.new
            self._watched.pop((id(change.module), change.key), None)
        for table, content in self._hooked.tables if self._hooked else ():
            self._kept.append((table, dict(table)))
            _fill(table, content)

    def restore(self) -> None:
        """Undoes ``keep``."""
        while self._kept:
            _fill(*self._kept.pop())

    def _promote(self, change: _Change) -> None:
        old, new = change.old, change.new
        if not isinstance(old, torch.Tensor):
            raise change.refusal(_CARRIED)
        if not isinstance(new, torch.Tensor) or (
            (old.shape, old.dtype) != (new.shape, new.dtype)
        ):
            raise change.refusal("a tensor, to something of another type or shape")
        self._add(change.path, change.module, change.key, old)

    def _add(
        self, path: str, module: nn.Module, key: str, value: torch.Tensor
    ) -> None:
        self.promoted.append(
            Tensor(
                name=f"{path}.{key}" if path else key,
                module=path,
                value=value,
                parameter=False,
                registration=0,
                requires_grad=False,
                slots=[(module.__dict__, key)],
            )
        )

    def promote_written(self, value: torch.Tensor) -> bool:
        """Makes an attribute that forward writes into state of the step."""
        places = [
            (path, module, key)
            for path, module in self._modules
            for key, held in module.__dict__.items()
            if held is value
        ]
        if len(places) != 1 or value.requires_grad:
            return False
        self._add(*places[0], value)
        return True


def _fill(table: dict[Any, Any], content: dict[Any, Any]) -> None:
    table.clear()
    table.update(content)


def _same_items(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(
        x is y and a[x] is b[y] for x, y in zip(a, b)
    )


def _is_plain(value: Any) -> bool:
    """Whether a value is a setting: no tensor, and nothing that could hold one."""
    if type(value) in (tuple, list):
        return all(_is_plain(item) for item in value)
    return value is _ABSENT or type(value) in _PLAIN


def _equal(a: Any, b: Any) -> bool:
    """Whether two values that are not one object are plain and equal."""
    if type(a) in (tuple, list) and type(a) is type(b) and len(a) == len(b):
        return all(x is y or _equal(x, y) for x, y in zip(a, b))
    return type(a) in _PLAIN and type(a) is type(b) and a == b
