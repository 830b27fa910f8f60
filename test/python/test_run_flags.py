"""`regather run` and `regather-run` have the same flags, with the same words."""

from __future__ import annotations

import re

import pytest

from regather_tools import run_tool

# What only modules need: how they become programs, and the interpreter.
MODULES_ONLY = {
    "batch", "bucket", "cache-dir", "chunk", "compile-threads", "elastic",
    "elastic-axes", "engine", "entry", "expert-capacity", "expert-chunks",
    "fuse-attention", "layout", "memory", "mesh", "micro-batches", "offload",
    "optimizer", "pass-option", "plan", "policy", "recompute", "replicate-axis",
    "reshard", "schedule", "seed", "shard"}

FLAG = re.compile(r"^  --([a-z-]+)(\[?=.+?)?(?: +- |  +)(\S.*)$", re.MULTILINE)


def read_help(tool: str, *words: str) -> dict[str, tuple[str, str]]:
    """What stands for the value of each flag, and its help text."""
    result = run_tool(tool, *words, "--help")
    assert result.code == 0, result.stderr
    # The library shows values in angle brackets.
    return {name: (re.sub("=<(.*)>", r"=\1", value), text)
            for name, value, text in FLAG.findall(result.stdout.decode())
            if name not in ("help", "help-list")}


def test_both_tools_explain_the_same_flags() -> None:
    of_bundles = read_help("regather-run")
    of_modules = read_help("regather", "run")
    assert len(of_bundles) > 15
    assert {name: of_modules.get(name) for name in of_bundles} == of_bundles
    assert set(of_modules) - set(of_bundles) == MODULES_ONLY


@pytest.mark.parametrize(("flag", "message"), [
    ("--steps=many", '--steps expects a whole number, got "many"'),
    ("--steps=3x", '--steps expects a whole number, got "3x"'),
    ("--steps=99999999999999999999",
     '--steps expects a whole number, got "99999999999999999999"'),
    ("--steps=0", "--steps must be at least 1, got 0"),
    ("--threads=-1",
     '--threads expects a whole number from 0 to 2147483647, got "-1"'),
    ("--device=0x", '--device expects a whole number from 0 to 2147483647, '
     'got "0x"'),
    ("--learning-rate=fast", '--learning-rate expects a number, got "fast"'),
    ("--learning-rate=inf", "--learning-rate must be finite"),
    ("--timeout=0", "--timeout must be positive"),
    ("--timeout=nan", "--timeout must be positive"),
    ("--save-every=0", "--save-every must be at least 1, got 0"),
    ("--random-inputs=x", '--random-inputs expects a seed, as in "1" or '
     '"1,integers", got "x"'),
    ("--comm=pigeons", 'got "pigeons"'),
    ("--algorithms=best", '--algorithms expects first or timed, got "best"'),
    ("--text-inputs=a,b", "--text-inputs needs --text"),
    ("--profile=-", "--profile needs the name of a file"),
    ("--inputs=", "--inputs needs the name of a file"),
])
def test_both_tools_refuse_a_value_alike(flag: str, message: str) -> None:
    module = run_tool("regather", "run", "x.rgb", flag)
    bundle = run_tool("regather-run", "x.rgb", flag)
    assert message in bundle.stderr
    assert (module.code, module.stderr) == (1, bundle.stderr)
    assert bundle.code == 1
