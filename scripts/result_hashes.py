#!/usr/bin/env python3
"""Hashes of everything that Regather makes of the models of the tests.

    scripts/result_hashes.py record before.json
    ... a change that is to change no bit ...
    scripts/result_hashes.py record after.json
    scripts/result_hashes.py compare before.json after.json

For each model: the imported step, steps planned with several options, what the
simulator says of them, PTX, bundles for both targets, and the results of runs
on both engines and of two ranks. Kernels are compiled anew, into a cache of the
recording's own. Of a command that fails its first error is recorded. `compare`
exits with 1 if something differs or is missing on one side.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL_NAME = re.compile(rb"[0-9a-f]{32}")
# Those of type symtab, strtab, rela, hash, nobits, dynsym and gnu.hash.
SYMBOL_SECTIONS = {2, 3, 4, 5, 8, 11, 0x6FFFFFF6}
# Flags of `regather`, by name. All of them shard over two ranks.
PLANS = {
    "default": [],
    "memory": ["--policy=full", "--reshard=always", "--recompute=none"],
    "overlap": ["--reshard=always", "--recompute=min-cut", "--bucket=auto",
                "--schedule=auto", "--optimizer=adamw"],
    "by-hand": ["--policy=selective", "--reshard=never", "--bucket=none",
                "--schedule=manual prefetch=2", "--layout=per-parameter",
                "--optimizer=sgd"],
}


def run(build: Path, tool: str, *arguments: str | Path) -> str:
    """The first error, or an empty string."""
    done = subprocess.run([build / "bin" / tool, *arguments], text=True,
                          capture_output=True)
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    return (f"{tool} exits with {done.returncode}: "
            f"{errors[0].split('error: ')[1] if errors else done.stderr}")


def commands(fx: Path, weights: Path, scratch: Path
             ) -> Iterator[tuple[str, Path, str, list[str | Path]]]:
    """What is made, the file it is written to, and by which command."""
    step, lowered = scratch / "step.mlir", scratch / "lowered.mlir"
    cache = f"--cache-dir={scratch / 'cache'}"
    inputs: list[str | Path] = ["--quiet", "--inputs", weights, cache]
    yield "import", step, "regather-translate", ["--import-fx", fx, "-o", step]
    yield "lowered", lowered, "regather-opt", [
        step, "--convert-tg-nodes-to-linalg", "-o", lowered]
    ptx = scratch / "step.ptx"
    yield "ptx", ptx, "regather", [
        "compile", fx, "--emit=ptx", "--target=nvptx:sm_90a", "-o", ptx,
        "--quiet", cache]
    yield "launches", Path(f"{ptx}.json"), "", []
    for target in ("cpu", "nvptx:sm_90a"):
        bundle = scratch / f"{target[:3]}.rgb"
        yield f"bundle {target}", bundle, "regather", [
            "compile", fx, f"--target={target}", "-o", bundle, "--quiet", cache]
    for engine, file in (("cpu", fx), ("interpreter", lowered)):
        results = scratch / f"{engine}.safetensors"
        yield f"results {engine}", results, "regather", [
            "run", file, f"--engine={engine}", "--outputs", results, *inputs]
    whole = scratch / "ranks.safetensors"
    yield "results of two ranks", whole, "regather", [
        "run", fx, "--mesh=dp:2", "--outputs", whole, *inputs]
    for name, flags in PLANS.items():
        numbers = scratch / f"{name}.json"
        planned = ["--mesh=dp:2", "--batch=per-rank", *flags]
        yield f"simulation {name}", numbers, "regather", [
            "simulate", fx, *planned, "--json", numbers, "--quiet"]
        bundle = scratch / f"{name}.rgb"
        yield f"bundle of plan {name}", bundle, "regather", [
            "compile", fx, *planned, "-o", bundle, "--quiet", cache]


def without_symbols(elf: bytes) -> bytes:
    """The sections of a shared object, but those that hold names of symbols."""
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    kept = []
    for number in range(count):
        kind, _, _, start, length = struct.unpack_from(
            "<IQQQQ", elf, offset + number * size + 4)
        if kind not in SYMBOL_SECTIONS:
            kept.append(elf[start:start + length])
    return b"".join(kept)


def content(path: Path) -> bytes:
    """Of a file, with names of kernels numbered by their first occurrence.

    Such a name is a hash of what compiled the kernel, too, so it changes with
    each change of the compiler.
    """
    data = path.read_bytes()
    if data.startswith(b"\x7fELF"):
        data = without_symbols(data)
    numbers: dict[bytes, bytes] = {}
    return KERNEL_NAME.sub(
        lambda name: numbers.setdefault(name[0], b"%d" % len(numbers)), data)


def record_model(build: Path, name: str, fx: Path, weights: Path
                 ) -> dict[str, str]:
    hashes = {}
    with tempfile.TemporaryDirectory() as folder:
        for what, file, tool, arguments in commands(fx, weights, Path(folder)):
            error = run(build, tool, *arguments) if tool else ""
            if not error and not file.exists():
                error = f"there is no file {file.name}"
            hashes[f"{name}: {what}"] = error or hashlib.sha256(
                content(file).replace(folder.encode(), b"DIR")).hexdigest()
    return hashes


def captures() -> Iterator[tuple[str, Path, Path]]:
    """The steps of all models, as the tests capture them."""
    sys.path[:0] = [str(ROOT / "test" / "python"), str(ROOT / "python")]
    import captured_models as captured
    for name in captured.MODELS:
        kept = captured.CAPTURES / captured.hash_of_sources() / name
        if not captured.is_whole(kept):
            captured.keep(captured.make_step(name), kept)
        yield name, *(kept / file for file in captured.FILES)


def record(build: Path, file: Path) -> int:
    hashes: dict[str, str] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(record_model, build, *capture)
                for capture in captures()]
        for number, job in enumerate(jobs, 1):
            hashes |= job.result()
            print(f"{number} of {len(jobs)} models", file=sys.stderr)
    scratch = file.with_name(f"{file.name}.partial")
    scratch.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")
    os.replace(scratch, file)
    print(f"{len(hashes)} hashes in {file}")
    return 0


def compare(before: Path, after: Path) -> int:
    old, new = (json.loads(path.read_text()) for path in (before, after))
    different = sorted(name for name in old.keys() | new.keys()
                       if old.get(name) != new.get(name))
    for name in different:
        where = [f"not in {path}" for path, hashes in ((before, old),
                 (after, new)) if name not in hashes]
        print(f"{name}: {where[0] if where else 'differs'}")
    print(f"{len(old.keys() | new.keys()) - len(different)} equal, "
          f"{len(different)} different")
    return 1 if different else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("record").add_argument("file", type=Path)
    both = verbs.add_parser("compare")
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.verb == "compare":
        return compare(given.before, given.after)
    return record(given.build_dir.resolve(), given.file)


if __name__ == "__main__":
    sys.exit(main())
