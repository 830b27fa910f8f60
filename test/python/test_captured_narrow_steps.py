"""Steps of test_captured_steps.py with 16-bit weights and inputs.

There, eager PyTorch itself is sometimes farther away from the same step in
float32 than the tolerance, with other roundings than ours. Then what we compute
must be almost as close to float32: gradients are compared as one vector, since
the error of a small one says little.
"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="most models are from there")

from captured_models import (RUNS, Tensors, execute, find_errors,  # noqa: E402
                             gradient_names, lower, make_step)
from model_cases import REPRESENTATIVE  # noqa: E402

# A little more than the distance of two numbers of the type.
TOLERANCES = {torch.bfloat16: 1e-2, torch.float16: 1.25e-3}
# Layers, attention with and without a mask, and routing: with the other 16-bit
# type, and with nodes as loops on both engines. What the loops of all models
# compute is compared in float32.
FEW_MODELS = ("perceptron", "llama", "mixtral", "bert", "vit")
# How much farther from float32 than eager PyTorch a step may be.
FACTOR = 1.5


def distance(results: Tensors, truth: Tensors) -> float:
    """Of the gradients as one vector, relative to its norm."""
    names = gradient_names(truth)
    error = sum((results[name].double() - truth[name].double()).norm() ** 2
                for name in names)
    norm = sum(truth[name].double().norm() ** 2 for name in names)
    return float((error / norm).sqrt())


# There are no complex numbers of that precision.
@pytest.mark.parametrize(("name", "dtype"), [
    *((name, torch.bfloat16) for name in REPRESENTATIVE if name != "rotation"),
    *((name, torch.float16) for name in FEW_MODELS),
])
def test_equals_eager(name: str, dtype: torch.dtype,
                                 tmp_path: Path) -> None:
    # Its angles become complex numbers.
    step = make_step(name).to(dtype, converts_buffers=name != "complex_llama")
    lower(f"{name}-{str(dtype).removeprefix('torch.')}", step, tmp_path)
    tolerance = TOLERANCES[dtype]
    expected = step.weights() | step.run()
    for run in RUNS if name in FEW_MODELS else RUNS[1:]:
        results = execute(tmp_path, *run)
        errors = find_errors(results, expected, tolerance)
        if not errors:
            continue
        whole = step.to(torch.float32)
        truth = whole.weights() | whole.run()
        loss = truth["loss"].double()
        limit = max(abs(expected["loss"].double() - loss),
                    tolerance * abs(loss))
        assert abs(results["loss"].double() - loss) <= FACTOR * limit
        eager = distance(expected, truth)
        assert distance(results, truth) <= FACTOR * eager, (run, errors)
