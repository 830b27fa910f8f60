"""Modules that keep the shape [batch, length, width], of PyTorch's and with
state, control flow, shared parameters and hooks of their own."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from operations import BATCH, LENGTH, WIDTH, draw_function
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

Draw = random.Random
Tensor = torch.Tensor
Maker = Callable[[Draw], nn.Module]


class Functions(nn.Module):
    """Some functions, one after the other or added to what they read."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.functions = [(draw_function(draw), draw.random() < 0.3)
                          for _ in range(draw.randrange(1, 5))]

    def forward(self, x: Tensor) -> Tensor:
        for function, is_added in self.functions:
            y = function(x)
            x = (x + y if is_added else y).clamp(-4, 4)
        return x


class Across(nn.Module):
    """A module that reads [batch, width, length]."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x.transpose(1, 2)).transpose(1, 2)


class First(nn.Module):
    """A module of which the first result counts."""

    def __init__(self, inner: nn.Module, same: int = 1) -> None:
        super().__init__()
        self.inner, self.same = inner, same

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(*(x,) * self.same)[0]


class Looked(nn.Module):
    """An embedding of what is largest."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.table = nn.Embedding(
            WIDTH, WIDTH, padding_idx=draw.choice((None, 0)),
            scale_grad_by_freq=draw.random() < 0.2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table(x.argmax(-1))


class Gated(nn.Module):
    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=draw.random() < 0.5)
        self.down = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * value) + x


def plain(draw: Draw) -> nn.Module:
    """One of PyTorch's own modules."""
    bias = draw.random() < 0.5
    makers: tuple[Callable[[], nn.Module], ...] = (
        lambda: nn.Linear(WIDTH, WIDTH, bias), lambda: nn.LayerNorm(WIDTH, bias=bias),
        lambda: nn.LayerNorm((LENGTH, WIDTH)), lambda: nn.RMSNorm(WIDTH),
        lambda: nn.GroupNorm(2, LENGTH), lambda: nn.BatchNorm1d(LENGTH),
        lambda: nn.BatchNorm1d(LENGTH, momentum=None), lambda: Across(nn.BatchNorm1d(WIDTH)),
        lambda: nn.BatchNorm1d(LENGTH, affine=bias, track_running_stats=False),
        lambda: nn.InstanceNorm1d(LENGTH, affine=bias),
        lambda: Across(nn.Conv1d(WIDTH, WIDTH, 3, padding=1, bias=bias)),
        lambda: Across(nn.Conv1d(WIDTH, WIDTH, 3, padding=2, dilation=2, groups=2)),
        lambda: Across(nn.Conv1d(WIDTH, WIDTH, 3, padding="same", groups=WIDTH)),
        lambda: nn.Conv1d(LENGTH, LENGTH, 5, padding=2, padding_mode="circular"),
        lambda: Across(nn.ConvTranspose1d(WIDTH, WIDTH, 3, padding=1)),
        lambda: nn.PReLU(draw.choice((1, LENGTH))), lambda: nn.Softmax(dim=1),
        lambda: First(nn.MultiheadAttention(WIDTH, 2, batch_first=True, bias=bias), 3),
        lambda: First(nn.GRU(WIDTH, WIDTH, batch_first=True)),
        lambda: First(nn.LSTM(WIDTH, WIDTH, batch_first=True, bias=bias)),
        lambda: First(nn.RNN(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)),
        lambda: nn.TransformerEncoderLayer(WIDTH, 2, 16, 0.0, batch_first=True,
                                           norm_first=bias),
        lambda: Looked(draw), lambda: Gated(draw), lambda: nn.Identity(),
        lambda: nn.Dropout(0.3), lambda: nn.Dropout1d(0.2), lambda: nn.AlphaDropout(0.1),
        lambda: nn.LocalResponseNorm(2), lambda: nn.Tanh(),
    )
    return draw.choice(makers)()


class Counting(nn.Module):
    """Buffers that forward changes, in place or anew."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(6)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(WIDTH),
                             persistent=draw.random() < 0.5)

    def forward(self, x: Tensor) -> Tensor:
        now = x.detach().mean((0, 1))
        if self.how == 0:
            self.count += 1
            self.mean.mul_(0.9).add_(now, alpha=0.1)
        elif self.how == 1:
            self.mean = self.mean * 0.9 + now * 0.1
        elif self.how == 2:
            self.mean.copy_(now)
            self.count.add_(x.shape[0])
        elif self.how == 3:
            self.mean[0] = now[1]
            return x + self.mean
        elif self.how == 4:
            self.mean.lerp_(now, 0.25)
            return x * self.count + x - self.mean
        else:
            old = self.mean.clone()
            self.mean.add_(now)
            return x + old
        return x - self.mean


class Remembering(nn.Module):
    """Tensors and numbers that are no buffers."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(5)
        self.last = torch.zeros(WIDTH)
        self.steps = 0
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        if self.how == 0:
            y = x + self.last.to(x.dtype)
            self.last = x.detach()[0, 0]
            return y
        if self.how == 1:
            self.steps += 1
            return x * self.steps
        if self.how == 2:
            self.seen.append(x.detach().sum())
            return x
        if self.how == 3:
            self.made = x.relu()
            return x + self.made
        self.last.mul_(0.5).add_(1.0)
        return x * self.last.to(x.dtype)


