"""Functions that are written as arithmetic against the library in doubles.

Arguments are spread over all bit patterns of f32, negative and subnormal numbers,
infinities and NaN included, and lie densely where functions change fastest.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy
import pytest
from regather_tools import run_tool
from safetensors.numpy import load_file, save_file

COUNT = 1 << 18
# Units in the last place.
BOUNDS = {"exp": 0.9, "expm1": 1.4, "log": 0.9, "log1p": 1.6, "tanh": 1.4,
          "sin": 1.5, "cos": 1.5}


def arguments() -> numpy.ndarray:
    spread = (numpy.arange(COUNT // 2, dtype=numpy.uint64)
              * (1 << 15) + 0x1234).astype(numpy.uint32).view(numpy.float32)
    dense = numpy.linspace(-8, 8, COUNT // 2 - 4, dtype=numpy.float32)
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf], numpy.float32)
    return numpy.concatenate([spread, dense, special])


@pytest.fixture(scope="module", name="results")
def compute(tmp_path_factory: pytest.TempPathFactory
            ) -> dict[str, numpy.ndarray]:
    folder: Path = tmp_path_factory.mktemp("functions")
    tensor = f"tensor<{COUNT}xf32>"
    results = ", ".join(f'{tensor} {{tg.name = "{name}"}}' for name in BOUNDS)
    lines = [f"  %{name} = math.{name} %x : {tensor}" for name in BOUNDS]
    values = ", ".join(f"%{name}" for name in BOUNDS)
    types = ", ".join([tensor] * len(BOUNDS))
    (folder / "step.mlir").write_text(
        f'func.func @step(%x: {tensor} {{tg.name = "x"}}) -> ({results}) {{\n'
        + "\n".join(lines) + f"\n  return {values} : {types}\n}}\n")
    save_file({"x": arguments()}, folder / "in.safetensors")
    result = run_tool("regather", "run", "step.mlir", "--inputs",
                      "in.safetensors", "--outputs", "out.safetensors",
                      "--quiet", cwd=folder)
    assert result.code == 0, result.stderr
    return load_file(folder / "out.safetensors")


@pytest.mark.parametrize("name", BOUNDS)
def test_is_close(results: dict[str, numpy.ndarray], name: str) -> None:
    found = results[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = getattr(numpy, name)(arguments().astype(numpy.float64))
        rounded = exact.astype(numpy.float32)
    isnan = numpy.isnan(exact)
    assert (numpy.isnan(found) == isnan).all()
    special = ~isnan & (numpy.isinf(exact) | (exact == 0))
    assert (found[special] == rounded[special]).all()
    assert (numpy.signbit(found) == numpy.signbit(exact))[special].all()
    regular = ~isnan & ~special & numpy.isfinite(rounded)
    smallest = numpy.float32(2.0 ** -126)
    ulp = numpy.spacing(numpy.maximum(numpy.abs(rounded[regular]), smallest))
    error = numpy.abs(found[regular] - exact[regular]) / ulp
    assert error.max() <= BOUNDS[name]
