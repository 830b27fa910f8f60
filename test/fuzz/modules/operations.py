"""Functions of one tensor that keep its shape, [batch, length, width].

Each takes what decides its variant when the module is made, not when it runs,
so that the module does the same in each step.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch.nn import functional as F

Tensor = torch.Tensor
Function = Callable[[Tensor], Tensor]

BATCH, LENGTH, WIDTH = 4, 6, 8

POINTWISE: tuple[Function, ...] = (
    F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.relu, F.silu, F.elu,
    F.mish, F.hardswish, F.hardsigmoid, F.hardtanh, F.relu6, F.leaky_relu,
    F.softplus, F.softsign, F.logsigmoid, F.tanhshrink, F.celu, F.selu,
    torch.tanh, torch.sigmoid, torch.sin, torch.cos, torch.atan, torch.erf,
    torch.abs, torch.neg, torch.square, torch.asinh, torch.sign,
    lambda x: x * torch.sgn(x), lambda x: x.round() + x, lambda x: x - x.floor(),
    lambda x: x.ceil() * 0.5 + x, lambda x: x.trunc() + x,
    lambda x: x.clamp(-1, 1).exp(), lambda x: x.clamp(-1, 1).expm1(),
    lambda x: x.clamp(min=-0.5), lambda x: x.clamp_max(0.7),
    lambda x: (x.abs() + 1).log(), lambda x: x.abs().log1p(),
    lambda x: (x.abs() + 1).log2(), lambda x: (x.abs() + 1).sqrt(),
    lambda x: (x * x + 1).rsqrt(), lambda x: (x * x + 1).reciprocal(),
    lambda x: x.pow(2), lambda x: x ** 3, lambda x: (x.abs() + 1) ** 1.5,
    lambda x: 2.0 ** x.clamp(-2, 2), lambda x: 1.0 / (1.0 + x.abs()),
    lambda x: torch.atan2(x, x * x + 1), lambda x: torch.hypot(x, x + 2),
    lambda x: torch.lerp(x, x.tanh(), 0.3), lambda x: torch.addcmul(x, x, x, value=0.1),
    lambda x: torch.addcdiv(x, x, x * x + 1, value=0.5),
    lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: torch.maximum(x, x * 0.5),
    lambda x: torch.minimum(x, x.flip(1)), lambda x: torch.fmod(x, 1.5),
    lambda x: torch.remainder(x, 1.5), lambda x: x.nan_to_num(),
    lambda x: x.masked_fill(x < -1, -1.0), lambda x: x.float().to(x.dtype) + x,
    lambda x: torch.rsub(x, 1.0), lambda x: torch.logaddexp(x, x * 0.5),
    lambda x: x * (x > 0), lambda x: x * torch.logical_not(x < 0.2),
    lambda x: (x > 0).to(x.dtype) + x, lambda x: torch.copysign(x, x.flip(0)),
    lambda x: F.threshold(x, 0.1, 0.0), lambda x: F.hardshrink(x),
    lambda x: F.softshrink(x), lambda x: x.sinh().clamp(-3, 3),
)

REDUCED: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda x, d: x.softmax(d), lambda x, d: x.log_softmax(d),
    lambda x, d: x - x.mean(d, keepdim=True), lambda x, d: x + x.sum(d, keepdim=True),
    lambda x, d: x / (x.std(d, keepdim=True) + 1), lambda x, d: x + x.var(d, keepdim=True),
    lambda x, d: x - x.amax(d, keepdim=True), lambda x, d: x * x.amin(d, keepdim=True),
    lambda x, d: x - x.max(d, keepdim=True).values,
    lambda x, d: x + x.min(d, keepdim=True)[0],
    lambda x, d: x - x.logsumexp(d, keepdim=True),
    lambda x, d: x / (x.norm(dim=d, keepdim=True) + 1),
    lambda x, d: x / (torch.linalg.vector_norm(x, 1, d, keepdim=True) + 1),
    lambda x, d: x.cumsum(d), lambda x, d: x.tanh().cumprod(d),
    lambda x, d: x + x.tanh().prod(d, keepdim=True),
    lambda x, d: x.sort(d).values, lambda x, d: x.sort(d, descending=True)[0],
    lambda x, d: x.gather(d, x.argsort(d)), lambda x, d: x.cummax(d).values,
    lambda x, d: x + x.topk(2, d).values.sum(d, keepdim=True),
    lambda x, d: x + x.gather(d, x.argmax(d, keepdim=True)),
    lambda x, d: x.flip(d), lambda x, d: x.roll(1, d), lambda x, d: x.roll(-2, d),
    lambda x, d: torch.cat([x.narrow(d, 1, x.shape[d] - 1), x.narrow(d, 0, 1)], d),
    lambda x, d: torch.cat(x.chunk(2, d)[::-1], d),
    lambda x, d: torch.stack(x.unbind(d)[::-1], d),
    lambda x, d: torch.cat(x.split([1, x.shape[d] - 1], d), d),
    lambda x, d: x.index_select(d, torch.arange(x.shape[d] - 1, -1, -1)),
    lambda x, d: torch.zeros_like(x).index_add(d, torch.arange(x.shape[d]) // 2, x),
    lambda x, d: x.scatter_add(d, torch.zeros_like(x, dtype=torch.long), x),
    lambda x, d: torch.zeros_like(x).scatter(d, x.argsort(d), x),
    lambda x, d: x.index_fill(d, torch.tensor([0]), 0.5),
    lambda x, d: x.index_copy(d, torch.tensor([1]), x.narrow(d, 0, 1)),
    lambda x, d: x.diff(dim=d, prepend=x.narrow(d, 0, 1)),
    lambda x, d: F.normalize(x, dim=d), lambda x, d: F.softmin(x, d),
    lambda x, d: x.repeat_interleave(2, d).narrow(d, 0, x.shape[d]),
    lambda x, d: torch.take_along_dim(x, x.argsort(d), d),
    lambda x, d: x * (x == x.amax(d, keepdim=True)).to(x.dtype),
    lambda x, d: x + x.mean(), lambda x, d: x * x.sum().tanh(),
    lambda x, d: x.select(d, 0).unsqueeze(d) + x,
    lambda x, d: x + (x > 0).sum(d, keepdim=True).to(x.dtype),
    lambda x, d: x * (x > 3).any(d, keepdim=True),
    lambda x, d: x.transpose(d, 1).contiguous().transpose(d, 1),
    lambda x, d: x.unfold(d, 2, 1).sum(-1).repeat_interleave(2, d).narrow(
        d, 0, x.shape[d]),
)

MOVED: tuple[Function, ...] = (
    lambda x: x.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH),
    lambda x: x.permute(2, 0, 1).contiguous().view(BATCH, LENGTH, WIDTH),
    lambda x: x.reshape(-1, WIDTH).view_as(x), lambda x: x.flatten(1).unflatten(1, (6, 8)),
    lambda x: x.movedim(0, 2).movedim(2, 0), lambda x: x.expand(2, -1, -1, -1).sum(0),
    lambda x: x.unsqueeze(1).squeeze(1), lambda x: x.repeat(2, 1, 1)[::2],
    lambda x: x.tile(1, 2, 1)[:, ::2], lambda x: x[:, :, ::2].repeat(1, 1, 2),
    lambda x: x[:, [2, 0, 1, 5, 4, 3]], lambda x: x[torch.tensor([3, 3, 0, 1])],
    lambda x: x[..., torch.arange(WIDTH) % 3] + x, lambda x: x.tril(), lambda x: x.triu(1),
    lambda x: F.pad(x, (1, -1)), lambda x: F.pad(x, (0, 0, 2, 0))[:, :LENGTH],
    lambda x: F.pad(x, (1, 1), mode="reflect")[..., :WIDTH],
    lambda x: F.pad(x, (2, 0), mode="replicate")[..., :WIDTH],
    lambda x: F.pad(x, (1, 0), mode="circular")[..., :WIDTH],
    lambda x: x @ x.transpose(1, 2) @ x * 0.1,
    lambda x: torch.einsum("bld,bmd->blm", x, x).softmax(-1) @ x,
    lambda x: torch.einsum("bld,ble->bde", x, x).sum(1, keepdim=True) * 0.1 + x,
    lambda x: torch.bmm(x, x.mT.bmm(x)) * 0.1, lambda x: torch.baddbmm(
        x, x @ x.mT, x, beta=0.5, alpha=0.1),
    lambda x: torch.addmm(x[0], x[1] @ x[2].T, x[3]).expand_as(x),
    lambda x: torch.outer(x[0, :, 0], x[0, 0]) + x, lambda x: x.diagonal(
        dim1=1, dim2=2).sum(-1)[:, None, None] + x,
    lambda x: torch.diag_embed(x.mean(1))[:, :LENGTH] + x,
    lambda x: F.avg_pool1d(x, 3, 1, 1), lambda x: F.max_pool1d(x, 3, 1, 1),
    lambda x: F.adaptive_avg_pool1d(x, 4).repeat(1, 1, 2),
    lambda x: F.interpolate(x, scale_factor=2, mode="nearest")[..., ::2],
    lambda x: F.interpolate(x, size=WIDTH, mode="linear"),
    lambda x: F.scaled_dot_product_attention(x, x, x),
    lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()),
    lambda x: F.scaled_dot_product_attention(
        *(x.unflatten(2, (2, 4)).transpose(1, 2),) * 3).transpose(1, 2).flatten(2),
    lambda x: F.pixel_shuffle(x.view(BATCH, 4, 3, 4), 2).reshape(x.shape),
    lambda x: torch.cdist(x, x) @ x * 0.1, lambda x: x.softmax(-1).cumsum(1),
    lambda x: torch.kron(x[0, :2, :2], x[1, :3, :4]).expand_as(x) + x,
    lambda x: F.one_hot(x.argmax(-1), WIDTH).to(x.dtype) * x,
    lambda x: x.new_ones(x.shape) * x, lambda x: torch.full_like(x, 0.5) * x,
    lambda x: x + torch.linspace(0, 1, WIDTH, dtype=x.dtype),
    lambda x: torch.block_diag(x[0], x[1])[:LENGTH, :WIDTH] + x,
    lambda x: torch.tensordot(x, x, ([0, 1], [0, 1]))[:LENGTH] * 0.1 + x,
    lambda x: x.view(BATCH, 2, 3, WIDTH).mean(2, keepdim=True).expand(
        -1, -1, 3, -1).reshape(x.shape),
    lambda x: torch.complex(x, x * 0.5).abs(), lambda x: torch.bucketize(
        x.detach(), torch.tensor([-1.0, 0.0, 1.0], dtype=x.dtype)).to(x.dtype) + x,
)


def _written(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 0] = 0
    y[..., 1] *= 2
    return y


def _views_written(x: Tensor) -> Tensor:
    y = x * 1.0
    y.transpose(1, 2)[:, 0].add_(1.0)
    y.view(-1)[::3].mul_(0.5)
    return y


def _row_by_row(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    state = torch.zeros_like(x[:, 0])
    for step in range(x.shape[1]):
        state = torch.tanh(state * 0.5 + x[:, step])
        y[:, step] = state
    return y


def _indices_written(x: Tensor) -> Tensor:
    y = x.clone()
    y[torch.arange(BATCH), x.argmax(1)[:, 0]] = 1.0
    y[x > 1] = 0.5
    return y.index_put_((torch.tensor([0, 1]),), x[2:] * 0.5, accumulate=True)


def _chained(x: Tensor) -> Tensor:
    return (x * 2).relu_().add_(x).clamp_(-2, 2).mul_(x.sigmoid()).sub_(0.1)


def _swapped(x: Tensor) -> Tensor:
    y = x.clone()
    top, bottom = y[:, :3], y[:, 3:]
    held = top.clone()
    top.copy_(bottom)
    bottom.copy_(held)
    return y


WRITTEN: tuple[Function, ...] = (
    _written, _views_written, _row_by_row, _indices_written, _chained, _swapped,
    lambda x: F.relu(x * 1.0, inplace=True), lambda x: x.clone().zero_() + x,
    lambda x: x.clone().masked_fill_(x > 1, 1.0), lambda x: torch.add(
        x, 1, out=torch.empty_like(x)) if not x.requires_grad else x + 1,
    lambda x: x.clone().index_fill_(1, torch.tensor([0, 2]), 0.0),
    lambda x: x.detach().clone().uniform_(0, 0).add_(1) * x,
    lambda x: (x * 1).t_().t_() if x.dim() == 2 else (x * 1).transpose_(0, 1).transpose_(0, 1),
    lambda x: x.clone().squeeze_(0).tril_(), lambda x: (x + 0).fill_diagonal_(0.0)
    if x.dim() == 2 else (x + 0).round_().add_(x),
)


def of_dimension(draw: random.Random) -> Function:
    function, dim = draw.choice(REDUCED), draw.choice((0, 1, 2, -1, -2))
    return lambda x: function(x, dim)


def draw_function(draw: random.Random) -> Function:
    kind = draw.random()
    if kind < 0.35:
        return draw.choice(POINTWISE)
    if kind < 0.65:
        return of_dimension(draw)
    if kind < 0.9:
        return draw.choice(MOVED)
    return draw.choice(WRITTEN)
