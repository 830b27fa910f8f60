"""What the tools do with input that is wrong.

They end soon, never by a signal, with an error that names the place and both
sides, and leave an existing output file as it was.
"""

from __future__ import annotations

import json
import os
import random
import re
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

from regather_tools import (ENGINES, ROOT, RawTensor, Result,
                            decode_safetensors, encode_safetensors,
                            join_safetensors, run_tool)

EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
# The parsers of linalg.reduce and its like in MLIR 22 add a list of dimensions
# that they could not parse to the operation, and crash.
UPSTREAM_CRASH = re.compile(rb"(dimensions|permutation) = (\[[^\]]*)?$")
# What divides modules in one file.
SPLIT = b"\n// -----\n"
PRECIOUS = b"an output file that was there before"


# -----------------------------------------------------------------------------
# Running
# -----------------------------------------------------------------------------


def run_step(module: str | Path, folder: Path, *options: str | Path) -> Result:
    """Runs a step, given as text or as a file, into a file that exists."""
    if isinstance(module, str):
        (folder / "step.mlir").write_text(module)
        module = folder / "step.mlir"
    output = folder / "output.safetensors"
    output.write_bytes(PRECIOUS)
    before = set(os.listdir(folder))
    result = run_tool("regather", "run", module, "--quiet",
                      f"--outputs={output}", *options)
    if result.code != 0:
        assert output.read_bytes() == PRECIOUS
    assert set(os.listdir(folder)) == before, "left a temporary file"
    return result


def check_rejected(result: Result, *words: str) -> None:
    """It failed on purpose, and its message has all the words."""
    assert not result.timed_out, "did not end in time"
    assert result.code > 0, f"code {result.code}: {result.stderr}"
    for word in words:
        assert word in result.stderr, f"no '{word}' in: {result.stderr}"


def in_parallel(jobs: list[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


def flip_bits(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(count):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 3))):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        yield bytes(damaged)


# -----------------------------------------------------------------------------
# Damaged files
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_truncated_text(example: Path, tmp_path: Path) -> None:
    """Many beginnings of a module in one file: each gets an error of its own."""
    content = example.read_bytes()
    start = content.index(b"\nfunc.func")
    whole = len(content.rstrip())
    beginnings = [content[:length] for length in range(0, len(content), 37)
                  if not UPSTREAM_CRASH.search(content[:length])]
    path, output = tmp_path / "cut.mlir", tmp_path / "cut.out"
    path.write_bytes(SPLIT.join(beginnings))
    result = run_tool("regather-opt", "--split-input-file", path, "-o", output)
    check_rejected(result, f"{path}:", "error: ")
    assert not output.exists()
    rejected = {int(line) for line in re.findall(
        rf"^{re.escape(str(path))}:(\d+):\d+: error: ", result.stderr,
        re.MULTILINE)}
    first = 1
    for beginning in beginnings:
        next_one = first + (beginning + SPLIT).count(b"\n")
        # Before the function a module may well end.
        if start < len(beginning) < whole:
            assert rejected & set(range(first, next_one)), (
                f"no error in: {beginning[-200:]!r}")
        first = next_one


