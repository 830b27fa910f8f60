"""Models of the benchmark `cpu` from the transformers library, and two of ours.

Sizes are such that a step takes from tens of milliseconds to a second on two
threads. Those of the library compute their own loss: there is none to call, and
inputs are named. Values are drawn from a fixed seed; nothing drops out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 8192
BATCH = 2
TOKENS = 128
CLASSES = 100

TEXT: dict[str, Any] = dict(
    vocab_size=VOCABULARY, hidden_size=512, intermediate_size=1408,
    num_hidden_layers=4, num_attention_heads=8, max_position_embeddings=512)
GROUPED = dict(TEXT, num_key_value_heads=4, head_dim=64, pad_token_id=0)
ENCODER = dict(TEXT, intermediate_size=2048, hidden_dropout_prob=0.0,
               attention_probs_dropout_prob=0.0)
PATCHES = dict(hidden_size=384, intermediate_size=1536, num_hidden_layers=6,
               num_attention_heads=6, image_size=112, patch_size=16,
               num_labels=CLASSES, hidden_dropout_prob=0.0,
               attention_probs_dropout_prob=0.0)

# Configuration, model, options.
LANGUAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM",
              {k: v for k, v in GROUPED.items() if k != "head_dim"}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM",
               dict(GROUPED, sliding_window=64, query_pre_attn_scalar=64)),
    "bert": ("BertConfig", "BertForMaskedLM", ENCODER),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM", dict(
        vocab_size=VOCABULARY, dim=512, hidden_dim=2048, n_layers=4, n_heads=8,
        dropout=0.0, attention_dropout=0.0)),
    "t5": ("T5Config", "T5ForConditionalGeneration", dict(
        vocab_size=VOCABULARY, d_model=512, d_kv=64, d_ff=1024, num_layers=3,
        num_heads=8, dropout_rate=0.0, decoder_start_token_id=0,
        pad_token_id=0)),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", dict(
        GROUPED, intermediate_size=704, num_hidden_layers=2,
        num_local_experts=4, num_experts_per_tok=2)),
    "olmoe": ("OlmoeConfig", "OlmoeForCausalLM", dict(
        TEXT, num_key_value_heads=8, pad_token_id=0, intermediate_size=512,
        num_hidden_layers=2, num_experts=8, num_experts_per_tok=2)),
    "mixtral-grouped": ("MixtralConfig", "MixtralForCausalLM", dict(
        GROUPED, intermediate_size=704, num_hidden_layers=2,
        num_local_experts=8, num_experts_per_tok=2)),
    "qwen3-moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", dict(
        GROUPED, intermediate_size=704, moe_intermediate_size=256,
        num_hidden_layers=2, num_experts=16, num_experts_per_tok=4)),
    "mamba": ("MambaConfig", "MambaForCausalLM", dict(
        vocab_size=VOCABULARY, hidden_size=256, num_hidden_layers=2,
        state_size=16)),
}
# How experts are computed where it is not by grouped GEMMs: weights are gathered
# for each token.
EXPERTS = {"mixtral": "batched_mm", "olmoe": "batched_mm"}

IMAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "resnet": ("ResNetConfig", "ResNetForImageClassification", dict(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2], layer_type="basic", num_labels=CLASSES)),
    "convnext": ("ConvNextConfig", "ConvNextForImageClassification", dict(
        hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 4, 2],
        num_labels=CLASSES, drop_path_rate=0.0)),
    "vit": ("ViTConfig", "ViTForImageClassification", PATCHES),
    "swin": ("SwinConfig", "SwinForImageClassification", dict(
        image_size=112, patch_size=4, embed_dim=64, depths=[2, 2, 4],
        num_heads=[2, 4, 8], window_size=7, num_labels=CLASSES,
        drop_path_rate=0.0, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)),
}


def library_model(name: str) -> tuple[Any, ...]:
    """A model of the library in training, and its batch."""
    import transformers
    torch.manual_seed(0)
    config, model, options = (LANGUAGE | IMAGE)[name]
    made = getattr(transformers, model)(
        getattr(transformers, config)(**options))
    made.config._experts_implementation = EXPERTS.get(name, "grouped_mm")
    if name in IMAGE:
        batch = {"pixel_values": torch.randn(4, 3, 112, 112),
                 "labels": torch.randint(0, CLASSES, (4,))}
    else:
        tokens = torch.randint(1, VOCABULARY, (BATCH, TOKENS))
        batch = {"input_ids": tokens, "labels": tokens.roll(1, 1)}
    return made.train(), batch, None, ()


def whisper() -> tuple[Any, ...]:
    """An encoder of two seconds of speech and a decoder of its text."""
    import transformers
    torch.manual_seed(0)
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY, d_model=384, encoder_layers=3, decoder_layers=3,
        encoder_attention_heads=6, decoder_attention_heads=6,
        encoder_ffn_dim=1536, decoder_ffn_dim=1536, num_mel_bins=80,
        max_source_positions=200, max_target_positions=128, dropout=0.0,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3)
    batch = {"input_features": torch.randn(BATCH, 80, 400),
             "labels": torch.randint(4, VOCABULARY, (BATCH, 64))}
    model = transformers.WhisperForConditionalGeneration(config)
    return model.train(), batch, None, ()


class DiffusionBlock(nn.Module):
    """A block of a diffusion transformer, whose norms a time steers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.steer = nn.Linear(width, 6 * width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, sequence, width = x.shape
        q, k, v = (part.view(batch, sequence, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, sequence, width))

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        width = x.shape[2]
        a, b, c, d, e, f = self.steer(F.silu(time))[:, None].chunk(6, dim=2)
        x = x + c * self.attend(F.layer_norm(x, (width,)) * (1 + a) + b)
        y = F.layer_norm(x, (width,)) * (1 + d) + e
        return x + f * self.down(F.gelu(self.up(y), approximate="tanh"))


class DiffusionTransformer(nn.Module):
    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(4, width, 2, stride=2)
        self.time = nn.Linear(1, width)
        self.blocks = nn.ModuleList(DiffusionBlock(width, heads)
                                    for _ in range(layers))
        self.head = nn.Linear(width, 16)

    def forward(self, image: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        steering = self.time(time)
        for block in self.blocks:
            x = block(x, steering)
        return F.pixel_shuffle(
            self.head(x).transpose(1, 2).unflatten(2, (16, 16)), 2)


def diffusion() -> tuple[Any, ...]:
    """A diffusion transformer that predicts the noise of 32 x 32 latents."""
    torch.manual_seed(0)
    image, noise = torch.randn(2, 4, 4, 32, 32)
    return (DiffusionTransformer(384, 4, 6), (image, torch.rand(4, 1)),
            F.mse_loss, (noise,))


class Recurrent(nn.Module):
    def __init__(self, layer: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, 256)
        self.layer = layer(256, 256, batch_first=True)
        self.head = nn.Linear(256, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.tokens(tokens))[0]).flatten(0, 1)


def recurrent(layer: type[nn.LSTM] | type[nn.GRU]) -> tuple[Any, ...]:
    torch.manual_seed(0)
    tokens = torch.randint(0, VOCABULARY, (8, 32))
    return (Recurrent(layer), (tokens,), F.cross_entropy,
            (tokens.roll(-1, 1).flatten(),))


Factory = Callable[[], tuple[Any, ...]]


def make(name: str) -> Factory:
    return functools.partial(library_model, name)


FAMILIES: dict[str, dict[str, Factory]] = {
    "decoders": {name: make(name) for name in ("qwen2", "gemma2")},
    "encoders": {name: make(name) for name in ("bert", "distilbert")},
    "encoder-decoders": {"t5": make("t5")},
    "experts": {name: make(name) for name in (
        "mixtral", "olmoe", "mixtral-grouped", "qwen3-moe")},
    "convolutional": {name: make(name) for name in ("resnet", "convnext")},
    "vision transformers": {name: make(name) for name in ("vit", "swin")},
    "diffusion": {"diffusion": diffusion},
    "recurrent": {"lstm": functools.partial(recurrent, nn.LSTM),
                  "gru": functools.partial(recurrent, nn.GRU)},
    "state-space": {"mamba": make("mamba")},
    "speech": {"whisper": whisper},
}
