"""The C interface through Python: what commands return, and broken input."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any

import pytest

import regather
from regather.commands import read
from regather.library import loading, module as modules, step_plan
from regather.library.module import Module, list_options
from regather_tools import BUILD, ROOT

REGATHER = BUILD / "bin" / "regather"

MLP = ROOT / "examples" / "mlp.mlir"
LLAMA = ROOT / "examples" / "llama3-debug.fx.json"


def run_tool(*arguments: Any) -> str:
    return subprocess.run([str(REGATHER), *map(str, arguments)], check=True,
                          capture_output=True, text=True).stdout


@pytest.mark.parametrize("command, options", [
    ("stats", {}), ("tree", {"depth": 1}), ("tree", {"no_fold": True}),
    ("simulate", {"mesh": "dp:4", "kernels": True}),
    ("simulate", {"ranks": 2, "pass_option": ["tg-schedule:in-flight=1"]})])
def test_texts_are_those_of_the_tool(command: str,
                                     options: dict[str, Any]) -> None:
    flags = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            text = "" if each is True else f"={each}"
            flags.append(f"--{name.replace('_', '-')}{text}")
    result = getattr(regather, command)(LLAMA, **options)
    assert result.text == run_tool(command, LLAMA, *flags)
    assert result.json


def test_a_report_shows_itself() -> None:
    module = read(LLAMA)
    first, second = (regather.report(module, ranks=4) for _ in range(2))
    assert first.ranks == 4 and first.html.startswith("<!DOCTYPE html>")
    assert first._repr_html_().startswith("<iframe")
    # The calls leave the module as it is, and nothing behind in its context.
    assert (first.html, first.json) == (second.html, second.json)


def test_bundles(tmp_path: Path) -> None:
    bundle = regather.compile(LLAMA, tmp_path / "step.rgb", ranks=2)
    assert bundle.path.stat().st_size > 0 and bundle.ranks == 2
    assert run_tool("manifest", bundle.path) == bundle.text


def test_texts_and_bytes() -> None:
    text = MLP.read_text()
    assert regather.stats(text).ops == regather.stats(MLP).ops
    assert regather.stats(text.encode()).ops == regather.stats(MLP).ops
    assert (regather.stats(LLAMA.read_text()).nodes
            == regather.stats(LLAMA).nodes)
    assert regather.stats(str(read(MLP))).ops == regather.stats(MLP).ops


def test_diagnostics_have_places() -> None:
    with pytest.raises(regather.RegatherError) as caught:
        regather.stats("module {\n  func.func @f( {\n}\n")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == (
        "text.mlir", 2, 16)
    assert diagnostic.severity == "error" and diagnostic.message
    assert "^" in str(caught.value)


def test_notes_belong_to_their_errors() -> None:
    with pytest.raises(regather.RegatherError) as caught:
        regather.stats("{\n")
    (diagnostic,) = caught.value.diagnostics
    assert [note.severity for note in diagnostic.notes] == ["note"]


def test_unknown_options_are_listed() -> None:
    with pytest.raises(TypeError, match="unknown option 'mash' of simulate; "
                                        "options are .*mesh.*pass_option"):
        regather.simulate(MLP, mash="dp:2")
    with pytest.raises(TypeError, match="options are none"):
        regather.stats(MLP, mesh="dp:2")
    # The library knows them by itself.
    with pytest.raises(regather.RegatherError, match="unknown option 'mash'"):
        read(MLP).run("simulate", [("mash", "dp:2")])


@pytest.mark.parametrize("options, message", [
    ({"ranks": 0}, "ranks must be between"),
    ({"ranks": "many"}, "ranks must be between"),
    ({"replicate_axis": "dp"}, "needs mesh"),
    ({"mesh": "dp"}, "mesh"), ({"mesh": "dp:-1"}, "mesh"),
    ({"batch": "mine"}, "batch"), ({"layout": "round"}, "layout"),
    ({"policy": "some"}, "policy"), ({"reshard": "maybe"}, "reshard"),
    ({"recompute": "x"}, "recompute"), ({"optimizer": "x"}, "optimizer"),
    ({"bucket": "each"}, "bucket"), ({"schedule": "fast"}, "schedule"),
    ({"plan": "/nowhere.json"}, "plan"), ({"pass_option": "x"}, "pass-option"),
    ({"cluster": "nowhere"}, "cluster"), ({"kernels": "perhaps"}, "kernels"),
    ({"mesh": ["dp:2", "dp:4"]}, "mesh is given more than once"),
    ({"overlap_groups": 3}, "overlap-groups"), ({"order": "/nowhere"}, "order"),
    ({"entry": "nobody"}, "nobody")])
def test_bad_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(regather.RegatherError, match=message):
        regather.simulate(LLAMA, **options)


@pytest.mark.parametrize("options, message", [
    ({"target": "tpu"}, "target"), ({"compile_threads": -1}, "compile-threads"),
    ({"cuda_graph": "unit"}, "cuda-graph needs a target"),
    ({"linker": "/nowhere"}, "nowhere")])
def test_bad_values_of_compile(tmp_path: Path, options: dict[str, Any],
                               message: str) -> None:
    with pytest.raises(regather.RegatherError, match=message):
        regather.compile(LLAMA, tmp_path / "x.rgb", **options)
    assert not (tmp_path / "x.rgb").exists()


def test_bundles_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(regather.RegatherError, match="cannot write"):
        regather.compile(MLP, tmp_path / "no" / "x.rgb")


@pytest.mark.parametrize("name, contents", [
    ("x.mlir", b"("), ("x.mlir", b"(" * 100_000), ("x.mlir", b"\xff\xfe"),
    ("x.mlir", b"ML\xefR"), ("x.mlir", b"ML\xefR" + bytes(100)),
    ("x.mlir", b'"tg.none"() : () -> ()'), ("x.fx.json", b""),
    ("x.fx.json", b"[" * 100_000), ("x.fx.json", b"{}"),
    ("x.fx.json", b"\xff"), ("x.fx.json", b'{"nodes": [1]}')])
def test_broken_contents(name: str, contents: bytes) -> None:
    with pytest.raises(regather.RegatherError):
        Module(name, contents)


def test_every_function_refuses_null() -> None:
    pointer, module = c_void_p(), read(MLP)
    for name, arguments in {
            "regatherModuleRead": [None, byref(pointer)],
            "regatherModuleParse": [None, None, None, byref(pointer)],
            "regatherModulePrint": [None, byref(pointer)],
            "regatherListOptions": [None, byref(pointer)],
            "regatherGraphCreate": [None, None],
            "regatherPartitionCreate": [None, None, None],
            "regatherSchedule": [None] * 5,
            "regatherPlanBuckets": [None] * 5,
            "regatherBucketCollectives": [None] * 6,
            "regatherGraphApplyPolicy": [None] * 2,
            "regatherComputeSeconds": [None] * 6}.items():
        function = loading.Function(name, *[c_void_p] * len(arguments))
        with pytest.raises(regather.RegatherError, match="null"):
            function(*arguments)
    for command in modules._COMMANDS.values():
        with pytest.raises(regather.RegatherError, match="null"):
            command(None, modules.COptions(1, None), byref(pointer))
        # One option without elements.
        with pytest.raises(regather.RegatherError, match="null"):
            command(module.pointer, modules.COptions(1, None),
                    byref(pointer))
    with pytest.raises(regather.RegatherError, match="null"):
        step_plan._read(modules.COptions(1, None), byref(pointer))
    for name in ("regatherModuleDestroy", "regatherOutputDestroy",
                 "regatherStatusDestroy", "regatherGraphDestroy"):
        loading.getter(name, c_void_p)(None)


def test_threads_share_a_module() -> None:
    module = read(LLAMA)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(
        regather.simulate(module, mesh="dp:4").text)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4 and len(set(texts)) == 1


@pytest.mark.parametrize("first, second", [("torch", "regather"),
                                           ("regather", "torch")])
def test_stands_beside_torch(first: str, second: str) -> None:
    program = (f"import {first}\n"
               "import regather\n"
               f"regather.stats({str(MLP)!r})\n"
               f"import {second}, torch\n"
               "torch.ones(2, 2) @ torch.ones(2, 2)\n"
               f"print(regather.simulate({str(MLP)!r}).seconds > 0)\n")
    done = subprocess.run([sys.executable, "-c", program], check=True,
                          capture_output=True, text=True)
    assert done.stdout == "True\n"


def test_exports_nothing_else() -> None:
    path = loading.load()._name
    names = subprocess.run(["nm", "-D", "--defined-only", path], check=True,
                           capture_output=True, text=True).stdout.split("\n")
    assert names and all(line.split()[-1].startswith("regather")
                         for line in names if line)


def test_a_machine_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    machine = regather.calibrate(file, repetitions=1, threads=1,
                                 comm="threads,latency=3ms,bandwidth=1GB/s")
    assert json.loads(file.read_text()) == machine.json
    assert machine.links[0]["protocols"][0]["latency_seconds"] == (
        pytest.approx(3e-3, rel=1e-3))
    assert "GFLOP/s in f32" in str(machine)
    # The first gather is waited for at once, and the last reduction, too.
    simulation = regather.simulate(ROOT / "examples" / "mlp-fsdp.mlir",
                                   cluster=file)
    assert simulation.seconds > 2 * 3e-3
    with pytest.raises(regather.RegatherError, match="ranks must be between 2"):
        regather.calibrate(ranks=1)
    with pytest.raises(TypeError, match="unknown option 'steps' of calibrate"):
        regather.calibrate(steps=1)
    with pytest.raises(FileNotFoundError):
        regather.calibrate(tmp_path / "no" / "machine.json")
