"""What runs write: places are tried before work begins, signals lose nothing, links
and standard output are written to, and whatever fails says so."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from regather_tools import BUILD, ROOT, Result, run_tool

STEP = ROOT / "examples" / "mlp-fsdp.mlir"
RUN = ("run", STEP, "--random-inputs=1", "--quiet")
NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").is_char_device(),
                                reason="there is no /dev/full")


def expect_error(result: Result, *words: str) -> None:
    assert result.code == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


# -----------------------------------------------------------------------------
# Places that cannot be written to
# -----------------------------------------------------------------------------


def test_runs_try_all_outputs_before_they_train(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    (tmp_path / "file").touch()
    result = run_tool("regather", *RUN, "--steps=1000000000",
                      f"--outputs={missing / 'x'}",
                      f"--outputs-sharded={tmp_path / 'file' / 'x'}",
                      f"--report={tmp_path}", f"--trace={missing / 't'}",
                      f"--profile={missing / 'p'}")
    expect_error(result, f"cannot write '{missing / 'x'}': No such file",
                 f"cannot write '{tmp_path / 'file' / 'x'}': Not a directory",
                 f"cannot write '{tmp_path}': Is a directory",
                 f"cannot write '{missing / 't'}': No such file",
                 f"cannot write '{missing / 'p'}': No such file")
    assert result.stdout == b""
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("command", [
    ("compile", STEP, "-o", "{}/x", "--report={}/y"),
    ("report", STEP, "-o", "{}/x", "--json={}/y"),
    ("simulate", STEP, "--trace={}/x", "--timeline={}/y"),
], ids=lambda command: command[0])
def test_commands_try_their_outputs_first(command: tuple[str | Path, ...],
                                          tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    # Whatever is wrong with the step comes after it.
    (tmp_path / "step.mlir").write_text("junk")
    arguments = [str(word).format(missing) for word in command]
    arguments[1] = tmp_path / "step.mlir"
    result = run_tool("regather", *arguments)
    expect_error(result, f"cannot write '{missing}/x'",
                 f"cannot write '{missing}/y'")
    assert "junk" not in result.stderr


def test_outputs_need_names() -> None:
    for flag in ("outputs", "outputs-sharded", "report", "trace", "inputs"):
        expect_error(run_tool("regather", *RUN, f"--{flag}="),
                     f"--{flag} needs the name of a file")
        expect_error(run_tool("regather-run", "x.rgb", f"--{flag}="),
                     f"--{flag} needs the name of a file")
    expect_error(run_tool("regather", "compile", STEP, "-o", ""),
                 "-o needs the name of a file")


@NEEDS_FULL
@pytest.mark.parametrize("command", [
    RUN, (*RUN, "--json"), ("stats", STEP), ("stats", STEP, "--json"),
    ("tree", STEP), ("simulate", STEP),
], ids=lambda command: " ".join([command[0], *map(str, command[4:])]))
def test_standard_output_that_is_full(command: tuple[str | Path, ...]) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run([BUILD / "bin" / "regather",
                                 *map(str, command)], stdout=full,
                                stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1, result.stderr
    assert ("regather: error: cannot write to standard output: "
            "No space left on device") in result.stderr


# -----------------------------------------------------------------------------
# Links and limits
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_kept(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "disk").mkdir()
    target = tmp_path / "disk" / "results"
    if exists:
        target.write_text("old")
    link = tmp_path / "link"
    (tmp_path / "other").symlink_to("disk/results")
    link.symlink_to("other")
    assert run_tool("regather", *RUN, f"--outputs={link}").code == 0
    assert link.is_symlink() and not target.is_symlink()
    assert target.stat().st_size > 100
    assert os.listdir(tmp_path / "disk") == ["results"]


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    expect_error(run_tool("regather", *RUN, f"--outputs={tmp_path / 'a'}"),
                 "cannot write", "Too many levels of symbolic links")


@pytest.mark.parametrize("kilobytes", [1, 8])
def test_a_limit_on_files_is_an_error(tmp_path: Path, kilobytes: int) -> None:
    """At the least limit our own files fail, at the other one the linker's."""
    def limit() -> None:
        size = 1024 * kilobytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    folder = tmp_path / "temporary"
    folder.mkdir()
    result = subprocess.run(
        [BUILD / "bin" / "regather", "compile", STEP, "--quiet", "-o",
         tmp_path / "step.rgb"], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder),
             "REGATHER_CACHE_DIR": str(tmp_path / "cache")}, preexec_fn=limit)
    assert result.returncode == 1
    assert "File too large" in result.stderr, result.stderr
    assert not os.listdir(folder)
    assert not (tmp_path / "step.rgb").exists()


# -----------------------------------------------------------------------------
# Signals
# -----------------------------------------------------------------------------


