"""What lives from forward to backward changes no bit of what a step computes.

Steps sharded by us and captured with their collectives, with and without random
operations, are run as they are and after the passes; every output must be equal.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import capture_llama, capture_parallel_llama  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load  # noqa: E402

import regather  # noqa: E402

TIMEOUT = 120


class Dropped(torch.nn.Module):
    """Two equal blocks that draw random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(6, 6)
                                          for _ in range(2))
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = torch.nn.functional.dropout(block(x).tanh(), 0.3)
        return self.head(x + torch.rand_like(x))


def capture_dropped(path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(8, 6, generator=generator), torch.zeros(8, 3)
    regather.capture(Dropped(), (x,), loss=torch.nn.functional.mse_loss,
                     targets=(y,)).save(path)


LLAMA = partial(capture_llama, batch=4)

# The graph, the passes that shard it, and its number of ranks.
STEPS: dict[str, tuple[Any, tuple[str, ...], int]] = {
    "llama-2": (LLAMA, ("--tg-shard-parameters=mesh=dp:2",), 2),
    "llama-4": (LLAMA, ("--tg-shard-parameters=mesh=dp:4",), 4),
    "hybrid": (LLAMA, ("--tg-shard-parameters=mesh=rep:2,dp:2 "
                       "replicate-axis=rep",), 4),
    "dropped": (capture_dropped, ("--tg-shard-parameters=mesh=dp:4",), 4),
    "parallel": (capture_parallel_llama, (), 4),
}


class Step:
    """A step before the passes under test, and what it computes."""

    def __init__(self, name: str, directory: Path) -> None:
        capture, passes, self.ranks = STEPS[name]
        self.directory = directory
        capture(directory / "step.fx.json")
        imported = directory / "imported.mlir"
        result = run_tool("regather-translate", "--import-fx",
                          directory / "step.fx.json", "-o", imported)
        assert result.code == 0, result.stderr
        self.path = directory / "step.mlir"
        self.transform(passes, imported, self.path)
        self.whole = self.run(self.path)

    def transform(self, passes: tuple[str, ...], source: Path | None = None,
                  target: Path | None = None) -> Path:
        source = source or self.path
        target = target or self.directory / "transformed.mlir"
        result = run_tool("regather-opt", source, *passes, "-o", target)
        assert result.code == 0, result.stderr
        return target

    def run(self, path: Path, engine: str = "interpreter") -> bytes:
        outputs = self.directory / "outputs.safetensors"
        result = run_tool("regather", "run", path, f"--engine={engine}",
                          f"--ranks={self.ranks}", "--random-inputs=5",
                          "--outputs", outputs, "--quiet", timeout=TIMEOUT)
        assert result.code == 0, result.stderr
        return outputs.read_bytes()


CAPTURED: dict[str, Step] = {}


@pytest.fixture(params=STEPS)
def step(request: pytest.FixtureRequest,
         tmp_path_factory: pytest.TempPathFactory) -> Step:
    name = request.param
    if name not in CAPTURED:
        CAPTURED[name] = Step(name, tmp_path_factory.mktemp(name))
    return CAPTURED[name]


def regathers(path: Path) -> int:
    return path.read_text().count("phase backward generation")


@pytest.mark.parametrize("options", ["mode=always", "mode=default"])
def test_reshard(step: Step, options: str) -> None:
    path = step.transform(("--tg-merge-gathers",
                           f"--tg-reshard-after-forward={options}",
                           "--tg-verify-step"))
    assert regathers(path) > 0
    assert step.run(path) == step.whole


def test_groups(step: Step) -> None:
    passes = ("--tg-merge-gathers",
              "--tg-reshard-after-forward=mode=always group=2",
              "--tg-verify-step")
    result = run_tool("regather-opt", step.path, *passes, "-o",
                      step.directory / "grouped.mlir")
    # Two ranks that gather are no more than a group.
    if re.search(r"tg.mesh @mesh \[(.*, )?dp = 2\b",
                 step.path.read_text()):
        assert "less than the 2 ranks that gather" in result.stderr
        return
    assert result.code == 0, result.stderr
    path = step.directory / "grouped.mlir"
    assert regathers(path) > 0
    assert step.run(path) == step.whole


def test_never(step: Step) -> None:
    path = step.transform(("--tg-reshard-after-forward=mode=never",))
    assert regathers(path) == 0
    assert step.run(path) == step.whole


@pytest.mark.parametrize("policy, mode", [
    ("policy=full", "always"), ("policy=selective", "never"),
    ("policy=selective every-second-product=true", "default")])
def test_recompute(step: Step, policy: str, mode: str) -> None:
    path = step.transform(("--tg-merge-gathers", f"--tg-apply-policy={policy}",
                           f"--tg-reshard-after-forward=mode={mode}",
                           "--tg-rematerialize",
                           "--tg-verify-step=policies=true"))
    assert (regathers(path) > 0) or mode == "never"
    assert step.run(path) == step.whole


def equal(actual: bytes, expected: bytes) -> bool:
    """The same tensors, bit for bit, in whatever order."""
    got, want = load(actual), load(expected)
    return got.keys() == want.keys() and all(
        value.equal(want[name]) for name, value in got.items())


@pytest.mark.parametrize("mode, reshard", [
    ("default", "always"), ("min-cut", "always"), ("min-cut", "never")])
def test_partition(step: Step, mode: str, reshard: str) -> None:
    path = step.transform(("--tg-merge-gathers",
                           f"--tg-reshard-after-forward=mode={reshard}",
                           f"--tg-partition=mode={mode}", "--tg-verify-step"))
    assert "func.func @backward" in path.read_text()
    assert equal(step.run(path), step.whole)


def test_replay_saves_the_same(step: Step) -> None:
    """A second partition of what the first one has recorded."""
    passes = ("--tg-merge-gathers", "--tg-reshard-after-forward=mode=always",
              "--tg-partition=mode=min-cut split=false")
    recorded = step.transform(passes, None, step.directory / "recorded.mlir")
    path = step.transform(("--tg-partition=mode=replay",), recorded)
    once = step.transform((*passes[:2], "--tg-partition=mode=min-cut"), None,
                          step.directory / "once.mlir")
    assert path.read_text() == once.read_text()


def boundary(path: Path) -> tuple[int, int]:
    """Bytes that live on to backward, and those of gathered parameters."""
    result = run_tool("regather", "stats", path, "--json")
    assert result.code == 0, result.stderr
    stats = json.loads(result.stdout)
    return stats["saved_bytes"], stats["gathered_bytes_across_boundary"]


@pytest.mark.parametrize("options", ["", " every-second-product=true"])
def test_replay_does_not_drift(options: str, tmp_path: Path) -> None:
    """A second minimum cut, of the graph as it was captured, would keep the
    gathered parameters that products of backward read; the record does not."""
    step = Step("parallel", tmp_path)
    policy = f"--tg-apply-policy=policy=selective{options}"
    first = step.transform(
        ("--tg-merge-gathers", policy,
         "--tg-reshard-after-forward=mode=always",
         "--tg-partition=mode=min-cut"), None, tmp_path / "first.mlir")
    names = set(re.findall(r'"saved\.([^"]+)"', first.read_text()))
    record = ",".join(sorted(name.replace(".", ":") for name in names))
    again = step.transform(
        ("--tg-merge-gathers", policy, "--tg-partition=mode=min-cut"), None,
        tmp_path / "again.mlir")
    replayed = step.transform(
        ("--tg-merge-gathers", f"--tg-partition=mode=replay saved={record}"),
        None, tmp_path / "replayed.mlir")
    kept = boundary(again)[1]
    assert boundary(first)[1] == 0
    # As much as if nobody had released anything.
    merged = step.transform(("--tg-merge-gathers",), None,
                            tmp_path / "merged.mlir")
    assert kept == boundary(merged)[1] > 0
    assert boundary(again)[0] - boundary(first)[0] == kept
    assert boundary(replayed) == boundary(first)
    assert equal(step.run(replayed), step.whole)


def saved_bytes(path: Path) -> int:
    return boundary(path)[0]


BUDGETED = ("--tg-merge-gathers", "--tg-reshard-after-forward=mode=always")


def least_bytes(step: Step) -> int:
    """The minimum that the error about a smaller budget names."""
    result = run_tool("regather-opt", step.path, *BUDGETED,
                      "--tg-partition=mode=budget budget=0")
    found = re.search(r"below the minimum of (\d+) bytes", result.stderr)
    assert found or result.code == 0
    return int(found[1]) if found else 0


def test_budget(step: Step) -> None:
    """Halfway between the least and the most that can be saved."""
    most = saved_bytes(step.transform((*BUDGETED, "--tg-partition")))
    budget = (least_bytes(step) + most) // 2
    path = step.transform((*BUDGETED,
                           f"--tg-partition=mode=budget budget={budget}"))
    assert saved_bytes(path) <= budget
    for engine in ENGINES:
        whole = (step.whole if engine == "interpreter"
                 else step.run(step.path, engine))
        assert equal(step.run(path, engine), whole)


def test_least_budget(step: Step) -> None:
    """The minimum that is named is possible, and marks lead there, too."""
    least = least_bytes(step)
    for passes in ((f"--tg-partition=mode=budget budget={least}",),
                   (f"--tg-apply-policy=budget={least}", "--tg-partition")):
        path = step.transform((*BUDGETED, *passes))
        assert saved_bytes(path) == least
    assert equal(step.run(path), step.whole)


def test_partition_on_both_engines(step: Step) -> None:
    """Compiled code may round otherwise than the interpreter, not than itself."""
    passes = ("--tg-merge-gathers", "--tg-apply-policy=policy=selective",
              "--tg-reshard-after-forward=mode=always")
    path = step.transform((*passes, "--tg-partition"))
    for engine in ENGINES:
        whole = (step.whole if engine == "interpreter"
                 else step.run(step.path, engine))
        assert equal(step.run(path, engine), whole)
