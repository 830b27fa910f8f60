#!/usr/bin/env python3
"""Compares the runtime's own declarations of NVIDIA's libraries with the headers.

`lib/Runtime/GPU` declares what it calls, so that no toolkit is needed. The
files of `test/vendor` assert that signatures, values and layouts are those of
the vendor's headers; here they are compiled against the oldest and the newest
version of each library that is supported. The headers come from NVIDIA's wheels,
which are fetched once (3 GB; 50 MB of it are kept in the user's cache folder).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from project import ROOT, Case, failed, passed, report, run

COMPILER = "clang++-22"
# The driver's header, and what headers of the libraries include.
RUNTIMES = ("nvidia-cuda-runtime-cu12==12.4.127",
            "nvidia-cuda-runtime-cu12==12.9.79")
INCLUDED = (("nvidia-cuda-nvcc-cu12==12.4.131",
             "nvidia-cuda-cccl-cu12==12.4.127.post1"),
            ("nvidia-cuda-nvcc-cu12==12.9.86",
             "nvidia-cuda-cccl-cu12==12.9.27"))
# By file in test/vendor: the oldest version and the newest one.
LIBRARIES = {
    "Driver": RUNTIMES,
    "CublasLt": ("nvidia-cublas-cu12==12.4.5.8",
                 "nvidia-cublas-cu12==12.9.3.13"),
    "Cudnn": ("nvidia-cudnn-cu12==9.10.2.21", "nvidia-cudnn-cu12==9.28.0.42"),
    "Nccl": ("nvidia-nccl-cu12==2.26.2", "nvidia-nccl-cu12==2.32.3"),
}


@dataclass(frozen=True)
class Comparison:
    source: Path
    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.source.name} {self.packages[0]}"


def comparisons() -> list[Comparison]:
    found = []
    for library, versions in LIBRARIES.items():
        source = ROOT / "test" / "vendor" / f"{library}.cpp"
        for version, runtime, included in zip(versions, RUNTIMES, INCLUDED,
                                              strict=True):
            packages = dict.fromkeys((version, runtime, *included))
            found.append(Comparison(source, tuple(packages)))
    return found


def headers_of(package: str) -> Path:
    """Where the headers of a package are, or will be."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "regather" / "vendor" / package.replace("==", "-")


def fetch(package: str) -> str:
    """Gets the headers of a package unless they are there; returns what went
    wrong."""
    folder = headers_of(package)
    if folder.exists():
        return ""
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"[vendor] fetching {package}", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        result = run([sys.executable, "-m", "pip", "download", "--quiet",
                      "--no-deps", "--only-binary=:all:", "--no-cache-dir",
                      "-d", scratch, package], timeout=3600)
        if result.code != 0:
            return result.output
        part = Path(scratch) / "headers"
        for wheel in Path(scratch).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(part, [name for name in archive.namelist()
                                          if "/include/" in name])
        # Renamed last: what is there is complete.
        shutil.move(part, folder)
    return ""


def compare(comparison: Comparison) -> Case:
    options = []
    for package in comparison.packages:
        problem = fetch(package)
        if problem:
            return failed(comparison.name, f"{package}: {problem}")
        for folder in sorted(headers_of(package).glob("nvidia/*/include")):
            options += ["-isystem", folder]
    result = run([COMPILER, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra",
                  "-I", ROOT / "lib" / "Runtime", "-I", ROOT / "include",
                  *options, comparison.source])
    if result.code != 0:
        return failed(comparison.name, result.output)
    return passed(comparison.name)


def check(build_dir: Path) -> list[Case]:
    """Nothing that was built is needed."""
    del build_dir
    return [compare(comparison) for comparison in comparisons()]


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    return report(check(ROOT / "build"))


if __name__ == "__main__":
    sys.exit(main())