def start(*options: str | Path) -> subprocess.Popen[bytes]:
    """A run that trains until it is stopped, and has begun to."""
    process = subprocess.Popen(
        [BUILD / "bin" / "regather", *map(str, RUN), "--steps=1000000000",
         *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        pipesize=4096)
    assert process.stdout.readline().startswith(b"step 1/")
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_training_after_a_step(number: signal.Signals,
                                                 tmp_path: Path) -> None:
    whole, sharded = tmp_path / "whole", tmp_path / "sharded"
    process = start(f"--outputs={whole}", f"--outputs-sharded={sharded}")
    # As launchers do, twice.
    process.send_signal(number)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    last = int(re.search(rf"stopped by {number.name} after step (\d+); its "
                         r"results are written, and --first-step=\d+ goes on",
                         stderr.decode())[1])
    # The lines end there.
    assert re.findall(rb"step (\d+)/", stdout)[-1:] in (
        [], [str(last).encode()])
    expected = tmp_path / "expected"
    assert run_tool("regather", *RUN, f"--steps={last}",
                    f"--outputs={expected}").code == 0
    assert whole.read_bytes() == expected.read_bytes()
    assert len(os.listdir(sharded)) == 4


def test_results_that_nobody_asked_for_are_lost() -> None:
    process = start()
    process.send_signal(signal.SIGINT)
    assert b"its results are lost: neither --outputs nor" in (
        process.communicate(timeout=20)[1])


def test_another_signal_ends_the_process(tmp_path: Path) -> None:
    process = start(f"--outputs={tmp_path / 'x'}")
    # Nobody reads on, so that the line of a step has soon no room: nothing more
    # is written.
    unread, before = 0, -1
    while unread < 3900 or unread != before:
        time.sleep(0.3)
        before, unread = unread, int.from_bytes(fcntl.ioctl(
            process.stdout, termios.FIONREAD, b"\0" * 4), sys.byteorder)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process.communicate()
    assert not os.listdir(tmp_path)


def test_saves_between_steps(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    result = run_tool("regather", *RUN[:-1], "--steps=5", "--save-every=2",
                      f"--outputs-sharded={folder}")
    assert result.code == 0
    assert re.findall(r"note: saved step (\d+)", result.stderr) == ["2", "4"]
    # The training goes on as if nothing had been saved.
    plain = run_tool("regather", *RUN, "--steps=5",
                     f"--outputs-sharded={tmp_path / 'plain'}")
    losses = [re.findall(rb"loss (\S+)", each.stdout)
              for each in (result, plain)]
    assert losses[0] == losses[1] and len(losses[0]) == 5
    for name in os.listdir(folder):
        assert (folder / name).read_bytes() == (
            tmp_path / "plain" / name).read_bytes()
    expect_error(run_tool("regather", *RUN, "--save-every=2"),
                 "--save-every needs --outputs-sharded")


def test_a_killed_run_goes_on_from_what_it_saved(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    process = start("--save-every=3", f"--outputs-sharded={folder}")
    while not (folder / "rank-3-of-4.safetensors").exists():
        assert process.poll() is None
    process.kill()
    process.communicate()
    result = run_tool("regather", *RUN, f"--inputs={folder}")
    assert result.code == 0, result.stderr


PARTLY_FROZEN = """
  func.func @step(
      %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
      %frozen: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "frozen"},
      %scale: tensor<8xf32> {tg.role = #tg.role<buffer>, tg.name = "scale"},
      %x: tensor<8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
      -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
    %0 = tg.node "aten.mul.Tensor"(%frozen, %scale) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = tg.node "aten.mul.Tensor"(%w, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %2 = tg.node "aten.add.Tensor"(%1, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
"""


@pytest.mark.parametrize("flag", ["--outputs", "--outputs-sharded"])
def test_what_is_saved_holds_what_no_step_updates(tmp_path: Path,
                                                  flag: str) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(PARTLY_FROZEN)
    first = tmp_path / "first.safetensors"
    values = {name: np.linspace(low, 1, 8, dtype=np.float32)
              for name, low in (("w", 0.5), ("frozen", 0.25), ("scale", 0.75))}
    save_file(values, first)

    def run(steps: int, inputs: Path, outputs: Path, *flags: str) -> None:
        result = run_tool("regather", "run", step, f"--inputs={inputs}",
                          "--random-inputs=1", "--quiet", f"--steps={steps}",
                          f"{flags[0] if flags else flag}={outputs}")
        assert result.code == 0, result.stderr

    run(3, first, tmp_path / "whole", "--outputs")
    run(1, first, tmp_path / "begun")
    # The batch is drawn, and nothing else: a drawn weight would show.
    run(2, tmp_path / "begun", tmp_path / "ended", "--outputs")
    whole, ended = load_file(tmp_path / "whole"), load_file(tmp_path / "ended")
    assert sorted(whole) == sorted(ended) == ["frozen", "scale", "w"]
    for name, tensor in whole.items():
        np.testing.assert_array_equal(tensor, ended[name])
