"""`match-pytorch` of `tg-partition` decides as PyTorch does, to the last byte.

Captured steps are partitioned by PyTorch's own `min_cut_rematerialization_
partition` and by ours: the cut has the same value, and the same values are
saved. What the two parts then compute is what the whole step does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="compares with PyTorch")

from capture_cases import ROOT, example  # noqa: E402
from model_cases import MODELS  # noqa: E402
from random_models import of_seed  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load  # noqa: E402
from torch._functorch import partitioners  # noqa: E402
from torch._functorch.partitioners import get_default_op_list  # noqa: E402
from torch.utils.checkpoint import (  # noqa: E402
    CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts)

import regather  # noqa: E402
from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "scripts")]
import tablegen  # noqa: E402
from torch_partition import make_joint, partition  # noqa: E402

TIMEOUT = 120
MATCH = "--tg-partition=mode=min-cut match-pytorch=true"
OPERATORS = Path("include/regather/Dialect/TG/Targets/NodeTargets.td")


class Checkpointed(torch.nn.Module):
    """Blocks inside of checkpoints, the second of which saves products."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(),
                                torch.nn.Dropout(0.2), torch.nn.Linear(8, 8))
            for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def policy(context: Any, op: Any, *args: Any,
                   **kwargs: Any) -> CheckpointPolicy:
            return (CheckpointPolicy.MUST_SAVE
                    if op is torch.ops.aten.addmm.default
                    else CheckpointPolicy.PREFER_RECOMPUTE)
        first, second, third = self.blocks
        x = x + checkpoint(first, x, use_reentrant=False)
        x = x + checkpoint(
            second, x, use_reentrant=False,
            context_fn=lambda: create_selective_checkpoint_contexts(policy))
        return third(x.tanh())


class Noise(torch.nn.Module):
    """Random numbers of several kinds, which only backward reads again."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.outer = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        x = x * torch.rand(8, 8) + x.sin() * torch.rand_like(x)
        x = torch.nn.functional.dropout(x, 0.3) * torch.randn(8, 8).exp()
        return self.outer(x) * torch.bernoulli(torch.full((8, 8), 0.5))


class Chains(torch.nn.Module):
    """Long chains of operations that a compiler fuses, values that are read at
    both ends of them, and the same thing computed more than once."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.outer = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.inner(x).sin()
        y = first
        for _ in range(60):
            y = y.cos() * 1.5
        near = y.sum(-1, keepdim=True) + y.sum(-2, keepdim=True)
        y = torch.cat([y.exp(), first.exp()]) + near.repeat(2, 1)
        for _ in range(60):
            y = torch.sigmoid(y) + 0.5
        again = first.exp().sum(-1) - first.exp().sum(-2)
        return self.outer(y) * first.repeat(2, 1) + again


def of_blocks(model: Callable[[], torch.nn.Module]) -> Any:
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    return model(), (x,), lambda y: y.square().mean(), ()


def capture_sharded(config: dict[str, Any]) -> Any:
    """FSDP and tensor parallelism, as PyTorch writes them."""
    with mock.patch.object(sys, "path", sys.path[:]):
        graph = capture_step(make_step(
            f"{ROOT / 'examples' / 'llama3.py'}:sharded_step", config))
    torch.distributed.destroy_process_group()
    return graph


def capture_made(made: Any) -> Any:
    model, inputs, loss, targets = made
    return regather.capture(model, inputs, loss=loss, targets=targets)


def capture_llama(**config: Any) -> Any:
    return capture_made(example("llama3").step(**config))


# Of the models that other tests train.
TRAINED = ("perceptron", "residual", "rotation", "lstm", "llama_example",
           "complex_llama", "clip", "gpt2", "llama", "mixtral", "bert", "vit",
           "t5", "mamba", "deepseek_v3", "swin")

STEPS: dict[str, Callable[[], Any]] = {
    name: lambda name=name: capture_made(MODELS[name]()) for name in TRAINED}
STEPS |= {f"random-{seed}": lambda seed=seed: capture_made(of_seed(seed))
          for seed in range(12)}
STEPS |= {
    "checkpointed": lambda: capture_made(of_blocks(Checkpointed)),
    "noise": lambda: capture_made(of_blocks(Noise)),
    "chains": lambda: capture_made(of_blocks(Chains)),
    "llama-debug": lambda: capture_llama(config="debug"),
    "llama-bf16": lambda: capture_llama(config="debug", dtype="bfloat16"),
    "fsdp": lambda: capture_sharded({"config": "tiny", "dp": 4, "tp": 1}),
    "tensor-parallel": lambda: capture_sharded(
        {"config": "tiny", "dp": 1, "tp": 2}),
    "fsdp-tensor-parallel": lambda: capture_sharded(
        {"config": "debug", "dp": 2, "tp": 2}),
}


