"""Tiny models whose captured steps the tests train; each with a batch.

Each function of `MODELS` gives a model, its inputs, a loss function or None if
the model computes its loss, and targets.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from capture_cases import example

Made = tuple[Any, Any, Any, tuple[Any, ...]]

# -----------------------------------------------------------------------------
# Written for the tests
# -----------------------------------------------------------------------------


class Perceptron(torch.nn.Module):
    """Two layers with biases, of which one parameter is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 32)
        self.down = torch.nn.Linear(32, 4)
        self.up.bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.nn.functional.gelu(self.up(x)))


class Residual(torch.nn.Module):
    """A residual network: convolutions, batch norms, a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.first = torch.nn.Conv2d(8, 8, 3, 1, 1, groups=2)
        self.first_norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        self.second_norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        functional = torch.nn.functional
        x = functional.relu(self.norm(self.stem(x)))
        x = functional.max_pool2d(x, 3, 2, 1)
        y = functional.relu(self.first_norm(self.first(x)))
        x = functional.relu(x + self.second_norm(self.second(y)))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(torch.nn.Module):
    """Words through a recurrent layer in both directions."""

    def __init__(self, layer: Callable[..., torch.nn.Module]) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(64, 16)
        self.layer = layer(16, 16, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(32, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.layer(self.embedding(tokens))
        return self.head(states).flatten(0, 1)


class Bytes(torch.nn.Module):
    """An image of unsigned bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(12, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        inverted = 255 - image
        return self.head(inverted.flatten(1).to(self.head.weight.dtype) / 255)


class Rotation(torch.nn.Module):
    """Pairs that are turned by complex numbers, which are a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.register_buffer("turns", torch.polar(torch.ones(4),
                                                  torch.arange(4.0)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(self.layer(x).unflatten(1, (4, 2)))
        return torch.view_as_real(pairs * self.turns.conj()).flatten(1)


def random_tensor(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def random_tokens(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, 64, shape, generator=generator)


CROSS_ENTROPY = torch.nn.functional.cross_entropy


def perceptron() -> Made:
    loss = torch.nn.functional.mse_loss
    values = random_tensor(16, 12)
    return Perceptron(), (values[:, :8],), loss, (values[:, 8:],)


def residual() -> Made:
    return (Residual(), (random_tensor(4, 3, 16, 16),), CROSS_ENTROPY,
            (torch.tensor([0, 1, 2, 3]),))


def image_of_bytes() -> Made:
    image = random_tokens(4, 3, 4).mul(4).to(torch.uint8)
    return Bytes(), (image,), CROSS_ENTROPY, (torch.tensor([0, 1, 2, 0]),)


def rotation() -> Made:
    values = random_tensor(4, 16)
    loss = torch.nn.functional.mse_loss
    return Rotation(), (values[:, :8],), loss, (values[:, 8:],)


def lstm() -> Made:
    tokens = random_tokens(2, 4)
    return (Recurrent(torch.nn.LSTM), (tokens,), CROSS_ENTROPY,
            (tokens.flatten(),))


def gru() -> Made:
    tokens = random_tokens(2, 4)
    return (Recurrent(torch.nn.GRU), (tokens,), CROSS_ENTROPY,
            (tokens.flatten(),))


def llama_example(**options: Any) -> Made:
    model, (tokens,), loss, _ = example("llama3").step("tiny", batch=2,
                                                       **options)
    tokens = random_tokens(*tokens.shape)
    return model, (tokens,), loss, (tokens.roll(-1, 1),)


def complex_llama() -> Made:
    return llama_example(complex_rope=True)


# -----------------------------------------------------------------------------
# Of the transformers library
# -----------------------------------------------------------------------------

SIZES: dict[str, Any] = dict(vocab_size=64, hidden_size=32,
                             intermediate_size=48, num_hidden_layers=2,
                             num_attention_heads=4)
GROUPED = dict(SIZES, num_key_value_heads=2, pad_token_id=0)
HEADS = dict(GROUPED, head_dim=8)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
VISION = {k: v for k, v in SIZES.items() if k != "vocab_size"}
PATCHES = dict(VISION, image_size=16, patch_size=8, num_labels=5)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
NO_DROPOUT_2 = dict(hidden_dropout=0.0, attention_dropout=0.0)

# Configuration, model, options.
TEXT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", dict(
        HEADS, sliding_window=8, query_pre_attn_scalar=8)),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", dict(
        GROUPED, resid_pdrop=0.0, embd_pdrop=0.0)),
    "mistral": ("MistralConfig", "MistralForCausalLM", dict(
        GROUPED, sliding_window=8)),
    "opt": ("OPTConfig", "OPTForCausalLM", dict(
        vocab_size=64, hidden_size=32, ffn_dim=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=32,
        word_embed_proj_dim=32, dropout=0.0, attention_dropout=0.0,
        pad_token_id=0)),
    "bloom": ("BloomConfig", "BloomForCausalLM", dict(
        vocab_size=64, hidden_size=32, n_layer=2, n_head=4, **NO_DROPOUT_2)),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM",
                 dict(SIZES, **NO_DROPOUT_2)),
    "falcon": ("FalconConfig", "FalconForCausalLM", dict(
        vocab_size=64, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, **NO_DROPOUT_2)),
    "mamba": ("MambaConfig", "MambaForCausalLM", dict(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, state_size=4)),
    "olmoe": ("OlmoeConfig", "OlmoeForCausalLM", dict(
        GROUPED, num_experts=4, num_experts_per_tok=2)),
    "mixtral_grouped": ("MixtralConfig", "MixtralForCausalLM", dict(
        GROUPED, num_local_experts=4)),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", dict(
        GROUPED, **EXPERTS, head_dim=8)),
    "qwen3_next": ("Qwen3NextConfig", "Qwen3NextForCausalLM", dict(
        GROUPED, **EXPERTS, head_dim=8, shared_expert_intermediate_size=24,
        linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=8, linear_value_head_dim=8,
        layer_types=["linear_attention", "full_attention"])),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM", dict(
        GROUPED, num_local_experts=4, num_experts_per_tok=2, head_dim=8)),
    "qwen2_moe": ("Qwen2MoeConfig", "Qwen2MoeForCausalLM", dict(
        GROUPED, **EXPERTS, shared_expert_intermediate_size=24)),
    "deepseek_v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM", dict(
        GROUPED, num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16,
        qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
        n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
        moe_intermediate_size=24, first_k_dense_replace=1)),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM",
                dict(SIZES, **NO_DROPOUT)),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM", dict(
        vocab_size=64, dim=32, hidden_dim=48, n_layers=2, n_heads=4,
        dropout=0.0, attention_dropout=0.0)),
    "electra": ("ElectraConfig", "ElectraForMaskedLM",
                dict(SIZES, **NO_DROPOUT, embedding_size=16)),
    "albert": ("AlbertConfig", "AlbertForMaskedLM",
               dict(SIZES, **NO_DROPOUT, embedding_size=16)),
    "deberta_v2": ("DebertaV2Config", "DebertaV2ForMaskedLM", dict(
        SIZES, **NO_DROPOUT, relative_attention=True,
        pos_att_type=["p2c", "c2p"], position_buckets=8)),
}
IMAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "swin": ("SwinConfig", "SwinForImageClassification", dict(
        image_size=16, patch_size=4, embed_dim=8, depths=[2, 1],
        num_heads=[2, 4], window_size=2, num_labels=5, drop_path_rate=0.0,
        **NO_DROPOUT)),
    "convnext": ("ConvNextConfig", "ConvNextForImageClassification", dict(
        hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=5,
        drop_path_rate=0.0)),
}


def library_model(name: str) -> Made:
    """A model of the transformers library that computes its own loss."""
    transformers = pytest.importorskip("transformers",
                                       reason="its models are trained here")
    if name in TEXT or name in IMAGE:
        config, model, options = (TEXT | IMAGE)[name]
        made = getattr(transformers, model)(
            getattr(transformers, config)(**options))
        # The Mixtral without suffix has the other form, `batched_mm`.
        made.config._experts_implementation = "grouped_mm"
        batch = {"labels": torch.tensor([1, 2])}
        if name in IMAGE:
            batch["pixel_values"] = random_tensor(2, 3, 16, 16)
        else:
            tokens = random_tokens(2, 12)
            batch = {"input_ids": tokens, "labels": tokens.roll(1, 1)}
        return made.train(), batch, None, ()
    import test_capture_models
    model, batch = getattr(test_capture_models, name)()
    return model.train(), batch, None, ()


def clip() -> Made:
    transformers = pytest.importorskip("transformers",
                                       reason="its models are trained here")
    config = transformers.CLIPConfig(
        text_config=dict(SIZES, projection_dim=16, max_position_embeddings=32,
                         pad_token_id=0, bos_token_id=1, eos_token_id=2),
        vision_config=dict(VISION, image_size=16, patch_size=8,
                           projection_dim=16), projection_dim=16)
    batch = {"input_ids": random_tokens(2, 8),
             "pixel_values": random_tensor(2, 3, 16, 16), "return_loss": True}
    return transformers.CLIPModel(config).train(), batch, None, ()


def whisper() -> Made:
    transformers = pytest.importorskip("transformers",
                                       reason="its models are trained here")
    config = transformers.WhisperConfig(
        vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8,
        max_source_positions=16, max_target_positions=16, dropout=0.0,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3)
    batch = {"input_features": random_tensor(2, 8, 32),
             "labels": random_tokens(2, 12)}
    model = transformers.WhisperForConditionalGeneration(config)
    return model.train(), batch, None, ()


OWN = (perceptron, residual, image_of_bytes, rotation, lstm, gru, llama_example,
       complex_llama, clip, whisper)
# Of `test_capture_models.py`; the Llama has padded rows.
LIBRARY = ("llama", "gpt2", "qwen3", "mixtral", "bert", "vit", "t5")

MODELS: dict[str, Callable[[], Made]] = {make.__name__: make for make in OWN}
for _name in (*LIBRARY, *TEXT, *IMAGE):
    MODELS[_name] = lambda name=_name: library_model(name)

# Together they have every operator of all of these, and but for 7 of 261 every
# one with each number of dimensions. What is about element types or devices is
# tested on these; on all with REGATHER_ALL_MODELS=1, which takes long.
REPRESENTATIVE = tuple(
    MODELS if os.environ.get("REGATHER_ALL_MODELS") else
    ("perceptron", "residual", "rotation", "complex_llama", "gru", "clip",
     "whisper", "llama", "mixtral", "bert", "vit", "t5", "gemma2", "bloom",
     "mamba", "qwen3_next", "gpt_oss", "deepseek_v3", "deberta_v2", "swin",
     "convnext"))
