"""Capturing models of the transformers library, against eager PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
transformers = pytest.importorskip(
    "transformers", reason="its models are captured here"
)

from capture_cases import assert_equals_eager  # noqa: E402

import regather  # noqa: E402

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48,
             num_hidden_layers=2, num_attention_heads=4)
GROUPED = dict(SIZES, num_key_value_heads=2, pad_token_id=0)


def text(padded=False):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 64, (2, 16), generator=generator)
    batch = {"input_ids": tokens, "labels": tokens.roll(1, 1)}
    if padded:
        mask = torch.ones(2, 16, dtype=torch.int64)
        mask[1, 12:] = 0
        batch["attention_mask"] = mask
    return batch


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=0, eos_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config), text()


def llama():
    config = transformers.LlamaConfig(**GROUPED)
    return transformers.LlamaForCausalLM(config), text(padded=True)


def qwen3():
    config = transformers.Qwen3Config(**GROUPED, head_dim=8)
    return transformers.Qwen3ForCausalLM(config), text()


def mixtral():
    config = transformers.MixtralConfig(**GROUPED, num_local_experts=4)
    # Grouped products have no shape rule for float32 in PyTorch 2.13.
    config._experts_implementation = "batched_mm"
    return transformers.MixtralForCausalLM(config), text()


def bert():
    config = transformers.BertConfig(
        **SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    return transformers.BertForMaskedLM(config), text(padded=True)


def vit():
    config = transformers.ViTConfig(
        **{k: v for k, v in SIZES.items() if k != "vocab_size"},
        image_size=32, patch_size=8, num_labels=5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(2, 3, 32, 32, generator=generator)
    batch = {"pixel_values": pixels, "labels": torch.tensor([1, 2])}
    return transformers.ViTForImageClassification(config), batch


def t5():
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
        dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config), text()


@pytest.mark.parametrize(
    "make", [gpt2, llama, qwen3, mixtral, bert, vit, t5], ids=lambda f: f.__name__
)
def test_computes_what_eager_computes(make):
    torch.manual_seed(0)
    model, batch = make()
    model.train()
    graph = regather.capture(model, batch)
    assert_equals_eager(graph, model(**batch).loss, model, batch)
