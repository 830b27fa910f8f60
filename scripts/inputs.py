"""What the result of a test depends on, as a hash.

A test is a file. Its result depends on that file; on the sources of what it runs,
the product; on the folders and files of this repository that its text, or that of
the modules it imports, names; and on the machine.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
from pathlib import Path

from project import ROOT, project_files, run

# What the tools, libraries, runtimes and stand-ins are built from.
PRODUCT = ("include/", "lib/", "tools/", "cmake/", "clusters/", "test/lib/",
           "test/StandIn/", "CMakeLists.txt", "CMakePresets.json")
# What nearly all Python tests read, named or not.
PYTHON = ("python/", "examples/")
# Otherwise what the text names: a test that reads docs/ says "docs".
NAMED = ("benchmarks", "dev", "docs", "examples", "python", "README", "scripts",
         "requirements", "test/find_package", "test/gpu", "test/Dialect",
         "test/Execution", "test/Unit", "test/fuzz")


@functools.cache
def hash_of_file(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def hash_of_files(paths: list[Path]) -> bytes:
    """By path and content; paths are relative to the root."""
    hashed = hashlib.sha256()
    for path in sorted(paths):
        hashed.update(f"{path}\0".encode())
        hashed.update(hash_of_file(ROOT / path))
    return hashed.digest()


@functools.cache
def tracked() -> tuple[Path, ...]:
    return tuple(path for path in project_files()
                 if (ROOT / path).is_file())


@functools.cache
def hash_of_trees(prefixes: tuple[str, ...]) -> bytes:
    """Of all tracked files whose path begins with one of these."""
    return hash_of_files([path for path in tracked()
                          if str(path).startswith(prefixes)])


@functools.cache
def machine() -> bytes:
    """Versions of what is installed, the processor, and what tests skip for."""
    wanted = (ROOT / "scripts/apt-packages.txt").read_text().split()
    facts = [
        run(["dpkg-query", "-W", *wanted], split=True).output,
        *sorted(f"{one.metadata['Name']} {one.version}"
                for one in importlib.metadata.distributions()),
        platform.python_version(), platform.machine(), processor_flags(),
        f"root {os.getuid() == 0}", f"cores {os.cpu_count()}",
        *(f"{tool} {shutil.which(tool)}" for tool in (
            "ptxas", "nvidia-smi", "compute-sanitizer", "mpirun")),
        f"data {(ROOT.parent / 'shared/data').is_dir()}",
        *sorted(f"{name}={value}" for name, value in os.environ.items()
                if name.startswith(("REGATHER_", "CUDA_", "OMP_"))),
    ]
    return hashlib.sha256("\n".join(facts).encode()).digest()


def processor_flags() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^flags\s*:.*$", text, re.MULTILINE)
    return found[0] if found else ""


def key(suite: str, name: str, *parts: bytes) -> str:
    hashed = hashlib.sha256(f"{suite}\0{name}\0".encode())
    for part in (machine(), *parts):
        hashed.update(part)
    return hashed.hexdigest()


def named_in(texts: list[str]) -> bytes:
    """The files below what these texts name."""
    named = tuple(name for name in NAMED
                  if any(name.rsplit("/", 1)[-1] in text for text in texts))
    return hash_of_trees(named) if named else b""


def python_modules(path: Path) -> list[Path]:
    """A test of test/python and the modules there that it imports."""
    folder = ROOT / "test/python"
    found, waiting = set(), [path.stem]
    while waiting:
        module = waiting.pop()
        source = folder / f"{module}.py"
        if module in found or not source.exists():
            continue
        found.add(module)
        waiting += re.findall(r"^\s*(?:from|import) (\w+)",
                              source.read_text(), re.MULTILINE)
    return [Path("test/python") / f"{module}.py" for module in sorted(found)]


def key_of_python_test(path: Path) -> str:
    """`path` is relative to the root, such as test/python/test_demo.py."""
    modules = python_modules(path)
    texts = [(ROOT / module).read_text() for module in modules]
    return key("pytest", str(path), hash_of_trees(PRODUCT),
               hash_of_trees(PYTHON), hash_of_files(modules), named_in(texts))


def key_of_lit_test(path: Path) -> str:
    """`path` is relative to the root, such as test/Tools/stats.test."""
    shared = [other for other in tracked() if other.parts[0] == "test"
              and ("Inputs" in other.parts or other.name.startswith("lit."))]
    beside = [other for other in tracked()
              if other.parent == path.parent and
              other.suffix not in (".mlir", ".test")]
    return key("lit", str(path), hash_of_trees(PRODUCT),
               hash_of_trees(("examples/", "benchmarks/")),
               hash_of_files(shared + beside),
               hash_of_files([path]), named_in([(ROOT / path).read_text()]))


def key_of_unit_tests(program: str) -> str:
    return key("unit", program, hash_of_trees(PRODUCT),
               hash_of_trees(("test/Unit/", "examples/")))
