"""Steps cut over model axes against the step of one device, on captured models.

Tensor, sequence and context parallelism follow from a few annotations, beside
FSDP over another axis. Loss, gradients and, with an optimizer, parameters after
several steps are those of one device.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from test_shard_parameters import (  # noqa: E402
    Captured,
    assert_close,
    bert,
    gpt2,
    library_model,
    llama,
    masked,
    perceptron,
    qwen3,
    t5,
)

LLAMA = ("/layers.*(wq|wk|wv|w1|w3)/=[tp] shard 0",)
HUB = ("/.*(q|k|v|gate|up)_proj/=[tp] shard 0",)


def mixtral() -> tuple:
    return library_model("mixtral")


class Filter(torch.nn.Module):
    """Mixes positions and features by frequencies, as FNet does, and weighs those
    of hidden features by complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 8)
        self.down = torch.nn.Linear(8, 3)
        self.weight = torch.nn.Parameter(torch.randn(5, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = torch.fft.fftn(x, dim=(1, 2)).real
        spectrum = torch.fft.rfft(self.up(mixed)) * self.weight
        return self.down(torch.fft.irfft(spectrum, n=8))


def filtered() -> tuple:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, 4, 6, generator=generator)
    target = torch.randn(8, 4, 3, generator=generator)
    return Filter(), (x,), torch.nn.functional.mse_loss, (target,)


@dataclass(frozen=True)
class Model:
    make: object
    tensor: Sequence[str]
    # The inputs with a sequence, along dimension 1.
    inputs: Sequence[str] = field(default=("input_ids", "labels"))

    def get_annotations(self, mesh: str) -> list[str]:
        flags = []
        if "tp" in mesh:
            flags += self.tensor
        if "cp" in mesh:
            flags += [f"{name}=[cp] shard 1" for name in self.inputs]
        return flags


MODELS = {
    "perceptron": Model(perceptron, ("up.weight=[tp] shard 0",), ()),
    "llama": Model(llama, LLAMA, ("tokens", "labels")),
    "masked": Model(masked, LLAMA, ("tokens", "labels")),
    "gpt2": Model(gpt2, ("/.*(c_attn|c_fc).weight/=[tp] shard 1",)),
    "bert": Model(bert, (
        "/.*(query|key|value|intermediate.dense).weight/=[tp] shard 0",
        "bert.embeddings.word_embeddings=[tp] shard 0"),
        ("input_ids", "labels", "attention_mask")),
    "qwen3": Model(qwen3, (*HUB, "lm_head=[tp] shard 0")),
    "t5": Model(t5, ("/.*(SelfAttention|EncDecAttention).(q|k|v)/=[tp] shard 0",
                     "/.*wi/=[tp] shard 0")),
    "mixtral": Model(mixtral, (*HUB, "/.*down_proj/=[tp] shard 2")),
    "filter": Model(filtered, ("up.weight=[tp] shard 0",), ()),
}
CAPTURED: dict[str, Captured] = {}


@pytest.fixture
def captured(name: str, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    if name not in CAPTURED:
        CAPTURED[name] = Captured(MODELS[name].make,
                                  tmp_path_factory.mktemp(name))
    return CAPTURED[name]


def run(captured: Captured, mesh: str, annotations: Sequence[str],
        *options: str) -> tuple[list[float], dict[str, torch.Tensor]]:
    outputs = captured.directory / "sharded.safetensors"
    sharding = [f"--mesh={mesh}"] if mesh else []
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      *sharding,
                      *(f"--shard={text}" for text in annotations), *options,
                      "--inputs", captured.directory / "arguments.safetensors",
                      "--outputs", outputs, "--json", "--quiet", timeout=300)
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)["losses"], load_file(outputs)


MESHES = ["tp:2", "dp:2,tp:2", "dp:2,tp:2,cp:2"]


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", list(MODELS))
def test_equals_one_device(captured: Captured, name: str, mesh: str) -> None:
    _, results = run(captured, mesh, MODELS[name].get_annotations(mesh))
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["llama", "gpt2", "mixtral"])
def test_chosen_placements_equal_one_device(captured: Captured,
                                            name: str) -> None:
    """Without annotations, cp cuts the sequence and costs decide about tp."""
    _, results = run(captured, "dp:2,tp:2,cp:2", ())
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["filter"])
def test_plans_of_complex_numbers(captured: Captured, name: str) -> None:
    """Every mesh that its sizes allow can be tried."""
    result = run_tool("regather", "plan", captured.directory / "step.mlir",
                      "--cluster=h100-nodes", "--ranks=4", "--quiet")
    assert result.code == 0, result.stderr
    assert "dp:4 " in result.stdout.decode()
    assert "complex" not in result.stdout.decode()


SEQUENCE = (*LLAMA, "output(embedding)=[tp] shard 1")


@pytest.mark.parametrize("name", ["llama", "masked"])
def test_sequence_parallelism_equals_one_device(captured: Captured,
                                                name: str) -> None:
    _, results = run(captured, "dp:2,tp:2", SEQUENCE)
    assert_close(results, captured.whole)


