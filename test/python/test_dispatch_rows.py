"""Rows that are sent to the ranks of their experts, against one device.

With --expert-capacity ranks have room for so many rows. Whether that is enough
or the step is run again, loss, gradients and parameters are those of one
device.
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
from safetensors.torch import load_file, save_file  # noqa: E402
from test_expert_gradients import (RUNS, Case, case, grouped,  # noqa: E402, F401
                                   several_heads, uneven)
from test_expert_parallel import MESHES, NAMES, captured  # noqa: E402, F401
from test_shard_parameters import Captured, assert_close  # noqa: E402


def run(captured: Captured, *options: str, inputs: Path | None = None
        ) -> tuple[dict, dict[str, torch.Tensor]]:
    outputs = captured.directory / "sent.safetensors"
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      *options, "--json", "--quiet", "--outputs", outputs,
                      "--inputs",
                      inputs or captured.directory / "arguments.safetensors",
                      timeout=300)
    assert result.code == 0, result.stderr
    return json.loads(result.stdout), load_file(outputs)


# All of a rank's rows are twice, or four times, as many as each gets if experts
# get equally many.
@pytest.mark.parametrize(
    ("name", "mesh"),
    [(name, "dp:2,ep:2") for name in NAMES]
    + [("mixtral_grouped", mesh) for mesh in MESHES if mesh != "dp:2,ep:2"]
    + [("gpt_oss", "ep:4")])
def test_equals_one_device(captured: Captured, name: str,  # noqa: F811
                           mesh: str) -> None:
    report, results = run(captured, f"--mesh={mesh}", *MESHES[mesh],
                          "--expert-capacity=4")
    assert report["repeated_steps"] == 0
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_reads_room_without_a_row(captured: Captured,  # noqa: F811
                                          name: str) -> None:
    """Four times the room that is needed if experts get equally many, and what
    has no row is no number: whatever depends on it is none either."""
    report, results = run(
        captured, "--mesh=dp:2,ep:2", "--expert-capacity=4",
        "--pass-option=tg-dispatch-rows:poison=true")
    assert report["repeated_steps"] == 0
    assert_close(results, captured.whole)


def test_narrow_rows_have_the_same_bits(tmp_path: Path) -> None:
    """Rows of bf16 that are multiplied in f32 are sent as they are before that."""
    def make() -> tuple:
        model, _, loss, targets = library_model("deepseek_v3")
        tokens = random_tokens(8, 6)
        return (model.to(torch.bfloat16),
                {"input_ids": tokens, "labels": tokens.roll(1, 1)}, loss, targets)
    captured = Captured(make, tmp_path)
    _, gathered = run(captured, "--mesh=ep:4")
    report, sent = run(captured, "--mesh=ep:4", "--expert-capacity=4")
    assert report["repeated_steps"] == 0
    assert torch.equal(sent["loss"], gathered["loss"])
    # Sums over rows are rounded to bf16 in another order.
    assert_close(sent, gathered, tolerance=2e-2)


def without_choice(captured: Captured, file: Path) -> Path:
    """Inputs of which the router finds all experts equal: the first are taken."""
    tensors = load_file(captured.directory / "arguments.safetensors")
    for name in [name for name in tensors if name.endswith("mlp.gate.weight")]:
        tensors[name] = torch.zeros_like(tensors[name])
    save_file(tensors, file)
    return file


@pytest.mark.parametrize("mesh", ["ep:4", "dp:2,ep:2"])
@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_all_tokens_go_to_the_same_experts(
        captured: Captured, name: str, mesh: str,  # noqa: F811
        tmp_path: Path) -> None:
    inputs = without_choice(captured, tmp_path / "same.safetensors")
    options = ("--steps=3", "--optimizer=sgd momentum=0.9",
               "--learning-rate=0.1")
    _, expected = run(captured, *options, inputs=inputs)
    report, results = run(captured, f"--mesh={mesh}", "--expert-capacity=1",
                          *options, inputs=inputs)
    # The first step moves the router's weights.
    assert report["repeated_steps"] >= 1
    assert_close(results, expected, tolerance=1e-4)
    # What a step has repeated are the bits of a step with room for all.
    _, gathered = run(captured, f"--mesh={mesh}", *options, inputs=inputs)
    alone, repeated = run(captured, f"--mesh={mesh}", "--expert-capacity=0.01",
                          *options, inputs=inputs)
    assert alone["repeated_steps"] == 3
    assert all(torch.equal(repeated[one], gathered[one]) for one in gathered)


@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_a_bundle_runs_a_step_again(
        captured: Captured, name: str, tmp_path: Path) -> None:  # noqa: F811
    """It has both programs, and the bits of the module that it was made of."""
    inputs = without_choice(captured, tmp_path / "same.safetensors")
    options = ("--optimizer=sgd momentum=0.9", "--mesh=ep:4",
               "--expert-capacity=0.5")
    result = run_tool("regather", "compile", captured.directory / "step.mlir",
                      *options, "--quiet", "-o", tmp_path / "step.rgb")
    assert result.code == 0, result.stderr
    shown = run_tool("regather", "manifest", tmp_path / "step.rgb")
    manifest = json.loads(shown.stdout)
    assert manifest["roomy"]["fingerprint"] != manifest["fingerprint"]
    steps = ("--steps=3", "--learning-rate=0.1")
    module, expected = run(captured, *options, *steps, inputs=inputs)
    ran = run_tool("regather-run", tmp_path / "step.rgb", "--inputs", inputs,
                   *steps, "--quiet", "--json",
                   "--outputs", tmp_path / "outputs.safetensors")
    assert ran.code == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["losses"] == module["losses"]
    assert report["repeated_steps"] == module["repeated_steps"] > 0
    outputs = load_file(tmp_path / "outputs.safetensors")
    assert all(torch.equal(outputs[one], expected[one]) for one in expected)


@pytest.mark.parametrize("name", ["gpt_oss"])
def test_no_rank_has_all_experts(captured: Captured, name: str,  # noqa: F811
                                 tmp_path: Path) -> None:
    """Matrices of experts are gathered over dp alone, and so are reduced their
    gradients."""
    result = run_tool(
        "regather-opt", captured.directory / "step.mlir",
        "--tg-shard-step=mesh=dp:2,ep:2 gather-experts",
        "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep",
        "--tg-dispatch-rows=capacity=1.25", "--tg-verify-step",
        "-o", tmp_path / "sent.mlir")
    assert result.code == 0, result.stderr
    text = (tmp_path / "sent.mlir").read_text()
    grouped = re.findall(r'"(?:aten._grouped_mm|transformers.grouped_mm_\w+)'
                         r'.*: \((tensor<[^)]*)\)', text)
    assert grouped and all("tensor<2xi32>" in types and "tensor<4x" not in types
                           for types in grouped)
    assert "tg.all_to_all" in text
    assert not re.search(r"all_gather .*\[ep\].*experts", text)


@pytest.mark.parametrize(("options", "message"), [
    (["--mesh=dp:4"], "needs a mesh with an axis that cuts experts"),
    (["--mesh=dp:2,ep:2", "--elastic=4"], "and elastic exclude each other"),
])
@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_what_it_does_not_go_with(captured: Captured, name: str,  # noqa: F811
                                  options: list[str], message: str) -> None:
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      "--expert-capacity=1.25", *options, "--random-inputs=1")
    assert result.code == 1
    assert message in result.stderr


@pytest.mark.parametrize(("make", "mesh"),
                         [one for one in RUNS
                          if "ep" in one[1] and one[0] in (grouped, uneven, several_heads)])
def test_gradients_equal_eager(case: Case, mesh: str) -> None:  # noqa: F811
    report, results = run(case.captured, f"--mesh={mesh}",
                          "--expert-capacity=4")
    assert report["repeated_steps"] == 0
    assert_close(results, case.eager)


@pytest.mark.parametrize("name", ["deepseek_v3"])
def test_plans_send_rows_over_an_axis_of_experts(
        captured: Captured, name: str, tmp_path: Path) -> None:  # noqa: F811
    result = run_tool("regather", "plan", captured.directory / "step.mlir",
                      "--ranks=4", f"--json={tmp_path / 'plan.json'}",
                      "--count=40", "--quiet", "--expert-capacity=1.25",
                      timeout=300)
    assert result.code == 0, result.stderr
    plans = json.loads((tmp_path / "plan.json").read_text())["plans"]
    asked = {one["mesh"]: "--expert-capacity=1.25" in one["flags"]
             for one in plans}
    assert asked["dp:2,ep:2"] and not asked["dp:4"]
    assert all(is_asked == ("ep:" in mesh) for mesh, is_asked in asked.items())


def test_a_report_advises_it(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = GROUPED | dict(
        hidden_size=256, intermediate_size=1024, num_local_experts=16,
        num_hidden_layers=1)
    with torch.device("meta"):
        model = transformers.MixtralForCausalLM(
            transformers.MixtralConfig(**sizes))
        tokens = torch.zeros(16, 256, dtype=torch.int64)
    model.config._experts_implementation = "grouped_mm"
    graph = regather.capture(model, {"input_ids": tokens, "labels": tokens})
    graph.save(tmp_path / "step.fx.json")

    def advised(*options: str) -> list[str]:
        result = run_tool("regather", "report", tmp_path / "step.fx.json",
                          "--mesh=ep:8", *options, "--quiet",
                          f"--json={tmp_path / 'report.json'}",
                          "-o", tmp_path / "report.html")
        assert result.code == 0, result.stderr
        advice = json.loads((tmp_path / "report.json").read_text())["advice"]
        return [one["flags"] for one in advice]

    assert "--expert-capacity=1.25" in advised()
    assert not any("expert" in one for one in advised("--expert-capacity=1.5"))
