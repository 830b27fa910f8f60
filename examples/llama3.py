"""A Llama-3-style language model in plain PyTorch.

RMS norm, rotary position embedding, grouped-query attention, SwiGLU and an
output layer of its own. ``step`` is a factory for capturing it:

    python -m regather capture --model examples/llama3.py:step \\
        --config '{"config": "debug"}' -o llama3-debug.fx.json

``sharded_step`` is the same step under FSDP and tensor parallelism; it needs no
more than one process. Its weights are those of the capture above.

    python -m regather capture --model examples/llama3.py:sharded_step \\
        --config '{"config": "debug", "dp": 4, "tp": 2}' -o sharded.fx.json
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    """Sizes of a model; ``sequence`` is the longest it is built for."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int
    sequence: int
    norm_eps: float = 1e-5
    rope_base: float = 500000.0
    # Rotates pairs as complex numbers; else with real sines and cosines.
    complex_rope: bool = False

    @property
    def head_width(self) -> int:
        return self.width // self.heads


CONFIGS = {
    "tiny": Config(2, 32, 4, 2, 96, 64, 16),
    "debug": Config(4, 256, 8, 4, 768, 256, 256),
    "8B": Config(32, 4096, 32, 8, 14336, 128256, 8192),
    "70B": Config(80, 8192, 64, 8, 28672, 128256, 8192),
    "405B": Config(126, 16384, 128, 8, 53248, 128256, 8192),
}


