"""Experts over ranks against one device, on models of the transformers library.

An axis called ep cuts the experts and the batch, with nothing said about it;
another axis shards what is left. Loss, gradients and, with an optimizer,
parameters after several steps are those of one device.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from model_cases import library_model, random_tokens  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from test_shard_parameters import Captured, assert_close  # noqa: E402

# With a bias, shared experts and groups of them, and other routers.
NAMES = ("mixtral_grouped", "gpt_oss", "deepseek_v3", "qwen3_moe")
MESHES = {
    "ep:4": (),
    "dp:2,ep:2": (),
    "rep:2,dp:2,ep:2": ("--replicate-axis=rep",),
    # The ranks of ep have all tokens of theirs, and parts between the layers.
    "dp:4,ep:2": ("--shard=/.*experts.(gate_up|down)_proj/=[ep] shard 0",
                  "--shard=output(model.embed_tokens)=[ep] shard 1"),
}
CAPTURED: dict[str, Captured] = {}


@pytest.fixture
def captured(name: str, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    def make() -> tuple:
        model, _, loss, targets = library_model(name)
        tokens = random_tokens(8, 6)
        return (model, {"input_ids": tokens, "labels": tokens.roll(1, 1)},
                loss, targets)
    if name not in CAPTURED:
        CAPTURED[name] = Captured(make, tmp_path_factory.mktemp(name))
    return CAPTURED[name]


def run(captured: Captured, *options: str) -> tuple[
        list[float], dict[str, torch.Tensor]]:
    outputs = captured.directory / "sharded.safetensors"
    result = run_tool("regather", "run", captured.directory / "step.mlir",
                      *options, "--json", "--quiet",
                      "--inputs", captured.directory / "arguments.safetensors",
                      "--outputs", outputs, timeout=300)
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)["losses"], load_file(outputs)


@pytest.mark.parametrize("mesh", list(MESHES))
@pytest.mark.parametrize("name", NAMES)
def test_equals_one_device(captured: Captured, name: str, mesh: str) -> None:
    _, results = run(captured, f"--mesh={mesh}", *MESHES[mesh])
    assert_close(results, captured.whole)


@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_adamw_takes_the_same_steps(captured: Captured, name: str) -> None:
    options = ("--optimizer=adamw max-norm=0.1", "--steps=3",
               "--learning-rate=0.01")
    losses, expected = run(captured, *options)
    sharded, results = run(captured, "--mesh=dp:2,ep:2", *options)
    assert sharded == pytest.approx(losses, rel=1e-5)
    assert_close(results, expected, tolerance=1e-4)


@pytest.mark.parametrize("name", ["mixtral_grouped"])
def test_goes_on_with_other_ranks(captured: Captured, name: str,
                                  tmp_path: Path) -> None:
    """What dp and ep share lies in files by parameter, whatever the mesh."""
    def train(mesh: str, steps: int, *options: str | Path) -> None:
        result = run_tool("regather", "run", captured.directory / "step.mlir",
                          f"--mesh={mesh}", f"--steps={steps}", "--quiet",
                          "--optimizer=adamw", "--learning-rate=0.01",
                          "--random-inputs=5", *options, timeout=300)
        assert result.code == 0, result.stderr

    results = tmp_path / "results.safetensors"
    train("dp:1", 4, "--outputs", results)
    expected = load_file(results)
    for first, second in (("dp:2,ep:2", "ep:4"), ("ep:4", "dp:2"),
                          ("dp:4", "dp:2,ep:2")):
        saved = tmp_path / first
        train(first, 2, "--outputs-sharded", saved)
        train(second, 2, "--first-step=3", "--inputs", saved,
              "--outputs", results)
        assert_close(load_file(results), expected, tolerance=1e-4)


@pytest.mark.parametrize("name", ["deepseek_v3"])
def test_ranks_of_experts_share_all_else(captured: Captured, name: str,
                                         tmp_path: Path) -> None:
    """No parameter but those of experts has a copy, and no gradient of one is
    summed over ep alone."""
    for mesh, axes in (("dp:2,ep:2", "dp, ep"), ("ep:4", "ep")):
        result = run_tool("regather-opt", captured.directory / "step.mlir",
                          f"--regather-training-pipeline=mesh={mesh}",
                          "-o", tmp_path / "step.mlir")
        assert result.code == 0, result.stderr
        text = (tmp_path / "step.mlir").read_text()
        signature = next(line for line in text.splitlines()
                         if "func.func" in line)
        buffers = re.findall(r"tg.members.*?placement<@mesh (.*?)>", signature)
        assert buffers and set(buffers) == {f"[[{axes}] = shard 0]"}
        # All experts of a layer, and nothing else, have arguments of their own.
        assert len(re.findall(r'tg.name = "[^"]*experts[^"]*".*?'
                              r'tg.role<parameter>', signature)) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_no_rank_has_all_experts(captured: Captured, name: str,
                                 tmp_path: Path) -> None:
    """Matrices of experts are gathered over dp alone, and rows over ep."""
    result = run_tool(
        "regather-opt", captured.directory / "step.mlir",
        "--tg-shard-step=mesh=dp:2,ep:2",
        "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep",
        "--tg-verify-step", "-o", tmp_path / "sharded.mlir")
    assert result.code == 0, result.stderr
    text = (tmp_path / "sharded.mlir").read_text()
    grouped = re.findall(r'"(?:aten._grouped_mm|transformers.grouped_mm_\w+)'
                         r'.*: \((tensor<[^)]*)\)', text)
    assert grouped
    for types in grouped:
        # Two of four experts.
        assert "tensor<2xi32>" in types
        assert "tensor<4x" not in types
    # 8 sequences of 6 tokens, 2 experts for each, half of them for each of dp.
    sorts = re.findall(r'"aten.sort.*: \((tensor<.*?>)\)', text)
    assert sorts and set(sorts) == {"tensor<48xi64>"}


@pytest.mark.parametrize("name", ["deepseek_v3"])
def test_plans_have_an_axis_of_experts(captured: Captured, name: str,
                                       tmp_path: Path) -> None:
    result = run_tool("regather", "plan", captured.directory / "step.mlir",
                      "--ranks=8", f"--json={tmp_path / 'plan.json'}",
                      "--count=40", "--quiet", timeout=300)
    assert result.code == 0, result.stderr
    plans = json.loads((tmp_path / "plan.json").read_text())["plans"]
    flags = {one["mesh"]: one["flags"] for one in plans}
    # Of 4 experts, 8 ranks have no part; tp and cp stand beside.
    assert {"dp:4,ep:2", "dp:2,ep:4", "dp:2,ep:2,tp:2", "ep:4,cp:2"} <= set(flags)
    assert not [mesh for mesh in flags if "ep:8" in mesh]
    _, results = run(captured, *flags["dp:2,ep:2,tp:2"])
    assert_close(results, captured.whole)
    # What a rank multiplies, and what it gathers, is less than without.
    text = (captured.directory / "step.mlir").read_text()
    assert "tg.row_share" not in text
    sharded = run_tool("regather-opt", captured.directory / "step.mlir",
                       "--tg-shard-step=mesh=dp:4,ep:2")
    assert sharded.code == 0, sharded.stderr
    assert sharded.stdout.decode().count("tg.row_share = 5.000000e-01") >= 4
