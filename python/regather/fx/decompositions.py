"""Which operators are taken apart while tracing, and which stay whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from regather.fx.operators import (
    alignment,
    complex_numbers,
    distances,
    drawing,
    factorizations,
    foreach,
    fourier,
    sampling,
    selecting,
    special,
)
from regather.fx.private import core_aten_decompositions, get_decompositions

# Each has a kernel of its own, or a derivative that is better kept in one
# piece; everything else that PyTorch's core table decomposes is decomposed.
_WHOLE = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_fused_rms_norm",
    "_fused_rms_norm_backward",
    "embedding_dense_backward",
    "native_layer_norm_backward",
    "native_group_norm_backward",
    "native_batch_norm_backward",
    "_softmax_backward_data",
    "_log_softmax_backward_data",
    "convolution_backward",
)

_aten = torch.ops.aten

# Those that are taken apart here. What PyTorch's tables make of some of them are
# operators that have no derivative or no kernel.
_OWN = (alignment, complex_numbers, distances, drawing, factorizations, foreach,
        fourier, sampling, selecting, special)

# Rare operators of PyTorch's core set that it can take apart all the same.
_RARE = (
    _aten.addmv,
    _aten.dist,
    _aten.new_empty_strided,
    _aten.tril_indices,
    _aten.triu_indices,
)


def _weight_norm_backward(
    gradient: torch.Tensor,
    direction: torch.Tensor,
    magnitude: torch.Tensor,
    norms: torch.Tensor,
    dim: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of v and g in w = g * v / |v|; norms over all other dims."""
    others = [d for d in range(direction.dim()) if d != dim]
    products = (gradient * direction).sum(others, keepdim=True)
    along = direction * (products / norms**2)
    return magnitude / norms * (gradient - along), products / norms


# Of a mean, PyTorch's rules divide a number by that of the elements.
_LOSS_GRADIENTS = (
    _aten.mse_loss_backward.default,
    _aten.smooth_l1_loss_backward.default,
    _aten.huber_loss_backward.default,
)


def _of_any_size(rule: Callable[..., Any]) -> Callable[..., Any]:
    """``rule`` of a loss, also where there are no elements."""

    def gradient(
        output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, *rest: Any
    ) -> Any:
        if self.numel() == 0:
            return self - target
        return rule(output, self, target, *rest)

    return gradient


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Operator overload to decomposition, for tracing training graphs."""
    whole = {getattr(torch.ops.aten, name) for name in _WHOLE}
    table = {
        op: rule
        for op, rule in core_aten_decompositions().items()
        if getattr(op, "overloadpacket", None) not in whole
    }
    table |= get_decompositions(_RARE)
    for theme in _OWN:
        table |= theme.TABLE
    for op in _LOSS_GRADIENTS:
        table[op] = _of_any_size(table[op])
    table[_aten._weight_norm_interface_backward.default] = _weight_norm_backward
    return table