VOCABULARY = {
    "llama": (*SEQUENCE, "embedding=[tp] shard 0", "output=[tp] shard 0"),
    # One matrix for both, and positions.
    "gpt2": ("transformer.wte=[tp] shard 0", "transformer.wpe=[tp] shard 0"),
    "t5": ("shared=[tp] shard 0",
           "/.*relative_attention_bias/=[tp] shard 0"),
}


@pytest.mark.parametrize("name", list(VOCABULARY))
def test_vocabulary_parallelism_equals_one_device(captured: Captured,
                                                  name: str) -> None:
    _, results = run(captured, "dp:2,tp:2", VOCABULARY[name])
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["llama"])
@pytest.mark.parametrize("number", [10**6, 64, -1])
@pytest.mark.parametrize("argument", ["tokens", "labels"])
def test_words_outside_of_the_vocabulary(captured: Captured, name: str,
                                         argument: str, number: int,
                                         tmp_path: Path) -> None:
    """As on one device, where no part would say that it misses them."""
    arguments = load_file(captured.directory / "arguments.safetensors")
    assert int(arguments[argument].max()) < 64
    arguments[argument][0, 0] = number
    save_file(arguments, tmp_path / "wrong.safetensors")
    for sharding in ((), ("--mesh=tp:2",
                          *(f"--shard={text}" for text in VOCABULARY[name]))):
        result = run_tool("regather", "run", captured.directory / "step.mlir",
                          *sharding, "--inputs", tmp_path / "wrong.safetensors",
                          "--quiet")
        assert result.code != 0
        assert "an index is out of bounds" in result.stderr


@pytest.mark.parametrize("name", ["llama"])
def test_adamw_takes_the_same_steps(captured: Captured, name: str) -> None:
    """States lie as their parameters do; the norm is over all axes."""
    options = ("--optimizer=adamw max-norm=0.1", "--steps=3",
               "--learning-rate=0.01")
    losses, expected = run(captured, "", (), *options)
    mesh = MESHES[-1]
    sharded, results = run(captured, mesh, MODELS[name].get_annotations(mesh),
                           *options)
    assert sharded == pytest.approx(losses, rel=1e-5)
    assert_close(results, expected, tolerance=1e-4)


def shard(captured: Captured, *annotations: str, mesh: str = "tp:2") -> str:
    text = ",".join(annotations)
    result = run_tool("regather-opt", captured.directory / "step.mlir",
                      f"--tg-shard-step=mesh={mesh} shard={{{text}}}",
                      "--tg-verify-step")
    assert result.code == 0, result.stderr
    return result.stdout.decode()


def count_sent(text: str, phase: str) -> dict[str, int]:
    """Collectives of tensors with more than one dimension, by kind."""
    found = re.findall(rf"tg\.(\w+) .* phase {phase} .*: \(tensor<\d+x\d", text)
    return dict(Counter(found))


@pytest.mark.parametrize("name", ["llama"])
def test_column_and_row_parallelism_follow(captured: Captured,
                                           name: str) -> None:
    """One sum for each of attention and feed-forward, forward and backward."""
    text = shard(captured, *LLAMA)
    layers = 2
    for phase in ("forward", "backward"):
        assert count_sent(text, phase) == {"all_reduce": 2 * layers}
    for weight in ("attention.wo", "feed_forward.w2"):
        for layer in range(layers):
            entry = text.split(f'"layers.{layer}.{weight}.weight"')[1]
            assert entry.split(",")[1].strip() == (
                "tg.placement = #tg.placement<@mesh [[tp] = shard 1]>")


@pytest.mark.parametrize("name", ["llama"])
def test_sequence_parallelism_follows(captured: Captured, name: str) -> None:
    """A gather before columns and a scatter behind rows instead of each sum."""
    text = shard(captured, *SEQUENCE)
    layers = 2
    assert count_sent(text, "forward") == {"all_gather": 2 * layers,
                                           "reduce_scatter": 2 * layers}
    backward = count_sent(text, "backward")
    # Two weights see their rows of the sequence alone.
    assert backward == {"all_gather": 2 * layers, "reduce_scatter": 2 * layers,
                        "all_reduce": 2}


@pytest.mark.parametrize("name", list(VOCABULARY))
def test_vocabulary_parallelism_follows(captured: Captured, name: str) -> None:
    """No rank has all logits: rows of the loss are reduced, one number each."""
    text = shard(captured, *VOCABULARY[name])
    whole = (captured.directory / "step.mlir").read_text()
    logits, = set(re.findall(r'"aten._log_softmax.default".* -> (tensor<.*>)',
                             whole))
    assert logits in whole
    assert logits not in text
    assert '"aten._log_softmax' not in text
    for phase in ("forward", "backward"):
        assert re.search(rf"tg.all_reduce sum .* phase {phase}.*: "
                         r"\(tensor<\d+x1xf32>\)", text)


@pytest.mark.parametrize("name", ["llama"])
def test_context_parallelism_gathers_keys_and_values(captured: Captured,
                                                     name: str) -> None:
    text = shard(captured, "tokens=[cp] shard 1", "labels=[cp] shard 1",
                 mesh="cp:2")
    layers = 2
    assert count_sent(text, "forward") == {"all_gather": 2 * layers}
    backward = count_sent(text, "backward")
    assert backward["reduce_scatter"] == 2 * layers
    assert "all_gather" not in backward