class Branching(nn.Module):
    """Control flow by what is known while tracing, or by data."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(8)
        self.a, self.b = block(draw, 0), block(draw, 0)
        self.items = [draw.random() for _ in range(3)]

    def forward(self, x: Tensor) -> Tensor:
        if self.how == 0:
            return self.a(x) if self.training else self.b(x)
        if self.how == 1:
            return self.a(x) if x.shape[1] > 3 else self.b(x)
        if self.how == 2:
            for item in self.items:
                x = x + item * self.a(x)
            return x
        if self.how == 3:
            return self.a(x) if x.sum() > 0 else self.b(x)
        if self.how == 4:
            return x * float(x.detach().abs().max())
        if self.how == 5:
            return x[x > 0].sum() + x
        if self.how == 6:
            return torch.where(x.sum() > 0, self.a(x), self.b(x))
        return x + random.random()


class Shared(nn.Module):
    """One module under two names, or one parameter in two modules."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(4)
        self.one = nn.Linear(WIDTH, WIDTH)
        self.two = self.one if self.how == 0 else nn.Linear(WIDTH, WIDTH)
        if self.how == 1:
            self.two.weight = self.one.weight
        self.scale = nn.Parameter(torch.ones(WIDTH))
        if self.how == 2:
            self.one.bias = self.scale
        self.extra = nn.ParameterList([self.scale, nn.Parameter(torch.ones(1))])

    def forward(self, x: Tensor) -> Tensor:
        y = self.two(torch.tanh(self.one(x)))
        if self.how == 3:
            y = F.linear(y, self.one.weight.t(), self.two.bias)
        return y * self.scale + x * self.extra[1]


class Frozen(nn.Module):
    """Parameters that are not trained, not used, or used half."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(5)
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.unused = nn.Parameter(torch.ones(3))
        self.table = nn.Parameter(torch.randn(2, WIDTH))
        if self.how == 0:
            self.inner.requires_grad_(False)
        if self.how == 1:
            self.inner.bias.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        if self.how == 2:
            with torch.no_grad():
                return x + self.inner(x)
        if self.how == 3:
            return x + self.inner(x).detach() * self.table[0]
        if self.how == 4:
            return x * self.table[1] + self.table.detach()[0]
        return x + self.inner(x)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        x, = ctx.saved_tensors
        return gradient * 3 + x.sign() * 0.01


class Differentiated(nn.Module):
    """Gradients that the model defines, reads or computes again for."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.how = draw.randrange(6)
        self.inner = block(draw, 0)
        self.scale = draw.random()

    def forward(self, x: Tensor) -> Tensor:
        if self.how == 0:
            return Doubled.apply(self.inner(x))
        if self.how == 1:
            return checkpoint(self.inner, x, use_reentrant=False)
        if self.how == 2 and x.requires_grad:
            y = torch.tanh(x).square().sum()
            return self.inner(x) + torch.autograd.grad(y, x, create_graph=True)[0]
        if self.how == 3:
            y = self.inner(x)
            if y.requires_grad:
                y.register_hook(lambda gradient: gradient * self.scale)
            return y
        if self.how == 4:
            return x + (self.inner(x) - x).detach()
        return checkpoint(torch.compile(self.inner), x, use_reentrant=False)


class Residual(nn.Module):
    def __init__(self, draw: Draw, depth: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*(block(draw, depth - 1)
                                     for _ in range(draw.randrange(1, 4))))
        self.times = draw.choice((1, 1, 1, 2))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = x + self.inner(x)
        return x


class Named(nn.Module):
    """Modules in a dictionary; some results are dropped."""

    def __init__(self, draw: Draw, depth: int) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({name: block(draw, depth - 1)
                                    for name in ("left", "right", "dropped")})

    def forward(self, x: Tensor) -> Tensor:
        found = {name: part(x) for name, part in self.parts.items()}
        return found["left"] * torch.sigmoid(found["right"])


def normed(draw: Draw) -> nn.Module:
    """Weights that are computed from others."""
    inner = nn.Linear(WIDTH, WIDTH)
    if draw.random() < 0.5:
        return torch.nn.utils.parametrizations.weight_norm(inner)
    return torch.nn.utils.parametrizations.orthogonal(inner) if \
        draw.random() < 0.2 else torch.nn.utils.parametrizations.weight_norm(
            inner, dim=1)


LEAVES: tuple[tuple[int, Maker], ...] = (
    (8, Functions), (6, plain), (2, Counting), (2, Shared), (2, Frozen),
    (1, normed))
INNER: tuple[tuple[int, Callable[[Draw, int], nn.Module]], ...] = (
    (3, Residual), (1, Named), (1, lambda draw, depth: Branching(draw)),
    (2, lambda draw, depth: Differentiated(draw)),
    (1, lambda draw, depth: Remembering(draw)))


def block(draw: Draw, depth: int) -> nn.Module:
    if depth > 0 and draw.random() < 0.4:
        weights, makers = zip(*INNER)
        return draw.choices(makers, weights)[0](draw, depth)
    weights, makers = zip(*LEAVES)
    return draw.choices(makers, weights)[0](draw)


assert BATCH > 1
