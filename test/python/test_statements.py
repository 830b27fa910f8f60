"""What passes say of a step is so in the step that results.

Remarks and `regather stats` are compared with what is counted in the printed
result, for all captured models and random ones on two ranks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="most models are from there")

from captured_models import Step, lower, make_step  # noqa: E402
from model_cases import MODELS  # noqa: E402
from printed_steps import (VIEWS, Function, Operation,  # noqa: E402
                           count_bytes, read)
from random_models import of_seed  # noqa: E402
from regather_tools import run_tool  # noqa: E402

SHARD = "tg-shard-parameters{mesh=dp:2 batch=per-rank}"


class Remark:
    def __init__(self, line: str) -> None:
        found = re.search(r"remark: \[\w+\] (\S+) \| Category:(\S+) \| (.*)", line)
        assert found, line
        self.name, self.category, text = found.groups()
        self.subject = re.search(r"'(\S+)'", text)
        self.text = text
        self.values = dict(re.findall(r"(\w+)=([^ ,]+)", text))

    def number(self, name: str) -> float:
        return float(self.values[name])


def transform(step: Path, result: Path, *passes: str) -> list[Remark]:
    done = run_tool(
        "regather-opt", step, "-o", result, "--mlir-print-op-generic",
        "--mlir-print-op-on-diagnostic=0", "--remark-format=emitRemark",
        "--remarks-filter=tg-.*",
        f"--pass-pipeline=builtin.module({','.join(passes)})", timeout=60)
    assert done.code == 0, done.last_words
    return [Remark(line) for line in done.stderr.splitlines()
            if " remark: [" in line]


def chosen(remarks: list[Remark], category: str, *names: str) -> list[Remark]:
    return [one for one in remarks
            if one.category == category and one.name in names]


def find_stats(step: Path) -> dict[str, Any]:
    result = run_tool("regather", "stats", "--json", step)
    assert result.code == 0, result.last_words
    return json.loads(result.stdout)


def is_view(one: Operation) -> bool:
    return bool(VIEWS.match(one.target or ""))


class Kept:
    """Bytes of gathered parameters that forward leaves to backward, by buffer:
    `views` of the parameters, and what forward has `made` of them alone."""

    def __init__(self, function: Function) -> None:
        names = dict(zip(function.arguments, function.argument_names))
        futures: dict[str, list[str]] = {}
        # Value -> the buffer, and the parameter of which it is a view.
        origins: dict[str, tuple[str | None, str]] = {}
        made: dict[str, str | None] = {}
        sizes: dict[str, int] = {}
        crossing: set[str] = set()
        constants: set[str] = set()
        self.ids: set[str | None] = set()
        for one in function.operations:
            if one.phase == "backward":
                crossing |= set(one.operands)
                continue
            sizes |= {value: count_bytes(kind) for value, kind
                      in zip(one.results, one.types, strict=True)}
            if one.name == "tg.all_gather":
                futures[one.results[0]] = one.operands
                continue
            if one.name == "tg.wait" and one.operands[0] in futures:
                for value, result in zip(futures[one.operands[0]], one.results,
                                         strict=True):
                    origins[result] = (names.get(value), result)
                continue
            operands = [value for value in one.operands
                        if value not in constants]
            if not operands:
                constants |= set(one.results)
                continue
            if all(value in origins for value in operands):
                buffer, root = origins[operands[0]]
                for result in one.results:
                    if one.name == "tg.unflatten":
                        origins[result] = (buffer, result)
                    elif is_view(one):
                        origins[result] = (buffer, root)
                    else:
                        made[result] = buffer
            elif all(value in origins or value in made for value in operands):
                source = next(value for value in operands if value in made)
                made |= {result: made[source] for result in one.results}
            else:
                continue
            self.ids.add(one.id)
        by_root: dict[tuple[str | None, str], list[int]] = {}
        for value in crossing & origins.keys():
            by_root.setdefault(origins[value], []).append(sizes[value])
        self.views: Counter[str | None] = Counter()
        for (buffer, root), found in by_root.items():
            # Views share the memory of what they are views of.
            self.views[buffer] += max(max(found), min(sum(found), sizes[root]))
        self.made: Counter[str | None] = Counter()
        for value in crossing & made.keys():
            self.made[made[value]] += sizes[value]


def check_reshard(before: Function, after: Function, remarks: list[Remark]
                  ) -> None:
    was, now = Kept(before), Kept(after)
    said = chosen(remarks, "tg-reshard-after-forward", "released", "kept")
    assert said
    totals: Counter[str] = Counter()
    for remark in said:
        parameter = remark.values["parameter"]
        # Of what is made of a parameter, what is cheap counts as a view.
        views = max(0, was.views[parameter] - now.views[parameter])
        made = max(0, was.made[parameter] - now.made[parameter])
        assert views <= remark.number("released_bytes") <= views + made, parameter
        views, made = now.views[parameter], now.made[parameter]
        assert views <= remark.number("kept_bytes") <= views + made, parameter
        totals[remark.name] += 1
        for name in ("kept_bytes", "released_bytes"):
            totals[name] += int(remark.number(name))
    total, = chosen(remarks, "tg-reshard-after-forward", "total")
    for name, value in total.values.items():
        assert float(value) == totals[name], name
    # Of every parameter that backward keeps it is said.
    assert +now.views <= Counter({one.values["parameter"]: kept_bytes
                                  for one in said
                                  if (kept_bytes := int(one.number("kept_bytes")))})


def check_merged(before: Function, after: Function, remarks: list[Remark]
                 ) -> None:
    """The collectives of each kind and phase are so many less."""
    def count(function: Function) -> Counter[tuple[str, str | None]]:
        return Counter((one.name, one.phase) for one in function.operations
                       if one.name in ("tg.all_gather", "tg.reduce_scatter",
                                       "tg.all_reduce"))
    less: Counter[tuple[str, str | None]] = Counter()
    for remark in chosen(remarks, "tg-bucket-collectives", "merged"):
        number, kind, phase = re.findall(
            r"(\d+) (\w+) collectives of phase (\w+)", remark.text)[0]
        less["tg." + kind, phase] += int(number) - 1
    assert count(before) - count(after) == less


def check_partition(before: Function, parts: list[Function], stats: dict[str, Any],
                    remarks: list[Remark]) -> None:
    forward, backward = parts
    total, = chosen(remarks, "tg-partition", "total")
    saved = chosen(remarks, "tg-partition", "saved")
    assert total.number("saved") == len(saved)
    assert total.number("saved_bytes") == sum(one.number("bytes")
                                              for one in saved)
    # Views of one gathered parameter count there as their memory.
    assert total.number("saved_bytes") >= stats["saved_bytes"]
    if not Kept(before).views:
        assert total.number("saved_bytes") == stats["saved_bytes"]
    # Each is computed in forward, and its bytes are those of its type.
    sizes: dict[str, set[int]] = {}
    for _, operation, kind in forward.results():
        if operation.id:
            sizes.setdefault(operation.id, set()).add(count_bytes(kind))
    for remark in saved:
        if remark.subject and remark.subject[1] in sizes:
            assert remark.number("bytes") in sizes[remark.subject[1]]
    # What backward computes again has the name of what forward computes. Some
    # was computed twice before, and perhaps in another place now; of operations
    # that compute the same, forward keeps one. Parameters that are taken out of a
    # buffer again have no name.
    def again(function: Function, first: Function) -> Counter[str | None]:
        names = {one.id for one in first.operations
                 if one.id and one.phase == "forward"}
        return Counter(one.id for one in function.operations
                       if one.phase == "backward"
                       and (one.id in names or one.name == "tg.unflatten"))
    most = again(backward, before)
    least = again(backward, forward) - again(before, forward)
    of_parameters = Kept(before).ids
    assert (sum(count for name, count in least.items()
                if name not in of_parameters)
            <= total.number("recomputed") <= most.total())


def check_stats(functions: list[Function], stats: dict[str, Any]) -> None:
    operations = [one for function in functions for one in function.operations
                  if one.name != "func.return"]
    nodes = [one for one in operations if one.name == "tg.node"]
    assert stats["nodes"] == len(nodes)
    phases = Counter(one.phase for one in operations if one.phase)
    assert stats["ops_by_phase"] == dict(phases)
    counted: Counter[tuple[str, str | None]] = Counter(
        (one.name, one.phase) for one in operations
        if one.name in ("tg.all_gather", "tg.reduce_scatter", "tg.all_reduce"))
    said: Counter[tuple[str, str | None]] = Counter()
    for entry in stats["collectives"]:
        said["tg." + entry["kind"], entry["phase"]] += entry["count"]
    assert said == counted


STEPS = {name: lambda name=name: make_step(name) for name in MODELS}
STEPS |= {f"random-{seed}": lambda seed=seed: Step(*of_seed(seed))
          for seed in range(12)}


@pytest.mark.parametrize("name", STEPS)
def test_remarks_are_so(name: str, tmp_path: Path) -> None:
    lower(name, STEPS[name](), tmp_path)
    step, sharded = tmp_path / "step.mlir", tmp_path / "sharded.mlir"
    released = tmp_path / "released.mlir"
    buckets, parts = tmp_path / "buckets.mlir", tmp_path / "parts.mlir"
    transform(step, sharded, SHARD)
    remarks = transform(sharded, released,
                        "tg-reshard-after-forward{mode=default}")
    before, = read(released)
    check_reshard(*read(sharded), before, remarks)
    check_stats([before], find_stats(released))
    remarks = transform(released, buckets,
                        "tg-bucket-collectives{mode=auto cluster=h100-8}")
    merged, = read(buckets)
    check_merged(before, merged, remarks)
    remarks = transform(buckets, parts, "tg-partition{mode=min-cut}")
    stats = find_stats(parts)
    check_partition(merged, read(parts), stats, remarks)
    check_stats(read(parts), stats)
