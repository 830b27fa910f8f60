"""The GPU kit: short cases on the stand-ins, from a path with a space; what is
wrong or missing is noticed, and the others go on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from regather_tools import BUILD, ROOT

pytest.importorskip("torch", reason="its losses are recorded in a kit")
pytest.importorskip("transformers", reason="a kit has its models")

LIMIT = 10 << 20
FEW = "mlp,mlp-full,attention-small-*"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made") / "kit"
    subprocess.run([sys.executable, str(ROOT / "test/gpu/make_kit.py"), "-o",
                    str(made), "--build-dir", str(BUILD), "--runner",
                    str(BUILD / "bin" / "regather-run"), "--short"],
                   check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=300)
    moved = tmp_path_factory.mktemp("moved") / "a kit"
    shutil.move(made, moved)
    return moved


def run_kit(kit: Path, output: Path, *options: str,
            **variables: str) -> tuple[int, dict[str, Any]]:
    # As in an active environment, whose Python has PyTorch.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(kit / "run.sh"), "-o", str(output), *options],
        env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "",
             **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, timeout=300)
    report = json.loads((output / "gpu-report.json").read_text())
    return done.returncode, report


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in report["cases"]}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def change(kit: Path, folder: Path, name: str, **fields: Any) -> Path:
    """The kit with one case that is wrong."""
    shutil.copytree(kit, folder)
    path = folder / "cases" / "cases.json"
    cases = json.loads(path.read_text())
    for case in cases:
        if case["name"] == name:
            case.update(fields)
    path.write_text(json.dumps(cases))
    return folder


def test_all_cases_pass(kit: Path, tmp_path: Path) -> None:
    before, output = files_of(kit), tmp_path / "an output"
    code, report = run_kit(kit, output, "--stand-in")
    cases = by_name(report)
    assert code == 0, report
    assert report["counts"]["failed"] == 0
    assert report["counts"]["passed"] >= 20
    assert cases["mlp-full"]["figures"]["same bits as"] == "mlp"
    assert cases["llama-bf16"]["figures"]["losses off by"] < 1e-2
    assert (cases["job-4-ranks-reproducible"]["figures"]["same bits as"]
            == "shared-4-ranks")
    assert cases["kill-2-ranks-full"]["figures"]["seconds until all ended"] < 30
    # PyTorch has run, too, on the CPU.
    assert cases["torch-gemm"]["figures"].keys() >= {"gemm-bf16", "gemm-f32"}
    assert cases["torch-block"]["figures"]["block"] > 0
    # Nothing is written beside the output, which has the report alone.
    assert files_of(kit) == before
    assert {path.name for path in output.iterdir()} == {
        "gpu-report.json", "gpu-report.html", "gpu-logs.tar.gz", "logs"}
    page = (output / "gpu-report.html").read_text()
    assert all(f"<td>{name}</td>" in page for name in cases)
    packed = output / "gpu-logs.tar.gz"
    assert packed.stat().st_size < LIMIT
    with tarfile.open(packed) as archive:
        names = archive.getnames()
    assert "gpu-logs/mlp.log" in names
    assert all(name.endswith((".log", ".err", ".json", ".html"))
               for name in names)


def test_all_parts_travel(kit: Path) -> None:
    sizes = [path.stat().st_size for path in kit.rglob("*") if path.is_file()]
    assert sum(sizes) < 40 << 20
    assert not list(kit.rglob("*.mlir"))


@pytest.mark.parametrize(("fields", "words"), [
    ({"check": {"kind": "losses", "file": "wrong.json", "tolerance": 1e-5}},
     "losses are off by"),
    ({"check": {"kind": "losses", "file": "nan.json", "tolerance": 1e-5}},
     "not finite"),
    ({"check": {"kind": "same", "case": "mlp"},
      "flags": ["--random-inputs=2"]}, "losses differ from those of mlp"),
    ({"flags": ["--no-such-flag"]}, "exit code 1: "),
    # A hang.
    ({"variables": {"REGATHER_STAND_IN_HANGS": "1"}, "deadline": 1},
     "not done after 1 seconds"),
])
def test_failures_are_noticed(kit: Path, tmp_path: Path, fields: dict[str, Any],
                              words: str) -> None:
    wrong = change(kit, tmp_path / "kit", "mlp-full", **fields)
    losses = json.loads((kit / "cases" / "mlp.losses.json").read_text())
    for name, factor in (("wrong", 1.001), ("nan", float("nan"))):
        (wrong / "cases" / f"{name}.json").write_text(
            json.dumps([loss * factor for loss in losses]))
    code, report = run_kit(wrong, tmp_path / "output", "--stand-in",
                           f"--only={FEW}")
    assert code == 1
    failed, = [case for case in report["cases"] if case["status"] == "failed"]
    assert failed["name"] == "mlp-full"
    assert words in failed["reason"]
    assert report["counts"]["passed"] == 4


def test_a_missing_library(kit: Path, tmp_path: Path) -> None:
    code, report = run_kit(kit, tmp_path, "--stand-in", f"--only={FEW}",
                           REGATHER_CUDNN_LIBRARY="/nowhere/libcudnn.so.9")
    cases = by_name(report)
    assert code == 0, report
    assert cases["attention-small-generated"]["status"] == "passed"
    assert cases["attention-small-cudnn"]["status"] == "skipped"
    assert (cases["attention-small-cudnn"]["reason"]
            == "there is no cuDNN that can be used")
    assert "attention-small-cudnn" in (
        cases["attention-small-cudnn-full"]["reason"])
    cudnn, = [one for one in report["libraries"] if one["name"] == "cuDNN"]
    assert cudnn["path"] is None
    assert "/nowhere/libcudnn.so.9" in cudnn["refused"][0]


@pytest.mark.parametrize(("size", "least", "most"), [
    ("40k", 32 << 10, 48 << 10), ("48k", 48 << 10, 48 << 10),
    ("60k", 48 << 10, 1 << 20)])
def test_shared_memory(kit: Path, tmp_path: Path, size: str, least: int,
                       most: int) -> None:
    """Cases at the limits take what their names say."""
    record = tmp_path / "calls.jsonl"
    code, _ = run_kit(kit, tmp_path / "output", "--stand-in",
                      f"--only=softmax-{size}-small",
                      REGATHER_RECORD=str(record))
    calls = map(json.loads, record.read_text().splitlines())
    taken = max(call["dynamic_shared_bytes"] for call in calls
                if call["call"] == "cuLaunchKernel")
    assert code == 0
    assert least <= taken <= most


def test_there_is_no_pytorch(kit: Path, tmp_path: Path) -> None:
    """In the Python of the system alone."""
    code, report = run_kit(kit, tmp_path / "output", "--stand-in",
                           "--only=gemm-*,torch-gemm", PATH="/usr/bin:/bin",
                           HOME=str(tmp_path), VIRTUAL_ENV="", CONDA_PREFIX="")
    assert code == 0, report
    assert by_name(report)["gemm-f32"]["status"] == "passed"
    assert (by_name(report)["torch-gemm"]["reason"]
            == "no Python environment here has PyTorch")


@pytest.mark.parametrize(("says", "code", "status", "words"), [
    ("========= Error: Device not supported", 1, "skipped",
     "compute-sanitizer refuses: Device not supported"),
    ("========= ERROR SUMMARY: 1 error", 9, "failed", "ERROR SUMMARY: 1 error"),
])
def test_compute_sanitizer(kit: Path, tmp_path: Path, says: str, code: int,
                           status: str, words: str) -> None:
    name = "compute-sanitizer-racecheck"
    changed = change(kit, tmp_path / "kit", name, stand_in_steps=1)
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    tool.chmod(0o755)
    _, report = run_kit(changed, tmp_path / "output", "--stand-in",
                        f"--only={name}",
                        PATH=f"{tool.parent}:{os.environ['PATH']}")
    case, = report["cases"]
    assert (case["status"], case["reason"]) == (status, words)


def test_time_is_up(kit: Path, tmp_path: Path) -> None:
    code, report = run_kit(kit, tmp_path, "--stand-in", f"--only={FEW}",
                           "--seconds=1")
    assert code == 2
    assert {case["reason"] for case in report["cases"]} == {
        "the time for all cases is used up"}


def test_an_output_that_cannot_be_written(kit: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(["sh", str(kit / "run.sh"), "-o",
                           str(tmp_path / "file" / "output")],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=60)
    assert done.returncode == 2
    assert "cannot write to the output" in done.stderr


def is_named_by_a_process(words: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes():
                return True
        except OSError:
            pass
    return False


def test_a_signal_ends_all(kit: Path, tmp_path: Path) -> None:
    """Whoever stops the kit leaves no job behind."""
    process = subprocess.Popen(
        ["sh", str(kit / "run.sh"), "-o", str(tmp_path), "--stand-in",
         "--only=kill-2-ranks"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL)
    log = tmp_path / "logs" / "kill-2-ranks-rank-0.log"
    end = time.monotonic() + 60
    while not (log.exists() and "loss" in log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.terminate()
    assert process.wait(30) == 143
    assert not is_named_by_a_process(str(tmp_path))


def test_a_machine_without_a_driver(kit: Path, tmp_path: Path) -> None:
    code, report = run_kit(kit, tmp_path, "--only=mlp*",
                           REGATHER_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert code == 2
    assert {case["reason"] for case in report["cases"]} == {
        "there is no CUDA driver"}


def make_library(folder: Path, name: str, version: int) -> Path:
    """One that says to be of a version of cuDNN."""
    folder.mkdir(parents=True)
    source = folder / "library.c"
    source.write_text(f"#include <stddef.h>\n"
                      f"size_t cudnnGetVersion(void) {{ return {version}; }}\n"
                      f"int cudnnCreate(void **h) {{ return 0; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / name, source],
                   check=True)
    return folder / name


def test_libraries_are_found_in_python_environments(kit: Path,
                                                    tmp_path: Path) -> None:
    """Behind one in CUDA's folder that is too old."""
    make_library(tmp_path / "cuda" / "lib64", "libcudnn.so.9", 90100)
    sites = tmp_path / "sites"
    found = make_library(sites / "nvidia" / "cudnn" / "lib", "libcudnn.so.9",
                         91002)
    code, report = run_kit(kit, tmp_path / "output", "--only=mlp",
                           CUDA_HOME=str(tmp_path / "cuda"),
                           PYTHONPATH=str(sites),
                           REGATHER_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert code == 2
    cudnn, = [one for one in report["libraries"] if one["name"] == "cuDNN"]
    assert cudnn["path"] == str(found)
    assert cudnn["version"] == [9, 10, 2]
    assert any("has version 9.1.0, needs 9.10.2" in text
               for text in cudnn["refused"])


def test_a_folder_that_is_no_kit_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("text")
    done = subprocess.run(
        [sys.executable, str(ROOT / "test/gpu/make_kit.py"), "-o",
         str(tmp_path), "--runner", str(BUILD / "bin" / "regather-run")],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "is not empty, and no kit" in done.stderr
    assert (tmp_path / "kept").read_text() == "text"
