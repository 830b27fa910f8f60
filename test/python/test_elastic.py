"""Elastic steps have the same bits on any number of ranks."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")

import captured_models  # noqa: E402
import torch  # noqa: E402
from capture_cases import ROOT  # noqa: E402
from gpu_tools import compile_bundle, run_bundle  # noqa: E402
from model_cases import library_model, random_tokens  # noqa: E402
from regather_tools import Result, run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

OPTIMIZER = "adamw betas=0.9,0.95 weight-decay=0.1 max-norm=1"
SEGMENTS = 8


@functools.cache
def capture_llama(folder: Path, dtype: str) -> Path:
    folder = folder / dtype
    folder.mkdir()
    graph = capture_step(make_step(
        f"{ROOT}/examples/llama3.py:step",
        {"config": "tiny", "batch": SEGMENTS, "dtype": dtype}))
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    (folder / "text").write_bytes(
        bytes(index * index * 7 % 61 for index in range(321)))
    return folder


@pytest.fixture(scope="module", name="captures")
def make_captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elastic")


@pytest.fixture(name="llama", params=["float32", "bfloat16"])
def get_llama(request: pytest.FixtureRequest, captures: Path) -> Path:
    return capture_llama(captures, request.param)


def run(folder: Path, *options: str) -> Result:
    return run_tool("regather", "run", "step.fx.json", "--text", "text",
                    f"--optimizer={OPTIMIZER}", "--learning-rate=0.01",
                    "--quiet", *options, cwd=folder, timeout=300)


def results(folder: Path, ranks: int, *options: str) -> bytes:
    result = run(folder, "--inputs", "weights.safetensors", f"--ranks={ranks}",
                 "--steps=3", "--outputs", "out.safetensors", *options)
    assert result.code == 0, result.stderr
    return (folder / "out.safetensors").read_bytes()


@pytest.mark.parametrize("options", [
    [], ["--layout=per-parameter"], ["--policy=full"],
    ["--pass-option=tg-form-kernels:max-ops=1"]], ids=str)
def test_same_bits_on_any_ranks(llama: Path, options: list[str]) -> None:
    elastic = [f"--elastic={SEGMENTS}", *options]
    expected = results(llama, 1, *elastic)
    for ranks in (2, 4, 8):
        assert results(llama, ranks, *elastic) == expected, ranks
    if not options:
        assert results(llama, 8, "--mesh=rep:2,dp:4", "--replicate-axis=rep",
                       *elastic) == expected


def test_ranks_show_without_it(llama: Path) -> None:
    """The comparison sees a difference if there is one."""
    assert results(llama, 8) != results(llama, 1)


WIDE = pytest.mark.parametrize("llama", ["float32"], indirect=True)
NARROW = pytest.mark.parametrize("llama", ["bfloat16"], indirect=True)


@WIDE
def test_same_bits_beside_context_parallelism(llama: Path) -> None:
    """Ranks of cp have sums of their own, which dp does not change."""
    found = {results(llama, 2 * ranks, f"--mesh=dp:{ranks},cp:2",
                     f"--elastic={SEGMENTS}") for ranks in (1, 8)}
    assert len(found) == 1


# Rows and columns of all matrices, the vocabulary and the sequence between.
PLACED = ["--shard=/layers.*(wq|wk|wv|w1|w3)/=[tp] shard 0",
          "--shard=embedding=[tp] shard 0", "--shard=output=[tp] shard 0",
          "--shard=output(embedding)=[tp] shard 1"]


@NARROW
def test_same_bits_beside_placed_parts(llama: Path) -> None:
    found = {results(llama, 2 * ranks, f"--mesh=dp:{ranks},tp:2",
                     f"--elastic={SEGMENTS}", "--layout=per-parameter", *PLACED)
             for ranks in (1, 4)}
    assert len(found) == 1


# Without a cut sequence, what follows the embedding is cut by the batch alone.
@pytest.mark.parametrize(
    ("llama", "placed"), [("float32", PLACED[:3]), ("bfloat16", PLACED)],
    indirect=["llama"], ids=["rows", "sequence"])
def test_same_bits_on_any_ranks_of_tensor_parallelism(
        llama: Path, placed: list[str]) -> None:
    """With one device among them, which has all segments of both axes."""
    found = {results(llama, dp * tp, f"--mesh=dp:{dp},tp:{tp}",
                     f"--elastic={SEGMENTS}", "--elastic-axes=tp:4", *placed)
             for dp, tp in ((1, 1), (2, 4))}
    assert len(found) == 1


@WIDE
def test_same_bits_on_any_ranks_of_context_parallelism(llama: Path) -> None:
    found = {results(llama, dp * cp, f"--mesh=dp:{dp},cp:{cp}",
                     f"--elastic={SEGMENTS}", "--elastic-axes=cp:4")
             for dp, cp in ((1, 1), (2, 4))}
    assert len(found) == 1


def test_same_bits_where_nobody_places_parameters(tmp_path: Path) -> None:
    """The search chooses for the segments, not for the ranks."""
    captured_models.lower("gpt2", captured_models.make_step("gpt2"), tmp_path)
    found = set()
    for mesh in ("dp:1,tp:1", "dp:2,tp:4"):
        result = run_tool(
            "regather", "run", "step.fx.json", "--inputs",
            "arguments.safetensors", f"--mesh={mesh}", "--elastic=2",
            "--elastic-axes=tp:4", f"--optimizer={OPTIMIZER}",
            "--learning-rate=0.01", "--steps=3", "--outputs",
            "out.safetensors", "--quiet", cwd=tmp_path)
        assert result.code == 0, result.stderr
        found.add((tmp_path / "out.safetensors").read_bytes())
    assert len(found) == 1


def test_same_bits_beside_experts(tmp_path: Path) -> None:
    """ep cuts the batch as well, which dp cuts again."""
    model, _, loss, target = library_model("mixtral_grouped")
    tokens = random_tokens(8, 6)
    captured_models.lower("mixtral_grouped-8-rows", captured_models.Step(
        model, {"input_ids": tokens, "labels": tokens.roll(1, 1)}, loss,
        target), tmp_path)
    found = set()
    for ranks in (1, 4):
        result = run_tool(
            "regather", "run", "step.fx.json", "--inputs",
            "arguments.safetensors", f"--mesh=dp:{ranks},ep:2", "--elastic=4",
            f"--optimizer={OPTIMIZER}", "--learning-rate=0.01", "--steps=3",
            "--outputs", "out.safetensors", "--quiet", cwd=tmp_path)
        assert result.code == 0, result.stderr
        found.add((tmp_path / "out.safetensors").read_bytes())
    assert len(found) == 1


STEP = """
func.func @step(
    %w: tensor<3x5xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<16x3xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<3x5xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w)
      : (tensor<16x3xf32>, tensor<3x5xf32>) -> tensor<16x5xf32>
  %s = tg.node "aten.mul.Tensor"(%y, %y)
      : (tensor<16x5xf32>, tensor<16x5xf32>) -> tensor<16x5xf32>
  %loss = tg.node "aten.mean.default"(%s) : (tensor<16x5xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>}
      : (tensor<16x3xf32>) -> tensor<3x16xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<3x16xf32>, tensor<16x5xf32>) -> tensor<3x5xf32>
  return %loss, %dw : tensor<f32>, tensor<3x5xf32>
}
"""


def test_resumes_on_other_ranks(tmp_path: Path) -> None:
    (tmp_path / "step.mlir").write_text(STEP)

    def train(*options: str, ranks: int = 4, segments: int = SEGMENTS,
              mesh: str = "") -> Result:
        return run_tool(
            "regather", "run", "step.mlir", "--quiet", "--random-inputs=1",
            f"--mesh={mesh or f'dp:{ranks}'}", f"--elastic={segments}",
            f"--optimizer={OPTIMIZER}", "--learning-rate=0.01", *options,
            cwd=tmp_path)

    for result in (train("--steps=20", "--outputs", "whole"),
                   train("--steps=10", "--outputs-sharded", "saved")):
        assert result.code == 0, result.stderr
    for ranks in (2, 8):
        rest = train("--inputs", "saved", "--steps=10", "--first-step=11",
                     "--outputs", "rest", ranks=ranks)
        assert rest.code == 0, rest.stderr
        assert ((tmp_path / "rest").read_bytes() ==
                (tmp_path / "whole").read_bytes())
    axes = train("--inputs", "saved", "--elastic-axes=tp:3",
                 "--shard=w=[tp] shard 0", mesh="dp:4,tp:1")
    assert axes.code == 1
    assert "'saved' was saved by a step with no --elastic-axes, but this one " \
        "has --elastic-axes=tp:3" in axes.stderr
    for saved in ("saved", "whole"):
        other = train("--inputs", saved, segments=4)
        assert other.code == 1
        assert f"'{saved}' was saved by a step with --elastic=8, but this one " \
            "has --elastic=4" in other.stderr


# Of each kind one; all of them with REGATHER_ALL_MODELS=1, which takes long.
MODELS = (sorted(captured_models.MODELS) if os.environ.get("REGATHER_ALL_MODELS")
          else ["gpt2", "vit", "residual", "t5", "mixtral", "mamba", "lstm",
                "convnext"])


def test_same_bits_on_gpus(llama: Path, tmp_path: Path) -> None:
    """Of the libraries that stand in for them: kernels that are generated sum
    in an order that no number of rows decides, and no library computes
    products or attention."""
    found = set()
    for ranks in (1, 4):
        bundle = compile_bundle(
            llama / "step.fx.json", tmp_path / f"{ranks}.rgb",
            f"--elastic={SEGMENTS}", f"--ranks={ranks}",
            f"--optimizer={OPTIMIZER}")
        record = tmp_path / f"{ranks}.json"
        run_bundle(bundle, "--inputs", llama / "weights.safetensors", "--text",
                   llama / "text", "--learning-rate=0.01", "--steps=2",
                   "--outputs", tmp_path / "out.safetensors", record=record)
        found.add((tmp_path / "out.safetensors").read_bytes())
        assert "cublasLtMatmul\"" not in record.read_text()
    assert len(found) == 1


def test_steps_that_were_sharded_before_are_refused() -> None:
    result = run_tool("regather", "run", ROOT / "examples" / "mlp-fsdp.mlir",
                      "--elastic=4", "--random-inputs=1", "--quiet")
    assert result.code == 1
    assert re.search(r"mlp-fsdp.mlir:113:18: error: 'tg.all_reduce' sums over "
                     'axis "dp" in the order of the ranks that the step was '
                     "sharded over before", result.stderr)


def with_rows(step: captured_models.Step, rows: int) -> captured_models.Step:
    """On a batch of so many rows, which differ."""
    batch = step.tensors()[0].shape[0]

    def lengthen(value: object) -> object:
        if not isinstance(value, torch.Tensor) or value.shape[:1] != (batch,):
            return value
        return torch.cat([value.roll(i, -1) for i in range(rows // batch)])

    inputs = ({key: lengthen(value) for key, value in step.inputs.items()}
              if isinstance(step.inputs, dict)
              else tuple(map(lengthen, step.inputs)))
    return captured_models.Step(step.model, inputs, step.loss,
                                tuple(map(lengthen, step.targets)))


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, tmp_path: Path) -> None:
    step = captured_models.make_step(name)
    if os.environ.get("REGATHER_ALL_MODELS"):
        step = with_rows(step, SEGMENTS)
        name = f"{name}-{SEGMENTS}-rows"
    captured_models.lower(name, step, tmp_path)
    outputs = tmp_path / "out.safetensors"
    batch = step.tensors()[0].shape[0]
    meshes = [[f"--ranks={ranks}"] for ranks in (1, 2, 4, 8)
              if batch % ranks == 0]
    if batch % 4 == 0:
        meshes.append(["--mesh=rep:2,dp:2", "--replicate-axis=rep"])
    found = []
    for mesh in meshes:
        result = run_tool(
            "regather", "run", tmp_path / "step.fx.json", "--inputs",
            tmp_path / "arguments.safetensors", *mesh,
            f"--elastic={batch}", "--optimizer=adamw", "--learning-rate=0.01",
            "--steps=3", "--outputs", outputs, "--quiet", timeout=300)
        assert result.code == 0, result.stderr
        found.append(outputs.read_bytes())
    if len(found) == 1:
        pytest.skip(f"a batch of {batch} cannot be divided")
    assert len(set(found)) == 1
    assert load_file(outputs)
