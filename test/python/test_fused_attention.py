"""Attention that models write as products and a softmax, by blocks.

Captured as they are written, run with `--fuse-attention=all` on one rank, with
the batch over two and with the heads over two; compared with eager PyTorch. The
pass finds all that a capture finds that replaces them itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
transformers = pytest.importorskip("transformers", reason="models are from there")

import captured_models  # noqa: E402
from captured_models import Step, execute, find_errors  # noqa: E402
from regather_tools import run_tool  # noqa: E402

import regather  # noqa: E402

TOLERANCE = 1e-5
TOKENS = 24


class Written(torch.nn.Module):
    """Queries, keys and values of one product; hidden by truth values.

    `einsum` moves dimensions of size 1 around its product.
    """

    def __init__(self, heads: int = 4, width: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.first = torch.nn.Linear(width, 3 * width)
        self.last = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        query, key, value = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.first(x).split(width, 2))
        scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5
        later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        output = torch.einsum("bhij,bhjd->bhid", torch.softmax(scores, dim=-1),
                              value)
        return self.last(output.transpose(1, 2).reshape(batch, tokens, width))


def written() -> Step:
    x = torch.randn(2, TOKENS, 32)
    return Step(Written(), (x,), torch.nn.functional.mse_loss,
                (torch.randn(2, TOKENS, 32),))


def library(config: str, model: str, **options: Any) -> Step:
    made = getattr(transformers, config)(
        vocab_size=64, attn_implementation="eager", **options)
    tokens = torch.randint(1, 64, (2, TOKENS))
    batch = {"input_ids": tokens, "labels": tokens.clone()}
    if config in ("BertConfig", "GPT2Config"):
        batch["attention_mask"] = torch.ones_like(tokens)
        # Of a causal model, the first rows have nothing to attend to then.
        batch["attention_mask"][1, :TOKENS // 2] = 0
    return Step(getattr(transformers, model)(made), batch, None, ())


def llama() -> Step:
    """Two heads of the query share one of the key."""
    return library("LlamaConfig", "LlamaForCausalLM", hidden_size=32,
                   num_hidden_layers=1, num_attention_heads=4,
                   num_key_value_heads=2, intermediate_size=64)


def frozen() -> Step:
    """The key needs no gradient."""
    step = llama()
    for part in (step.model.model.embed_tokens,
                 step.model.model.layers[0].input_layernorm,
                 step.model.model.layers[0].self_attn.k_proj):
        part.requires_grad_(False)
    return step


MODELS = {
    "written": written,
    "gpt2": lambda: library(
        "GPT2Config", "GPT2LMHeadModel", n_positions=32, n_embd=32, n_layer=2,
        n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "bert": lambda: library(
        "BertConfig", "BertForMaskedLM", hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=32, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0),
    "llama": llama,
    "frozen": frozen,
    # Of its three kinds of attention, one alone has no trained bias.
    "t5": lambda: library(
        "T5Config", "T5ForConditionalGeneration", d_model=32, d_kv=8, d_ff=64,
        num_layers=1, num_heads=4, dropout_rate=0, decoder_start_token_id=0)}
# Each rank has half of the heads.
HEADS = {"llama": [("--mesh=tp:2",
                    "--shard=/.*(q_proj|k_proj|v_proj)/=[tp] shard 0",
                    "--shard=*.o_proj=[tp] shard 1")]}
FUSED = {"written": 1, "gpt2": 2, "bert": 1, "llama": 1, "frozen": 1,
         "t5": 1}
# Masks that hide padding might hide whole rows, so a capture leaves those. It
# takes biases that are trained.
CAPTURED = FUSED | {"gpt2": 0, "bert": 0, "t5": 3}


@pytest.mark.parametrize("name", MODELS)
def test_equals_eager(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    step = MODELS[name]()
    captured_models.keep(step, tmp_path, fuse_attention=False)
    result = run_tool("regather-translate", "--import-fx", "step.fx.json", "-o",
                      "step.mlir", cwd=tmp_path)
    assert result.code == 0, result.stderr
    result = run_tool("regather-opt", "step.mlir", "--tg-fuse-attention",
                      cwd=tmp_path)
    assert result.code == 0, result.stderr
    fused = result.stdout.decode()
    assert fused.count("_flash_attention_for_cpu.default") == FUSED[name]
    assert fused.count("_flash_attention_for_cpu_backward") == FUSED[name]
    itself = regather.capture(step.model, step.inputs, loss=step.loss,
                              targets=step.targets, verify=0)
    assert sum(str(node.target).endswith("_flash_attention_for_cpu.default")
               for node in itself.module.graph.nodes) == CAPTURED[name]

    expected = step.run()
    if name == "gpt2":
        results = execute(tmp_path, "interpreter", "step.fx.json",
                          "--fuse-attention=all")
        assert not find_errors(results, expected, TOLERANCE)
    for mesh in ((), ("--mesh=dp:2",), *HEADS.get(name, ())):
        results = execute(tmp_path, "cpu", "step.fx.json",
                          "--fuse-attention=all", *mesh)
        assert not find_errors(results, expected, TOLERANCE), mesh


# A bound and shared heads; biases of all sequences; a sink of each head.
CUT = {
    "gemma2": lambda: library(
        "Gemma2Config", "Gemma2ForCausalLM", hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=64, sliding_window=8, query_pre_attn_scalar=8,
        attn_logit_softcapping=0.5, pad_token_id=0),
    "t5": MODELS["t5"],
    "gpt_oss": lambda: library(
        "GptOssConfig", "GptOssForCausalLM", hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=32, num_local_experts=2, num_experts_per_tok=1,
        pad_token_id=0)}
HEADS_OF_CUT = ("--mesh=tp:2", "--shard=/.*(q_proj|k_proj|v_proj)/=[tp] shard 0",
                "--shard=/.*o_proj\\.weight/=[tp] shard 1")
HEADS_OF_T5 = ("--mesh=tp:2", "--shard=/.*Attention\\.(q|k|v)/=[tp] shard 0",
               "--shard=/.*Attention\\.o/=[tp] shard 1")


@pytest.mark.parametrize("name", CUT)
def test_captured_attention_is_cut(name: str, tmp_path: Path) -> None:
    """With the batch over two ranks, and with the heads."""
    torch.manual_seed(0)
    step = CUT[name]()
    captured_models.keep(step, tmp_path, verify=0)
    expected = step.run()
    heads = HEADS_OF_T5 if name == "t5" else HEADS_OF_CUT
    for mesh in ((), ("--mesh=dp:2",), heads):
        results = execute(tmp_path, "cpu", "step.fx.json", *mesh)
        assert not find_errors(results, expected, TOLERANCE), mesh
