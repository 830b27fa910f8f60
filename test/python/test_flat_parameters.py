"""Weights of flat parameters go to and come from files by their names.

What was saved on some number of ranks, in either layout, is read on any other.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from regather_tools import (RawTensor, decode_safetensors, encode_safetensors,
                            join_safetensors, run_tool)

# A mean of squares over the batch, and its gradients. No size can be divided by
# the numbers of ranks.
STEP = """
func.func @step(
    %w: tensor<3x5xf32> {tg.role = #tg.role<parameter>, tg.name = "a.weight",
                         tg.registration = 0 : i64},
    %b: tensor<5xf32> {tg.role = #tg.role<parameter>, tg.name = "a.bias",
                       tg.registration = 1 : i64},
    %v: tensor<3x5xf32> {tg.role = #tg.role<parameter>, tg.name = "a.other",
                         tg.registration = 2 : i64},
    %x: tensor<8x3xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<3x5xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<5xf32> {tg.role = #tg.role<gradient of 1>},
        tensor<3x5xf32> {tg.role = #tg.role<gradient of 2>}) {
  %0 = tg.node "aten.mm.default"(%x, %w)
      : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  %1 = tg.node "aten.mm.default"(%x, %v)
      : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  %2 = tg.node "aten.sub.Tensor"(%0, %1)
      : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %y = tg.node "aten.add.Tensor"(%2, %b)
      : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %s = tg.node "aten.mul.Tensor"(%y, %y)
      : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %loss = tg.node "aten.mean.default"(%s) : (tensor<8x5xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>}
      : (tensor<8x3xf32>) -> tensor<3x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %dv = tg.node "aten.neg.default"(%dw) {tg.phase = #tg.phase<backward>}
      : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %db = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [0]]
      {tg.phase = #tg.phase<backward>} : (tensor<8x5xf32>) -> tensor<5xf32>
  return %loss, %dw, %db, %dv
      : tensor<f32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3x5xf32>
}
"""
PARAMETERS = {"a.weight": (3, 5), "a.bias": (5,), "a.other": (3, 5)}
STATES = [f"{name}.{state}" for name in PARAMETERS
          for state in ("exp_avg", "exp_avg_sq")]
GROUPS = "adamw groups=*other:weight-decay=0.5|*bias:learning-rate-scale=0.1"

Tensors = dict[str, RawTensor]


@pytest.fixture(name="step")
def make_step(tmp_path: Path) -> Path:
    path = tmp_path / "step.mlir"
    path.write_text(STEP)
    return path


def train(step: Path, *flags: str, ranks: int = 4, steps: int = 2,
          optimizer: str = "adamw", learning_rate: float = 0.1,
          inputs: Path | None = None) -> Tensors:
    outputs = step.with_suffix(".outputs")
    read = ["--inputs", inputs] if inputs else []
    result = run_tool(
        "regather", "run", step, "--quiet", "--random-inputs=1", *read,
        "--outputs", outputs, f"--mesh=dp:{ranks}", f"--steps={steps}",
        f"--optimizer={optimizer}", f"--learning-rate={learning_rate}", *flags)
    assert result.code == 0, result.stderr
    assert "warning" not in result.stderr
    return decode_safetensors(outputs.read_bytes())


def save(path: Path, tensors: Tensors) -> Path:
    path.write_bytes(encode_safetensors(tensors))
    return path


def assert_close(actual: Tensors, expected: Tensors) -> None:
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        numpy.testing.assert_allclose(actual[name].to_floats(),
                                      tensor.to_floats(), rtol=1e-5, atol=1e-6,
                                      err_msg=name)


def test_files_hold_parameters_and_states_by_name(step: Path) -> None:
    results = train(step)
    assert set(results) == {"loss", *PARAMETERS, *STATES}
    for name, shape in PARAMETERS.items():
        assert results[name].shape == shape
        assert results[f"{name}.exp_avg"].shape == shape
        assert numpy.abs(results[f"{name}.exp_avg_sq"].to_floats()).min() > 0


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_what_four_ranks_saved_any_number_reads(step: Path,
                                                ranks: int) -> None:
    saved = train(step)
    # A step with a learning rate of zero leaves the parameters as they are.
    read = train(step, ranks=ranks, steps=1, learning_rate=0,
                 inputs=save(step.with_suffix(".saved"), saved))
    for name in PARAMETERS:
        assert read[name].data == saved[name].data, name


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_going_on_is_not_interrupting(step: Path, ranks: int) -> None:
    expected = train(step, steps=4)
    saved = save(step.with_suffix(".saved"), train(step, steps=2))
    results = train(step, "--first-step=3", ranks=ranks, inputs=saved)
    if ranks == 4:
        assert results == expected
    assert_close(results, expected)


@pytest.mark.parametrize("layouts", [("flat", "per-parameter"),
                                     ("per-parameter", "flat")])
def test_layouts_read_what_the_other_saved(
        step: Path, layouts: tuple[str, str]) -> None:
    expected = train(step, steps=4)
    saved = train(step, f"--layout={layouts[0]}", steps=2)
    results = train(step, f"--layout={layouts[1]}", "--first-step=3",
                    inputs=save(step.with_suffix(".saved"), saved))
    assert results == expected


@pytest.mark.parametrize("optimizer", [
    GROUPS, "sgd momentum=0.9 state-dtype=bf16", "adamw eps=0"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_layouts_train_to_the_same_bits(step: Path, ranks: int,
                                        optimizer: str) -> None:
    """Groups get buffers of their own. Padding may become NaN without eps."""
    expected = train(step, "--layout=per-parameter", ranks=ranks,
                     optimizer=optimizer)
    assert train(step, ranks=ranks, optimizer=optimizer) == expected


@pytest.mark.parametrize("ranks", [1, 4])
def test_clipping_counts_every_gradient_once(step: Path, ranks: int) -> None:
    optimizer = "adamw max-norm=0.01"
    expected = train(step, "--layout=per-parameter", ranks=ranks,
                     optimizer=optimizer)
    results = train(step, ranks=ranks, optimizer=optimizer)
    assert_close(results, expected)
    unclipped = train(step, ranks=ranks)
    assert results["a.weight.exp_avg"] != unclipped["a.weight.exp_avg"]


@pytest.mark.parametrize("layout", ["flat", "per-parameter"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_shards_are_read_by_any_number_of_ranks(step: Path, layout: str,
                                                ranks: int) -> None:
    folder = step.with_suffix(".shards")
    saved = train(step, f"--layout={layout}", "--outputs-sharded", folder)
    assert {path.name for path in folder.iterdir()} == {
        f"rank-{rank}-of-4.safetensors" for rank in range(4)}
    whole = save(step.with_suffix(".saved"), saved)
    assert (train(step, "--first-step=3", ranks=ranks, inputs=folder) ==
            train(step, "--first-step=3", ranks=ranks, inputs=whole))


def test_ranks_share_what_they_save(step: Path) -> None:
    folder = step.with_suffix(".shards")
    whole = train(step, "--outputs-sharded", folder)
    files = [decode_safetensors((folder / f"rank-{rank}-of-4.safetensors")
                                .read_bytes()) for rank in range(4)]
    assert set(files[0]) - set(files[1]) == {"loss"}
    shards = b"".join(file["a.matrices"].data for file in files)
    # Weights lie one behind the other, at multiples of 64 bytes.
    for number, name in enumerate(["a.weight", "a.other"]):
        assert shards[64 * number:][:60] == whole[name].data
    assert len(shards) == 4 * 64


def read_shards(step: Path, folder: Path) -> str:
    result = run_tool("regather", "run", step, "--quiet", "--mesh=dp:2",
                      "--random-inputs=1", "--optimizer=adamw",
                      "--learning-rate=1", "--inputs", folder)
    assert result.code == 1, result.stderr
    return result.stderr


def test_bad_folders_are_refused(step: Path) -> None:
    folder = step.with_suffix(".shards")
    train(step, "--outputs-sharded", folder)
    second, last = (folder / f"rank-{rank}-of-4.safetensors"
                    for rank in (1, 3))

    kept = last.read_bytes()
    last.unlink()
    assert f"cannot read '{last}'" in read_shards(step, folder)
    last.write_bytes(kept[:-8])
    assert f"in '{last}'" in read_shards(step, folder)
    last.write_bytes(second.read_bytes())
    assert (f"'{last}' does not say that it is of rank 3 of 4"
            in read_shards(step, folder))
    last.write_bytes(kept)
    (folder / "rank-0-of-2.safetensors").write_bytes(kept)
    assert "holds shards of 2 and of 4 ranks" in read_shards(step, folder)
    (folder / "rank-0-of-2.safetensors").unlink()

    other = step.with_suffix(".other")
    train(step, "--outputs-sharded", other, steps=3)
    last.write_bytes((other / last.name).read_bytes())
    assert "were not saved together" in read_shards(step, folder)

    empty = step.with_suffix(".empty")
    empty.mkdir()
    assert f"folder '{empty}' holds no shards" in read_shards(step, empty)


@pytest.mark.parametrize(("text", "replacement", "words"), [
    ('\\"sizes\\":[16]', '\\"sizes\\":[99]', "describes no part of tensor"),
    ('\\"sizes\\":[16]', '\\"sizes\\":[-1]', "describes no part of tensor"),
    ('\\"sizes\\":[16]', '\\"sizes\\":[15]', "holds 63 of 64 elements"),
    ('\\"shape\\":[64]', '\\"shape\\":[65]', "differently"),
    ('\\"offset\\":16', '\\"offset\\":96', "that are not in"),
    ('\\"name\\":\\"a.vec', '\\"name\\":\\"b.vec', "has no tensor"),
    ('[{\\"', '[{[\\"', "does not say what its tensors are parts of"),
])
def test_damaged_descriptions_are_refused(step: Path, text: str,
                                          replacement: str,
                                          words: str) -> None:
    folder = step.with_suffix(".shards")
    train(step, "--outputs-sharded", folder)
    last = folder / "rank-3-of-4.safetensors"
    content = last.read_bytes()
    header = content[8:8 + int.from_bytes(content[:8], "little")]
    damaged = header.replace(text.encode(), replacement.encode(), 1)
    assert damaged != header
    last.write_bytes(join_safetensors(damaged, content[8 + len(header):]))
    assert words in read_shards(step, folder)


def test_wrong_shapes_in_shards_are_named(step: Path) -> None:
    folder = step.with_suffix(".shards")
    train(step, "--outputs-sharded", folder)
    step.write_text(STEP.replace('"a.bias"', '"a.x"')
                    .replace('"a.other"', '"a.bias"'))
    words = read_shards(step, folder)
    assert f"tensor \"a.bias\" in '{folder}' must have shape [3, 5], got [5]" in words


def fail(step: Path, tensors: Tensors, *flags: str) -> str:
    result = run_tool("regather", "run", step, "--quiet", "--mesh=dp:4",
                      "--optimizer=adamw", "--learning-rate=1", "--inputs",
                      save(step.with_suffix(".inputs"), tensors), *flags)
    assert result.code == 1, result.stderr
    return result.stderr


def zeros(shape: tuple[int, ...], dtype: str = "F32") -> RawTensor:
    size = int(numpy.prod(shape))
    return RawTensor(dtype, shape, bytes(size * (2 if dtype == "BF16" else 4)))


@pytest.fixture(name="weights")
def make_weights() -> Tensors:
    shapes = PARAMETERS | {"x": (8, 3)}
    return {name: zeros(shape) for name, shape in shapes.items()}


def test_missing_weights_are_named(step: Path, weights: Tensors) -> None:
    del weights["a.other"], weights["a.bias"]
    assert ("has no tensor for 2 of 12 arguments: \"a.other\", \"a.bias\"" in
            fail(step, weights))


def test_wrong_shapes_and_types_are_named(step: Path,
                                          weights: Tensors) -> None:
    weights["a.weight"] = zeros((5, 3))
    weights["a.bias"] = zeros((5,), "BF16")
    words = fail(step, weights)
    assert ("tensor \"a.weight\" in " in words and
            "must have shape [3, 5], got [5, 3]" in words)
    assert ("tensor \"a.bias\" in " in words and
            "must have dtype F32, got BF16" in words)


def test_missing_states_are_named(step: Path, weights: Tensors) -> None:
    weights["a.bias.exp_avg"] = zeros((5,))
    words = fail(step, weights)
    assert "holds some optimizer states, but not \"a.weight.exp_avg\"" in words
    assert "\"a.bias.exp_avg_sq\"" in words
    assert "\"a.bias.exp_avg\"" not in words


def test_names_of_buffers_are_no_names_in_files(step: Path,
                                                weights: Tensors) -> None:
    weights["a.matrices"] = zeros((64,))
    result = run_tool("regather", "run", step, "--quiet", "--mesh=dp:4",
                      "--inputs",
                      save(step.with_suffix(".inputs"), weights))
    assert result.code == 0
    assert "1 of the tensors in" in result.stderr
    assert "\"a.matrices\"" in result.stderr


def test_layout_needs_a_mesh(step: Path) -> None:
    result = run_tool("regather", "run", step, "--quiet", "--random-inputs=1",
                      "--layout=flat")
    assert result.code == 1
    assert ("layout \"flat\" needs a mesh to shard parameters over"
            in result.stderr)


def test_unknown_layouts_are_refused(step: Path) -> None:
    result = run_tool("regather", "run", step, "--quiet", "--random-inputs=1",
                      "--mesh=dp:2", "--layout=rows")
    assert result.code == 1
    assert "rows" in result.stderr
