"""Safetensors that runs read and write, against the reference package.

Types, shards over meshes, and which rank holds what.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy
import pytest
import safetensors.numpy
from safetensors import TensorSpec, serialize_file

from regather_tools import ENGINES
from test_bad_input import run_step

RAW_TYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16",
             "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
             "i8": "int8", "i1": "bool"}
BYTES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int64": 8,
         "int32": 4, "int16": 2, "int8": 1, "bool": 1}


def write_with_package(path: Path, tensors: dict[str, tuple[str, list[int]]],
                       seed: int) -> dict[str, bytes]:
    """Random bytes, over the raw interface: numpy knows no bf16."""
    rng = random.Random(seed)
    raw = {}
    for name, (dtype, shape) in tensors.items():
        count = int(numpy.prod(shape)) * BYTES[dtype]
        data = rng.randbytes(count)
        if dtype == "bool":
            data = bytes(byte & 1 for byte in data)
        raw[name] = data
    # The package reads from addresses; the arrays keep the bytes alive.
    arrays = {name: numpy.frombuffer(data, numpy.uint8)
              for name, data in raw.items()}
    serialize_file({
        name: TensorSpec(dtype=dtype, shape=shape,
                         data_ptr=arrays[name].ctypes.data,
                         data_len=arrays[name].nbytes)
        for name, (dtype, shape) in tensors.items()}, str(path))
    return raw


@pytest.mark.parametrize("engine", ENGINES)
def test_round_trip_of_all_types(engine: str, tmp_path: Path) -> None:
    names = list(RAW_TYPES)
    arguments = ", ".join(f'%{name}: tensor<3x5x{name}> {{tg.name = "{name}"}}'
                          for name in names)
    results = ", ".join(f'tensor<3x5x{name}> {{tg.name = "{name}"}}'
                        for name in names)
    values = ", ".join(f"%{name}" for name in names)
    types = ", ".join(f"tensor<3x5x{name}>" for name in names)
    path = tmp_path / "inputs.safetensors"
    raw = write_with_package(path, {name: (dtype, [3, 5])
                                    for name, dtype in RAW_TYPES.items()}, 4)
    result = run_step(f"func.func @step({arguments}) -> ({results}) {{\n"
                      f"  return {values} : {types}\n}}\n", tmp_path,
                      f"--inputs={path}", f"--engine={engine}")
    assert result.code == 0, result.stderr
    read = safetensors.deserialize(
        (tmp_path / "output.safetensors").read_bytes())
    assert {name: bytes(entry["data"]) for name, entry in read} == raw
    assert all(entry["shape"] == [3, 5] for _, entry in read)


# Mesh, placement, and what one rank holds of [10, 8].
PLACEMENTS = {
    "replicated": ("dp = 4", "[]", "10x8"),
    "uneven": ("dp = 4", "[[dp] = shard 0] of [10, 8]", "3x8"),
    "even": ("dp = 4", "[[dp] = shard 1]", "10x2"),
    "two-dimensions": ("a = 2, b = 2", "[[a] = shard 0, [b] = shard 1]", "5x4"),
    "two-dimensions-swapped": ("a = 2, b = 2",
                               "[[b] = shard 0, [a] = shard 1]", "5x4"),
    "flattened": ("a = 2, b = 2", "[[a, b] = shard 0] of [10, 8]", "3x8"),
    "flattened-swapped": ("a = 2, b = 2", "[[b, a] = shard 0] of [10, 8]",
                          "3x8"),
    "one-axis-of-two": ("a = 2, b = 2", "[[b] = shard 0]", "5x8"),
    "ranks-of-padding-only": ("dp = 8", "[[dp] = shard 0] of [10, 8]", "2x8"),
    "partial": ("dp = 4", "[[dp] = partial sum]", "10x8"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PLACEMENTS)
def test_round_trip_of_shards(name: str, engine: str, tmp_path: Path) -> None:
    mesh, placement, shape = PLACEMENTS[name]
    attributes = (f'{{tg.name = "x", tg.placement = #tg.placement<@mesh '
                  f"{placement}>}}")
    path = tmp_path / "inputs.safetensors"
    whole = numpy.arange(80, dtype=numpy.float32).reshape(10, 8)
    safetensors.numpy.save_file({"x": whole}, path)
    result = run_step(f"""\
tg.mesh @mesh [{mesh}]
func.func @step(%x: tensor<{shape}xf32> {attributes})
    -> (tensor<{shape}xf32> {attributes}) {{
  return %x : tensor<{shape}xf32>
}}
""", tmp_path, f"--inputs={path}", f"--engine={engine}")
    assert result.code == 0, result.stderr
    read = safetensors.numpy.load_file(tmp_path / "output.safetensors")
    numpy.testing.assert_array_equal(read["x"], whole)


# Mesh, axes, and which rank has rows 2 i and 2 i + 1.
ORDERS = {"dp": ("dp = 4", "dp", [0, 1, 2, 3]),
          "row-major": ("a = 2, b = 2", "a, b", [0, 1, 2, 3]),
          "column-major": ("a = 2, b = 2", "b, a", [0, 2, 1, 3])}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ORDERS)
def test_ranks_hold_their_shards(name: str, engine: str,
                                 tmp_path: Path) -> None:
    """A round trip alone would not see ranks that swap their shards."""
    mesh, axes, owners = ORDERS[name]
    everywhere = ", ".join(part.split()[0] for part in mesh.split(", "))
    path = tmp_path / "inputs.safetensors"
    safetensors.numpy.save_file(
        {"x": numpy.arange(8, dtype=numpy.float32)}, path)
    result = run_step(f"""\
tg.mesh @mesh [{mesh}]
func.func @step(%x: tensor<2xf32> {{tg.name = "x",
        tg.placement = #tg.placement<@mesh [[{axes}] = shard 0]>}})
    -> (tensor<2xf32> {{
        tg.placement = #tg.placement<@mesh [[{everywhere}] = shard 0]>}}) {{
  return %x : tensor<2xf32>
}}
""", tmp_path, f"--inputs={path}", f"--engine={engine}")
    assert result.code == 0, result.stderr
    read = safetensors.numpy.load_file(tmp_path / "output.safetensors")
    by_rank = read["result0"].reshape(4, 2)
    expected = numpy.arange(8).reshape(4, 2)
    for position, rank in enumerate(owners):
        numpy.testing.assert_array_equal(by_rank[rank], expected[position])
