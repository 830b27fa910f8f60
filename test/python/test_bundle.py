"""A bundle does what the module does that it was made from, and says clearly
why it cannot be run."""

import copy
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from regather_tools import BUILD, ROOT, Result, run_tool

MODULE = ROOT / "examples" / "mlp-fsdp.mlir"
RUN = ("--random-inputs=1", "--steps=3")
# Of Trailer in lib/Execution/Bundle/Bundle.cpp.
TRAILER = struct.Struct("<8sIIQQ32s")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "step.rgb"
    result = run_tool("regather", "compile", MODULE, "-o", path, "--quiet")
    assert result.code == 0, result.stderr
    return path


def run(step: Path, *options: str) -> Result:
    return run_tool("regather", "run", step, "--quiet", *options)


def losses_of(result: Result) -> list[float]:
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)["losses"]


def read(bundle: Path) -> tuple[bytes, dict]:
    """The shared object and the manifest."""
    data = bundle.read_bytes()
    _, _, _, size, _, _ = TRAILER.unpack(data[-TRAILER.size:])
    return data[:size], json.loads(data[size:-TRAILER.size])


def write(path: Path, code: bytes, manifest: dict, version: int = 3) -> Path:
    text = json.dumps(manifest).encode()
    path.write_bytes(code + text + TRAILER.pack(
        b"RGBUNDLE", version, 0, len(code), len(text),
        hashlib.sha256(code + text).digest()))
    return path


def expect_error(result: Result, *words: str) -> None:
    assert result.code == 1, result.stderr
    assert result.stdout == b""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def test_has_the_bits_of_the_module(bundle: Path, tmp_path: Path) -> None:
    module, compiled = tmp_path / "module", tmp_path / "bundle"
    assert losses_of(run(bundle, *RUN, "--json", f"--outputs={compiled}",
                         "--ranks=4")) == \
        losses_of(run(MODULE, *RUN, "--json", f"--outputs={module}"))
    assert module.read_bytes() == compiled.read_bytes()
    # Whole tensors went out and come in again.
    again = tmp_path / "again"
    assert run(bundle, *RUN, f"--inputs={compiled}",
               f"--outputs={again}").code == 0
    assert again.read_bytes() != compiled.read_bytes()


def test_is_equal_whenever_it_is_compiled(bundle: Path,
                                          tmp_path: Path) -> None:
    other = tmp_path / "other.rgb"
    assert run_tool("regather", "compile", MODULE, "-o", other, "--quiet",
                    "--compile-threads=1", "--cache-dir=").code == 0
    assert other.read_bytes() == bundle.read_bytes()


def test_touches_the_memory_that_was_planned(bundle: Path) -> None:
    result = run(bundle, *RUN, "--json", "--check-plan")
    assert result.code == 0, result.stderr
    arena = json.loads(result.stdout)["arena"]
    assert arena["touched_bytes"] == arena["planned_bytes"] > 0


def test_manifest_describes_the_step(bundle: Path) -> None:
    result = run_tool("regather", "manifest", bundle)
    assert result.code == 0
    manifest = json.loads(result.stdout)
    assert manifest == read(bundle)[1]
    assert manifest["schema"] == 1
    assert manifest["mesh"] == {"name": "mesh",
                                "axes": [{"name": "dp", "size": 4}]}
    weight = next(a for a in manifest["arguments"]
                  if a.get("role") == "parameter")
    assert weight["placement"] == [{"axes": ["dp"], "shard": 0}]
    assert weight["global_shape"][0] == 4 * weight["shape"][0]
    assert manifest["collective_count"] > 0
    assert manifest["arena"]["bytes"] >= manifest["arena"]["lower_bound"] > 0


