"""`regather plan`: what it says of meshes is what comes of its flags."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import ROOT, run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from test_shard_parameters import (  # noqa: E402
    Captured,
    assert_close,
    gpt2,
    llama,
)

import regather  # noqa: E402

MAKERS = {"llama": llama, "gpt2": gpt2}
RANKS = 4


@pytest.fixture(scope="module", params=list(MAKERS))
def captured(request: pytest.FixtureRequest,
             tmp_path_factory: pytest.TempPathFactory) -> Captured:
    return Captured(MAKERS[request.param], tmp_path_factory.mktemp("plan"))


@pytest.fixture(scope="module")
def llama_step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Captured(llama, tmp_path_factory.mktemp("llama")).directory / "step.mlir"


def plan(step: Path, *options: str) -> dict[str, Any]:
    path = step.parent / "plan.json"
    result = run_tool("regather", "plan", step, f"--json={path}", "--quiet",
                      *options, timeout=300)
    assert result.code == 0, result.stderr
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def fail(*arguments: str | Path) -> str:
    result = run_tool("regather", "plan", *arguments, "--quiet", timeout=300)
    assert result.code == 1, result.stdout
    return result.stderr


def test_flags_make_what_the_plan_says(captured: Captured) -> None:
    step = captured.directory / "step.mlir"
    found = plan(step, f"--ranks={RANKS}", "--optimizer=adamw", "--batch=global")
    plans = found["plans"]
    assert {"dp:4", "dp:2,tp:2", "dp:2,cp:2"} <= {one["mesh"] for one in plans}
    times = [one["seconds_per_row"] for one in plans]
    assert times == sorted(times)
    assert found["bound_seconds_per_row"] <= times[0]
    assert found["meshes"] == len(plans) + sum(found["others"].values())
    for one in plans:
        assert one["bound_seconds"] <= one["seconds"] * (1 + 1e-6)
        exposed = sum(one["exposed_seconds"].values())
        assert one["compute_seconds"] + exposed == pytest.approx(
            one["seconds"], rel=0.02)
        out = step.parent / "simulated.json"
        result = run_tool("regather", "simulate", step, *one["flags"],
                          "--optimizer=adamw", "--kernels", f"--json={out}")
        assert result.code == 0, result.stderr
        assert json.loads(out.read_text())["seconds"] == one["seconds"]
        report = step.parent / "report.json"
        result = run_tool("regather", "report", step, *one["flags"],
                          "--optimizer=adamw", f"--json={report}", "-o",
                          step.parent / "report.html", "--quiet")
        assert result.code == 0, result.stderr
        memory = json.loads(report.read_text())["after"]["memory"]
        assert (memory["argument_bytes"], memory["arena_bytes"]) == (
            one["argument_bytes"], one["arena_bytes"])


def test_plans_compute_what_one_device_does(captured: Captured) -> None:
    step = captured.directory / "step.mlir"
    found = plan(step, f"--ranks={RANKS}", "--batch=global",
                 "--cluster=cpu-threads")
    outputs = step.parent / "planned.safetensors"
    meshes = {one["mesh"]: one for one in found["plans"]}
    for mesh in ("cp:4", "dp:2,tp:2"):
        result = run_tool("regather", "run", step, *meshes[mesh]["flags"],
                          "--inputs", captured.directory / "arguments.safetensors",
                          "--outputs", outputs, "--quiet", timeout=300)
        assert result.code == 0, result.stderr
        assert_close(load_file(outputs), captured.whole)


def test_micro_batches_where_the_whole_batch_takes_longer(
        llama_step: Path) -> None:
    """With nothing else left to decide they alone make the step fit; the flags
    of the plan give the same figures."""
    fixed = ("--ranks=1", "--batch=per-rank", "--policy=none", "--recompute=none",
             "--reshard=none", "--offload=none", "--chunk=none",
             "--schedule=none")
    (free,) = plan(llama_step, *fixed)["plans"]
    assert free["micro_batches"] == ""
    limit = f"--memory={int(0.9 * free['bytes'])}"
    assert "no plan fits" in fail(llama_step, *fixed, limit)
    (found,) = plan(llama_step, *fixed, limit, "--micro-batches=auto")["plans"]
    parts = f"--micro-batches={found['micro_batches']}"
    assert int(found["micro_batches"]) > 1
    assert parts in found["flags"]
    (again,) = plan(llama_step, *fixed, limit, parts)["plans"]
    assert (again["bytes"], again["seconds"]) == (found["bytes"],
                                                  found["seconds"])


def test_room_is_used(llama_step: Path) -> None:
    """On no mesh is a step that computes and gathers nothing twice quicker, if
    memory has room for it."""
    found = plan(llama_step, "--ranks=4", "--optimizer=adamw", "--batch=global",
                 "--memory=1TB")
    out = llama_step.parent / "roomy.json"
    for one in found["plans"]:
        flags = [flag for flag in one["flags"]
                 if not flag.startswith(("--recompute", "--reshard"))]
        result = run_tool("regather", "simulate", llama_step, *flags,
                          "--optimizer=adamw", "--kernels", "--memory=1TB",
                          f"--json={out}")
        assert result.code == 0, result.stderr
        assert json.loads(out.read_text())["seconds"] == one["seconds"]
    assert any("--recompute=none" in one["flags"] for one in found["plans"])


def test_a_limit_of_memory(llama_step: Path) -> None:
    free = plan(llama_step, "--ranks=2", "--batch=global")
    sizes = {one["mesh"]: one["bytes"] for one in free["plans"]}
    limit = int(0.95 * sizes["dp:2"])
    within = plan(llama_step, "--ranks=2", "--batch=global", f"--memory={limit}")
    assert within["limit_bytes"] == limit
    assert all(one["bytes"] <= limit for one in within["plans"])
    # What does not fit as it is is made to fit, or counted.
    assert "dp:2" in {one["mesh"] for one in within["plans"]} or (
        "does not fit in memory" in within["others"])
    message = fail(llama_step, "--ranks=2", "--batch=global", "--memory=10kB")
    assert "alone do not fit" in message
    assert "of the 10.0 kB at least if each rank has a part of all" in message
    # Parameters would, without the states.
    assert "alone do not fit" in fail(ROOT / "examples" / "llama3-debug.fx.json",
                                      "--ranks=2", "--batch=global",
                                      "--optimizer=adamw", "--memory=10MB")
    # More than parameters, less than activations.
    small = plan(llama_step, "--ranks=2", "--batch=global",
                 "--recompute=min-cut")["plans"]
    message = fail(llama_step, "--ranks=2", "--batch=global",
                   f"--memory={int(0.5 * min(one['bytes'] for one in small))}")
    assert "the least that was found is" in message
    assert "--mesh=" in message
    assert "bytes at its peak are of" in message


def deep() -> tuple[Any, ...]:
    """Of 32 layers, those with an even number have one matrix more."""
    class Layer(torch.nn.Module):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.up = torch.nn.Linear(32, 64, bias=False)
            self.down = torch.nn.Linear(64, 32, bias=False)
            self.gate = None if number % 2 else torch.nn.Linear(32, 64, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.nn.functional.silu(self.up(x))
            if self.gate is not None:
                hidden = hidden * self.gate(x)
            return x + self.down(hidden)

    class Deep(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(Layer(n) for n in range(32))
            self.head = torch.nn.Linear(32, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    return (Deep(), (torch.rand(8, 4, 32),),
            lambda out, target: (out - target).square().mean(),
            (torch.rand(8, 4, 16),))


def test_many_equal_layers_are_estimated(tmp_path: Path) -> None:
    """What is said of the plans is what comes of their flags all the same."""
    torch.manual_seed(0)
    model, inputs, loss, targets = deep()
    step = tmp_path / "deep.fx.json"
    regather.capture(model, inputs, loss=loss, targets=targets).save(step)
    options = ("--ranks=4", "--batch=global", "--optimizer=adamw", "--count=1")
    free = plan(step, *options)
    # Four units of two layers, and one layer before and one behind them.
    assert (free["estimated_layers"], free["layers"]) == (10, 32)
    assert free["carried_out"] < free["simulated"]
    limit = int(0.8 * free["plans"][0]["bytes"])
    tight = plan(step, *options, f"--memory={limit}")
    for found in (free, tight):
        (best,) = found["plans"]
        assert best["bound_seconds"] <= best["seconds"]
        assert best["bytes"] <= found["limit_bytes"]
        out = tmp_path / "simulated.json"
        result = run_tool("regather", "simulate", step, *best["flags"],
                          "--optimizer=adamw", "--kernels", f"--json={out}")
        assert result.code == 0, result.stderr
        assert json.loads(out.read_text())["seconds"] == best["seconds"]
        report = tmp_path / "report.json"
        result = run_tool("regather", "report", step, *best["flags"],
                          "--optimizer=adamw", f"--json={report}", "-o",
                          tmp_path / "report.html", "--quiet")
        assert result.code == 0, result.stderr
        memory = json.loads(report.read_text())["after"]["memory"]
        assert memory["argument_bytes"] + memory["arena_bytes"] == best["bytes"]
    # What is said of a layer that the copies lack stands in no mesh's way.
    placed = plan(step, *options, "--shard=layers.20.up.weight=[tp] shard 0",
                  "--shard=layers.20.down.weight=[tp] shard 1")
    assert placed["estimated_layers"] == 10
    assert not any("layers.20" in reason for reason in placed["others"])
    # All of them, at once: none is quicker.
    all_meshes = plan(step, *options[:-1])
    assert "layers" not in all_meshes
    assert all_meshes["plans"][0]["seconds"] >= 0.97 * free["plans"][0]["seconds"]
    message = fail(step, *options, "--memory=40kB")
    assert "the least that was found is" in message or "alone do not fit" in message


def test_is_the_same_each_time(llama_step: Path) -> None:
    options = ("--ranks=4", "--optimizer=sgd")
    assert plan(llama_step, *options) == plan(llama_step, *options)


def test_placements_have_a_bound(tmp_path: Path) -> None:
    step = tmp_path / "step.fx.json"
    shutil.copy(ROOT / "examples" / "llama3-debug.fx.json", step)
    found = plan(step, "--ranks=2", "--batch=global")
    by_mesh = {one["mesh"]: one for one in found["plans"]}
    placed = by_mesh["tp:2"]
    assert 0 < placed["placement_bound_seconds"] <= placed["placement_seconds"]
    assert placed["placement_gap"] == pytest.approx(
        placed["placement_seconds"] / placed["placement_bound_seconds"] - 1)
    # Over dp there is nothing to choose.
    assert "placement_gap" not in by_mesh["dp:2"]


def test_what_does_not_divide_is_counted(llama_step: Path) -> None:
    found = plan(llama_step, "--ranks=8", "--batch=global",
                 "--shard=nobody=[tp] shard 0")
    assert any("does not divide the batch of" in reason
               for reason in found["others"])
    assert any("nobody" in reason for reason in found["others"])
    assert found["plans"]
    assert all("tp:" not in one["mesh"] for one in found["plans"])
    message = fail(llama_step, "--ranks=6", "--batch=global",
                   "--shard=nobody=[tp] shard 0")
    assert "dp does not divide the batch of 4" in message
    assert "cp does not divide the 16 positions of the inputs" in message


def test_explains_and_compares(llama_step: Path) -> None:
    name = "layers.*.feed_forward.w1.weight"
    found = plan(llama_step, "--ranks=2", "--memory=1GB", f"--explain={name}",
                 "--batch=global",
                 f"--shard={name}=[tp] shard 0")
    assert found["explained_mesh"] == "tp:2"
    explained = found["explanations"]
    assert [entry["placement"] for entry in explained] == [
        f"{name}=[tp] whole", f"{name}=[tp] shard 0", f"{name}=[tp] shard 1"]
    assert [entry["chosen"] for entry in explained] == [False, True, False]
    planned = next(one for one in found["plans"] if one["mesh"] == "tp:2")
    assert explained[1]["seconds"] == planned["seconds"]
    assert explained[1]["bytes"] == planned["bytes"]
    before, after = (llama_step.parent / f"{n}.json" for n in ("before", "after"))
    for path, ranks in ((before, 2), (after, 4)):
        path.write_text(json.dumps(plan(llama_step, f"--ranks={ranks}")))
    same = run_tool("regather", "plan", f"--diff={before}", f"--diff={before}")
    assert same.stdout.decode() == "the plans are equal\n"
    other = run_tool("regather", "plan", f"--diff={before}", f"--diff={after}")
    lines = other.stdout.decode().splitlines()
    assert any(line.startswith("- dp:2 ") for line in lines)
    assert any(line.startswith("+ dp:4 ") for line in lines)


def test_explains_outputs(llama_step: Path) -> None:
    """What follows from the rest stands beside what could be said."""
    found = plan(llama_step, "--ranks=2", "--memory=1GB", "--batch=global",
                 "--shard=layers.*.feed_forward.w1.weight=[tp] shard 0",
                 "--explain=output(embedding)")
    explained = found["explanations"]
    assert [entry["placement"] for entry in explained] == [
        "", *(f"output(embedding)=[tp] {how}"
              for how in ("whole", "shard 0", "shard 1", "shard 2"))]
    assert [entry["chosen"] for entry in explained] == [True] + [False] * 4
    planned = next(one for one in found["plans"] if one["mesh"] == "tp:2")
    assert explained[0]["seconds"] == planned["seconds"]
    # The sequence between ranks takes another time, and other memory.
    assert explained[3]["seconds"] != planned["seconds"]
    assert explained[3]["bytes"] != planned["bytes"]
    message = fail(llama_step, "--ranks=2", "--memory=1GB", "--batch=global",
                   "--explain=output(nobody)", "--quiet")
    assert "nobody" in message


def test_plans_outlive_what_cannot_be_explained(llama_step: Path) -> None:
    path = llama_step.parent / "unexplained.json"
    path.unlink(missing_ok=True)
    result = run_tool("regather", "plan", llama_step, "--ranks=2",
                      "--batch=global", "--explain=nobody", f"--json={path}",
                      "--quiet")
    assert result.code == 1
    assert "flags, the best first" in result.stdout.decode()
    assert "nobody" in result.stderr
    written = json.loads(path.read_text())
    assert written["plans"]
    found = regather.plan(llama_step, ranks=2, batch="global", explain="nobody")
    assert found.plans == written["plans"]
    assert found.problem == written["problem"]
    assert "nobody" in found.problem
    assert [warning.message for warning in found.warnings] == [found.problem]


def test_pages_and_python(llama_step: Path) -> None:
    page = llama_step.parent / "plan.html"
    result = run_tool("regather", "plan", llama_step, "--ranks=2",
                      f"--report={page}", "--quiet")
    assert result.code == 0
    found = regather.plan(llama_step, ranks=2)
    assert found.text == result.stdout.decode()
    assert found.html == page.read_text()
    assert found.plans[0]["mesh"] in found.text
    assert "<svg" in found.html
    assert not found.problem
    assert not found.warnings


@pytest.mark.parametrize(("flags", "message"), [
    ((), "plan needs --ranks"),
    (("--ranks=16", "--cluster=h100-8"), "16"),
    (("--ranks=2", "--cluster=nothing"), "nothing"),
    (("--ranks=2", "--explain=w1", "--count=1"), "nothing to explain of \"w1\""),
    (("--diff=a.json",), "--diff takes two files"),
])
def test_bad_input(llama_step: Path, flags: tuple[str, ...],
                   message: str) -> None:
    assert message in fail(llama_step, *flags)


def test_a_sharded_step_has_a_mesh(llama_step: Path) -> None:
    sharded = llama_step.parent / "sharded.mlir"
    result = run_tool("regather-opt", llama_step,
                      "--tg-shard-parameters=mesh=dp:2", "-o", sharded)
    assert result.code == 0, result.stderr
    assert "this one lies over mesh" in fail(sharded, "--ranks=2")
