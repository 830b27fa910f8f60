"""The two engines against each other on random programs.

The engines share nothing but their interface, so a program on which they differ
is a bug in one of them. As a test this runs a few programs; as a command it
runs campaigns:

    python test/python/test_engines.py --programs 2000 --seed 0

A program is a function of its seed alone. For each one that fails, a reproducer
is written whose first lines say how it failed.

All NaN are equal. Results of transcendental functions are compared to a
tolerance, all others bit by bit. What programs avoid is in
program_generator.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest

from program_generator import Writer
from regather_tools import RawTensor, Result, decode_safetensors, run_tool


# -----------------------------------------------------------------------------
# Comparing
# -----------------------------------------------------------------------------


class Mismatch(Exception):
    """What an engine did that it should not."""


def compare(name: str, first: RawTensor, second: RawTensor) -> None:
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        raise Mismatch(f"{name}: {first.dtype}{first.shape} against "
                       f"{second.dtype}{second.shape}")
    if first.data == second.data:
        return
    with numpy.errstate(all="ignore"):
        left, right = first.to_floats().ravel(), second.to_floats().ravel()
        nan = numpy.isnan(left) & numpy.isnan(right)
        if name.startswith("approximate"):
            tolerance = {"BF16": 2e-2, "F16": 2e-3}.get(first.dtype, 1e-5)
            bad = ~nan & ~numpy.isclose(left, right, rtol=tolerance,
                                        atol=tolerance)
        else:
            width = len(first.data) // max(1, left.size)
            bits = [numpy.frombuffer(tensor.data, f"u{width}")
                    for tensor in (first, second)]
            bad = ~nan & (bits[0] != bits[1])
    if bad.any():
        at = int(numpy.flatnonzero(bad)[0])
        raise Mismatch(f"{name} ({first.dtype}{list(first.shape)}): element "
                       f"{at} is {left[at]!r} against {right[at]!r}, "
                       f"{int(bad.sum())} elements differ")


def compare_files(first: Path, second: Path) -> None:
    left = decode_safetensors(first.read_bytes())
    right = decode_safetensors(second.read_bytes())
    if list(left) != list(right):
        raise Mismatch(f"results {list(left)} against {list(right)}")
    for name, tensor in left.items():
        compare(name, tensor, right[name])


def require_success(what: str, result: Result) -> None:
    if result.timed_out:
        raise Mismatch(f"{what} does not end\n{result.last_words}")
    if result.code != 0:
        raise Mismatch(f"{what} ends with code {result.code}\n"
                       f"{result.last_words}")


def check_program(text: str, seed: int, scratch: Path) -> None:
    """Raises Mismatch if not all ways to run a program agree."""
    written = scratch / "program.mlir"
    written.write_text(text)
    mode = ",integers" if seed % 2 else ""

    def run(what: str, module: Path, *options: str) -> Path:
        output = scratch / f"{what}.safetensors"
        require_success(what, run_tool(
            "regather", "run", module, f"--random-inputs={seed}{mode}",
            "--steps=2", "--quiet", f"--outputs={output}", *options,
            timeout=60))
        return output

    expected = run("interpreter", written, "--engine=interpreter")

    def check(what: str, module: Path, *options: str) -> None:
        try:
            compare_files(expected, run(what, module, *options))
        except Mismatch as error:
            raise Mismatch(f"interpreter against {what}: {error}") from None

    check("interpreter-seed", written, "--engine=interpreter",
          f"--seed={seed + 1}")
    check("cpu", written, "--engine=cpu")
    simplified = scratch / "simplified.mlir"
    require_success("simplification", run_tool(
        "regather-opt", "--canonicalize", "--cse", written, "-o", simplified))
    check("interpreter-simplified", simplified, "--engine=interpreter",
          f"--seed={seed + 2}")
    check("cpu-simplified", simplified, "--engine=cpu")


def check_seed(seed: int, size: int) -> tuple[str, str | None]:
    """The program of a seed, and what is wrong with it."""
    text = Writer(seed, size).write()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check_program(text, seed, Path(scratch))
        except Mismatch as error:
            return text, str(error)
    return text, None


def write_reproducer(folder: Path, seed: int, text: str, error: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{seed}.mlir"
    mode = ",integers" if seed % 2 else ""
    comment = "".join(f"// {line}\n" for line in error.splitlines())
    path.write_text(f"// --random-inputs={seed}{mode} --steps=2\n{comment}\n"
                    f"{text}")
    return path


# -----------------------------------------------------------------------------
# Tests and campaigns
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_engines_agree(seed: int) -> None:
    text, error = check_seed(seed, size=12)
    assert error is None, f"{error}\n\n{text}"


# What random programs have found, reduced.
REDUCED = {
    # 2^54 + 2^46 + 1, 2^30 + 2^22 + 1 and 2049: over f32 they are ties.
    "integers-to-16-bits": """\
