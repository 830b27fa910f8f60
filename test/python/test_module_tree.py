"""`regather tree` against `regather stats`: the same step, the same totals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from regather_tools import ROOT, run_tool

SHARD = "--tg-shard-parameters=mesh=dp:4"
RESHARD = "--tg-reshard-after-forward"


def read_json(*arguments: str | Path) -> dict[str, Any]:
    result = run_tool("regather", *arguments, "--json")
    assert result.code == 0, result.last_words
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def sharded_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The captured Llama over four ranks, gathered again in backward."""
    path = tmp_path_factory.mktemp("tree") / "llama.mlir"
    captured = run_tool("regather-translate", "--import-fx",
                        ROOT / "examples" / "llama3-debug.fx.json")
    assert captured.code == 0, captured.last_words
    sharded = run_tool("regather-opt", SHARD, RESHARD,
                       "--tg-append-optimizer", "-o", path,
                       stdin=captured.stdout)
    assert sharded.code == 0, sharded.last_words
    return path


def total_of(tree: dict[str, Any], field: str) -> dict[str, float]:
    """By phase, without those in which there is nothing."""
    (model,) = tree["modules"]
    return {phase: work[field] for phase, work in model["phases"].items()}


@pytest.mark.parametrize("step", ["mlp-fsdp.mlir", "llama3-debug.fx.json",
                                  "sharded"])
def test_totals_are_those_of_stats(step: str, sharded_llama: Path) -> None:
    file = sharded_llama if step == "sharded" else ROOT / "examples" / step
    tree, stats = read_json("tree", file), read_json("stats", file)
    assert total_of(tree, "ops") == stats["ops_by_phase"]
    assert total_of(tree, "flops") == pytest.approx(stats["flops_by_phase"])
    assert tree["modules"][0]["parameters"] == stats["parameters"]
    collectives: Counter[tuple[str, str]] = Counter()
    received: Counter[str] = Counter()
    for entry in stats["collectives"]:
        collectives[entry["phase"], entry["kind"]] += entry["count"]
        received[entry["phase"]] += entry["bytes"]
    assert collectives == Counter({
        (phase, kind): count
        for phase, kinds in total_of(tree, "collectives").items()
        for kind, count in kinds.items()})
    assert received == +Counter(total_of(tree, "collective_bytes"))


def test_children_do_no_more_than_their_parent(sharded_llama: Path) -> None:
    tree = read_json("tree", sharded_llama, "--cluster", "h100-8")
    pending = list(tree["modules"])
    seen = 0
    while pending:
        module = pending.pop()
        pending += module["children"]
        seen += 1
        for phase, work in module["phases"].items():
            for field in ("ops", "compute_seconds", "collective_seconds"):
                inner = sum(child["phases"].get(phase, {}).get(field, 0)
                            for child in module["children"])
                assert inner <= work[field] * (1 + 1e-9)
    assert seen > 30


def test_repeated_layers_are_folded(sharded_llama: Path) -> None:
    result = run_tool("regather", "tree", sharded_llama, "--depth", "2")
    assert result.code == 0, result.last_words
    names = [line.split()[0] for line in result.stdout.decode().splitlines()]
    assert any(name.startswith("{") for name in names), names
    unfolded = run_tool("regather", "tree", sharded_llama, "--depth", "2",
                        "--no-fold").stdout.decode().splitlines()
    assert len(unfolded) > len(names)
