"""Writes a copy of the sources that has all faults at once, each chosen at run
time (SeededFault.h), so that the compiler is built once for all of them."""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from fault_table import ROOT, Fault, FaultError

HEADER = Path(__file__).with_name("SeededFault.h")
# What regather-fuzz is built from, and what CMake reads on the way there.
BUILT = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "benchmarks",
         "clusters", "cmake", "include", "lib", "python", "scripts", "test",
         "tools")


def choose(fault: Fault) -> str:
    """Text that does `new` in a process that has the fault, else `old`."""
    condition = f'REGATHER_FAULT("{fault.name}")'
    if fault.kind == "statement":
        return f"if ({condition}) {{ {fault.new}\n}} else {{ {fault.old}\n}}"
    return f"({condition} ? ({fault.new}) : ({fault.old}))"


def seed(text: str, faults: Iterable[Fault]) -> str:
    """The text of a file with its faults."""
    places = sorted(((fault.find(text), fault) for fault in faults),
                    key=lambda pair: pair[0])
    pieces, end = [f'#include "{HEADER.name}"\n'], 0
    for place, fault in places:
        if place < end:
            raise FaultError(f"fault {fault.name} overlaps another one in "
                             f"{fault.file}")
        pieces += [text[end:place], choose(fault)]
        end = place + len(fault.old)
    return "".join([*pieces, text[end:]])


def list_sources(root: Path = ROOT) -> list[str]:
    """Files under version control that are built."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *BUILT], cwd=root,
                            capture_output=True, text=True, check=True).stdout
    return [file for file in listed.split("\0")
            if file and (root / file).is_file()]


def digest_sources(root: Path = ROOT) -> str:
    """A hash of what decides how a case goes: the sources that are built and
    those of the fuzzer."""
    digest = hashlib.sha256()
    for file in list_sources(root):
        if file.startswith(("include/", "lib/", "test/fuzz/")):
            digest.update(file.encode() + b"\0")
            digest.update((root / file).read_bytes() + b"\0")
    return digest.hexdigest()


def write_if_changed(path: Path, contents: bytes) -> None:
    """So that only what has changed is built again."""
    if path.is_file() and path.read_bytes() == contents:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)


def write_copy(faults: list[Fault], target: Path, root: Path = ROOT) -> None:
    """Makes `target` the sources with the faults; what else lies there goes."""
    by_file = defaultdict(list)
    for fault in faults:
        if not fault.equivalent:
            by_file[fault.file].append(fault)
    files = list_sources(root)
    if unknown := by_file.keys() - set(files):
        raise FaultError(f"no sources are called {', '.join(sorted(unknown))}")
    header = f"include/{HEADER.name}"
    for file in files:
        contents = (root / file).read_bytes()
        if file in by_file:
            contents = seed(contents.decode(), by_file[file]).encode()
        write_if_changed(target / file, contents)
        (target / file).chmod((root / file).stat().st_mode)
    write_if_changed(target / header, HEADER.read_bytes())
    kept = {target / file for file in [*files, header]}
    for path in target.rglob("*"):
        if not path.is_dir() and path not in kept:
            path.unlink()


def build(source: Path, build_dir: Path, jobs: int) -> Path:
    """Builds regather-fuzz; what the compiler says goes to the screen."""
    commands = [["cmake", "--build", str(build_dir), f"-j{jobs}",
                 "--target", "regather-fuzz"]]
    if not (build_dir / "build.ninja").exists():
        # The choice between two texts may leave a variable unused.
        commands.insert(0, ["cmake", "--preset", "dev", "-S", str(source),
                            "-B", str(build_dir),
                            "-DREGATHER_WARNINGS_AS_ERRORS=OFF",
                            "-DREGATHER_BUILD_TESTS=ON"])
    for command in commands:
        if subprocess.run(["nice", "-n", "10", *command], cwd=source,
                          check=False).returncode:
            raise FaultError("the sources with the faults do not build; "
                             f"they lie in {source}")
    return build_dir / "bin" / "regather-fuzz"
