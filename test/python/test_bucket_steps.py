"""Buckets never change a bit.

Steps that a rank runs with its gathers and reductions merged give the files
that they give without: models that this project sharded, in each layout, and
captured ones with FSDP and tensor parallelism inside.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402

from regather.factory import make_step  # noqa: E402
from regather.fx.capture import capture_step  # noqa: E402

TEXT = bytes(index * index * 7 % 61 for index in range(321))
FACTORIES = ROOT / "examples" / "llama3.py"
BY_MODULE = "[embedding],[layers.*] each,[norm,output]"
ONE_EACH = "--pass-option=tg-shard-parameters:units=none"
# What is bucketed, and how.
SETTINGS = {
    "per-parameter": (["--layout=per-parameter", ONE_EACH], BY_MODULE),
    "all-in-one": (["--layout=per-parameter", ONE_EACH], "[/.*/]"),
    "across-layers": (["--layout=per-parameter", ONE_EACH],
                      "[embedding,layers.0.attention],"
                      "[/layers\\.[01]\\.feed_forward/,norm],"
                      "layers.*.attention_norm each"),
    "flat-parameters": (["--layout=flat", ONE_EACH], BY_MODULE),
    "flat-units": (["--layout=flat"], "[embedding,layers.0],[layers.1,norm]"),
    "reshard": (["--layout=flat", ONE_EACH, "--reshard=always"], BY_MODULE),
    "auto": (["--layout=per-parameter", ONE_EACH], "auto"),
}


@pytest.fixture(scope="module", name="llama")
def capture_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("buckets")
    graph = capture_step(make_step(f"{FACTORIES}:step",
                                   {"config": "tiny", "batch": 8}))
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    (folder / "text").write_bytes(TEXT)
    return folder


def results(llama: Path, *options: str) -> tuple[bytes, dict]:
    """The file of all results, and the report."""
    result = run_tool(
        "regather", "run", "step.fx.json", "--inputs", "weights.safetensors",
        "--text", "text", "--learning-rate=0.01", "--steps=3", "--outputs",
        "out.safetensors", "--quiet", "--json", "--plan=as-captured",
        "--recompute=min-cut",
        "--optimizer=adamw weight-decay=0.1 max-norm=1", *options, cwd=llama,
        timeout=300)
    assert result.code == 0, result.stderr
    return ((llama / "out.safetensors").read_bytes(),
            json.loads(result.stdout))


def count_collectives(report: dict) -> int:
    return sum(entry["count"] for entry in report["collectives"])


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_same_bits(llama: Path, ranks: int, setting: str) -> None:
    options, plan = SETTINGS[setting]
    mesh = f"--mesh=dp:{ranks}"
    plain, before = results(llama, mesh, *options)
    bucketed, after = results(llama, mesh, *options, f"--bucket={plan}")
    assert bucketed == plain
    assert after["losses"] == before["losses"]
    assert count_collectives(after) < count_collectives(before)


@pytest.mark.parametrize("mesh", ["rep:2,dp:2", "rep:2,dp:4"])
def test_same_bits_on_hybrid_meshes(llama: Path, mesh: str) -> None:
    options = [f"--mesh={mesh}", "--replicate-axis=rep", ONE_EACH]
    plain, before = results(llama, *options)
    bucketed, after = results(llama, *options, f"--bucket={BY_MODULE}")
    assert bucketed == plain
    kinds = {entry["kind"]: entry["count"] for entry in after["collectives"]
             if entry["phase"] == "backward"}
    assert kinds == {"reduce_scatter": 4, "all_reduce": 4}
    assert count_collectives(after) < count_collectives(before)


@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_same_bits_with_a_schedule(llama: Path, mode: str) -> None:
    options = ["--mesh=dp:4", ONE_EACH, "--reshard=always"]
    plain, _ = results(llama, *options)
    scheduled, _ = results(llama, *options, f"--bucket={BY_MODULE}",
                           f"--schedule={mode}")
    assert scheduled == plain


def test_same_bits_in_the_interpreter(llama: Path) -> None:
    options = ["--mesh=dp:2", ONE_EACH, "--engine=interpreter"]
    plain, _ = results(llama, *options)
    assert results(llama, *options, f"--bucket={BY_MODULE}")[0] == plain


def test_same_bits_in_a_bundle(llama: Path) -> None:
    plain, _ = results(llama, "--mesh=dp:2", ONE_EACH)
    compiled = run_tool(
        "regather", "compile", "step.fx.json", "--mesh=dp:2", ONE_EACH,
        "--optimizer=adamw weight-decay=0.1 max-norm=1",
        f"--bucket={BY_MODULE}", "-o", "step.rgb", cwd=llama, timeout=300)
    assert compiled.code == 0, compiled.stderr
    run = run_tool("regather", "run", "step.rgb", "--inputs",
                   "weights.safetensors", "--text", "text",
                   "--learning-rate=0.01", "--steps=3", "--outputs",
                   "bundle.safetensors", "--quiet", cwd=llama, timeout=300)
    assert run.code == 0, run.stderr
    assert (llama / "bundle.safetensors").read_bytes() == plain


def count_copies(llama: Path, *passes: str) -> int:
    """Copies of buffers in the program that is made of the step."""
    imported = run_tool("regather-translate", "--import-fx", "step.fx.json",
                        cwd=llama)
    lowered = run_tool(
        "regather-opt", "-", "--tg-shard-parameters=mesh=dp:4 units=none",
        *passes, "--convert-tg-nodes-to-linalg", "--tg-form-kernels",
        "--convert-tg-to-exec", stdin=imported.stdout, cwd=llama)
    assert lowered.code == 0, lowered.stderr
    return len(re.findall(rb"\bexec\.copy\b", lowered.stdout))


def test_flat_buckets_need_no_copies(llama: Path) -> None:
    bucketed = count_copies(
        llama, f'--tg-bucket-collectives=plan="{BY_MODULE}"')
    assert bucketed == count_copies(llama)


@pytest.mark.parametrize("dp, tp", [(4, 1), (2, 2), (4, 2)])
def test_captured_steps(dp: int, tp: int, tmp_path: Path) -> None:
    """FSDP, and FSDP over tensor parallelism, as a user's graph has them."""
    graph = capture_step(make_step(
        f"{FACTORIES}:sharded_step",
        {"config": "tiny", "dp": dp, "tp": tp, "batch": 4}))
    torch.distributed.destroy_process_group()
    graph.save(tmp_path / "step.fx.json")
    files, collectives = {}, {}
    for bucket in ("none", BY_MODULE):
        for engine in ENGINES:
            run = run_tool(
                "regather", "run", "step.fx.json", "--random-inputs=1",
                f"--engine={engine}", f"--ranks={dp * tp}", "--outputs",
                "out.safetensors", "--json", "--quiet", "--plan=as-captured",
                f"--bucket={bucket}", cwd=tmp_path, timeout=300)
            assert run.code == 0, run.stderr
            files[bucket, engine] = (tmp_path / "out.safetensors").read_bytes()
            collectives[bucket] = {
                (entry["kind"], tuple(entry["axes"])): entry["count"]
                for entry in json.loads(run.stdout)["collectives"]}
    for engine in ENGINES:
        assert files[BY_MODULE, engine] == files["none", engine], engine
    merged = collectives[BY_MODULE]
    assert merged["all_gather", ("dp",)] == 4
    assert merged["reduce_scatter", ("dp",)] == 4
    # Tensor parallelism is not disturbed.
    for key, count in collectives["none"].items():
        if key[0] == "all_reduce":
            assert merged[key] == count, key
