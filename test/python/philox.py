"""Philox4x32-10 and what nodes make of its bits, with numpy alone.

Written from the paper (Salmon et al., SC 2011) and from docs/fx-json.md, and apart
from both engines, which the tests compare with it.
"""

from __future__ import annotations

import numpy

Array = numpy.ndarray

WORD = numpy.uint64(32)
LOWER = numpy.uint64(0xFFFFFFFF)


def philox(counter: list[Array], key: tuple[int, int]) -> list[Array]:
    """The four words of each block; words are held in 64 bits."""
    c0, c1, c2, c3 = (numpy.asarray(c, numpy.uint64) for c in counter)
    k0, k1 = map(int, key)
    for _ in range(10):
        first = c0 * numpy.uint64(0xD2511F53)
        second = c2 * numpy.uint64(0xCD9E8D57)
        c0 = (second >> WORD) ^ c1 ^ numpy.uint64(k0)
        c2 = (first >> WORD) ^ c3 ^ numpy.uint64(k1)
        c1, c3 = second & LOWER, first & LOWER
        k0 = (k0 + 0x9E3779B9) % 2**32
        k1 = (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


def draw_bits(shape: tuple[int, ...], width: int = 32, *, seed: int = 0,
              offset: int = 0, stream: int = 0, first: int = 0) -> Array:
    """What `tg.random` gives, as unsigned numbers."""
    size = int(numpy.prod(shape))
    numbers = numpy.uint64(first % 2**64) + numpy.arange(size, dtype="u8")
    per_block = 128 // width
    blocks = numbers // numpy.uint64(per_block)
    seed %= 2**64
    words = numpy.stack(numpy.broadcast_arrays(*philox(
        [blocks & LOWER, blocks >> WORD, numpy.uint64(stream),
         numpy.uint64(offset % 2**32)], (seed % 2**32, seed >> 32))), axis=1)
    if width == 64:
        words = words[:, ::2] | words[:, 1::2] << WORD
    lanes = (numbers % numpy.uint64(per_block)).astype(int)
    chosen = words[numpy.arange(size), lanes].reshape(shape)
    return chosen.astype(f"u{width // 8}")


def fraction(bits: Array, count: int) -> Array:
    """The leading bits as a number in [0, 1), in f64 and exact."""
    width = 8 * bits.dtype.itemsize
    return (bits >> bits.dtype.type(width - count)) * 2.0**-count


def middle(bits: Array, count: int) -> Array:
    """The same in (0, 1)."""
    return fraction(bits, count) + 2.0**-(count + 1)


def normal(bits: Array, precision: int = 24) -> Array:
    upper = (bits >> WORD).astype("u4")
    lower = (bits & LOWER).astype("u4")
    radius = numpy.sqrt(-2 * numpy.log(middle(upper, min(precision - 1, 32))))
    angle = 2 * numpy.pi * fraction(lower, min(precision, 32))
    return radius * numpy.cos(angle)


def keep_mask(shape: tuple[int, ...], p: float, **place: int) -> Array:
    """The elements that dropout with probability `p` keeps."""
    return fraction(draw_bits(shape, **place), 24) >= p
