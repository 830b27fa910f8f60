"""Where a loss that is no number comes from."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch

from regather.fx.private import pytree
from regather.fx.step import Step


def find_nonfinite(step: Step, tensors: Mapping[str, torch.Tensor],
                   leaves: list[Any]) -> str | None:
    """What is not finite first when eager PyTorch runs forward on a batch, in
    words: an input, a parameter or buffer, or the result of a module; or that
    it stops, as at a singular matrix. None if all is finite.

    `tensors` are whole parameters and buffers by name, which take the place of
    those of the model. Random numbers are other than those of the step.
    """
    names, _, rebuild = step.batch()
    leaves = [leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf
              for leaf in leaves]
    for name, leaf in zip(names, leaves):
        if _is_bad(leaf):
            return _first(f"input '{name}'")
    for name, tensor in tensors.items():
        if _is_bad(tensor):
            return _first(f"'{name}'")
    model = _copy_with(step, tensors)
    found: list[str] = []
    for path, module in model.named_modules():
        module.register_forward_hook(_watch(path, found))
    args, kwargs, targets = rebuild(leaves)
    if step.compute is not None:
        args, kwargs = _narrow((args, kwargs), step.compute)
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            result = model(*args, **kwargs)
            if not found and step.loss is not None and _is_bad(
                    step.loss(result, *targets)):
                found.append("the loss function")
    except Exception as error:
        # What went wrong before it failed is still true.
        if not found:
            lines = str(error).splitlines()
            return (f"eager PyTorch stops with {type(error).__name__}"
                    + (f": {lines[0]}" if lines else ""))
    return _first(found[0]) if found else None


def _first(place: str) -> str:
    return f"what is not finite first is {place}"


def _is_bad(value: Any) -> bool:
    return (isinstance(value, torch.Tensor) and value.is_floating_point()
            and not bool(torch.isfinite(value).all()))


def _copy_with(step: Step, tensors: Mapping[str, torch.Tensor]
               ) -> torch.nn.Module:
    """A copy of the model that holds `tensors` and shares what they lack."""
    memo: dict[int, Any] = {}
    for name, value in [*step.model.named_parameters(),
                        *step.model.named_buffers()]:
        given = tensors.get(name, value)
        if isinstance(value, torch.nn.Parameter):
            given = torch.nn.Parameter(_narrow(given.detach(), step.compute),
                                       requires_grad=False)
        memo[id(value)] = given
    return copy.deepcopy(step.model, memo)


def _narrow(tree: Any, dtype: torch.dtype | None) -> Any:
    if dtype is None:
        return tree
    return pytree.tree_map_only(
        torch.Tensor,
        lambda leaf: leaf.to(dtype) if leaf.is_floating_point() else leaf, tree)


def _watch(path: str, found: list[str]) -> Any:
    def look(module: torch.nn.Module, _: Any, result: Any) -> None:
        if not found and any(map(_is_bad, pytree.tree_leaves(result))):
            where = f"module '{path}'" if path else "the model"
            found.append(f"{where} ({type(module).__name__})")

    return look


__all__ = ["find_nonfinite"]