def rotary_table(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotation, each [sequence, head_width / 2]."""
    half = torch.arange(0, config.head_width, 2, dtype=torch.float32)
    frequency = config.rope_base ** (-half / config.head_width)
    angle = torch.outer(
        torch.arange(config.sequence, dtype=torch.float32), frequency
    )
    return angle.cos(), angle.sin()


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turns neighbouring pairs of ``x`` [B, S, H, E] by their positions.

    ``cos`` and ``sin``: [S, E / 2].
    """
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = cos[:, None, :], sin[:, None, :]
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return pairs.flatten(-2).to(x.dtype)


def rotate_complex(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    """``rotate`` by one complex multiplication for each pair."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    turned = pairs * torch.complex(cos, sin)[:, None, :]
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


class RMSNorm(nn.Module):
    """Scales vectors to a root mean square of one, in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * scale).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Causal self-attention; several query heads share a key-value head."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.head_width = config.head_width
        self.rotate = rotate_complex if config.complex_rope else rotate
        kv_width = config.kv_heads * config.head_width
        self.wq = nn.Linear(config.width, config.width, bias=False)
        self.wk = nn.Linear(config.width, kv_width, bias=False)
        self.wv = nn.Linear(config.width, kv_width, bias=False)
        self.wo = nn.Linear(config.width, config.width, bias=False)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        def heads(t: torch.Tensor) -> torch.Tensor:
            return t.unflatten(-1, (-1, self.head_width))

        query = self.rotate(heads(self.wq(x)), cos, sin).transpose(1, 2)
        key = self.rotate(heads(self.wk(x)), cos, sin).transpose(1, 2)
        value = heads(self.wv(x)).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True
        )
        return self.wo(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    """SwiGLU: one projection gates the other."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.w1 = nn.Linear(config.width, config.hidden, bias=False)
        self.w2 = nn.Linear(config.hidden, config.width, bias=False)
        self.w3 = nn.Linear(config.width, config.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    """One layer: attention and feed-forward, each on a normed residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.norm_eps)
        self.attention = Attention(config)
        self.feed_forward_norm = RMSNorm(config.width, config.norm_eps)
        self.feed_forward = FeedForward(config)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama3(nn.Module):
    """Token numbers [B, S] to logits [B, S, vocabulary]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.norm_eps)
        self.output = nn.Linear(config.width, config.vocabulary, bias=False)
        cos, sin = rotary_table(config)
        self.register_buffer("rope_cos", cos, persistent=False)
        self.register_buffer("rope_sin", sin, persistent=False)
        self.apply(self._initialize)

    def _initialize(self, module: nn.Module) -> None:
        """Small normal weights, smaller where layers add to the residual."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, Block):
            depth = (2 * self.config.layers) ** -0.5
            for last in (module.attention.wo, module.feed_forward.w2):
                nn.init.normal_(last.weight, std=0.02 * depth)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        cos, sin = self.rope_cos[:length], self.rope_sin[:length]
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.output(self.norm(x))


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of logits [B, S, V] and labels [B, S]."""
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def step(
    config: str = "debug",
    batch: int = 1,
    sequence: int | None = None,
    layers: int | None = None,
    dtype: str = "float32",
    complex_rope: bool = False,
    seed: int = 0,
    weights: bool | None = None,
) -> tuple[
    nn.Module,
    tuple[torch.Tensor],
    Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    tuple[torch.Tensor],
]:
    """Model, example batch and loss for capturing.

    ``weights`` says whether the model gets real initial values; by default
    only the two small configurations do, others are made without memory.
    """
    sizes = replace(CONFIGS[config], complex_rope=complex_rope)
    if layers is not None:
        sizes = replace(sizes, layers=layers)
    if sequence is not None:
        sizes = replace(sizes, sequence=sequence)
    if weights is None:
        weights = config in ("tiny", "debug")
    torch.manual_seed(seed)
    with torch.device("cpu" if weights else "meta"):
        model = Llama3(sizes)
        tokens = torch.zeros(batch, sizes.sequence, dtype=torch.int64)
        labels = torch.zeros_like(tokens)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(getattr(torch, dtype))
    return model, (tokens,), loss, (labels,)


def tensor_parallel(model: nn.Module, mesh: Any) -> nn.Module:
    """Splits attention and feed-forward of every layer over axis ``tp``."""
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    plan: dict[str, Any] = {}
    for name in ("wq", "wk", "wv"):
        plan[f"attention.{name}"] = ColwiseParallel()
    plan["feed_forward.w1"] = plan["feed_forward.w3"] = ColwiseParallel()
    plan["attention.wo"] = plan["feed_forward.w2"] = RowwiseParallel()
    for layer in model.layers:
        parallelize_module(layer, mesh["tp"], plan)
    return model


def fully_shard(model: nn.Module, mesh: Any, strided: bool = False) -> nn.Module:
    """Shards parameters over axis ``dp``, and gathers them where they are used.

    This is SimpleFSDP: reading a parameter is the gather, and what autograd
    makes of it is the reduce-scatter of its gradient, the mean over ``dp``. A
    parameter that tensor parallelism has split already stays split over
    ``tp`` after the gather. ``strided`` always shards dimension 0, also where
    ``tp`` has split it before, as PyTorch's ``fully_shard`` does; else such a
    parameter is sharded along dimension 1. Values are not kept.
    """
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.placement_types import _StridedShard

    for module in list(model.modules()):
        getters = {}
        for key, value in list(module._parameters.items()):
            if value is None:
                continue
            split = value.placements[0] if isinstance(value, DTensor) else None
            rest = [split or Replicate()] if "tp" in mesh.mesh_dim_names else []
            cut = Shard(0)
            if split == Shard(0):
                cut = (
                    _StridedShard(0, split_factor=mesh["tp"].size())
                    if strided
                    else Shard(1)
                )
            whole = torch.empty(value.shape, dtype=value.dtype, device="meta")
            module._parameters[key] = nn.Parameter(
                distribute_tensor(whole, mesh, [cut, *rest])
            )
            getters[key] = property(_gathering(key, mesh, rest, split))
        if getters:
            kind = type(module)
            module.__class__ = type(kind.__name__, (kind,), getters)
    return model


def _gathering(
    key: str, mesh: Any, rest: list[Any], split: Any
) -> Callable[[nn.Module], torch.Tensor]:
    """What reads the parameter ``key``: gathered over ``dp``."""
    from torch.distributed.tensor import DTensor, Partial, Replicate

    def get(module: nn.Module) -> torch.Tensor:
        gathered = module._parameters[key].redistribute(
            placements=[Replicate(), *rest]
        )
        local = gathered.to_local(grad_placements=[Partial("avg"), *rest])
        if split is None:
            return local
        return DTensor.from_local(local, mesh["tp"], [split], run_check=False)

    return get


def sharded_step(
    config: str = "debug",
    dp: int = 2,
    tp: int = 1,
    batch: int | None = None,
    strided: bool = False,
    **options: Any,
) -> tuple[nn.Module, tuple[Any], Callable[..., torch.Tensor], tuple[Any]]:
    """``step`` under fully sharded data parallelism and tensor parallelism.

    ``batch`` is the global batch, by default one sequence for each of the
    ``dp`` replicas, which get equal parts of it; other options are those of
    ``step``. The loss is the mean over the global batch. Weights come from a
    capture of ``step``, whose parameters have the same names.
    """
    from torch.distributed.tensor import (
        DTensor,
        Partial,
        Replicate,
        Shard,
        distribute_tensor,
    )

    import regather

    batch = dp if batch is None else batch
    if batch % dp:
        raise ValueError(f"a batch of {batch} cannot be cut into {dp} equal parts")
    heads = CONFIGS[config].kv_heads
    if heads % tp:
        raise ValueError(f"{heads} key-value heads cannot be split over {tp} ranks")
    model, (tokens,), local_loss, (labels,) = step(
        config, batch, weights=False, **options
    )
    mesh = regather.fake_mesh({"dp": dp, "tp": tp} if tp > 1 else {"dp": dp})
    if tp > 1:
        tensor_parallel(model, mesh)
    fully_shard(model, mesh, strided)
    rest = [Replicate()] * (mesh.ndim - 1)

    def part(module: nn.Module, args: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
        return tuple(value.to_local() for value in args)

    def mean_loss(logits: torch.Tensor, labels: Any) -> torch.Tensor:
        # Every replica differentiates its own loss; `Partial` says that the
        # one to report is the mean of all.
        own = local_loss(logits, labels.to_local())
        return DTensor.from_local(
            own, mesh, [Partial("avg"), *rest], run_check=False
        )

    model.register_forward_pre_hook(part)
    tokens, labels = (
        distribute_tensor(value, mesh, [Shard(0), *rest])
        for value in (tokens, labels)
    )
    return model, (tokens,), mean_loss, (labels,)
