"""What the tests of the command-line tools share: running them, and files."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("REGATHER_BUILD_DIR", ROOT / "build")).resolve()
ENGINES = ("cpu", "interpreter")

# What the tests compile stays out of the user's cache; `./dev check` keeps it in a
# folder of its own.
os.environ["REGATHER_CACHE_DIR"] = os.environ.get(
    "REGATHER_TEST_KERNELS", str(BUILD / "kernel-cache"))

# Nothing that these tests run has a reason to take longer.
TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class Result:
    """How a tool ended. A tool that a signal ended has a negative code."""
    code: int
    stdout: bytes
    stderr: str

    @property
    def timed_out(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def last_words(self) -> str:
        return self.stderr[-2000:]


def run_tool(tool: str, *arguments: str | Path,
             timeout: float = TIMEOUT_SECONDS, cwd: Path | None = None,
             stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
    """Runs a tool of the build; one that does not end in time is killed.

    `env` is added to the environment.
    """
    command = [str(BUILD / "bin" / tool), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=cwd, env={**os.environ, **(env or {})}
                          ) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
    return Result(process.returncode, stdout, stderr.decode(errors="replace"))


# -----------------------------------------------------------------------------
# Safetensors, by hand: a test of a reader must be able to write bad files.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RawTensor:
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def to_floats(self) -> numpy.ndarray:
        """The elements as f64, whatever their type."""
        if self.dtype == "BF16":
            halves = numpy.frombuffer(self.data, numpy.uint16)
            flat = (halves.astype(numpy.uint32) << 16).view(numpy.float32)
        else:
            flat = numpy.frombuffer(self.data, NUMPY_TYPES[self.dtype])
        return flat.astype(numpy.float64).reshape(self.shape)


NUMPY_TYPES = {"F64": numpy.float64, "F32": numpy.float32,
               "F16": numpy.float16, "I64": numpy.int64, "I32": numpy.int32,
               "I16": numpy.int16, "I8": numpy.int8, "BOOL": numpy.uint8}


def join_safetensors(header: bytes, data: bytes,
                     length: int | None = None) -> bytes:
    """A file from its parts; `length` is what it claims its header has."""
    size = len(header) if length is None else length
    return struct.pack("<Q", size) + header + data


def encode_safetensors(tensors: dict[str, RawTensor]) -> bytes:
    header, data = {}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape),
                        "data_offsets": [len(data),
                                         len(data) + len(tensor.data)]}
        data += tensor.data
    return join_safetensors(json.dumps(header).encode(), data)


def decode_safetensors(content: bytes) -> dict[str, RawTensor]:
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    data = content[8 + length:]
    tensors = {}
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = RawTensor(entry["dtype"], tuple(entry["shape"]),
                                  data[begin:end])
    return tensors