class Ours:
    """The step in `directory`, as we partition it."""

    def __init__(self, graph: Any, directory: Path) -> None:
        graph.save(directory / "step.fx.json")
        self.step = directory / "step.mlir"
        self.parts = directory / "parts.mlir"
        imported = run_tool("regather-translate", "--import-fx",
                            directory / "step.fx.json", "-o", self.step)
        assert imported.code == 0, imported.stderr
        result = run_tool("regather-opt", self.step, MATCH, "--tg-verify-step",
                          "--remark-format=emitRemark",
                          "--remarks-filter=tg-partition", "-o", self.parts)
        assert result.code == 0, result.stderr
        self.remarks = result.stderr

    def metric(self, remark: str, name: str) -> int:
        line = re.search(rf"\] {remark} .*", self.remarks)
        assert line, self.remarks
        return int(re.search(rf"{name}=(\d+)", line[0])[1])

    def saved(self) -> list[str]:
        """As PyTorch's names: `ID`, or `ID:result`."""
        backward = re.search(r"func.func @backward.*", self.parts.read_text())
        return [name.replace(".", ":")
                for name in re.findall(r'"saved\.([^"]+)"', backward[0])]


@contextmanager
def merging_everything() -> Iterator[None]:
    """PyTorch's common subexpressions as up to 2.14, which is our rule as well.

    Since 2.15 it leaves apart what only forward needs and what backward needs.
    """
    merge = partitioners.fx_graph_cse
    with mock.patch.object(partitioners, "fx_graph_cse",
                           lambda graph, **_: merge(graph)):
        yield


@pytest.mark.parametrize("name", STEPS)
def test_decision(name: str, tmp_path: Path) -> None:
    graph = STEPS[name]()
    ours = Ours(graph, tmp_path)
    with merging_everything():
        theirs = partition(make_joint(graph))
    assert theirs["saved"] > 0
    assert sorted(ours.saved()) == sorted(theirs["names"])
    assert ours.metric("minimum-cut", "weighted_bytes") == theirs["cut_value"]
    assert ours.metric("total", "saved_bytes") == theirs["saved_bytes"]


@pytest.mark.parametrize("name, ranks", [
    ("checkpointed", 1), ("noise", 1), ("chains", 1), ("llama_example", 1),
    ("fsdp-tensor-parallel", 4)])
def test_same_bits(name: str, ranks: int, tmp_path: Path) -> None:
    ours = Ours(STEPS[name](), tmp_path)

    def run(path: Path) -> dict[str, torch.Tensor]:
        outputs = tmp_path / "outputs.safetensors"
        result = run_tool("regather", "run", path, "--engine=cpu",
                          f"--ranks={ranks}", "--random-inputs=5",
                          "--outputs", outputs, "--quiet", timeout=TIMEOUT)
        assert result.code == 0, result.stderr
        return load(outputs.read_bytes())

    whole, parts = run(ours.step), run(ours.parts)
    assert whole.keys() == parts.keys()
    for key, value in whole.items():
        assert torch.equal(value, parts[key]), key


def test_operators() -> None:
    """The table holds the sets of the installed PyTorch. Its list of pointwise
    operators is of those that have been used, so there may be fewer."""
    records = tablegen.load(ROOT / OPERATORS)
    table = {records[name]["Name"]: records[name]["PyTorch"]
             for name in records["!instanceof"]["OperatorRecord"]}
    kinds = get_default_op_list()

    def functional(operators: Any) -> set[str]:
        """Names, but for those that write into their arguments."""
        pattern = re.compile(r"(aten|prims)\.(__(?!i)\w+__|\w*[^\W_])")
        return {str(op) for op in operators if pattern.fullmatch(str(op))}

    def of(kind: str) -> set[str]:
        return {name for name, other in table.items() if other == f"PyTorchSet::{kind}"}

    assert of("View") == functional(kinds.view_ops)
    assert of("Random") == functional(kinds.random_ops)
    recomputable = of("Recomputable") | of("View")
    assert functional(kinds.recomputable_ops) <= recomputable
    for name in recomputable - functional(kinds.recomputable_ops):
        packet = getattr(torch.ops.aten, name.removeprefix("aten."))
        assert any(torch.Tag.pointwise in getattr(packet, overload).tags
                   for overload in packet.overloads()), name
