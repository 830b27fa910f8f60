"""The Llama of examples/: what is shipped, and training it on several ranks.

The small steps here are like the shipped one, which `./dev demo` trains.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy
import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import example  # noqa: E402
from regather_tools import ENGINES, ROOT, Result, run_tool  # noqa: E402

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

EXAMPLES = ROOT / "examples"
record = example("record_llama3")
weights_of = example("llama3_weights").make_weights
# What the model initializes smaller than the rest.
LAST = ("wo.weight", "w2.weight")
OPTIMIZER = "adamw betas=0.9,0.95 eps=1e-8 weight-decay=0.1 max-norm=1"
RATE = str(record.OPTIMIZER["learning_rate"])
# Bytes below 64, the vocabulary of the tiny model: 20 windows of 16.
TEXT = bytes(index * index * 7 % 61 for index in range(321))


def relative(a: list[float], b: list[float]) -> float:
    assert len(a) == len(b) > 0
    return record.difference(a, b)


# -----------------------------------------------------------------------------
# What is shipped
# -----------------------------------------------------------------------------


def test_capture_writes_the_shipped_files(tmp_path: Path) -> None:
    graph = record.capture()
    graph.save(tmp_path / "graph")
    assert (tmp_path / "graph").read_bytes() == \
        record.path_of("graph").read_bytes()


def test_weights_are_bfloat16_numbers_and_always_the_same() -> None:
    weights = weights_of(json.loads(record.path_of("graph").read_text()))
    for name, array in weights.items():
        assert array.dtype == numpy.float32
        tensor = torch.from_numpy(array)
        if not name.startswith("rope_"):
            assert torch.equal(tensor, tensor.bfloat16().float()), name
        if not name.startswith("rope_") and "norm" not in name:
            std = 0.02 * (8 ** -0.5 if name.endswith(LAST) else 1)
            assert tensor.std().item() == pytest.approx(std, rel=0.02), name
    digest = hashlib.sha256()
    for name, array in weights.items():
        if not name.startswith("rope_"):
            digest.update(name.encode() + array.tobytes())
    assert digest.hexdigest()[:16] == "499943c9f95f4d82"


def test_weights_hold_the_rotary_table() -> None:
    made = weights_of(json.loads(record.path_of("graph").read_text()))
    model = make_step(str(record.ROOT / record.FACTORY), record.CONFIG).model
    for name, buffer in model.named_buffers():
        torch.testing.assert_close(torch.from_numpy(made[name]), buffer,
                                   rtol=0, atol=3e-5)


def test_graph_names_no_place_of_this_machine() -> None:
    document = json.loads(record.path_of("graph").read_text())
    assert document["files"]
    assert not [file for file in document["files"] if Path(file).is_absolute()]


def test_pytorch_reaches_the_recorded_losses() -> None:
    shipped = json.loads(record.path_of("losses").read_text())
    assert len(shipped["losses"]) == record.STEPS
    assert shipped == record.record(shipped["losses"])
    text = (ROOT / record.TEXT).read_bytes()
    losses = record.train(record.example(), text, 3)
    assert relative(losses, shipped["losses"][:3]) <= 1e-5


# -----------------------------------------------------------------------------
# Small steps
# -----------------------------------------------------------------------------


def make_tiny():
    return make_step(str(EXAMPLES / "llama3.py") + ":step",
                     {"config": "tiny", "batch": 8})


@pytest.fixture(scope="module", name="tiny")
def capture_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a captured step, its weights and a text."""
    folder = tmp_path_factory.mktemp("tiny")
    graph = capture_step(make_tiny())
    graph.save(folder / "tiny.fx.json")
    graph.save_weights(folder / "tiny.safetensors")
    (folder / "text").write_bytes(TEXT)
    return folder


def run_tiny(tiny: Path, *options: str, text: str = "text",
             weights: str = "tiny.safetensors") -> Result:
    return run_tool("regather", "run", "tiny.fx.json", "--inputs", weights,
                    "--text", text, "--json", "--quiet", *options, cwd=tiny,
                    timeout=300)


def losses_of(result: Result) -> list[float]:
    assert result.code == 0, result.last_words
    return json.loads(result.stdout)["losses"]


@pytest.mark.parametrize("engine", ENGINES)
def test_reads_the_batches_that_pytorch_read(tiny: Path, engine: str) -> None:
    """Four steps without updates wrap around the end of the text."""
    step = make_tiny()
    data = record.batches(TEXT, 8, 16)
    expected = [step.loss(step.model(tokens), labels).item()
                for _, (tokens, labels) in zip(range(4), data)]
    assert len(set(expected)) == 4
    result = run_tiny(tiny, "--steps=4", f"--engine={engine}")
    assert relative(losses_of(result), expected) <= 1e-5


def test_rejects_weights_that_are_cut_off(tiny: Path) -> None:
    whole = (tiny / "tiny.safetensors").read_bytes()
    for length in (0, 7, 100, len(whole) - 1):
        (tiny / "cut.safetensors").write_bytes(whole[:length])
        result = run_tiny(tiny, weights="cut.safetensors")
        assert result.code == 1
        assert "'cut.safetensors'" in result.stderr
    assert "seems to be cut off" in result.stderr


def test_rejects_a_text_shorter_than_a_batch(tiny: Path) -> None:
    (tiny / "short").write_bytes(TEXT[:128])
    result = run_tiny(tiny, text="short")
    assert result.code == 1
    assert ("text 'short' has 128 bytes, but one batch of 8 sequences of 16 "
            "bytes needs 129") in result.stderr
    (tiny / "short").write_bytes(TEXT[:129])
    assert run_tiny(tiny, text="short").code == 0


def test_all_numbers_of_ranks_reach_what_pytorch_reaches(tiny: Path) -> None:
    expected = record.train(make_tiny(), TEXT, 10)
    losses = {ranks: losses_of(run_tiny(
        tiny, f"--ranks={ranks}", f"--optimizer={OPTIMIZER}",
        f"--learning-rate={RATE}", "--steps=10")) for ranks in (1, 2, 4, 8)}
    for ranks, reached in losses.items():
        assert relative(reached, expected) <= 1e-4, ranks
        assert relative(reached, losses[1]) <= 1e-5, ranks


def test_shards_over_two_axes(tiny: Path) -> None:
    expected = record.train(make_tiny(), TEXT, 3)
    result = run_tiny(tiny, "--mesh=rep:2,dp:2", "--replicate-axis=rep",
                      f"--optimizer={OPTIMIZER}", f"--learning-rate={RATE}",
                      "--steps=3")
    assert relative(losses_of(result), expected) <= 1e-4
    assert json.loads(result.stdout)["ranks"] == 4


def test_rejects_ranks_that_do_not_divide_the_batch(tiny: Path) -> None:
    result = run_tiny(tiny, "--ranks=3")
    assert result.code == 1
    assert "tokens" in result.stderr
    assert "8" in result.stderr and "3" in result.stderr


@pytest.mark.parametrize("options", ["adamw beta=0.9", "adamw }", "lion"])
def test_rejects_an_optimizer_it_does_not_know(tiny: Path,
                                               options: str) -> None:
    result = run_tiny(tiny, f"--optimizer={options}")
    assert result.code == 1
    assert "error: " in result.stderr