func.func @step() -> (tensor<1xbf16>, bf16, f16, bf16) {
  %a = arith.constant dense<18084767253659649> : tensor<1xi64>
  %b = arith.constant 1077936129 : i32
  %c = arith.constant 2049 : i32
  %d = arith.constant -18084767253659649 : i64
  %long = arith.sitofp %a : tensor<1xi64> to tensor<1xbf16>
  %short = arith.uitofp %b : i32 to bf16
  %half = arith.sitofp %c : i32 to f16
  %negative = arith.sitofp %d : i64 to bf16
  return %long, %short, %half, %negative : tensor<1xbf16>, bf16, f16, bf16
}
""",
    # 1 + 2^-8 + 2^-40 is a tie over f32; the others overflow and underflow.
    "f64-to-bf16": """\
func.func @step() -> tensor<4xbf16> {
  %a = arith.constant dense<[1.003906250000909494701772928237915, -3.4e38,
                             1.0e300, 1.0e-310]> : tensor<4xf64>
  %b = arith.truncf %a : tensor<4xf64> to tensor<4xbf16>
  return %b : tensor<4xbf16>
}
""",
    "classes-of-floats": """\
func.func @step() -> (tensor<5xi1>, tensor<5xi1>, i1) {
  %a = arith.constant dense<[0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x3F80]>
      : tensor<5xbf16>
  %b = arith.constant 0x0001 : f16
  %infinite = math.isinf %a : tensor<5xbf16>
  %normal = math.isnormal %a : tensor<5xbf16>
  %scalar = math.isnormal %b : f16
  return %infinite, %normal, %scalar : tensor<5xi1>, tensor<5xi1>, i1
}
""",
    # Copies between views whose rows do not lie next to each other.
    "strided-copies": """\
func.func @step(%x: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %y = tensor.concat dim(1) %x, %x
      : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
""",
    # The stride of a single element, in a dimension that the view drops.
    "stride-of-one-element": """\
func.func @step(%x: tensor<1x1xi64>, %i: index) -> tensor<1xi64> {
  %one = arith.constant 1 : index
  %zero = arith.remui %i, %one : index
  %y = tensor.extract_slice %x[%zero, 0] [1, 1] [2, 2]
      : tensor<1x1xi64> to tensor<1xi64>
  return %y : tensor<1xi64>
}
""",
    # A loop whose body does not update its tensor in place.
    "loop-of-new-tensors": """\
func.func @step(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %lower = arith.constant 0 : index
  %upper = arith.constant 3 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %lower to %upper step %one iter_args(%a = %x, %b = %y)
      -> (tensor<4xf32>, tensor<4xf32>) {
    %sum = arith.addf %a, %y : tensor<4xf32>
    scf.yield %b, %sum : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
""",
}


@pytest.mark.parametrize("name", REDUCED)
def test_reduced_programs(name: str, tmp_path: Path) -> None:
    check_program(REDUCED[name], seed=1, scratch=tmp_path)


def test_programs_depend_on_the_seed_alone() -> None:
    assert Writer(7, 20).write() == Writer(7, 20).write()
    assert Writer(7, 20).write() != Writer(8, 20).write()


@pytest.mark.parametrize(("dtype", "data"), [("F32", b"\1\0\0\0"),
                                             ("BF16", b"\1\0"),
                                             ("I8", b"\1"), ("BOOL", b"\1")])
def test_one_bit_is_a_mismatch(dtype: str, data: bytes) -> None:
    zero = RawTensor(dtype, (1,), bytes(len(data)))
    with pytest.raises(Mismatch):
        compare("result0", zero, RawTensor(dtype, (1,), data))


def test_the_signs_of_zeros_differ_and_those_of_nans_do_not() -> None:
    def floats(*bits: int) -> RawTensor:
        return RawTensor("F32", (len(bits),),
                         numpy.array(bits, numpy.uint32).tobytes())
    compare("result0", floats(0x7fc00000), floats(0xffc00001))
    with pytest.raises(Mismatch):
        compare("result0", floats(0x80000000), floats(0))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run random programs on both engines.")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0,
                        help="seed of the first program")
    parser.add_argument("--size", type=int, default=20,
                        help="most operations at the top of a step")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reproducers", type=Path,
                        default=Path("fuzz-failures"), metavar="FOLDER")
    options = parser.parse_args()

    failures = 0
    seeds = range(options.seed, options.seed + options.programs)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda seed: check_seed(seed, options.size), seeds)
        for seed, (text, error) in zip(seeds, results):
            if error is None:
                continue
            failures += 1
            path = write_reproducer(options.reproducers, seed, text, error)
            print(f"{path}: {error}", flush=True)
    print(f"{len(seeds)} programs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
