"""Rows that are sent to their experts in chunks, against one device.

With --expert-chunks=2 a rank's rows are cut into two parts, each of which is
sent, multiplied and sent back by itself. Losses and gradients have the bits of
rows that are sent at once: sums over rows go over all chunks, in one order.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

import regather  # noqa: E402
from model_cases import GROUPED, library_model, random_tokens  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from test_dispatch_rows import run, without_choice  # noqa: E402
from test_expert_parallel import MESHES  # noqa: E402
from test_shard_parameters import Captured, assert_close  # noqa: E402

CAPTURED: dict[str, Captured] = {}


@pytest.fixture
def captured(name: str, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A batch of which the products of a chunk are large enough for the library:
    the smallest ones are generated code, which adds up in another order."""
    def make() -> tuple:
        model, _, loss, targets = library_model(name)
        tokens = random_tokens(8, 24)
        return (model, {"input_ids": tokens, "labels": tokens.roll(1, 1)},
                loss, targets)
    if name not in CAPTURED:
        CAPTURED[name] = Captured(make, tmp_path_factory.mktemp(name))
    return CAPTURED[name]


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]
          ) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one)


# Four times the room that is needed if experts get equally many is room for
# all rows of a chunk.
@pytest.mark.parametrize("name", ["mixtral_grouped", "gpt_oss", "deepseek_v3"])
def test_no_bit_depends_on_chunks(captured: Captured,
                                  name: str) -> None:
    options = ("--mesh=dp:2,ep:2", "--expert-capacity=4")
    _, whole = run(captured, *options)
    assert_close(whole, captured.whole)
    for chunks in (1, 2, 4):
        report, results = run(captured, *options, f"--expert-chunks={chunks}")
        assert report["repeated_steps"] == 0
        assert equal(results, whole), chunks


@pytest.mark.parametrize("mesh", [one for one in MESHES if one != "dp:2,ep:2"])
@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_equals_one_device(captured: Captured, name: str,
                           mesh: str) -> None:
    report, results = run(captured, f"--mesh={mesh}", *MESHES[mesh],
                          "--expert-capacity=4", "--expert-chunks=2")
    assert report["repeated_steps"] == 0
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["mixtral_grouped", "gpt_oss", "deepseek_v3"])
def test_nothing_reads_room_without_a_row(captured: Captured,
                                          name: str) -> None:
    report, results = run(
        captured, "--mesh=dp:2,ep:2", "--expert-capacity=4",
        "--expert-chunks=2", "--pass-option=tg-dispatch-rows:poison=true")
    assert report["repeated_steps"] == 0
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_a_chunk_without_room_runs_the_step_again(
        captured: Captured, name: str, tmp_path: Path) -> None:
    inputs = without_choice(captured, tmp_path / "same.safetensors")
    options = ("--mesh=dp:2,ep:2", "--steps=3",
               "--optimizer=sgd momentum=0.9", "--learning-rate=0.1")
    _, gathered = run(captured, *options, inputs=inputs)
    report, results = run(captured, *options, "--expert-capacity=0.01",
                          "--expert-chunks=4", inputs=inputs)
    assert report["repeated_steps"] == 3
    assert equal(results, gathered)


@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_a_bundle_has_chunks(captured: Captured, name: str,
                             tmp_path: Path) -> None:
    options = ("--mesh=dp:2,ep:2", "--expert-capacity=4", "--expert-chunks=2")
    result = run_tool("regather", "compile", captured.directory / "step.mlir",
                      *options, "--quiet", "-o", tmp_path / "step.rgb")
    assert result.code == 0, result.stderr
    ran = run_tool("regather-run", tmp_path / "step.rgb", "--quiet", "--json",
                   "--inputs", captured.directory / "arguments.safetensors",
                   "--outputs", tmp_path / "outputs.safetensors")
    assert ran.code == 0, ran.stderr
    _, expected = run(captured, *options)
    assert equal(load_file(tmp_path / "outputs.safetensors"), expected)


@pytest.mark.parametrize(("options", "message"), [
    (["--expert-capacity=2", "--expert-chunks=0"],
     'expects a number of chunks, at least 1, or auto, got "0"'),
    (["--expert-capacity=2", "--expert-chunks=two"],
     'expects a number of chunks, at least 1, or auto, got "two"'),
    (["--expert-chunks=2"],
     'expert-chunks "2" needs a capacity for rows that are sent'),
    (["--expert-chunks=auto"],
     'expert-chunks "auto" needs a capacity for rows that are sent'),
    (["--expert-capacity=2", "--expert-chunks=5"],
     r"option 'chunks' must divide the \d+ rows that each rank sorts here, "
     "got 5"),
    (["--expert-capacity=2", "--expert-chunks=1000000"],
     r"option 'chunks' must divide the \d+ rows that each rank sorts here, "
     "got 1000000"),
])
@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_what_cannot_be(captured: Captured, name: str,
                        options: list[str], message: str) -> None:
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      "--mesh=dp:2,ep:2", *options, "--random-inputs=1")
    assert result.code == 1
    assert re.search(message, result.stderr), result.stderr


def capture_wide(folder: Path) -> Path:
    """A layer of experts whose exchange takes as long as its products."""
    transformers = pytest.importorskip("transformers")
    sizes = GROUPED | dict(
        hidden_size=1024, intermediate_size=2048, num_local_experts=16,
        num_hidden_layers=1)
    with torch.device("meta"):
        model = transformers.MixtralForCausalLM(
            transformers.MixtralConfig(**sizes)).to(torch.bfloat16)
        batch = torch.zeros(256, 1024, dtype=torch.int64)
    model.config._experts_implementation = "grouped_mm"
    file = folder / "wide.fx.json"
    regather.capture(model, {"input_ids": batch, "labels": batch}).save(file)
    return file


def simulate(file: Path, *options: str) -> tuple[dict, str]:
    written = file.with_suffix(".simulated.json")
    result = run_tool("regather", "simulate", file, "--mesh=ep:16",
                      "--cluster=h100-nodes", "--expert-capacity=1.25",
                      "--kernels", f"--json={written}", *options, timeout=300)
    assert result.code == 0, result.stderr
    return json.loads(written.read_text()), result.stderr


def test_chunks_hide_communication(tmp_path: Path) -> None:
    """And `auto` takes what is quickest."""
    file = capture_wide(tmp_path)
    steps = {chunks: simulate(file, f"--expert-chunks={chunks}")[0]
             for chunks in (1, 2, 4)}
    assert steps[2]["seconds"] < 0.95 * steps[1]["seconds"]
    chosen, said = simulate(file, "--expert-chunks=auto")
    best = min(steps, key=lambda chunks: steps[chunks]["seconds"])
    assert chosen["seconds"] == steps[best]["seconds"]
    assert f"rows for experts are sent in {best} chunk" in said


def test_a_report_advises_it(tmp_path: Path) -> None:
    file = capture_wide(tmp_path)

    def advised(*options: str) -> list[str]:
        result = run_tool("regather", "report", file, "--mesh=ep:16",
                          "--cluster=h100-nodes", "--expert-capacity=1.25",
                          *options, "--quiet",
                          f"--json={tmp_path / 'report.json'}",
                          "-o", tmp_path / "report.html", timeout=300)
        assert result.code == 0, result.stderr
        advice = json.loads((tmp_path / "report.json").read_text())["advice"]
        return [one["flags"] for one in advice]

    assert "--expert-chunks=2" in advised()
    assert "--expert-chunks=2" not in advised("--expert-chunks=2")
