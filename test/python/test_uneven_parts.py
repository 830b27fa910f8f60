"""Dimensions that ranks do not divide, cut all the same: a vocabulary of 61 words,
and widths of hidden features, against the step of one device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import example  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from test_shard_parameters import Captured, assert_close  # noqa: E402
from test_shard_step import SEQUENCE, run, shard  # noqa: E402

WORDS = 61


def draw_words() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, WORDS, (4, 16), generator=generator)


def llama() -> tuple[Any, ...]:
    module = example("llama3")
    module.CONFIGS["tiny"] = replace(module.CONFIGS["tiny"], vocabulary=WORDS)
    model, _, loss, _ = module.step("tiny", batch=4, sequence=16)
    return model, (draw_words(),), loss, (draw_words().roll(-1, 1),)


def gpt2() -> tuple[Any, ...]:
    """One matrix for embedding and head."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=16, n_embd=32, n_layer=2, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=0, eos_token_id=0)
    words = draw_words()
    return (transformers.GPT2LMHeadModel(config).train(),
            {"input_ids": words, "labels": words}, None, ())


class Features(torch.nn.Module):
    """Functions that make anything of padding: halves, infinities and NaNs; sums,
    a softmax and maxima over what is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 11)
        self.gate = torch.nn.Parameter(torch.rand(11) + 0.5)
        self.down = torch.nn.Linear(11, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.up(x).sigmoid() / self.gate
        scaled = hidden.log() * hidden.rsqrt() * hidden.softmax(-1)
        largest = torch.logsumexp(hidden, -1, keepdim=True)
        return self.down(scaled - largest)


def features() -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, 6, generator=generator)
    target = torch.randn(8, 3, generator=generator)
    return Features(), (x,), torch.nn.functional.mse_loss, (target,)


@dataclass(frozen=True)
class Case:
    make: Callable[[], tuple[Any, ...]]
    annotations: Sequence[str]
    meshes: Sequence[str]


VOCABULARY = ("tp:2", "dp:2,tp:2", "tp:4")
CASES = {
    "llama": Case(llama, (*SEQUENCE, "embedding=[tp] shard 0",
                          "output=[tp] shard 0"), VOCABULARY),
    "gpt2": Case(gpt2, ("transformer.wte=[tp] shard 0",), VOCABULARY),
    "features": Case(features, ("up.weight=[tp] shard 0",),
                     ("tp:2", "dp:2,tp:3", "tp:8")),
}
CAPTURED: dict[str, Captured] = {}


@pytest.fixture
def captured(name: str, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    if name not in CAPTURED:
        CAPTURED[name] = Captured(CASES[name].make,
                                  tmp_path_factory.mktemp(name))
    return CAPTURED[name]


@pytest.mark.parametrize(("name", "mesh"), [
    (name, mesh) for name, case in CASES.items() for mesh in case.meshes])
def test_equals_one_device(captured: Captured, name: str, mesh: str) -> None:
    _, results = run(captured, mesh, CASES[name].annotations)
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_nobody_has_all_logits(captured: Captured, name: str) -> None:
    whole = (captured.directory / "step.mlir").read_text()
    assert re.search(rf"aten._log_softmax.*x{WORDS}xf32", whole)
    text = shard(captured, *CASES[name].annotations)
    assert re.search(r"aten.exp.*x31xf32", text)
    assert not re.search(rf"x{WORDS}xf32", text)


@pytest.mark.parametrize("name", ["features"])
def test_nothing_that_is_cut_is_gathered(captured: Captured, name: str) -> None:
    assert "tg.all_gather" not in shard(captured, *CASES[name].annotations)


@pytest.mark.parametrize("name", ["llama"])
def test_padding_is_no_word(captured: Captured, name: str,
                            tmp_path: Path) -> None:
    arguments = load_file(captured.directory / "arguments.safetensors")
    arguments["tokens"][0, 0] = WORDS
    save_file(arguments, tmp_path / "wrong.safetensors")
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      "--mesh=tp:2",
                      *(f"--shard={text}" for text in CASES[name].annotations),
                      "--inputs", tmp_path / "wrong.safetensors", "--quiet")
    assert result.code != 0
    assert "an index is out of bounds" in result.stderr


@pytest.mark.parametrize("name", ["gpt2"])
def test_runs_go_on_elsewhere(captured: Captured, name: str,
                              tmp_path: Path) -> None:
    """Files know nothing of padding, whole or by rank; neither does the norm."""
    def train(mesh: str, *options: str | Path) -> dict[str, torch.Tensor]:
        outputs = tmp_path / "results.safetensors"
        tensor = CASES[name].annotations if "tp" in mesh else ()
        result = run_tool(
            "regather", "run", captured.directory / "step.mlir",
            f"--mesh={mesh}", *(f"--shard={text}" for text in tensor),
            "--optimizer=adamw max-norm=0.1", "--learning-rate=0.001",
            "--random-inputs=1", *options, "--outputs", outputs, "--quiet")
        assert result.code == 0, result.stderr
        return load_file(outputs)

    expected = train("dp:1", "--steps=3")
    folder = tmp_path / "saved"
    saved = train("dp:2,tp:2", "--steps=2", "--outputs-sharded", folder)
    assert ({key: value.shape for key, value in saved.items()} ==
            {key: value.shape for key, value in expected.items()})
    for mesh in ("tp:4", "dp:4"):
        assert_close(train(mesh, "--first-step=3", "--inputs", folder), expected,
                     tolerance=1e-4)
