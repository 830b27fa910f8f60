"""Where the capture tests find what they test, and what they compare."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
for folder in ("python", "examples"):
    if str(ROOT / folder) not in sys.path:
        sys.path.insert(0, str(ROOT / folder))

import torch  # noqa: E402
from capture_evaluator import evaluate  # noqa: E402

import regather  # noqa: E402
from regather.cli import main  # noqa: E402


def example(name: str) -> Any:
    """The module ``examples/NAME.py``."""
    spec = importlib.util.spec_from_file_location(
        f"example_{name}", ROOT / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def capture_llama(path: Path, batch: int) -> None:
    """A tiny Llama on one device."""
    model, inputs, loss, targets = example("llama3").step("tiny", batch=batch)
    regather.capture(model, inputs, loss=loss, targets=targets).save(path)


def capture_parallel_llama(path: Path) -> None:
    """One under FSDP and tensor parallelism, as PyTorch writes them."""
    config = '{"config": "tiny", "dp": 2, "tp": 2, "batch": 4}'
    # The command makes modules beside the factory importable.
    with mock.patch.object(sys, "path", sys.path[:]):
        assert main(["capture", "--model",
                     f"{ROOT / 'examples' / 'llama3.py'}:sharded_step",
                     "--config", config, "--quiet", "-o", str(path)]) == 0
    torch.distributed.destroy_process_group()


def calls(graph: Any, target: str) -> list[dict[str, Any]]:
    """The nodes of a graph that call ``target``."""
    return [n for n in graph.nodes if n.get("target") == target]


def module_of(graph: Any, node: dict[str, Any]) -> str | None:
    """Module path of a node."""
    index = node.get("module")
    return None if index is None else graph.document["modules"][index]


def assert_equals_eager(
    graph: Any, loss: torch.Tensor, model: torch.nn.Module, inputs: dict[str, Any]
) -> None:
    """The graph's loss and every gradient are those of eager PyTorch.

    ``loss`` is the eager loss; gradients agree to 1e-6 relative to the norm
    of the eager one, or to the largest one for those that are zero in theory.
    """
    results = evaluate(graph.document, graph.tensors, inputs)
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    model.zero_grad()
    loss.backward()
    eager = {n: p.grad for n, p in named.items() if p.grad is not None}
    torch.testing.assert_close(
        results["loss", None], loss.detach(), rtol=1e-6, atol=1e-6
    )
    captured = {of: v for (role, of), v in results.items() if role == "gradient"}
    assert captured.keys() == eager.keys()
    largest = max(float(g.norm()) for g in eager.values())
    for name, want in eager.items():
        error = float((captured[name] - want).norm())
        assert error <= 1e-6 * max(float(want.norm()), 1e-2 * largest), name
