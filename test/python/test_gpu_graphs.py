"""CUDA graphs: what they hold, and that the order of all calls is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="its models are captured here")

from regather_tools import BUILD, ROOT, run_tool  # noqa: E402
from test_capture_models import llama, mixtral  # noqa: E402

import regather  # noqa: E402

STAND_IN = BUILD / "lib" / "libregather_recording.so"
LIBRARIES = {f"REGATHER_{name}_LIBRARY": str(STAND_IN)
             for name in ("CUDA", "NCCL", "CUBLASLT", "CUDNN")}
LIBRARIES["NVTX_INJECTION64_PATH"] = str(STAND_IN)
MODELS = {"llama": llama, "mixtral": mixtral}
# Attention only, attention and router, router only, everything.
CASES = [("llama", "modules=*.self_attn", 1),
         ("llama", "unit", 2),
         ("llama", "full", 1),
         ("llama", "full", 2),
         ("mixtral", "modules=*.self_attn", 2),
         ("mixtral", "modules=*.self_attn,*.gate", 1),
         ("mixtral", "modules=*.gate min-ops=1", 1),
         ("mixtral", "full", 2)]
# What is recorded of the work of a call; where it stands is left out.
WORK = ("call", "rank", "kernel", "blocks", "threads", "reads", "writes")


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("steps")
    paths = {}
    for name, make in MODELS.items():
        torch.manual_seed(0)
        model, batch = make()
        # So that the modules are made of many kernels.
        model.set_attn_implementation("eager")
        model.train()
        paths[name] = folder / f"{name}.fx.json"
        regather.capture(model, batch).save(paths[name])
    return paths


def record(step: Path, graphs: str, ranks: int,
           folder: Path) -> list[dict[str, Any]]:
    """The calls of three steps; their order is proven."""
    bundle, calls = folder / "step.rgb", folder / f"{graphs[:4]}.jsonl"
    result = run_tool("regather", "compile", step, "--optimizer=adamw",
                      f"--ranks={ranks}", "--target=nvptx:sm_90a", "--quiet",
                      f"--cuda-graph={graphs}", "-o", bundle, timeout=600)
    assert result.code == 0, result.last_words
    result = run_tool("regather", "run", bundle, "--steps=3", "--quiet",
                      "--random-inputs=1", "--learning-rate=0.01",
                      env={**LIBRARIES, "REGATHER_RECORD": str(calls)},
                      timeout=600)
    assert result.code == 0, result.last_words
    checked = run_tool("regather", "check-calls", calls, timeout=600)
    assert checked.code == 0, checked.last_words
    return [json.loads(line) for line in calls.read_text().splitlines()]


def get_work(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What calls do on the device, without those that only order it."""
    return [{key: call[key] for key in WORK if key in call} for call in calls
            if "reads" in call or "writes" in call]


@pytest.mark.parametrize(("model", "graphs", "ranks"), CASES)
def test_graphs_replay_what_is_called(model: str, graphs: str, ranks: int,
                                      steps: dict[str, Path],
                                      tmp_path: Path) -> None:
    calls = record(steps[model], graphs, ranks, tmp_path)
    names = [call["call"] for call in calls]
    made = names.count("cuGraphInstantiateWithFlags")
    assert made >= (1 if graphs == "full" else 2)
    # The second and the third step.
    assert names.count("cuGraphLaunch") == 2 * made
    captured: dict[int, list[dict[str, Any]]] = {}
    for call in calls:
        if "capture" in call and "instruction" in call:
            captured.setdefault(call["capture"], []).append(call)
    first = [call for call in calls[:names.index("cuStreamBeginCapture_v2")]
             if "instruction" in call]
    for graph in captured.values():
        held = {call["instruction"] for call in graph
                if "reads" in call or "writes" in call}
        eager = [call for call in first if call["instruction"] in held]
        assert get_work(graph) == get_work(eager)
    if graphs == "full":
        # Nothing is enqueued besides, but for the marks of a step.
        last = len(names) - names[::-1].index("cuGraphLaunch")
        assert not get_work([call for call in calls[last:]
                             if "instruction" in call])


def test_modes_have_the_same_kernels_in_order(steps: dict[str, Path],
                                              tmp_path: Path) -> None:
    orders = []
    for graphs in ("none", "unit", "full"):
        folder = tmp_path / graphs
        folder.mkdir()
        calls = record(steps["llama"], graphs, 1, folder)
        # The first step makes every call; copies lie where memory was planned.
        names = [call["kernel"] for call in calls
                 if call["call"] == "cuLaunchKernel" and "capture" not in call]
        orders.append(names[:len(names) // 3] if graphs == "none" else names)
    none, unit, full = orders
    assert unit[:len(none)] == none
    assert full == none


def test_patterns_that_match_nothing(steps: dict[str, Path],
                                     tmp_path: Path) -> None:
    result = run_tool("regather", "compile", steps["llama"], "--ranks=1",
                      "--target=nvptx:sm_90a", "--cuda-graph=modules=*.router",
                      "--quiet", "-o", tmp_path / "step.rgb")
    assert result.code == 1
    assert 'pattern "*.router" of option \'modules\' matches no module' \
        in result.stderr
    assert "there are modules called" in result.stderr


def test_graphs_are_for_gpus(steps: dict[str, Path], tmp_path: Path) -> None:
    result = run_tool("regather", "compile", steps["llama"],
                      "--cuda-graph=full", "-o", tmp_path / "step.rgb")
    assert result.code == 1
    assert "--cuda-graph needs a --target such as" in result.stderr


@pytest.mark.parametrize("model", MODELS)
def test_the_order_of_graphs_keeps_the_bits(model: str, steps: dict[str, Path],
                                            tmp_path: Path) -> None:
    """On the CPU, which runs what graphs hold in their order."""
    outputs = []
    for mode in ("none", "unit", "full",
                 "modules modules=*.self_attn min-ops=1"):
        file = tmp_path / "outputs.safetensors"
        result = run_tool("regather", "run", steps[model], "--ranks=2",
                          "--optimizer=adamw", "--steps=3", "--quiet",
                          "--random-inputs=1", "--learning-rate=0.01",
                          f"--pass-option=exec-form-graphs:mode={mode}",
                          f"--outputs={file}", timeout=600)
        assert result.code == 0, result.last_words
        outputs.append(file.read_bytes())
    assert all(output == outputs[0] for output in outputs)


def test_graphs_keep_the_bits(tmp_path: Path) -> None:
    """Of losses and parameters over 100 steps; the stand-in runs the PTX."""
    runs = []
    for graphs in ("none", "full"):
        bundle = tmp_path / f"{graphs}.rgb"
        outputs = tmp_path / f"{graphs}.safetensors"
        result = run_tool("regather", "compile", ROOT / "examples" / "mlp.mlir",
                          "--target=nvptx:sm_90a", f"--cuda-graph={graphs}",
                          "--quiet", "-o", bundle, timeout=300)
        assert result.code == 0, result.last_words
        result = run_tool("regather", "run", bundle, "--steps=100", "--json",
                          "--random-inputs=1", "--quiet",
                          f"--outputs={outputs}", env=LIBRARIES, timeout=300)
        assert result.code == 0, result.last_words
        losses = json.loads(result.stdout)["losses"]
        assert len(set(losses)) > 1
        runs.append((losses, outputs.read_bytes()))
    assert runs[0] == runs[1]
