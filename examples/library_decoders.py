"""Language models of the transformers library at full size, without weights.

``step`` is a factory for capturing a training step of one of them. Nothing is
downloaded, and no memory is taken: parameters are made on the meta device.

    python -m regather capture --model examples/library_decoders.py:step \\
        --config '{"name": "qwen2-7b", "batch": 8, "sequence": 4096}' \\
        -o qwen2-7b.fx.json
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

# Configuration, model, sizes.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "qwen2-7b": ("Qwen2Config", "Qwen2ForCausalLM", dict(
        vocab_size=152064, hidden_size=3584, intermediate_size=18944,
        num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4,
        max_position_embeddings=32768)),
    "mixtral-8x7b": ("MixtralConfig", "MixtralForCausalLM", dict(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336,
        num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        num_local_experts=8, num_experts_per_tok=2,
        max_position_embeddings=32768)),
    "qwen3-30b-a3b": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", dict(
        vocab_size=151936, hidden_size=2048, intermediate_size=6144,
        moe_intermediate_size=768, num_hidden_layers=48, num_attention_heads=32,
        num_key_value_heads=4, head_dim=128, num_experts=128,
        num_experts_per_tok=8, norm_topk_prob=True,
        max_position_embeddings=40960)),
    "deepseek-v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM", dict(
        vocab_size=129280, hidden_size=7168, intermediate_size=18432,
        moe_intermediate_size=2048, num_hidden_layers=61,
        num_attention_heads=128, num_key_value_heads=128, n_shared_experts=1,
        n_routed_experts=256, num_experts_per_tok=8, n_group=8, topk_group=4,
        first_k_dense_replace=3, routed_scaling_factor=2.5, q_lora_rank=1536,
        kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128,
        v_head_dim=128, max_position_embeddings=4096)),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", dict(
        vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)),
}


def step(name: str, batch: int = 1, sequence: int = 1024,
         layers: int | None = None, dtype: str = "bfloat16"
         ) -> tuple[nn.Module, dict[str, torch.Tensor], None, tuple[()]]:
    """Model, example batch, no loss (the model has its own) and no targets."""
    import transformers

    config_name, model_name, sizes = MODELS[name]
    if layers is not None:
        sizes = {**sizes, "num_hidden_layers" if "num_hidden_layers" in sizes
                 else "n_layer": layers}
    config = getattr(transformers, config_name)(**sizes, use_cache=False)
    config._attn_implementation = "sdpa"
    if hasattr(config, "num_experts_per_tok"):
        # All experts in one product, by the library's own grouped form.
        config._experts_implementation = "grouped_mm"
    with torch.device("meta"):
        model = getattr(transformers, model_name)(config)
        tokens = torch.zeros(batch, sequence, dtype=torch.int64)
    model = model.to(getattr(torch, dtype)).train()
    return model, {"input_ids": tokens, "labels": tokens}, None, ()
