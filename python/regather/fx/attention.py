"""Scaled dot-product attention as one node forward and one backward.

On fake tensors PyTorch cannot choose a fused kernel and writes the
arithmetic out. Here every call that the CPU's flash operator accepts becomes
``aten._scaled_dot_product_flash_attention_for_cpu``; that operator takes
fewer key and value heads than query heads, so grouped queries need no
repetition. It takes heads of one width: where those of query and value differ,
zeros fill the narrower ones, which add nothing. Backward of a mask that is trained
is an operator of ours. Other calls (dropout, tensors that are not of rank 4) keep
PyTorch's arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from regather.fx.attention_operators import BIASED_BACKWARD
from regather.fx.private import FLASH

_PUBLIC = torch.nn.functional.scaled_dot_product_attention


class WholeAttention(TorchFunctionMode):
    """Replaces attention calls while it is active; those with a trained mask if
    it ``takes_biases``."""

    def __init__(self, takes_biases: bool = True) -> None:
        super().__init__()
        self._takes_biases = takes_biases

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is _PUBLIC and FLASH is not None:
            mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
            is_trained = isinstance(mask, torch.Tensor) and mask.requires_grad
            result = (None if is_trained and not self._takes_biases
                      else _attention(*args, **kwargs))
            if result is not None:
                return result
        return func(*args, **kwargs)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor | None:
    """The fused form, or None where there is none.

    Shapes: query [B, H, S, E]; key [B, H / groups, T, E]; value
    [B, H / groups, T, W], where without ``enable_gqa`` groups are one or all
    heads; mask [S, T] or [B or 1, H or 1, S, T]; result
    [B, H, S, W].
    """
    if dropout_p != 0.0 or any(t.dim() != 4 for t in (query, key, value)):
        return None
    if type(query) is not type(key) or hasattr(query, "placements"):
        # A DTensor knows how attention is sharded only by the public call.
        return None
    if query.shape[3] != key.shape[3] or key.shape[:3] != value.shape[:3]:
        return None
    if query.shape[0] != key.shape[0] or 0 in (*query.shape, *value.shape):
        return None
    heads, shared = query.shape[1], key.shape[1]
    # A single head of the key is broadcast.
    if heads % shared or (heads != shared and shared != 1 and not enable_gqa):
        return None
    if attn_mask is not None:
        if is_causal or attn_mask.dim() not in (2, 4):
            return None
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(
                attn_mask.logical_not(), float("-inf")
            )
    width = value.shape[3]
    if width != query.shape[3]:
        if scale is None:
            scale = 1 / math.sqrt(query.shape[3])
        both = max(width, query.shape[3])
        query, key, value = (_widen(tensor, both)
                             for tensor in (query, key, value))
    result: torch.Tensor
    if attn_mask is not None and attn_mask.requires_grad:
        result = _Biased.apply(query, key, value, attn_mask, scale)
    else:
        result = FLASH(
            query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    return result if result.shape[3] == width else result[..., :width]


class _Biased(torch.autograd.Function):
    """Attention whose mask has a gradient."""

    @staticmethod
    def forward(context: Any, query: torch.Tensor, key: torch.Tensor,
                value: torch.Tensor, mask: torch.Tensor, scale: float | None
                ) -> torch.Tensor:
        result: torch.Tensor
        result, sums = FLASH(query, key, value, 0.0, False, attn_mask=mask,
                             scale=scale)
        context.save_for_backward(query, key, value, mask, result, sums)
        context.scale = scale
        return result

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:
        query, key, value, mask, result, sums = context.saved_tensors
        *others, of_mask = BIASED_BACKWARD(
            gradient, query, key, value, result, sums, 0.0, False, attn_mask=mask,
            scale=context.scale)
        of_mask = of_mask.sum_to_size(mask.shape).to(mask.dtype)
        return (*others, of_mask, None)


def _widen(tensor: torch.Tensor, width: int) -> torch.Tensor:
    """With zeros behind the last dimension, up to ``width``."""
    missing = width - tensor.shape[-1]
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor
