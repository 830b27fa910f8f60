"""Operators on lists of tensors, of which optimizers and clipping consist: each
is what the operator on tensors does, to one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten

# That are operators on tensors, of the same name and with the same arguments.
_UNARY = ("abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf",
          "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log", "log10",
          "log1p", "log2", "max", "neg", "reciprocal", "round", "rsqrt", "sigmoid",
          "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")
_BINARY = ("add", "clamp_max", "clamp_min", "div", "lerp", "mul", "pow", "sub")


def _each(call: Callable[..., Any]) -> Callable[..., list[Any]]:
    """`call` for each place in the lists; what is no list is for all of them."""

    def calls(*args: Any, **kwargs: Any) -> list[Any]:
        lists = [arg for arg in args if isinstance(arg, (list, tuple))]
        return [
            call(*(arg[i] if isinstance(arg, (list, tuple)) else arg
                   for arg in args), **kwargs)
            for i in range(len(lists[0]))
        ]

    return calls


def _with_value(call: Any) -> Callable[..., list[Any]]:
    """The factor, which tensors take by name; a tensor holds one for each."""

    def calls(self: Any, first: Any, second: Any, value: Any = 1) -> list[Any]:
        if isinstance(value, torch.Tensor):
            return _each(lambda a, b, c, factor: call(a, factor * b, c))(
                self, first, second, list(value.unbind()))
        return _each(lambda a, b, c, factor: call(a, b, c, value=factor))(
            self, first, second, value)

    return calls


def _extreme(call: Any) -> Callable[[torch.Tensor, Any], Any]:
    def of_one(self: torch.Tensor, other: Any) -> Any:
        if not isinstance(other, torch.Tensor):
            other = torch.full((), other, dtype=self.dtype, device=self.device)
        return call(self, other)

    return of_one


def _copy(self: torch.Tensor, source: torch.Tensor, *rest: Any) -> torch.Tensor:
    return _aten.copy(self, source)


def _norm(self: torch.Tensor, order: Any = 2, dtype: torch.dtype | None = None
          ) -> Any:
    return _aten.linalg_vector_norm(self, order, dtype=dtype)


def _find_table() -> dict[Any, Callable[..., Any]]:
    rules = {name: _each(getattr(_aten, name)) for name in _UNARY + _BINARY}
    rules |= {
        "addcdiv": _with_value(_aten.addcdiv),
        "addcmul": _with_value(_aten.addcmul),
        "copy": _each(_copy),
        "maximum": _each(_extreme(_aten.maximum)),
        "minimum": _each(_extreme(_aten.minimum)),
        "norm": _each(_norm),
        "zero": _each(torch.zeros_like),
    }
    return {
        getattr(packet, overload): rule
        for name, rule in rules.items()
        if (packet := getattr(_aten, f"_foreach_{name}", None)) is not None
        for overload in packet.overloads()
        if not overload.endswith("out")
    }


TABLE = _find_table()
