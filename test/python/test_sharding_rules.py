"""What sharding rules say about nodes, carried out.

Each case of `node_cases.py` is interpreted on parts of its tensors, once for
every statement of its rule: split along one factor, or with operands that are
sums of two. The results, combined as the rule says, must be those of the whole
node.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from node_cases import CASES, Case
from regather_tools import decode_safetensors, encode_safetensors, run_tool
from test_node_semantics import (BATCHES, NodeWriter, describe, evaluate,
                                 find_difference)

# No rule has more factors and linear sets than this.
MOST_STATEMENTS = 12

# Targets whose cases leave nothing to try: what an element is depends on where
# it lies in memory or in the whole tensor; all that could be split is reduced
# over booleans or multiplied; or there are no elements.
WHOLE = {f"aten.{name}" for name in (
    "arange.default", "arange.start", "arange.start_step",
    "scalar_tensor.default", "any.default", "any.dims", "prod.default",
    "ones_like.default", "_unsafe_view.default", "cat.default",
    "as_strided.default", "as_strided_scatter.default", "diagonal.default",
    "diagonal_scatter.default", "unfold.default", "scatter_reduce.two",
    "repeat_interleave.Tensor", "max_pool3d_with_indices.default")}


class Batch:
    """A module with a node for each case, and what it should give."""

    def __init__(self, cases: list[Case], scratch: Path) -> None:
        self.scratch = scratch
        self.expected = []
        writer = NodeWriter()
        for one in cases:
            arrays = evaluate(one)
            writer.add(one, arrays)
            self.expected += [(one, dtype, array) for i, (dtype, array)
                              in enumerate(zip(one.results, arrays))
                              if i not in one.absent]
        self.module = scratch / "nodes.mlir"
        self.module.write_text(writer.write())
        self.inputs = scratch / "inputs.safetensors"
        self.inputs.write_bytes(encode_safetensors(
            {f"a{i}": value.encode() for i, value in enumerate(writer.inputs)}))

    def split(self, variant: int) -> tuple[Path, list[str]]:
        """The module on parts, and the targets that have such a statement."""
        converted = self.scratch / f"linalg{variant}.mlir"
        result = run_tool(
            "regather-test-opt", self.module, "-o", converted, "-pass-pipeline="
            f"builtin.module(func.func(test-split-nodes{{variant={variant}}}),"
            "convert-tg-nodes-to-linalg)", timeout=60)
        assert result.code == 0, result.last_words
        return converted, re.findall(r": remark: (\S+) (?:splits|adds): ",
                                     result.stderr)

    def find_differences(self, converted: Path) -> list[str]:
        outputs = self.scratch / "outputs.safetensors"
        result = run_tool("regather", "run", converted, "--engine=interpreter",
                          f"--inputs={self.inputs}", f"--outputs={outputs}",
                          "--quiet", timeout=60)
        assert result.code == 0, result.last_words
        actual = decode_safetensors(outputs.read_bytes())
        wrong = []
        for i, (one, dtype, array) in enumerate(self.expected):
            difference = find_difference(dtype, actual[f"r{i}"], array)
            if difference:
                wrong.append(f"{describe(one)}: result {i} {difference}")
        return wrong


@pytest.mark.parametrize("cases", BATCHES, ids=lambda cases: cases[0].target)
def test_parts_make_the_whole(cases: list[Case], tmp_path: Path) -> None:
    batch = Batch(cases, tmp_path)
    for variant in range(MOST_STATEMENTS):
        converted, targets = batch.split(variant)
        if not targets:
            return
        wrong = batch.find_differences(converted)
        assert not wrong, f"statement {variant}:\n" + "\n".join(wrong)
    raise AssertionError(f"a rule has more than {MOST_STATEMENTS} statements")


def test_every_target_has_a_rule(tmp_path: Path) -> None:
    # Without this, a rule that is wrong in its form would be a whole one, of
    # which there is nothing to test.
    known = set()
    for cases in BATCHES:
        known.update(Batch(cases, tmp_path).split(0)[1])
    assert {one.target for one in CASES} - known <= WHOLE
