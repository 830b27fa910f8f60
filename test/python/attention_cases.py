"""Cases of attention, as in `node_cases.py`."""

from __future__ import annotations

from typing import Any

import numpy

from node_cases import Array, Value, case, rand, softmax


def spread_heads(x: Array, heads: int) -> Array:
    return numpy.repeat(x, heads // x.shape[1], 1)


def attention_scores(q: Array, k: Array, is_causal: bool,
                     mask: Array | None, scale: float | None,
                     softcap: float | None = None) -> Array:
    scores = q @ spread_heads(k, q.shape[1]).swapaxes(2, 3)
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        scores = softcap * numpy.tanh(scores / softcap)
    if mask is not None:
        scores = (numpy.where(mask, scores, -numpy.inf) if mask.dtype == bool
                  else scores + mask)
    if is_causal:
        later = numpy.triu(numpy.ones(scores.shape[-2:], bool), 1)
        scores = numpy.where(later, -numpy.inf, scores)
    return scores


def attention(q: Array, k: Array, v: Array, dropout: float = 0.0,
              is_causal: bool = False, *, attn_mask: Array | None = None,
              scale: float | None = None,
              softcap: float | None = None) -> tuple[Array, Array]:
    scores = attention_scores(q, k, is_causal, attn_mask, scale, softcap)
    logs = numpy.log(numpy.exp(scores).sum(-1))
    return softmax(scores, -1) @ spread_heads(v, q.shape[1]), logs


def biased_backward(g: Array, q: Array, k: Array, v: Array, out: Array,
                    logs: Array, dropout: float, is_causal: bool, *,
                    attn_mask: Array | None = None, scale: float | None = None,
                    softcap: float | None = None) -> tuple[Array, ...]:
    heads = q.shape[1]
    scores = attention_scores(q, k, is_causal, attn_mask, scale, softcap)
    p = numpy.exp(scores - logs[..., None])
    delta = (g * out).sum(-1, keepdims=True)
    ds = p * (g @ spread_heads(v, heads).swapaxes(2, 3) - delta)
    of_mask = ds
    if attn_mask is not None and (attn_mask.ndim < 4 or attn_mask.shape[0] == 1):
        of_mask = ds.sum(0, keepdims=True)
    ds = ds * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        bare = attention_scores(q, k, False, None, scale)
        ds = ds * (1 - numpy.tanh(bare / softcap) ** 2)

    def gather_heads(x: Array) -> Array:
        b, h, *rest = x.shape
        return x.reshape(b, k.shape[1], h // k.shape[1], *rest).sum(2)

    return (ds @ spread_heads(k, heads), gather_heads(ds.swapaxes(2, 3) @ q),
            gather_heads(p.swapaxes(2, 3) @ g), of_mask)


def attention_backward(*args: Any, **options: Any) -> tuple[Array, ...]:
    return biased_backward(*args, **options)[:3]


FLASH = "aten._scaled_dot_product_flash_attention_for_cpu"
for _dtype in ("f32", "bf16"):
    case(f"{FLASH}.default", rand(2, 4, 5, 3, dtype=_dtype),
         rand(2, 2, 5, 3, dtype=_dtype), rand(2, 2, 5, 3, dtype=_dtype), 0.0,
         True, ref=attention, out=f"{_dtype} f32")
case(f"{FLASH}.default", rand(1, 2, 3, 4), rand(1, 2, 5, 4), rand(1, 2, 5, 4),
     ref=attention, out="f32 f32", attn_mask=rand(1, 1, 3, 5), scale=0.3)
case("aten.scaled_dot_product_attention.default", rand(1, 2, 3, 4),
     rand(1, 2, 3, 4), rand(1, 2, 3, 4), Value("i1", numpy.tri(3, dtype=bool)),
     ref=lambda q, k, v, m: attention(q, k, v, attn_mask=m)[0])
case(f"{FLASH}_backward.default", rand(2, 4, 5, 3), rand(2, 4, 5, 3),
     rand(2, 2, 5, 3), rand(2, 2, 5, 3), rand(2, 4, 5, 3), rand(2, 4, 5), 0.0,
     True, ref=attention_backward, out="f32 f32 f32")
case(f"{FLASH}_backward.default", rand(1, 2, 3, 4), rand(1, 2, 3, 4),
     rand(1, 2, 5, 4), rand(1, 2, 5, 4), rand(1, 2, 3, 4), rand(1, 2, 3), 0.0,
     False, ref=attention_backward, out="f32 f32 f32", scale=0.3,
     attn_mask=rand(1, 2, 3, 5))
case("aten.scaled_dot_product_attention.default", rand(1, 2, 3, 4),
     rand(1, 2, 3, 4), rand(1, 2, 3, 4), None, 0.0, True,
     ref=lambda q, k, v, m, d, c: attention(q, k, v, d, c)[0])

for _mask in (None, rand(1, 2, 3, 5)):
    case("regather.attention.default", rand(2, 2, 3, 4), rand(2, 2, 5, 4),
         rand(2, 2, 5, 4), ref=attention, out="f32 f32", attn_mask=_mask,
         softcap=0.3)
    case("regather.attention_backward.default", rand(2, 2, 3, 4), rand(2, 2, 3, 4),
         rand(2, 2, 5, 4), rand(2, 2, 5, 4), rand(2, 2, 3, 4), rand(2, 2, 3), 0.0,
         False, ref=attention_backward, out="f32 f32 f32", attn_mask=_mask,
         softcap=0.3)
for _batch in (1, 2):
    case("regather.biased_attention_backward.default", rand(2, 4, 5, 3),
         rand(2, 4, 5, 3), rand(2, 2, 5, 3), rand(2, 2, 5, 3), rand(2, 4, 5, 3),
         rand(2, 4, 5), 0.0, True, ref=biased_backward, out="f32 f32 f32 f32",
         attn_mask=rand(_batch, 4, 5, 5), softcap=0.3 if _batch == 1 else None)
