#!/usr/bin/env python3
"""Makes the GPU kit: a folder that a machine with a driver and PyTorch runs.

    test/gpu/make_kit.py -o KIT --runner build-gpu-kit/bin/regather-run

Needs the compiler, and PyTorch with transformers, whose losses are recorded.
`./dev gpu-kit -o KIT` builds both programs before. See docs/gpu/kit.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from cases import (attention, jobs, limits, llama_text, mlp,  # noqa: E402
                   speed, tiny_models)
from cases.builder import Cases  # noqa: E402

# In the order in which they are run: what takes longest comes last.
FAMILIES = {
    "mlp": ("correctness", mlp), "attention": ("correctness", attention),
    "limits": ("correctness", limits), "tiny": ("correctness", tiny_models),
    "llama": ("correctness", llama_text), "jobs": ("several GPUs", jobs),
    "speed": ("speed", speed)}
LIMIT = 40 << 20
# What says that a folder is a kit, so that it may be replaced.
MARK = "gpu-kit.json"


def make_folder(path: Path) -> None:
    if path.exists() and any(path.iterdir()):
        if not (path / MARK).exists():
            raise SystemExit(f"gpu-kit: {path} is not empty, and no kit that "
                             "could be replaced")
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / MARK).write_text("{}\n")


def get_glibc(program: Path) -> str:
    """The newest version that a program asks for."""
    minors = re.findall(rb"GLIBC_2\.(\d+)\0", program.read_bytes())
    return f"2.{max(map(int, minors))}"


def copy_programs(kit: Path, runner: Path, build: Path) -> None:
    for source, folder in ((runner, "bin"),
                           (build / "lib" / "libregather_recording.so", "lib")):
        if not source.is_file():
            raise SystemExit(f"gpu-kit: there is no {source}; build it first")
        (kit / folder).mkdir()
        shutil.copy(source, kit / folder)
    for source in sorted((HERE / "kit").iterdir()):
        if source.suffix in (".py", ".sh"):
            shutil.copy(source, kit / ("." if source.suffix == ".sh" else
                                       "scripts"))
    shutil.copy(ROOT / "examples" / "llama3.py", kit / "scripts")


def make_cases(kit: Path, build: Path, target: str, families: list[str],
               short: bool) -> None:
    (kit / "cases").mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        cases = Cases(build / "bin", kit / "cases", Path(scratch), target,
                      short)
        for family in families:
            cases.section, module = FAMILIES[family]
            module.add_cases(cases)
    for bundle in (kit / "cases").glob("*.rgb"):
        # The text of kernels becomes a fifth. Equal inputs give equal kits.
        Path(f"{bundle}.gz").write_bytes(
            gzip.compress(bundle.read_bytes(), mtime=0))
        bundle.unlink()
    (kit / "cases" / "cases.json").write_text(
        "[\n" + ",\n".join(map(json.dumps, cases.listed)) + "\n]\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="gpu-kit", description="Make a folder that a machine with a GPU "
        "runs by itself.")
    parser.add_argument("-o", "--output", type=Path, required=True,
                        metavar="DIR")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build",
                        help="where the compiler and the stand-in are")
    parser.add_argument("--runner", type=Path, required=True,
                        help="the regather-run that travels")
    parser.add_argument("--target", default="nvptx:sm_80,sm_90a")
    parser.add_argument("--only", default=",".join(FAMILIES),
                        help="families of cases, separated by commas (default: "
                        "%(default)s)")
    parser.add_argument("--short", action="store_true",
                        help="only what the stand-in runs in seconds")
    args = parser.parse_args()
    families = args.only.split(",")
    if unknown := set(families) - FAMILIES.keys():
        parser.error(f"unknown family {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(FAMILIES)}")
    kit = args.output
    make_folder(kit)
    (kit / "scripts").mkdir()
    copy_programs(kit, args.runner, args.build_dir)
    make_cases(kit, args.build_dir.resolve(), args.target, families, args.short)
    size = sum(file.stat().st_size for file in kit.rglob("*")
               if file.is_file())
    if size > LIMIT:
        raise SystemExit(f"gpu-kit: {kit} has {size >> 20} MiB, expected at "
                         f"most {LIMIT >> 20}")
    (kit / MARK).write_text(json.dumps({"target": args.target}) + "\n")
    print(f"{kit}: {size / 1e6:.1f} MB, for glibc {get_glibc(args.runner)} or "
          f"newer; run {kit / 'run.sh'}")


if __name__ == "__main__":
    main()
