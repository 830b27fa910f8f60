"""test/gpu: what a user runs on a machine with a GPU, here on the libraries that
stand in for CUDA, and that it notices what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from regather_tools import BUILD, ROOT

STAND_IN = str(BUILD / "lib" / "libregather_recording.so")
SCRIPTS = ROOT / "test" / "gpu"


def run_cases(cases: Path, work: Path,
              **variables: str) -> tuple[int, str]:
    env = {**os.environ, "REGATHER_RUN": str(BUILD / "bin" / "regather-run"),
           **{f"REGATHER_{name}_LIBRARY": STAND_IN
              for name in ("CUDA", "CUBLASLT", "CUDNN", "NCCL")}, **variables}
    done = subprocess.run(["sh", str(SCRIPTS / "run.sh"), str(cases), str(work)],
                          env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=300)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu") / "cases"
    subprocess.run([sys.executable, str(SCRIPTS / "make_cases.py"), "-o",
                    str(folder), "--build-dir", str(BUILD),
                    "--only=mlp,attention", "--attention=1,2,40,32",
                    "--steps=4"], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=300)
    return folder


def test_all_cases_pass(cases: Path, tmp_path: Path) -> None:
    code, text = run_cases(cases, tmp_path)
    assert code == 0, text
    count = len((cases / "cases.tsv").read_text().splitlines())
    assert f"{count} passed, 0 failed" in text
    assert "every bit as in mlp" in text
    assert "every bit as in attention-cudnn" in text


def test_without_cudnn(cases: Path, tmp_path: Path) -> None:
    code, text = run_cases(cases, tmp_path,
                           REGATHER_CUDNN_LIBRARY="/nowhere/libcudnn.so")
    assert code == 0, text
    skipped = [line.split()[1] for line in text.splitlines()
               if line.endswith("there is no cuDNN")]
    assert skipped == ["attention-cudnn", "attention-cudnn-full"]
    assert "attention-generated" in text


def replace_case(cases: Path, folder: Path, name: str, check: str,
                 reference: str, flags: str = "") -> None:
    """The cases with one that is checked in another way."""
    folder.mkdir()
    for file in cases.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    lines = []
    for line in (cases / "cases.tsv").read_text().splitlines():
        fields = line.split("\t")
        if fields[0] == name:
            fields[3:] = [fields[3] + flags, check, reference]
        lines.append("\t".join(fields) + "\n")
    (folder / "cases.tsv").write_text("".join(lines))


@pytest.mark.parametrize(("check", "reference", "flags", "words"), [
    ("losses=1e-5", "wrong.losses", "", "losses within"),
    ("losses=1e-5", "missing.losses", "", "losses are missing"),
    # Another batch.
    ("same", "mlp", " --rng-seed=1 --random-inputs=2", "losses differ"),
    ("same", "mlp", " --no-such-flag", "exit code 1"),
])
def test_failures_are_noticed(cases: Path, tmp_path: Path, check: str,
                              reference: str, flags: str, words: str) -> None:
    folder = tmp_path / "cases"
    replace_case(cases, folder, "mlp-full", check, reference, flags)
    losses = (cases / "mlp.losses").read_text().splitlines()
    (folder / "wrong.losses").write_text(
        "".join(f"{float(loss) * 1.001:.9g}\n" for loss in losses))
    # More steps than were run.
    (folder / "missing.losses").write_text("\n".join(losses * 2) + "\n")
    code, text = run_cases(folder, tmp_path / "work")
    assert code == 1, text
    line, = [line for line in text.splitlines() if line.startswith("FAILED")]
    assert "mlp-full" in line
    assert words in line
    assert "9 passed, 1 failed" in text


def test_a_folder_without_cases(tmp_path: Path) -> None:
    code, _ = run_cases(tmp_path, tmp_path / "work")
    assert code == 2
