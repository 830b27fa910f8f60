"""A bundle for GPUs runs on the libraries that stand in for CUDA: the PTX of its
kernels computes what the CPU computes, and its calls are recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy
import pytest

from regather_tools import (BUILD, ROOT, RawTensor, Result, decode_safetensors,
                            run_tool)

STAND_IN = str(BUILD / "lib" / "libregather_recording.so")
LIBRARIES = {"REGATHER_CUDA_LIBRARY": STAND_IN,
             "REGATHER_CUBLASLT_LIBRARY": STAND_IN,
             "NVTX_INJECTION64_PATH": STAND_IN}
RUN = ("--random-inputs=1", "--steps=3")
# What a step may call; all else is made before.
STEP_CALLS = {"cuCtxSetCurrent", "cuEventRecord", "cuStreamWaitEvent",
              "cuLaunchKernel", "cuMemcpyDtoDAsync_v2", "cuMemcpy2DAsync_v2",
              "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async",
              "cublasLtMatmul", "cuStreamQuery"}


def compile_bundle(step: Path, output: Path, *options: str | Path) -> Path:
    if not any(str(option).startswith("--target") for option in options):
        options += ("--target=nvptx:sm_90a",)
    result = run_tool("regather", "compile", step, "--emit=bundle", "--quiet",
                      "-o", output, *options, timeout=300)
    assert result.code == 0, result.last_words
    return output


def run(step: Path, *options: str | Path, **env: str) -> Result:
    return run_tool("regather", "run", step, "--quiet", *options, timeout=300,
                    env={**LIBRARIES, **env})


def losses_of(result: Result) -> list[float]:
    assert result.code == 0, result.last_words
    return json.loads(result.stdout)["losses"]


def expect_error(result: Result, *words: str) -> None:
    assert result.code == 1, result.stderr
    assert result.stdout == b""
    for word in words:
        assert word in result.stderr, result.stderr


def calls_of(record: Path) -> list[dict]:
    """All calls, of which none has failed, and all kernels of which were run."""
    calls = [json.loads(line) for line in record.read_text().splitlines()]
    for call in calls:
        assert "skipped" not in call, call
        assert "problem" not in call, call
    return calls


def tensors_of(path: Path) -> dict[str, RawTensor]:
    return decode_safetensors(path.read_bytes())


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    return compile_bundle(ROOT / "examples" / "mlp.mlir", folder / "mlp.rgb")


def test_a_trace_shows_what_the_device_did(mlp: Path, tmp_path: Path) -> None:
    """Each kernel once, after the one before, and no bit of it differs."""
    flags = ["--random-inputs=1", "--steps=3", "--json"]
    trace, record = tmp_path / "trace.json", tmp_path / "calls.json"
    traced = run(mlp, *flags, f"--trace={trace}", REGATHER_RECORD=str(record))
    assert losses_of(traced) == losses_of(run(mlp, *flags))
    spans = [event for event in json.loads(trace.read_text())["traceEvents"]
             if event["ph"] == "X"]
    launched = [call for call in calls_of(record)
                if call["call"] == "cuLaunchKernel"]
    assert 3 * len(spans) == len(launched)
    assert all(span["cat"] == "computation" and "mlp.mlir" in span["args"]["at"]
               for span in spans)
    ends = [0.0]
    for span in spans:
        assert span["ts"] >= ends[-1] and span["dur"] >= 0
        ends.append(span["ts"] + span["dur"] - 1e-3)
    graph = compile_bundle(ROOT / "examples" / "mlp.mlir",
                           tmp_path / "graph.rgb", "--cuda-graph=full")
    expect_error(run(graph, "--random-inputs=1", f"--trace={tmp_path / 'no'}"),
                 "CUDA graphs cannot be measured", "--cuda-graph=none")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("graphs", ["none", "full"])
def test_values_lie_on_the_host(mlp: Path, tmp_path: Path, graphs: str) -> None:
    """Copied there and back, with the same bits, also within a graph."""
    away = compile_bundle(ROOT / "examples" / "mlp.mlir", tmp_path / "mlp.rgb",
                          "--offload=all min-bytes=0", f"--cuda-graph={graphs}")
    losses, counts = [], []
    for bundle, record in ((mlp, tmp_path / "here"), (away, tmp_path / "away")):
        losses.append(losses_of(run(bundle, *RUN, "--json",
                                    REGATHER_RECORD=str(record))))
        counts.append(Counter(call["call"] for call in calls_of(record)))
    assert losses[0] == losses[1]
    for name in ("cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2"):
        assert counts[1][name] > counts[0][name]


# An update of a parameter by what its state remembers.
MOMENTUM = """
#map = affine_map<(d0) -> (d0)>
func.func @step(%p: tensor<600xf32> {tg.donated, tg.role = #tg.role<parameter>, tg.name = "p"},
                %m: tensor<600xf32> {tg.donated, tg.role = #tg.role<optimizer_state>, tg.name = "m"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<600xf32> {tg.role = #tg.role<update of 0>},
        tensor<600xf32> {tg.role = #tg.role<update of 1>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%p : tensor<600xf32>)
      outs(%zero : tensor<f32>) dimensions = [0] {tg.phase = #tg.phase<forward>}
  %new:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]}
      ins(%p, %m : tensor<600xf32>, tensor<600xf32>) outs(%p, %m : tensor<600xf32>, tensor<600xf32>)
      attrs = {tg.phase = #tg.phase<optimizer>} {
  ^bb0(%pe: f32, %me: f32, %po: f32, %mo: f32):
    %sum = arith.addf %me, %pe : f32
    %next = arith.subf %pe, %sum : f32
    linalg.yield %next, %sum : f32, f32
  } -> (tensor<600xf32>, tensor<600xf32>)
  return %loss, %new#0, %new#1 : tensor<f32>, tensor<600xf32>, tensor<600xf32>
}
"""


@pytest.mark.parametrize("graphs", ["none", "full"])
def test_states_lie_on_the_host(tmp_path: Path, graphs: str) -> None:
    """Uploaded to pinned memory once, and copied piece by piece in a step."""
    step = tmp_path / "step.mlir"
    step.write_text(MOMENTUM)
    outputs = []
    for name, flags in (("here", ()), ("away", (
            "--offload=states min-states=64 piece=1KiB",
            f"--cuda-graph={graphs}"))):
        bundle = compile_bundle(step, tmp_path / f"{name}.rgb", *flags)
        record = tmp_path / f"{name}.calls"
        losses_of(run(bundle, *RUN, "--json", "--outputs", tmp_path / name,
                      REGATHER_RECORD=str(record)))
        outputs.append((tmp_path / name).read_bytes())
        counts = Counter(call["call"] for call in calls_of(record)
                         if "instruction" in call)
        # Captured steps run without calls.
        if name == "away" and graphs == "none":
            assert counts["cuMemcpyHtoDAsync_v2"] % 3 == 0
            assert counts["cuMemcpyHtoDAsync_v2"] > 0
    assert outputs[0] == outputs[1]


def test_computes_what_the_cpu_computes(mlp: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "gpu", tmp_path / "cpu"
    losses = losses_of(run(mlp, *RUN, "--json", "--outputs", outputs[0]))
    expected = losses_of(run(ROOT / "examples" / "mlp.mlir", *RUN, "--json",
                             "--outputs", outputs[1]))
    assert losses == pytest.approx(expected, rel=1e-5)
    gpu, cpu = map(tensors_of, outputs)
    assert gpu.keys() == cpu.keys() and gpu
    for name, tensor in gpu.items():
        numpy.testing.assert_allclose(tensor.to_floats(), cpu[name].to_floats(),
                                      rtol=1e-4, atol=1e-5, err_msg=name)


def test_steps_only_enqueue(mlp: Path, tmp_path: Path) -> None:
    record = tmp_path / "calls"
    losses_of(run(mlp, *RUN, "--json", REGATHER_RECORD=str(record)))
    calls = calls_of(record)
    inside = [call for call in calls if "instruction" in call]
    assert {call["call"] for call in inside} <= STEP_CALLS
    launches = Counter(call["instruction"] for call in inside
                       if call["call"] == "cuLaunchKernel")
    kernels = json.loads(run_tool("regather", "manifest", mlp).stdout)["kernels"]
    assert len(launches) >= kernels > 0
    assert all(count % 3 == 0 for count in launches.values())
    order = [call["instruction"] for call in inside]
    step = order[:len(order) // 3]
    assert order == 3 * step and step == sorted(step)


def test_weights_stay_on_the_device(mlp: Path, tmp_path: Path) -> None:
    def uploads(steps: int) -> int:
        record = tmp_path / f"calls{steps}"
        losses_of(run(mlp, "--random-inputs=1", f"--steps={steps}", "--json",
                      REGATHER_RECORD=str(record)))
        return sum(call["call"] == "cuMemcpyHtoDAsync_v2"
                   for call in calls_of(record))

    assert uploads(1) == uploads(4) > 0


def test_manifest_names_the_device(mlp: Path) -> None:
    manifest = json.loads(run_tool("regather", "manifest", mlp).stdout)
    assert manifest["target"]["device"] == "nvptx:sm_90a"
    assert manifest["target"]["features"] == []


def test_reports_seconds_on_the_device(mlp: Path) -> None:
    report = json.loads(run(mlp, *RUN, "--json").stdout)
    assert 0 < report["device_seconds_per_step"] <= report["seconds_per_step"]


def test_touches_the_memory_that_was_planned(mlp: Path) -> None:
    result = run(mlp, *RUN, "--json", "--check-plan")
    assert result.code == 0, result.stderr
    arena = json.loads(result.stdout)["arena"]
    assert arena["touched_bytes"] == arena["planned_bytes"] > 0


def test_machine_code_is_loaded_where_it_can_be(mlp: Path,
                                                tmp_path: Path) -> None:
    record = tmp_path / "calls"
    result = run(mlp, *RUN, "--json", REGATHER_RECORD=str(record),
                 REGATHER_STAND_IN_MACHINE_CODE="1")
    assert result.code == 0, result.stderr
    assert "refused" not in record.read_text()


@pytest.mark.parametrize(("variables", "words"), [
    ({"REGATHER_CUDA_LIBRARY": "/nowhere/libcuda.so"},
     ("cannot open the CUDA driver", "/nowhere/libcuda.so")),
    ({"REGATHER_STAND_IN_DEVICES": "0"},
     ("does not start", "CUDA_ERROR_NO_DEVICE")),
    ({"REGATHER_STAND_IN_DRIVER": "11080"},
     ("supports CUDA 11.8", "12.4 or newer is needed")),
    ({"REGATHER_STAND_IN_ARCHITECTURE": "80"},
     ("code for sm_90a", "is sm_80")),
    ({"REGATHER_STAND_IN_MEMORY": "1000"},
     ("the step needs", "1000 of 1000 bytes are free")),
])
def test_devices_that_cannot_run_it(mlp: Path, variables: dict[str, str],
                                    words: tuple[str, ...]) -> None:
    expect_error(run(mlp, *RUN, **variables), "cannot run bundle", *words)


def test_a_device_that_hangs(mlp: Path) -> None:
    expect_error(run(mlp, *RUN, "--timeout=0.1", REGATHER_STAND_IN_HANGS="1"),
                 "rank 0 stopped", "is not done after 0.1 seconds")


def test_other_flags_that_make_no_sense(mlp: Path) -> None:
    expect_error(run(mlp, *RUN, "--device=3"), "there is no device 3")


def test_runs_on_the_runtime_alone(mlp: Path) -> None:
    result = run_tool("regather-run", mlp, *RUN, "--json", "--quiet",
                      env=LIBRARIES)
    assert losses_of(result) == losses_of(run(mlp, *RUN, "--json"))


def test_ranks_share_a_device(tmp_path: Path) -> None:
    step = ROOT / "examples" / "mlp-fsdp.mlir"
    bundle = compile_bundle(step, tmp_path / "fsdp.rgb")
    record = tmp_path / "calls"
    outputs = tmp_path / "gpu", tmp_path / "cpu"
    losses = losses_of(run(bundle, *RUN, "--json", "--outputs", outputs[0],
                           REGATHER_RECORD=str(record)))
    expected = losses_of(run(step, *RUN, "--json", "--outputs", outputs[1]))
    assert losses == pytest.approx(expected, rel=1e-5)
    gpu, cpu = map(tensors_of, outputs)
    for name, tensor in gpu.items():
        numpy.testing.assert_allclose(tensor.to_floats(), cpu[name].to_floats(),
                                      rtol=1e-4, atol=1e-5, err_msg=name)
    launches = Counter(call["rank"] for call in calls_of(record)
                       if call["call"] == "cuLaunchKernel")
    assert set(launches) == {0, 1, 2, 3}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For two architectures."""
    bundle = tmp_path_factory.mktemp("gpu") / "mlp.rgb"
    compile_bundle(ROOT / "examples" / "mlp.mlir", bundle,
                   "--target=nvptx:sm_80,sm_90a")
    return bundle


@pytest.mark.parametrize(("device", "code"), [("80", 80), ("86", 80),
                                              ("90", 90), ("120", 80)])
def test_devices_take_their_code(many: Path, mlp: Path, tmp_path: Path,
                                 device: str, code: int) -> None:
    """The newest that they run: machine code of another generation is not
    tried, and PTX of another one only if there is none of theirs."""
    record = tmp_path / "calls"
    losses = losses_of(run(many, *RUN, "--json", REGATHER_RECORD=str(record),
                           REGATHER_STAND_IN_ARCHITECTURE=device))
    assert losses == losses_of(run(mlp, *RUN, "--json"))
    loads = [call for call in calls_of(record)
             if call["call"] == "cuModuleLoadDataEx"]
    # Stand-ins refuse machine code.
    assert all("refused" in load for load in loads[:-1])
    assert {load["architecture"] for load in loads} == {code}


def test_no_code_for_a_device(many: Path) -> None:
    expect_error(run(many, *RUN, REGATHER_STAND_IN_ARCHITECTURE="75"),
                 "the program has code for sm_80", "sm_80 (PTX), sm_90a",
                 "sm_90a (PTX), but device 0", "is sm_75")


def test_manifest_names_all_architectures(many: Path) -> None:
    manifest = json.loads(run_tool("regather", "manifest", many).stdout)
    assert manifest["target"]["device"] == "nvptx:sm_80,sm_90a"


@pytest.mark.parametrize(("options", "words"), [
    (("--target=nvptx:sm_80,sm_90a", "--emit=cubin"),
     ("write code for one architecture", "--emit=bundle has room")),
    (("--target=nvptx:sm_80,sm_13", "--emit=bundle"),
     ("unknown target 'nvptx:sm_80,sm_13'", "unknown architecture 'sm_13'")),
    (("--target=nvptx:sm_80,sm_80", "--emit=bundle"), ("named twice",)),
])
def test_lists_of_architectures_that_make_no_sense(
        tmp_path: Path, options: tuple[str, ...],
        words: tuple[str, ...]) -> None:
    expect_error(run_tool("regather", "compile",
                          ROOT / "examples" / "mlp.mlir", *options, "-o",
                          tmp_path / "out"), *words)
    assert not list(tmp_path.iterdir())


def test_machine_code_is_cached(tmp_path: Path) -> None:
    """The assembler runs once; its version is asked for each time."""
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\n"
                     f'echo "$1" >> {tmp_path}/calls\n'
                     'if [ "$1" = --version ]; then\n'
                     f"  cat {tmp_path}/version\n"
                     "else\n"
                     '  echo code > "$4"\n'
                     "fi\n")
    ptxas.chmod(0o755)

    def compile_once(version: str) -> tuple[list[str], bytes]:
        (tmp_path / "version").write_text(version)
        (tmp_path / "calls").write_text("")
        bundle = compile_bundle(ROOT / "examples" / "mlp.mlir",
                                tmp_path / "mlp.rgb", f"--ptxas={ptxas}",
                                "--cache-dir", tmp_path / "cache")
        return ((tmp_path / "calls").read_text().split(),
                bundle.read_bytes())

    cold, warm = compile_once("13.0"), compile_once("13.0")
    assert cold[0] == ["--version", "--gpu-name=sm_90a"]
    assert warm[0] == ["--version"]
    assert cold[1] == warm[1]
    assert compile_once("13.1")[0] == cold[0]


@pytest.mark.parametrize(("dtype", "ranks", "tolerance"), [
    ("float32", "--ranks=1", 1e-5),
    ("float16", "--ranks=1", 2e-3),
    ("float16", "--mesh=dp:2", 2e-3),
])
def test_llama_trains_as_on_the_cpu(dtype: str, ranks: str, tolerance: float,
                                    tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
    pytest.importorskip("transformers", reason="its model is captured here")
    from test_capture_models import llama
    import regather

    torch.manual_seed(0)
    model, batch = llama()
    model.train().to(getattr(torch, dtype))
    step = tmp_path / "step.fx.json"
    regather.capture(model, batch).save(step)
    options = (ranks, "--optimizer=adamw")
    bundle = compile_bundle(step, tmp_path / "llama.rgb", *options)
    record = tmp_path / "calls"
    train = (*RUN, "--learning-rate=0.01", "--json")
    losses = losses_of(run(bundle, *train, REGATHER_RECORD=str(record)))
    names = {call["call"] for call in calls_of(record)}
    # Half a batch is too little for the library.
    assert ("cublasLtMatmul" in names) == (ranks == "--ranks=1")
    expected = losses_of(run(step, *options, *train))
    assert losses == pytest.approx(expected, rel=tolerance)
