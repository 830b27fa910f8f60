"""Operators for attention that PyTorch has none for.

``regather::attention`` and its backward take the arguments of PyTorch's flash
operator for CPUs, and ``softcap``, which bounds scores before they are masked:

    scores = softcap * tanh(scale * query key^T / softcap) + mask

``regather::biased_attention_backward`` gives the gradient of the mask as well,
for all heads, rows and columns, in f32 (f64 for operands of f64), and summed over
the batch if the mask is the same for it. What is defined here
says what they mean, for replays beside eager PyTorch; it stores all scores.
"""

from __future__ import annotations

import math

import torch

_OPERANDS = "Tensor query, Tensor key, Tensor value"
_OPTIONS = "*, Tensor? attn_mask=None, float? scale=None, float? softcap=None"
_GRADIENTS = (f"(Tensor grad_out, {_OPERANDS}, Tensor out, Tensor logsumexp, "
              f"float dropout_p, bool is_causal, {_OPTIONS})")
_SCHEMAS = {
    "attention": f"({_OPERANDS}, float dropout_p=0.0, bool is_causal=False, "
                 f"{_OPTIONS}) -> (Tensor, Tensor)",
    "attention_backward": f"{_GRADIENTS} -> (Tensor, Tensor, Tensor)",
    "biased_attention_backward":
        f"{_GRADIENTS} -> (Tensor, Tensor, Tensor, Tensor)",
}

# Logarithms at least so large have lost the sum of the exponentials to rounding.
_LARGE = 4096


def _repeat(heads: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    return heads.repeat_interleave(query.shape[1] // heads.shape[1], 1)


def _sum_groups(gradient: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
    """Over the heads of the query that share one of ``heads``."""
    groups = gradient.unflatten(1, (heads.shape[1], -1))
    return groups.sum(2).to(heads.dtype)


def _make_scores(
    query: torch.Tensor, key: torch.Tensor, is_causal: bool,
    mask: torch.Tensor | None, scale: float | None, softcap: float | None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Scores, and the tangents that bound them."""
    if scale is None:
        scale = 1 / math.sqrt(query.shape[3])
    scores = query @ _repeat(key, query).mT * scale
    tangents = None
    if softcap is not None:
        tangents = (scores / softcap).tanh()
        scores = tangents * softcap
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    if is_causal:
        later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return scores, tangents


def is_per_sequence(mask: torch.Tensor | None) -> bool:
    """Whether each element of the batch may have a mask of its own."""
    return mask is not None and mask.dim() == 4 and mask.shape[0] != 1


def _make_powers(scores: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    """Probabilities; zeros in rows that are hidden as a whole."""
    logs = logs[..., None]
    return (scores - logs.masked_fill(logs == -math.inf, 0)).exp()


def _wide(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """In at least f32."""
    return [t.to(torch.promote_types(t.dtype, torch.float32)) for t in tensors]


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: torch.Tensor | None = None, scale: float | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    if dropout_p != 0:
        raise ValueError("expects no dropout")
    q, k, v = _wide(query, key, value)
    scores, _ = _make_scores(q, k, is_causal, attn_mask, scale, softcap)
    logs = scores.logsumexp(-1)
    return (_make_powers(scores, logs) @ _repeat(v, q)).to(query.dtype), logs


def _biased_attention_backward(
    grad_out: torch.Tensor, query: torch.Tensor, key: torch.Tensor,
    value: torch.Tensor, out: torch.Tensor, logsumexp: torch.Tensor,
    dropout_p: float, is_causal: bool, *,
    attn_mask: torch.Tensor | None = None, scale: float | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    if dropout_p != 0:
        raise ValueError("expects no dropout")
    gradient, q, k, v, result = _wide(grad_out, query, key, value, out)
    scores, tangents = _make_scores(q, k, is_causal, attn_mask, scale, softcap)
    powers = _make_powers(scores, logsumexp)
    sums = powers.sum(-1, keepdim=True)
    is_lost = (logsumexp[..., None].abs() >= _LARGE) & (sums != 0)
    powers = torch.where(is_lost, powers / sums, powers).contiguous()
    along = (gradient * result).sum(-1, keepdim=True)
    of_mask = powers * (gradient @ _repeat(v, q).mT - along).contiguous()
    of_scores = of_mask * (scale if scale is not None
                           else 1 / math.sqrt(query.shape[3]))
    if tangents is not None:
        of_scores = of_scores * (1 - tangents.square())
    return ((of_scores @ _repeat(k, q)).to(query.dtype),
            _sum_groups(of_scores.mT @ q, key),
            _sum_groups(powers.mT @ gradient, value),
            of_mask if is_per_sequence(attn_mask) else of_mask.sum(0, keepdim=True))


def _attention_backward(
    grad_out: torch.Tensor, query: torch.Tensor, key: torch.Tensor,
    value: torch.Tensor, out: torch.Tensor, logsumexp: torch.Tensor,
    dropout_p: float, is_causal: bool, *,
    attn_mask: torch.Tensor | None = None, scale: float | None = None,
    softcap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _biased_attention_backward(
        grad_out, query, key, value, out, logsumexp, dropout_p, is_causal,
        attn_mask=attn_mask, scale=scale, softcap=softcap)[:3]


# Kept, since operators go with it.
_library = torch.library.Library("regather", "DEF")
for _name, _function in (
        ("attention", _attention), ("attention_backward", _attention_backward),
        ("biased_attention_backward", _biased_attention_backward)):
    _library.define(_name + _SCHEMAS[_name])
    _library.impl(_name, _function, "CompositeExplicitAutograd")

ATTENTION = torch.ops.regather.attention.default
ATTENTION_BACKWARD = torch.ops.regather.attention_backward.default
BIASED_BACKWARD = torch.ops.regather.biased_attention_backward.default

__all__ = ["ATTENTION", "ATTENTION_BACKWARD", "BIASED_BACKWARD",
           "is_per_sequence"]
