"""State in Python objects that a step would change behind its graph.

A hook that counts in a list, a module that appends to one, a global that
forward assigns: tracing runs the code once, so what depends on such state is
frozen into the graph. It is compared before and after the trace. A change is
an error, unless a second trace changes nothing more and gives the same graph:
then all later steps are alike. Attributes of modules themselves are the business of ``attributes``.
"""

from __future__ import annotations

import functools
import itertools
import logging
import random
import sys
import types
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from regather.fx import private
from regather.fx.errors import CaptureError, at
from regather.fx.source import definition_line, is_users
from regather.fx.state import clean

# Objects that are looked at, at most; what lies beyond is not compared.
_LIMIT = 200_000
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_Place = tuple[str, Any]


class PythonState:
    """What a model's code holds, as it was when this object was made."""

    def __init__(self, model: nn.Module, others: Iterable[_Place]) -> None:
        self._roots = [*_roots(model), *others]
        self._before = _snapshot(self._roots)
        self._random = _random_states()

    def change(self) -> CaptureError | None:
        """The error that names what is not as it was, if anything.

        Raises it at once where nothing can settle it.
        """
        for name, state in _random_states().items():
            if state != self._random[name]:
                if name == "torch":
                    raise CaptureError(
                        "the model seeds PyTorch's random numbers, which a graph "
                        "cannot do: expects '--rng-seed' of the run"
                    )
                raise CaptureError(
                    f"the model draws from '{name}', which a graph cannot do: "
                    "expects random numbers of PyTorch"
                )
        after = _snapshot(self._roots)
        for key, (old, holder) in self._before.items():
            new = after.get(key, (None, None))[0]
            if old is not new and not _same(old, new):
                return _refusal(key[0], holder)
        for key, (_, holder) in after.items():
            if key not in self._before:
                return _refusal(key[0], holder)
        return None


def _same(a: Any, b: Any) -> bool:
    # Not a number is equal to itself here.
    return type(a) is type(b) and type(a) in (*_PLAIN, tuple) and (
        a == b or (a != a and b != b)
    )


def _refusal(place: str, holder: Any) -> CaptureError:
    return CaptureError(
        at(
            f"the step changes {place}, which the next step would see; expects "
            "state in buffers",
            definition_line(holder),
        )
    )


def _roots(model: nn.Module) -> Iterator[_Place]:
    seen: set[type] = set()
    for name, module in model.named_modules():
        where = f"module '{clean(name)}'" if name else "the model"
        for key, value in module.__dict__.items():
            kind = "hook" if "hook" in key else f"attribute '{key}'"
            yield f"{kind} of {where}", (value, type(module).forward)
        kind = type(module)
        if kind not in seen and is_users(kind.forward):
            seen.add(kind)
            yield f"forward of {where}", kind.forward
            yield f"the class of {where}", (vars(kind), kind.forward)
    for name, parameter in model.named_parameters():
        for table in private.hook_tables(parameter):
            for hook in table.values():
                yield f"a hook of parameter '{clean(name)}'", hook
            # The table too: a hook may remove itself.
            holder = next(iter(table.values()), None)
            yield f"the hooks of parameter '{clean(name)}'", (table, holder)


def _random_states() -> dict[str, Any]:
    states: dict[str, Any] = {
        "random": random.getstate(),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        states["numpy.random"] = (kind, keys.tobytes(), *rest)
    return states


def _snapshot(roots: list[_Place]) -> dict[tuple[str, int], tuple[Any, Any]]:
    """What ``_walk`` finds; places of one name are counted."""
    found: dict[tuple[str, int], tuple[Any, Any]] = {}
    counts: Counter[str] = Counter()
    for place, content in _walk(roots):
        found[place, counts[place]] = content
        counts[place] += 1
    return found


def _walk(roots: list[_Place]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Place of each object to a value that tells whether it changed."""
    # By identity; objects stay alive so that none takes another's.
    seen: dict[int, Any] = {}
    # Place, object, the function by whose line it is known.
    stack = [
        (place, value[0] if isinstance(value, tuple) else value,
         value[1] if isinstance(value, tuple) else value)
        for place, value in reversed(roots)
    ]
    while stack and len(seen) < _LIMIT:
        place, value, holder = stack.pop()
        if isinstance(value, nn.Module | types.ModuleType | type | logging.Logger):
            continue
        if isinstance(value, _PLAIN):
            yield place, (value, holder)
            continue
        if isinstance(value, torch.Tensor):
            yield place, (value, holder)
            if not value.is_inference():
                yield f"the content of {place}", (private.version(value), holder)
            continue
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, _FUNCTIONS):
            holder = value
        inside = list(_inside(place, value))
        if not isinstance(value, _FUNCTIONS):
            yield f"the size of {place}", (len(inside), holder)
        stack += [(p, v, holder) for p, v in reversed(inside)]


def _inside(place: str, value: Any) -> Iterator[_Place]:
    """What ``value`` holds, with where."""
    if isinstance(value, types.FunctionType):
        yield from _in_function(place, value)
    elif isinstance(value, types.MethodType):
        yield place, value.__func__
        yield place, value.__self__
    elif isinstance(value, functools.partial):
        yield place, value.func
        yield f"arguments of {place}", [*value.args, *value.keywords.values()]
    elif isinstance(value, dict):
        for key, item in value.items():
            name = repr(key) if isinstance(key, str | int) else "a key"
            yield f"{name} in {place}", item
    elif isinstance(value, types.MappingProxyType):
        for key, item in value.items():
            if not isinstance(item, types.FunctionType) and key[:2] != "__":
                yield f"'{key}' in {place}", item
    elif isinstance(value, itertools.count):
        yield f"the next number of {place}", repr(value)
    elif isinstance(value, list | tuple | deque | set | frozenset):
        items = value if isinstance(value, list | tuple | deque) else ()
        for index, item in enumerate(items):
            yield f"item {index} in {place}", item
        if items == ():
            yield f"the elements of {place}", len(value)
    elif _is_state(value):
        for key, item in vars(value).items():
            yield f"'{key}' in {place}", item


def _in_function(place: str, function: types.FunctionType) -> Iterator[_Place]:
    if not is_users(function):
        return
    for name, value in vars(function).items():
        yield f"attribute '{name}' of {place}", value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield f"'{name}' in {place}", cell.cell_contents
        except ValueError:
            continue
    yield f"defaults of {place}", [
        *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()
    ]
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield f"global '{name}' in {place}", function.__globals__[name]


def _is_state(value: Any) -> bool:
    """Whether an object is one of the user's, or an optimizer."""
    if isinstance(value, torch.optim.Optimizer | types.SimpleNamespace):
        return True
    module = type(value).__module__ or ""
    root = module.partition(".")[0]
    return (
        hasattr(value, "__dict__")
        and root != "torch"
        and (root not in sys.stdlib_module_names or module == "__main__")
    )