def test_damage_is_seen_before_code_is_loaded(bundle: Path,
                                              tmp_path: Path) -> None:
    data = bundle.read_bytes()
    broken = tmp_path / "broken.rgb"
    for length in (0, 10, TRAILER.size, 1000, len(data) // 2, len(data) - 1):
        broken.write_bytes(data[:length])
        expect_error(run(broken, *RUN), "cut off or no bundle", str(broken))
    for position in (0, 100, len(data) // 2, len(data) - TRAILER.size - 10):
        flipped = bytearray(data)
        flipped[position] ^= 1
        broken.write_bytes(flipped)
        expect_error(run(broken, *RUN), "SHA-256 is another one")
    # A pair of changes that a sum or a product of words would not see.
    flipped = bytearray(data)
    for position in (4096 + 7, 8192 + 7):
        flipped[position] ^= 0x80
    broken.write_bytes(flipped)
    expect_error(run(broken, *RUN), "SHA-256 is another one")
    expect_error(run(tmp_path / "none.rgb", *RUN), "No such file")


def test_other_versions_are_refused(bundle: Path, tmp_path: Path) -> None:
    code, manifest = read(bundle)
    expect_error(run(write(tmp_path / "a.rgb", code, manifest, version=7)),
                 "bundle of version 7", "runs version 3")
    manifest["schema"] = 9
    expect_error(run(write(tmp_path / "b.rgb", code, manifest)),
                 "schema 9", "reads schema 1")


def test_other_machines_are_refused(bundle: Path, tmp_path: Path) -> None:
    code, manifest = read(bundle)
    manifest["target"]["features"] += ["amx-fancy", "avx1024"]
    expect_error(run(write(tmp_path / "a.rgb", code, manifest), *RUN),
                 "processor lacks: amx-fancy, avx1024")
    manifest["target"]["machine"] = "riscv64"
    expect_error(run(write(tmp_path / "b.rgb", code, manifest), *RUN),
                 "code for riscv64")


def test_other_numbers_of_ranks_are_refused(bundle: Path) -> None:
    expect_error(run(bundle, *RUN, "--ranks=2"), "compiled for 4 ranks",
                 "--ranks asks for 2")


def test_arguments_that_need_more_memory_are_refused(tmp_path: Path) -> None:
    step, bundle = tmp_path / "step.mlir", tmp_path / "step.rgb"
    large = f"tensor<{2**44}xf32>"
    step.write_text(f"func.func @step(%a: {large}) -> {large} {{\n"
                    f"  %b = arith.addf %a, %a : {large}\n"
                    f"  return %b : {large}\n}}\n")
    for target in ("cpu", "nvptx:sm_90a"):
        result = run_tool("regather", "compile", step, f"--target={target}",
                          "-o", bundle, "--quiet")
        assert result.code == 0, result.last_words
        expect_error(run(bundle, *RUN),
                     f"arguments need {4 * 2**44} bytes on each of 1 ranks, "
                     "but this machine has")


def test_manifests_of_other_steps_are_refused(bundle: Path,
                                              tmp_path: Path) -> None:
    code, manifest = read(bundle)
    extra = {"name": "more", "dtype": "f32", "shape": [], "global_shape": []}
    manifest["results"].append(extra)
    expect_error(run(write(tmp_path / "a.rgb", code, manifest), *RUN),
                 "describes another step")
    manifest = read(bundle)[1]
    del manifest["arena"]
    expect_error(run(write(tmp_path / "b.rgb", code, manifest), *RUN),
                 "manifest is damaged", "arena")


def test_contradictory_manifests_are_refused(bundle: Path,
                                             tmp_path: Path) -> None:
    code, good = read(bundle)
    weight = next(i for i, a in enumerate(good["arguments"])
                  if a.get("role") == "parameter")
    update = next(i for i, r in enumerate(good["results"])
                  if r.get("role") == "update")
    loss = next(i for i, r in enumerate(good["results"])
                if r.get("role") == "loss")

    def refuse(change: Callable[[dict], object], *words: str) -> None:
        manifest = copy.deepcopy(good)
        change(manifest)
        expect_error(run(write(tmp_path / "a.rgb", code, manifest), *RUN),
                     "manifest contradicts itself", *words)

    def argument(change: dict) -> Callable[[dict], object]:
        return lambda m: m["arguments"][weight].update(change)

    shape = good["arguments"][weight]["shape"]
    whole = good["arguments"][weight]["global_shape"]
    refuse(argument({"global_shape": [1, *whole[1:]]}), "has 1 in dimension 0")
    refuse(argument({"global_shape": whole[1:]}), "dimensions on each rank")
    refuse(argument({"shape": [-1, *shape[1:]]}), "no memory can hold")
    refuse(argument({"shape": [2**62, *shape[1:]]}), "no memory can hold")
    refuse(argument({"placement": [{"axes": ["dp"], "shard": 7}]}),
           "cut along dimension 7")
    refuse(argument({"placement": [{"axes": ["dp"], "shard": -1}]}),
           "cut along dimension -1")
    refuse(argument({"placement": [{"axes": ["dp", "dp"], "shard": 0}]}),
           'twice along axis "dp"')
    refuse(argument({"members": [{"name": "a", "offset": 0, "shape": [1]}]}),
           "has members, but 2 dimensions")
    refuse(lambda m: m["arguments"][0].update(
        name=m["arguments"][1]["name"]), "two of its arguments are called")
    refuse(lambda m: m["results"][update].update(argument=10**6),
           "belongs to argument 1000000")
    refuse(lambda m: m["results"][update].update(dtype="i8"),
           "which has another type")
    refuse(lambda m: m["results"][loss].update(shape=[0], global_shape=[0]),
           "no single number")
    refuse(lambda m: m.update(ranks=2), "its mesh has 4 ranks")
    refuse(lambda m: m["mesh"]["axes"][0].update(size=0), "has 0 ranks")
    refuse(lambda m: m["mesh"]["axes"].append(m["mesh"]["axes"][0]),
           "two axes are called")


def test_flags_that_come_too_late_are_refused(bundle: Path) -> None:
    expect_error(run(bundle, *RUN, "--mesh=dp:4"), "--mesh has no effect")
    expect_error(run(bundle, *RUN, "--engine=interpreter"),
                 "runs modules, not bundles")


def test_failed_runs_write_nothing(bundle: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    expect_error(run(bundle, f"--outputs={output}"), "have no value")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_linker_is_named(tmp_path: Path) -> None:
    output = tmp_path / "step.rgb"
    result = run_tool("regather", "compile", MODULE, "-o", output, "--quiet",
                      "--linker=/nowhere/ld.lld")
    expect_error(result, "cannot run linker '/nowhere/ld.lld'")
    assert list(tmp_path.iterdir()) == []


def test_passes_take_options(tmp_path: Path) -> None:
    def kernels(*options: str | Path) -> int:
        output = tmp_path / "step.rgb"
        result = run_tool("regather", "compile", MODULE, "-o", output,
                          "--quiet", *options)
        assert result.code == 0, result.stderr
        return read(output)[1]["kernels"]

    plan = tmp_path / "plan.json"
    plan.write_text('{"tg-form-kernels": {"max-ops": 1}}')
    alone = kernels("--plan", plan)
    assert alone == kernels("--pass-option=tg-form-kernels:max-ops=1")
    assert alone > kernels()
    # The flag wins over the file.
    assert kernels() == kernels("--plan", plan,
                                "--pass-option=tg-form-kernels:max-ops=64")
    for option, word in (("tg-form-kernels:speed=1", "speed"),
                         ("tg-fly:high=1", "tg-fly"),
                         ("max-ops=1", "PASS:OPTION=VALUE")):
        result = run_tool("regather", "compile", MODULE, "--quiet", "-o",
                          tmp_path / "none.rgb", f"--pass-option={option}")
        assert result.code == 1
        assert word in result.stderr
    assert not (tmp_path / "none.rgb").exists()


def call(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure_runtime(build: Path) -> None:
    call("cmake", "-G", "Ninja", "-S", ROOT, "-B", build,
         "-DREGATHER_RUNTIME_ONLY=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON",
         # A type without flags: what is optimised in any build still is.
         "-DCMAKE_BUILD_TYPE=Quick", "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON",
         f"-DCMAKE_INSTALL_PREFIX={build.parent / 'prefix'}")


def test_the_runtime_needs_no_llvm(tmp_path: Path) -> None:
    """A build of the runtime alone compiles files that find all headers, none
    of LLVM among them; and what a build of everything makes of the same files
    links no LLVM. So it need not be compiled again to know that it can be."""
    configure_runtime(tmp_path / "build")
    commands = json.loads(
        (tmp_path / "build" / "compile_commands.json").read_text())
    assert len(commands) > 10
    for command in commands:
        words = shlex.split(command["command"])
        words = words[words.index("-o") + 2:]
        compiler = shlex.split(command["command"])[:-len(words) - 2]
        headers = call(*compiler, "-M", *words, cwd=command["directory"])
        assert not re.search(r"\b(llvm|mlir)\b", headers, re.IGNORECASE)
    libraries = call("ldd", BUILD / "bin" / "regather-run")
    assert not re.search("LLVM|MLIR", libraries)


@pytest.mark.skipif(os.environ.get("REGATHER_SLOW_TESTS") != "1",
                    reason="compiles for a minute; set REGATHER_SLOW_TESTS=1")
def test_a_runtime_alone_is_installed(tmp_path: Path) -> None:
    configure_runtime(tmp_path / "build")
    call("cmake", "--build", tmp_path / "build")
    call("cmake", "--install", tmp_path / "build")
    assert (tmp_path / "prefix" / "bin" / "regather-run").exists()


def test_runs_without_the_compiler(bundle: Path, tmp_path: Path) -> None:
    tool = BUILD / "bin" / "regather-run"
    outputs = [tmp_path / "alone", tmp_path / "full"]
    call(tool, bundle, *RUN, "--quiet", "--json", "--threads", "1", "--outputs",
         outputs[0])
    assert run(bundle, *RUN, f"--outputs={outputs[1]}").code == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    refused = subprocess.run([tool, bundle, "--ranks=2"], capture_output=True,
                             text=True)
    assert refused.returncode == 1
    assert "compiled for 4 ranks" in refused.stderr

