"""Answers to what models ask of tensors that are the same in each step.

``nn.TransformerEncoder`` looks whether a mask is the causal one, contrastive
losses take what lies off a diagonal: on fake tensors both fail, although no
data decides them. Here the real value is computed from the graph so far.
Truth values that select elements become their positions, since nothing else
has a shape of its own. What data decides goes on as it came, and fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from regather.fx import private
from regather.fx.cleanup import real
from regather.fx.evaluate import Evaluator
from regather.fx.private import plain, pytree

_aten = torch.ops.aten
_INDEXING = {
    _aten.index.Tensor,
    _aten.index_put.default,
    _aten.index_put_.default,
    _aten._index_put_impl_.default,
    _aten._unsafe_index.Tensor,
    _aten._unsafe_index_put.default,
}


class Decided(private.TorchDispatchMode):
    """Evaluates what ``tracer`` recorded, where a value or a shape hangs on it."""

    def __init__(self, tracer: Any) -> None:
        super().__init__()
        self._tracer = tracer
        self._evaluator = Evaluator(self._leaf)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tags = getattr(func, "tags", ())
        if func is _aten._linalg_check_errors.default:
            # Stops where a matrix is singular; results of the step are infinite
            # or NaN then.
            return None
        if func in _INDEXING:
            args = (args[0], self._positions(args[1]), *args[2:])
        elif func is _aten.masked_select.default:
            selected = self._selected(*args)
            if selected is not None:
                return selected
        elif (torch.Tag.data_dependent_output in tags
              or torch.Tag.dynamic_output_shape in tags):
            known = self._known((args, kwargs))
            if known is not None:
                with _outside():
                    result = func(*known[0], **known[1])
                return pytree.tree_map_only(torch.Tensor, _constant, result)
        return func(*args, **kwargs)

    def _known(self, arguments: Any) -> Any:
        """The arguments with real tensors, or None if one is not known."""
        leaves, spec = pytree.tree_flatten(arguments)
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                leaves[index] = self._value(leaf)
                if leaves[index] is None:
                    return None
        return pytree.tree_unflatten(leaves, spec)

    def _value(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """What a traced tensor holds in each step."""
        node = private.node_of(plain(tensor), self._tracer)
        if node is None:
            # Nothing computed it, so it is of the model.
            return real(tensor) if type(tensor) is torch.Tensor else None
        with _outside():
            return self._evaluator.value(node)

    def _leaf(self, node: torch.fx.Node) -> torch.Tensor | None:
        if node.op != "get_attr":
            return None
        value = getattr(self._tracer.root, node.target)
        return real(value) if isinstance(value, torch.Tensor) else None

    def _positions(self, indices: Any) -> Any:
        """Indices with the positions of truth values in their place."""
        found: list[Any] = []
        for index in indices:
            value = (self._value(index) if isinstance(index, torch.Tensor)
                     and index.dtype == torch.bool else None)
            if value is None:
                found.append(index)
            else:
                found += self._where(value, value.shape)
        return found

    def _where(self, mask: torch.Tensor, shape: Any) -> list[torch.Tensor]:
        """The positions of truth values that are repeated to ``shape``."""
        with _outside():
            columns = mask.expand(shape).nonzero().unbind(1)
            columns = tuple(column.contiguous() for column in columns)
        return [_constant(column) for column in columns]

    def _selected(
        self, tensor: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor | None:
        value = self._value(mask)
        if value is None:
            return None
        shape = torch.broadcast_shapes(tensor.shape, value.shape)
        whole = _aten.expand.default(tensor, shape)
        return _aten.index.Tensor(whole, self._where(value, shape))


def _constant(value: torch.Tensor) -> torch.Tensor:
    """A real tensor as one of the trace."""
    return _aten.lift_fresh_copy.default(value)


@contextlib.contextmanager
def _outside() -> Iterator[None]:
    """Computes on real tensors, in a ``with`` block."""
    with private.without_modes(), torch.no_grad():
        yield


__all__ = ["Decided"]
