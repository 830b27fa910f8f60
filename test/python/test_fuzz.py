"""Random steps through random passes, on all engines; see test/fuzz.

`./dev fuzz` runs more of them, and leaves what it finds in folders.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from regather_tools import BUILD, ROOT

sys.path.insert(0, str(ROOT / "test" / "fuzz"))
# pylint: disable=wrong-import-position
from campaign import Campaign, run_campaign  # noqa: E402
from tally import Tally, option_names, without_names  # noqa: E402

TOOL = BUILD / "bin" / "regather-fuzz"
# Those that are compiled, with optimised kernels, and further ones as they are
# drawn, most of them on the interpreter alone.
COMPILED, CASES = 100, 150


@pytest.mark.parametrize(("first", "count", "compiles_all"), [
    (0, COMPILED, True), (COMPILED, CASES, False)])
def test_random_steps(first: int, count: int, compiles_all: bool) -> None:
    tally = run_campaign(Campaign(TOOL, first=first, count=count, jobs=2,
                                  compiles_all=compiles_all),
                         output=None, reducer=None)
    assert tally.cases == count
    assert not tally.finds
    assert tally.invalid == 0
    # What is random is not in vain: most passes did something.
    changed = [name for name, counts in tally.passes.items()
               if counts["changed"]]
    assert len(changed) >= 10


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True,
                          check=False, timeout=300)


def test_all_can_be_compiled() -> None:
    drawn, compiled = (
        [call("show", f"--first={number}", "--plan-only", *flags).stdout
         for number in range(10)] for flags in ((), ("--compile-all",)))
    assert any("compiles: false" in plan for plan in drawn)
    for plan in compiled:
        assert "compiles: true" in plan and "optimizes: true" in plan


def test_a_number_replays_its_case() -> None:
    first, again, other = (call("show", f"--first={number}").stdout
                           for number in (7, 7, 8))
    assert first == again != other


# Nobody knows how to compute it.
WRONG = """\
func.func @step(%x: tensor<4xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %0 = tg.node "my.unknown"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_a_step_that_cannot_run_is_no_find(tmp_path: Path) -> None:
    (tmp_path / "step.mlir").write_text(WRONG)
    (tmp_path / "plan.txt").write_text("pipeline: tg-schedule\n")
    result = call("check", tmp_path / "step.mlir",
                  f"--plan={tmp_path / 'plan.txt'}")
    assert result.returncode == 0
    assert "my.unknown" in json.loads(result.stdout)["invalid"]


# Has a mesh that nothing uses, so that it can be sharded over another one.
UNUSED_MESH = """\
tg.mesh @mesh [tp = 2]
func.func @step(
    %w: tensor<4xf32> {tg.name = "w", tg.role = #tg.role<parameter>},
    %x: tensor<2x4xf32> {tg.name = "x", tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %0 = tg.node "aten.mul.Tensor"(%x, %w)
      {tg.phase = #tg.phase<forward>}
      : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = tg.node "aten.sum.default"(%0)
      {tg.phase = #tg.phase<forward>} : (tensor<2x4xf32>) -> tensor<f32>
  %2 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]]
      {tg.phase = #tg.phase<backward>} : (tensor<2x4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<f32>, tensor<4xf32>
}
"""


@pytest.mark.parametrize("options", ["", " parameter-dtype=bf16"])
def test_a_pipeline_that_shards(tmp_path: Path, options: str) -> None:
    """What comes after is compared with the sharded step, whose types and order
    of sums are others."""
    (tmp_path / "step.mlir").write_text(UNUSED_MESH)
    (tmp_path / "plan.txt").write_text(
        "pipeline: tg-merge-gathers,tg-shard-parameters{mesh=dp:2 "
        f"mesh-name=ranks{options}}},tg-schedule\ninputs: 3\n")
    result = call("check", tmp_path / "step.mlir",
                  f"--plan={tmp_path / 'plan.txt'}")
    found = json.loads(result.stdout)
    assert found["kind"] == found["invalid"] == "", found
    assert [one["result"] for one in found["passes"]][1] == "changed"
    assert result.returncode == 0


@pytest.mark.parametrize("plan", ["nonsense: 1\n", "inputs: many\n"])
def test_bad_plans(tmp_path: Path, plan: str) -> None:
    (tmp_path / "step.mlir").write_text(WRONG)
    (tmp_path / "plan.txt").write_text(plan)
    result = call("check", tmp_path / "step.mlir",
                  f"--plan={tmp_path / 'plan.txt'}")
    assert result.returncode == 2
    assert plan.strip() in result.stderr


def test_what_is_counted() -> None:
    assert option_names("mode=auto effort=64 plan=[layers.*]each") == [
        "mode=auto", "effort", "plan"]
    assert without_names('no "x" of 12') == 'no "..." of N'
    tally = Tally(0)
    tally.add({"case": 3, "origin": "generated", "invalid": "", "message": "m",
               "kind": "mismatch cpu",
               "passes": [{"pass": "p", "options": "mode=auto", "reason": "",
                           "result": "changed"}]})
    tally.finish()
    summary = tally.summary()
    assert summary["passes"] == {"p": {"changed": 1}}
    assert summary["options"] == {"p mode=auto": {"changed": 1}}
    assert [find["case"] for find in summary["finds"]] == [3]


# What is odd beyond 256 has no place in bf16, so that the sum of what ranks
# have is another one, although both are of integers.
NARROW = """\
func.func @step(%w: tensor<64xbf16> {tg.role = #tg.role<parameter>, tg.name = "w"},
                %x: tensor<64x64xbf16> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<bf16> {tg.role = #tg.role<loss>},
        tensor<64xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %0 = tg.node "aten.mul.Tensor"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<64x64xbf16>
  %1 = tg.node "aten.sum.default"(%0) {tg.phase = #tg.phase<forward>} : (tensor<64x64xbf16>) -> tensor<bf16>
  %2 = tg.node "aten.mul.Tensor"(%x) args [#tg.operand<0>, 33] {tg.phase = #tg.phase<backward>} : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %3 = tg.node "aten.sum.dim_IntList"(%2) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<64x64xbf16>) -> tensor<64xbf16>
  return %1, %3 : tensor<bf16>, tensor<64xbf16>
}
"""


def test_parts_in_bf16_are_not_exact(tmp_path: Path) -> None:
    (tmp_path / "step.mlir").write_text(NARROW)
    (tmp_path / "plan.txt").write_text(
        "preparation: tg-shard-parameters{mesh=dp:2}\nexact: true\norder: 1\n")
    result = call("check", tmp_path / "step.mlir",
                  f"--plan={tmp_path / 'plan.txt'}")
    outcome = json.loads(result.stdout)
    assert (result.returncode, outcome["kind"], outcome["invalid"]) == (
        0, "", ""), outcome
