"""Finds cuBLASLt, cuDNN and NCCL: where the loader looks, in CUDA's folder, and
in Python environments. Says what was taken and what was not."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from processes import ask

# Opens a library in a process of its own, and asks for its version; where a
# handle can be made, for one.
PROBE = """
import ctypes, json, sys
path, version, create = sys.argv[1:]
library = ctypes.CDLL(path)
number = 0
if version == "ncclGetVersion":
    out = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(out))
    number = out.value
elif version:
    function = getattr(library, version)
    function.restype = ctypes.c_size_t
    number = function()
status = 0
if create:
    status = getattr(library, create)(ctypes.byref(ctypes.c_void_p()))
real = [line[line.index("/"):].rstrip() for line in open("/proc/self/maps")
        if path.rsplit("/", 1)[-1] in line]
print(json.dumps([number, status, real[0] if real else path]))
"""


@dataclass(frozen=True)
class Kind:
    """`oldest` and what `decode` returns are versions of three numbers."""
    name: str
    variable: str
    files: tuple[str, ...]
    version: str
    create: str
    oldest: tuple[int, int, int]

    def decode(self, number: int) -> tuple[int, int, int]:
        thousands = 1000 if self.name == "cuDNN" and number < 90000 else 10000
        return (number // thousands, number % thousands // 100, number % 100)


KINDS = (
    Kind("CUDA driver", "REGATHER_CUDA_LIBRARY", ("libcuda.so.1",), "", "",
         (0, 0, 0)),
    Kind("cuBLASLt", "REGATHER_CUBLASLT_LIBRARY",
         ("libcublasLt.so.13", "libcublasLt.so.12"), "cublasLtGetVersion",
         "cublasLtCreate", (12, 4, 0)),
    Kind("cuDNN", "REGATHER_CUDNN_LIBRARY", ("libcudnn.so.9",),
         "cudnnGetVersion", "cudnnCreate", (9, 10, 2)),
    Kind("NCCL", "REGATHER_NCCL_LIBRARY", ("libnccl.so.2",), "ncclGetVersion",
         "", (2, 26, 2)))


@dataclass
class Library:
    """`path` is none if there is none that works; `folders` have what it opens."""
    name: str
    variable: str
    path: str | None = None
    version: tuple[int, ...] = ()
    place: str = ""
    folders: list[str] = field(default_factory=list)
    # What was not taken, and why.
    refused: list[str] = field(default_factory=list)


def cuda_folders() -> Iterator[str]:
    for home in dict.fromkeys((os.environ.get("CUDA_HOME"),
                               os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib"):
            if home:
                yield os.path.join(home, folder)


def candidates(kind: Kind, environments: list) -> Iterator[tuple[str, str, list]]:
    """Path, where it is from, and the folders of what it opens itself."""
    for file in kind.files:
        yield file, "the loader's path", []
    for folder in cuda_folders():
        for file in kind.files:
            if os.path.exists(os.path.join(folder, file)):
                yield os.path.join(folder, file), "CUDA's folder", [folder]
    for environment in environments:
        for site in environment.sites:
            folders = sorted(glob.glob(glob.escape(site) + "/nvidia/*/lib"))
            for file in kind.files:
                for folder in [*folders, os.path.join(site, "torch", "lib")]:
                    if os.path.exists(os.path.join(folder, file)):
                        yield (os.path.join(folder, file),
                               f"the packages of {environment.executable}",
                               folders)


def probe(kind: Kind, path: str, folders: list[str]
          ) -> tuple[str, tuple[int, ...], str]:
    """Its real path and version, and why it cannot be taken, if so."""
    loader = [part for part in (os.environ.get("LD_LIBRARY_PATH"), *folders)
              if part]
    text, error = ask(
        [sys.executable, "-B", "-c", PROBE, path, kind.version, kind.create], 20,
        {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(loader)})
    if error:
        return path, (), error
    number, status, real = json.loads(text.strip().splitlines()[-1])
    version = kind.decode(number) if kind.version else ()
    if version and version < kind.oldest:
        return real, version, (f"has version {dotted(version)}, needs "
                               f"{dotted(kind.oldest)}")
    if status:
        return real, version, f"does not start: {kind.create} returns {status}"
    return real, version, ""


def find_one(kind: Kind, all_candidates: Iterator[tuple[str, str, list]]
             ) -> Library:
    library = Library(kind.name, kind.variable)
    for path, place, folders in all_candidates:
        real, version, error = probe(kind, path, folders)
        if not error:
            library.path, library.version = real, version
            library.place, library.folders = place, folders
            break
        library.refused.append(f"{path}: {error}")
    return library


def find(kit: Path, environments: list, stand_in: bool) -> dict[str, Library]:
    """What a variable names is the only candidate."""
    found = {}
    for kind in KINDS:
        if named := os.environ.get(kind.variable):
            every = iter([(named, kind.variable, [])])
        elif stand_in:
            every = iter([(str(kit / "lib" / "libregather_recording.so"),
                           "the kit: it stands in", [])])
        else:
            every = candidates(kind, environments)
        found[kind.name] = find_one(kind, every)
    return found


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def describe(found: dict[str, Library]) -> Iterator[str]:
    for library in found.values():
        if library.path:
            version = f" {dotted(library.version)}" if library.version else ""
            yield (f"{library.name}{version}: {library.path}, from "
                   f"{library.place}")
        else:
            yield f"{library.name}: there is none that can be used"
        for refused in library.refused:
            # The loader's words for a file that is not there are no news.
            if library.path is None or "cannot open shared" not in refused:
                yield f"  not taken: {refused}"