def test_truncated_file(tmp_path: Path) -> None:
    """As above, with a file for each of some beginnings."""
    content = EXAMPLES[0].read_bytes()
    start = content.index(b"\nfunc.func")
    for length in range(start + 40, len(content) - 40, len(content) // 9):
        path, output = tmp_path / f"{length}.mlir", tmp_path / "out"
        path.write_bytes(content[:length])
        if not UPSTREAM_CRASH.search(content[:length]):
            check_rejected(run_tool("regather-opt", path, "-o", output),
                           f"{path}:", "error: ")
            assert not output.exists()


@pytest.mark.parametrize("command", ["run", "stats"])
def test_truncated_text_in_the_driver(command: str, tmp_path: Path) -> None:
    content = EXAMPLES[0].read_bytes()
    start = content.index(b"func.func")
    for length in range(start + 20, len(content) - 20, 37 * 31):
        path = tmp_path / "cut.mlir"
        path.write_bytes(content[:length])
        if command == "run":
            result = run_step(path, tmp_path, "--random-inputs=1")
        else:
            result = run_tool("regather", "stats", path)
        check_rejected(result, f"{path}:", "error: ")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_flipped_bits_in_text(example: Path, tmp_path: Path) -> None:
    """Damage may leave a valid program, but must not crash or hang."""
    def check(number: int, content: bytes) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "damaged.mlir"
        path.write_bytes(content)
        result = run_step(path, folder, "--random-inputs=1",
                          "--engine=interpreter")
        if result.code != 0:
            check_rejected(result, "error: ")

    in_parallel([lambda pair=pair: check(*pair) for pair in enumerate(
        flip_bits(example.read_bytes(), 100, seed=1))])


@pytest.fixture(scope="module", name="bytecode")
def make_bytecode(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("bytecode") / "step.mlirbc"
    result = run_tool("regather-opt", "--emit-bytecode",
                      ROOT / "examples" / "mlp-fsdp.mlir", "-o", path)
    assert result.code == 0, result.stderr
    return path.read_bytes()


def test_bytecode_runs(bytecode: bytes, tmp_path: Path) -> None:
    path = tmp_path / "step.mlirbc"
    path.write_bytes(bytecode)
    assert run_step(path, tmp_path, "--random-inputs=1").code == 0


def test_truncated_bytecode(bytecode: bytes, tmp_path: Path) -> None:
    def check(length: int) -> None:
        path = tmp_path / f"{length}.mlirbc"
        path.write_bytes(bytecode[:length])
        check_rejected(run_tool("regather-opt", path), f"{path}:", "error: ")

    in_parallel([lambda length=length: check(length)
                 for length in range(1, len(bytecode), 37)])


@pytest.mark.parametrize("version", [0, 1, 5, 7, 20, 127])
def test_bytecode_of_another_version(bytecode: bytes, tmp_path: Path,
                                     version: int) -> None:
    # A variable-length integer follows the magic number; below 128 it is one
    # byte, whose lowest bit says so.
    assert bytecode[:4] == b"ML\xefR"
    path = tmp_path / "step.mlirbc"
    path.write_bytes(bytecode[:4] + bytes([version << 1 | 1]) + bytecode[5:])
    result = run_step(path, tmp_path, "--random-inputs=1")
    check_rejected(result, f"{path}:", "error: ", f"version {version}")


def test_flipped_bits_in_bytecode(bytecode: bytes, tmp_path: Path) -> None:
    def check(number: int, content: bytes) -> None:
        path = tmp_path / f"{number}.mlirbc"
        path.write_bytes(content)
        result = run_tool("regather-opt", path, "-o", os.devnull)
        if result.code != 0:
            check_rejected(result, "error: ")

    in_parallel([lambda pair=pair: check(*pair) for pair in enumerate(
        flip_bits(bytecode, 150, seed=2))])


CAPTURES = sorted((ROOT / "test" / "Import").glob("*.fx.json"))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_truncated_captures(capture: Path, tmp_path: Path) -> None:
    content = capture.read_bytes()

    def check(length: int) -> None:
        path = tmp_path / f"{length}.fx.json"
        path.write_bytes(content[:length])
        output = tmp_path / f"{length}.mlir"
        check_rejected(run_tool("regather-translate", "--import-fx", path,
                                "-o", output), f"{path}:", "error: ")
        assert not output.exists()

    in_parallel([lambda length=length: check(length)
                 for length in range(0, len(content.rstrip()), 211)])


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_flipped_bits_in_captures(capture: Path, tmp_path: Path) -> None:
    """Damage may leave a valid capture, but must not crash or hang."""
    def check(number: int, content: bytes) -> None:
        path = tmp_path / f"{number}.fx.json"
        path.write_bytes(content)
        output = tmp_path / f"{number}.mlir"
        result = run_tool("regather-translate", "--import-fx", path,
                          "-o", output)
        if result.code == 0:
            # What was imported is valid.
            assert run_tool("regather-opt", output).code == 0
            return
        check_rejected(result, "error: ")
        assert not output.exists()

    in_parallel([lambda pair=pair: check(*pair) for pair in enumerate(
        flip_bits(capture.read_bytes(), 60, seed=3))])


COMMANDS = [("regather", "run"), ("regather", "stats"), ("regather-opt",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_files_that_are_none(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "missing.mlir"
    check_rejected(run_tool(*command, missing), str(missing), "No such file")
    check_rejected(run_tool(*command, tmp_path), str(tmp_path), "directory")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("content", [
    b"\xff\xfe\x00\x80junk", bytes(range(256)), b"ML\xefR", b"\x89PNG\r\n",
    b'"unterminated', b"(" * 1000, b"#" * 1000], ids=lambda content:
    repr(content[:10]))
def test_junk(command: tuple[str, ...], content: bytes,
              tmp_path: Path) -> None:
    path = tmp_path / "junk.mlir"
    path.write_bytes(content)
    check_rejected(run_tool(*command, path), f"{path}:", "error: ")


def test_empty_file(tmp_path: Path) -> None:
    # An empty module is valid, but there is nothing in it to run.
    path = tmp_path / "empty.mlir"
    path.write_bytes(b"")
    assert run_tool("regather-opt", path).code == 0
    assert run_tool("regather", "stats", path).code == 0
    check_rejected(run_step(path, tmp_path), f"{path}:",
                   "has no public function")


# -----------------------------------------------------------------------------
# Options
# -----------------------------------------------------------------------------

MESH = """\
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("option", "words"), [
    ("--ranks=3", ["step.mlir:1:1: error: ", "2 ranks", "asks for 3"]),
    ("--ranks=0", ["--ranks", "between 1 and 4096", "got 0"]),
    ("--ranks=-1", ["--ranks", "between 1 and 4096", "got -1"]),
    ("--ranks=100000", ["--ranks", "between 1 and 4096", "got 100000"]),
    ("--ranks=99999999999999999999", ["--ranks", "99999999999999999999"]),
    ("--steps=0", ["--steps", "at least 1", "got 0"]),
    ("--steps=-1", ["--steps", "at least 1", "got -1"]),
    ("--timeout=0", ["--timeout", "positive"]),
    ("--timeout=nan", ["--timeout", "positive"]),
    ("--seed=-1", ["--seed", "-1"]),
    ("--engine=gpu", ["--engine", "gpu"]),
    ("--first-step=0", ["--first-step", "between 1 and", "0"]),
    ("--learning-rate=inf", ["--learning-rate", "finite"]),
    ("--learning-rate=0.1", ["--learning-rate", "no argument"]),
    ("--entry=other", ["step.mlir", "error: ", "other"]),
    ("--no-such-option", ["--no-such-option"]),
])
def test_bad_options(option: str, words: list[str], tmp_path: Path) -> None:
    check_rejected(run_step(MESH, tmp_path, "--random-inputs=1", option),
                   *words)


@pytest.mark.parametrize("value", [
    "", "x", "-1", "1.5", "1,floats", ",integers", "99999999999999999999"])
def test_bad_random_inputs(value: str, tmp_path: Path) -> None:
    check_rejected(run_step(MESH, tmp_path, f"--random-inputs={value}"),
                   "--random-inputs", value.rpartition(",")[2])


def test_no_inputs(tmp_path: Path) -> None:
    check_rejected(run_step(MESH, tmp_path), '"arg0"', "--inputs",
                   "--random-inputs")


# -----------------------------------------------------------------------------
# Modules that cannot be run
# -----------------------------------------------------------------------------

REDUCE = ("tg.all_reduce sum %x on @mesh [dp] phase forward : "
          "(tensor<4xf32>) -> !tg.future<tensor<4xf32>>")

# Name: the module, and words that the error must have.
MODULES = {
    "several-public-functions": ("""\
func.func @a() { return }
func.func @b() { return }
""", [":2:1: error: ", "--entry", ":1:1: note: "]),
    "no-public-function": ("func.func private @a() { return }\n",
                           ["no public function"]),
    "dynamic-argument": ("""\
func.func @step(%x: tensor<2x?xf32>) { return }
""", [":1:1: error: ", '"arg0"', "dimension 1", "tensor<2x?xf32>"]),
    "dynamic-value": ("""\
func.func @step(%x: tensor<4xf32>, %size: index) -> tensor<4xf32> {
  %part = tensor.extract_slice %x[0] [%size] [1]
      : tensor<4xf32> to tensor<?xf32>
  %all = tensor.insert_slice %part into %x[0] [%size] [1]
      : tensor<?xf32> into tensor<4xf32>
  return %all : tensor<4xf32>
}
""", [":2:11: error: ", "'%extracted_slice'", "dimension 0", "dynamic"]),
    "unknown-axis": (f"""\
tg.mesh @mesh [tp = 2]
func.func @step(%x: tensor<4xf32>) {{
  %future = {REDUCE}
  return
}}
""", [":3:13: error: ", '"mesh"', '"dp"', ":1:1: note: "]),
    "waited-for-twice": (f"""\
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<4xf32>) {{
  %future = {REDUCE}
  %a = tg.wait %future : !tg.future<tensor<4xf32>>
  %b = tg.wait %future : !tg.future<tensor<4xf32>>
  return
}}
""", [":3:13: error: ", "twice", ":4:8: note: ", ":5:8: note: "]),
    "future-returned": (f"""\
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<4xf32>) -> !tg.future<tensor<4xf32>> {{
  %future = {REDUCE}
  return %future : !tg.future<tensor<4xf32>>
}}
""", [":3:13: error: ", "'func.return'", ":4:3: note: "]),
    "future-passed": (f"""\
tg.mesh @mesh [dp = 2]
func.func private @other(%f: !tg.future<tensor<4xf32>>) {{ return }}
func.func @step(%x: tensor<4xf32>) {{
  %future = {REDUCE}
  call @other(%future) : (!tg.future<tensor<4xf32>>) -> ()
  return
}}
""", [":4:13: error: ", "'func.call'", ":5:3: note: "]),
    "future-yielded": (f"""\
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<4xf32>, %c: i1) {{
  %f = scf.if %c -> !tg.future<tensor<4xf32>> {{
    %future = {REDUCE}
    scf.yield %future : !tg.future<tensor<4xf32>>
  }} else {{
    %future = {REDUCE}
    scf.yield %future : !tg.future<tensor<4xf32>>
  }}
  return
}}
""", [":4:15: error: ", "'scf.yield'", ":5:5: note: "]),
    "future-as-argument": ("""\
func.func @step(%f: !tg.future<tensor<4xf32>>) {
  %x = tg.wait %f : !tg.future<tensor<4xf32>>
  return
}
""", [":2:8: error: ", "block argument"]),
    "future-as-unused-argument": ("""\
func.func @step(%f: !tg.future<tensor<4xf32>>) { return }
""", [":1:1: error: ", '"arg0"', "!tg.future<tensor<4xf32>>"]),
    "unsupported-nodes": ("""\
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "custom.first.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tg.node "custom.second.default"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = tg.node "custom.first.default"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
""", [":2:8: error: ", "custom.first.default", "(2 nodes",
      ":3:8: error: ", "custom.second.default"]),
    "f8-argument": ("func.func @step(%x: tensor<4xf8E4M3FN>) { return }\n",
                    [":1:1: error: ", '"arg0"', "tensor<4xf8E4M3FN>"]),
    "f8-value": ("""\
func.func @step(%x: f32) -> f32 {
  %a = arith.truncf %x : f32 to f8E4M3FN
  %b = arith.extf %a : f8E4M3FN to f32
  return %b : f32
}
""", [":2:8: error: ", "f8E4M3FN"]),
    "complex-argument": ("func.func @step(%x: complex<f32>) { return }\n",
                         [":1:1: error: ", '"arg0"', "complex<f32>"]),
    "odd-integer": ("func.func @step(%x: tensor<2xi7>) { return }\n",
                    [":1:1: error: ", '"arg0"', "tensor<2xi7>"]),
    "unranked": ("func.func @step(%x: tensor<*xf32>) { return }\n",
                 [":1:1: error: ", '"arg0"', "tensor<*xf32>"]),
    # 2^62 elements of four bytes: the number of bytes wraps to zero.
    "too-large": ("""\
func.func @step(%x: tensor<4611686018427387904xf32>) { return }
""", [":1:1: error: ", '"arg0"', "no memory can hold"]),
    "meshes-of-different-sizes": ("""\
tg.mesh @one [dp = 2]
tg.mesh @two [dp = 3]
func.func @step() { return }
""", [":2:1: error: ", '"two"', "3 ranks", '"one" has 2', ":1:1: note: "]),
    "loss-is-a-vector": ("""\
func.func @step(%x: tensor<4xf32>)
    -> (tensor<4xf32> {tg.role = #tg.role<loss>}) {
  return %x : tensor<4xf32>
}
""", [":1:1: error: ", "the loss", "tensor<4xf32>"]),
    "loss-is-an-integer": ("""\
func.func @step(%x: i32) -> (i32 {tg.role = #tg.role<loss>}) {
  return %x : i32
}
""", [":1:1: error: ", "the loss", "'i32'"]),
    "results-of-one-name": ("""\
func.func @step(%x: i32) -> (i32 {tg.name = "y"}, i32 {tg.name = "y"}) {
  return %x, %x : i32, i32
}
""", [":1:1: error: ", '"y"']),
    "replicated-but-different": ("""\
tg.mesh @mesh [dp = 2]
func.func @step() -> index {
  %rank = tg.axis_index on @mesh [dp]
  return %rank : index
}
""", ['"result0"', "ranks 0 and 1"]),
    "loss-differs": ("""\
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<1xf32> {
    tg.placement = #tg.placement<@mesh [[dp] = shard 0]>})
    -> (tensor<1xf32> {tg.role = #tg.role<loss>}) {
  return %x : tensor<1xf32>
}
""", [":2:1: error: ", '"loss"', "ranks 0 and 1"]),
    "endless-calls": ("""\
func.func @step() {
  call @step() : () -> ()
  return
}
""", [":2:3: error: "]),
    "no-body": ("""\
func.func private @other()
func.func @step() {
  call @other() : () -> ()
  return
}
""", ["error: ", "other", "no body"]),
    "unregistered-operation": ("""\
func.func @step() {
  "test.branch"() [^next] : () -> ()
^next:
  return
}
""", [":2:16: error: ", "unregistered"]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODULES)
def test_bad_modules(name: str, engine: str, tmp_path: Path) -> None:
    text, words = MODULES[name]
    result = run_step(text, tmp_path, "--random-inputs=1",
                      f"--engine={engine}")
    check_rejected(result, *words)


# -----------------------------------------------------------------------------
# Safetensors that are damaged
# -----------------------------------------------------------------------------

READER = """\
func.func @step(%x: tensor<2x3xf32> {tg.name = "x"},
                %y: tensor<2xi64> {tg.name = "y"})
    -> (tensor<2x3xf32> {tg.name = "x"}, tensor<2xi64> {tg.name = "y"}) {
  return %x, %y : tensor<2x3xf32>, tensor<2xi64>
}
"""
GOOD = {"x": RawTensor("F32", (2, 3), struct.pack("<6f", *range(6))),
        "y": RawTensor("I64", (2,), struct.pack("<2q", -1, 7))}


def describe(dtype: object = "F32", shape: object = (2, 3),
             offsets: object = (0, 24)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


Y_ENTRY = describe("I64", [2], [24, 40])


def with_x(**fields: object) -> bytes:
    """A file whose tensor "x" has other fields."""
    header = {"x": describe(**fields), "y": Y_ENTRY}
    return join_safetensors(json.dumps(header).encode(), bytes(40))


def with_header(text: bytes, data: int = 40) -> bytes:
    return join_safetensors(text, bytes(data))


# Name: the file, and words that the error must have.
DAMAGED = {
    "empty": (b"", ["8 bytes", "got 0"]),
    "seven-bytes": (b"1234567", ["8 bytes", "got 7"]),
    "no-header": (struct.pack("<Q", 0), ["JSON"]),
    "header-longer-than-file": (join_safetensors(b"{}", b"", 1000),
                                ["1000", "2"]),
    "header-of-2^63": (join_safetensors(b"{}", b"", 2**63), [str(2**63), "2"]),
    "header-of-2^64-1": (join_safetensors(b"{}", b"", 2**64 - 1),
                         [str(2**64 - 1), "2"]),
    "not-json": (with_header(b"hello"), ["JSON"]),
    "cut-json": (with_header(b'{"x": {"dtype"'), ["JSON"]),
    "not-utf8": (with_header(b'{"\xff\xfe": 1}'), ["UTF-8"]),
    "array": (with_header(b"[]"), ["object"]),
    "number": (with_header(b"1"), ["object"]),
    "entry-is-a-number": (with_header(b'{"x": 1}'), ['"x"', "object"]),
    "deep-nesting": (with_header(b"[" * 1_000_000), ["nested"]),
    "deep-nesting-of-objects": (with_header(b'{"x":' * 200_000), ["nested"]),
    "no-dtype": (with_x(dtype=None), ['"x"', "dtype"]),
    "unknown-dtype": (with_x(dtype="F33"), ['"x"', "F33"]),
    "wrong-dtype": (with_x(dtype="I32"), ['"x"', "F32", "I32"]),
    "wrong-shape": (with_x(shape=[3, 2]), ['"x"', "[2, 3]", "[3, 2]"]),
    "wrong-rank": (with_x(shape=[6]), ['"x"', "[2, 3]", "[6]"]),
    "shape-is-text": (with_x(shape="2x3"), ['"x"', "shape"]),
    "negative-shape": (with_x(shape=[-2, -3]), ['"x"', "shape"]),
    "float-shape": (with_x(shape=[2.5, 3]), ['"x"', "shape"]),
    "product-overflows": (with_x(shape=[2**32, 2**32]), ['"x"', "too large"]),
    "bytes-overflow": (with_x(shape=[2**62]), ['"x"', "too large"]),
    "product-wraps-to-fit": (with_x(shape=[2**63 - 1, 2**63 - 1, 24]),
                             ['"x"', "too large"]),
    "one-offset": (with_x(offsets=[0]), ['"x"', "data_offsets"]),
    "offsets-outside": (with_x(offsets=[100, 124]), ['"x"', "40"]),
    "offsets-reversed": (with_x(offsets=[24, 0]), ['"x"', "data_offsets"]),
    "offsets-negative": (with_x(offsets=[-24, 0]), ['"x"', "data_offsets"]),
    "offsets-float": (with_x(offsets=[0, 23.5]), ['"x"', "data_offsets"]),
    "offsets-text": (with_x(offsets=["0", "24"]), ['"x"', "data_offsets"]),
    "offsets-too-short": (with_x(offsets=[0, 20]), ['"x"', "24", "20"]),
    "overlap": (with_x(offsets=[16, 40]), ["16"]),
    "hole": (join_safetensors(json.dumps(
        {"x": describe(), "y": describe("I64", [2], [32, 48])}).encode(),
        bytes(48)), ['"y"', "32", "24"]),
    "trailing-bytes": (encode_safetensors(GOOD) + b"!", ["41", "40"]),
    "cut-data": (encode_safetensors(GOOD)[:-1], ["39"]),
    "same-name-twice": (with_header(
        b'{"x": %b, "x": %b, "y": %b}' % tuple(
            json.dumps(entry).encode()
            for entry in (describe(), describe(), Y_ENTRY))), ['"x"', "twice"]),
    "same-name-escaped": (with_header(
        b'{"x": %b, "\\u0078": %b, "y": %b}' % tuple(
            json.dumps(entry).encode()
            for entry in (describe(), describe(), Y_ENTRY))), ['"x"', "twice"]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_safetensors(name: str, tmp_path: Path) -> None:
    content, words = DAMAGED[name]
    path = tmp_path / "inputs.safetensors"
    path.write_bytes(content)
    result = run_step(READER, tmp_path, f"--inputs={path}")
    check_rejected(result, str(path), *words)


def test_cut_safetensors(tmp_path: Path) -> None:
    content = encode_safetensors(GOOD)
    path = tmp_path / "inputs.safetensors"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        check_rejected(run_step(READER, tmp_path, f"--inputs={path}"),
                       str(path))


def test_flipped_bits_in_safetensors(tmp_path: Path) -> None:
    content = encode_safetensors(GOOD)
    path = tmp_path / "inputs.safetensors"
    for damaged in flip_bits(content, 60, seed=3):
        path.write_bytes(damaged)
        result = run_step(READER, tmp_path, f"--inputs={path}",
                          "--engine=interpreter")
        if result.code != 0:
            check_rejected(result, str(path))


def test_inputs_that_are_no_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing.safetensors"
    check_rejected(run_step(READER, tmp_path, f"--inputs={missing}"),
                   str(missing), "No such file")
    check_rejected(run_step(READER, tmp_path, f"--inputs={tmp_path}"),
                   str(tmp_path), "holds no shards")


def test_all_missing_tensors_are_named(tmp_path: Path) -> None:
    path = tmp_path / "inputs.safetensors"
    path.write_bytes(encode_safetensors({}))
    check_rejected(run_step(READER, tmp_path, f"--inputs={path}"), '"x"',
                   '"y"', str(path))


TRAINED = """
func.func @step(%w: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "w"},
                %m: tensor<f32> {tg.role = #tg.role<optimizer_state>,
                                 tg.name = "m"},
                %v: tensor<f32> {tg.role = #tg.role<optimizer_state>,
                                 tg.name = "v"},
                %rate: tensor<f32> {tg.role = #tg.role<learning_rate>,
                                    tg.name = "rate"},
                %step: tensor<i64> {tg.role = #tg.role<step>,
                                    tg.name = "count"})
    -> (tensor<f32> {tg.role = #tg.role<update of 1>},
        tensor<f32> {tg.role = #tg.role<update of 2>}, tensor<f32>,
        tensor<i64> {tg.name = "number"}) {
  return %w, %v, %rate, %step
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>
}
"""
ONE = RawTensor("F32", (), numpy.float32(1).tobytes())


def run_trained(tensors: dict[str, RawTensor], tmp_path: Path,
                *flags: str) -> Result:
    path = tmp_path / "inputs.safetensors"
    path.write_bytes(encode_safetensors(tensors))
    return run_step(TRAINED, tmp_path, f"--inputs={path}", *flags)


def test_states_are_there_all_or_none(tmp_path: Path) -> None:
    rate = "--learning-rate=0.5"
    check_rejected(run_trained({"w": ONE, "m": ONE}, tmp_path, rate), '"v"',
                   "some optimizer states")
    for tensors in ({}, {"m": ONE, "v": ONE}):
        result = run_trained({"w": ONE, **tensors}, tmp_path, rate,
                             "--steps=3", "--first-step=7")
        assert result.code == 0, result.stderr
        output = decode_safetensors(
            (tmp_path / "output.safetensors").read_bytes())
        assert output["v"].to_floats() == len(tensors) / 2
        assert output["result2"].to_floats() == 0.5
        assert output["number"].to_floats() == 9


def test_learning_rate_and_step_are_not_drawn(tmp_path: Path) -> None:
    check_rejected(run_trained({}, tmp_path, "--random-inputs=1"),
                   "--learning-rate", '"rate"')
    assert run_trained({"w": ONE, "rate": ONE}, tmp_path).code == 0
    number = RawTensor("I64", (), numpy.int64(1).tobytes())
    check_rejected(run_trained({"w": ONE, "rate": ONE, "count": number},
                               tmp_path), "--first-step", '"count"')


def test_extra_tensors_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "inputs.safetensors"
    path.write_bytes(encode_safetensors({**GOOD, "z": GOOD["y"]}))
    result = run_step(READER, tmp_path, f"--inputs={path}")
    assert result.code == 0, result.stderr
    assert result.stderr.count("warning") == 1
    assert '"z"' in result.stderr and str(path) in result.stderr


def test_nan_is_warned_of_once(tmp_path: Path) -> None:
    path = tmp_path / "inputs.safetensors"
    nan = RawTensor("F32", (2, 3), numpy.array(
        [0, numpy.nan, 1, numpy.nan, numpy.inf, 2], numpy.float32).tobytes())
    path.write_bytes(encode_safetensors({**GOOD, "x": nan}))
    result = run_step(READER, tmp_path, f"--inputs={path}", "--steps=3")
    assert result.code == 0, result.stderr
    assert result.stderr.count("warning") == 1
    assert '"x"' in result.stderr and "2 of 6" in result.stderr
    output = decode_safetensors(
        (tmp_path / "output.safetensors").read_bytes())
    assert output["x"].data == nan.data


# -----------------------------------------------------------------------------
# Output
# -----------------------------------------------------------------------------


def run_into(output: str | Path) -> Result:
    return run_tool("regather", "run", EXAMPLES[0], "--random-inputs=1",
                    "--quiet", f"--outputs={output}")


def test_output_is_a_directory(tmp_path: Path) -> None:
    check_rejected(run_into(tmp_path), str(tmp_path), "directory")
    assert not os.listdir(tmp_path)


def test_output_in_a_missing_directory(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "output"
    check_rejected(run_into(path), str(path), "No such file or directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    path = tmp_path / "output"
    check_rejected(run_into(path), str(path), "denied")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(),
                    reason="there is no /dev/full")
def test_full_disk() -> None:
    check_rejected(run_into("/dev/full"), "/dev/full", "No space left")
    report = run_tool("regather", "run", EXAMPLES[0], "--random-inputs=1",
                      "--quiet", "--report=/dev/full")
    check_rejected(report, "/dev/full", "No space left")
    # Devices are written to, not replaced.
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("engine", ENGINES)
def test_json_is_one_object(engine: str) -> None:
    result = run_tool("regather", "run", ROOT / "examples" / "mlp-fsdp.mlir",
                      "--random-inputs=1", "--steps=3", "--json", "--quiet",
                      f"--engine={engine}")
    assert result.code == 0, result.stderr
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert report["engine"] == engine and report["ranks"] == 4
    assert len(report["losses"]) == 3 and report["seconds_per_step"] > 0
    assert all(isinstance(loss, float) for loss in report["losses"])


@pytest.mark.parametrize("number", ["0x7F800000", "0x7FC00000", "0xFF800000"])
def test_losses_that_are_no_numbers_are_null(number: str,
                                             tmp_path: Path) -> None:
    result = run_step(f"""\
func.func @step() -> (f32 {{tg.role = #tg.role<loss>}}) {{
  %loss = arith.constant {number} : f32
  return %loss : f32
}}
""", tmp_path, "--json")
    assert result.code == 0, result.stderr
    assert json.loads(result.stdout)["losses"] == [None]


def test_steps_without_a_loss_have_none(tmp_path: Path) -> None:
    result = run_step(MESH, tmp_path, "--random-inputs=1", "--json")
    assert json.loads(result.stdout)["losses"] == []


def test_progress_goes_to_stderr_unless_quiet() -> None:
    command = ("regather", "run", EXAMPLES[0], "--random-inputs=1", "--json")
    assert run_tool(*command).stderr != ""
    assert run_tool(*command, "--quiet").stderr == ""
