"""Regather as a package: install, find_package from outside, build, run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("REGATHER_BUILD_DIR", ROOT / "build")).resolve()


def run(*command: str | Path) -> str:
    result = subprocess.run([str(word) for word in command], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout
    return result.stdout


def build_and_run(build: Path, package: Path, source: Path) -> str:
    # The compiler and flags of the build: a sanitized library needs a
    # sanitized program.
    cached = dict(line.split("=", 1) for line in
                  (BUILD / "CMakeCache.txt").read_text().splitlines()
                  if line.startswith("CMAKE_") and "=" in line)
    kind = cached["CMAKE_BUILD_TYPE:STRING"]
    flags = cached.get(f"CMAKE_CXX_FLAGS_{kind.upper()}:STRING", "")
    run("cmake", "-S", source, "-B", build, "-G", "Ninja",
        "-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld", f"-DCMAKE_CXX_FLAGS={flags}",
        f"-DRegather_DIR={package}")
    run("cmake", "--build", build)
    return run(build / "user")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", path)
    return path


def test_installed_package(prefix: Path, tmp_path: Path) -> None:
    # A copy, so that nothing of the source tree is found by accident.
    source = shutil.copytree(ROOT / "test" / "find_package", tmp_path / "user")
    package = prefix / "lib" / "cmake" / "regather"
    assert build_and_run(tmp_path / "build", package, source) == "ok\n"


def test_build_tree_is_a_package(tmp_path: Path) -> None:
    source = ROOT / "test" / "find_package"
    package = BUILD / "lib" / "cmake" / "regather"
    assert build_and_run(tmp_path / "build", package, source) == "ok\n"


def test_package_does_not_name_the_source_tree(prefix: Path) -> None:
    for file in prefix.rglob("*.cmake"):
        assert str(ROOT) not in file.read_text(), file


def test_every_header_is_installed(prefix: Path) -> None:
    headers = (ROOT / "include").rglob("*.h")
    missing = [header for header in headers if not
               (prefix / header.relative_to(ROOT)).exists()]
    assert not missing
