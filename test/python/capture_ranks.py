"""Runs a captured graph that communicates, all ranks side by side."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from capture_evaluator import argument, operator


class _Grid:
    """Ranks of a mesh: which ones form a group over given axes."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        (mesh,) = document["meshes"]
        self.axes = [axis for axis, _ in mesh["axes"]]
        self.sizes = [size for _, size in mesh["axes"]]
        self.places = list(itertools.product(*map(range, self.sizes)))
        self._groups = document["groups"]

    def group(self, name: str, rank: int) -> list[int]:
        over = self._groups[name]["axes"]
        fixed = [i for i, axis in enumerate(self.axes) if axis not in over]
        here = self.places[rank]
        return [
            other
            for other, place in enumerate(self.places)
            if all(place[i] == here[i] for i in fixed)
        ]


def shard(
    value: torch.Tensor, entry: Mapping[str, Any], document: Mapping[str, Any]
) -> list[torch.Tensor]:
    """The parts of a whole tensor by rank, as its ``placement`` says."""
    grid = _Grid(document)
    parts = []
    for place in grid.places:
        part = value.detach()
        for split in entry.get("placement", {}).get("axes", []):
            (axis,) = split["axes"]
            index = grid.axes.index(axis)
            part = part.chunk(grid.sizes[index], split["shard"])[place[index]]
        parts.append(part)
    return parts


def _reduce(values: Sequence[torch.Tensor], kind: str) -> torch.Tensor:
    total = torch.stack(list(values)).sum(0)
    assert kind in ("sum", "avg")
    return total / len(values) if kind == "avg" else total


def _collective(
    target: str, arguments: list[list[Any]], grid: _Grid
) -> list[torch.Tensor]:
    """Result of a collective on each rank, from its arguments on each rank."""
    name = target.split(".")[1]
    inputs = [args[0] for args in arguments]
    if name == "wait_tensor":
        return inputs
    results = []
    for rank, args in enumerate(arguments):
        members = grid.group(args[-1], rank)
        values = [inputs[member] for member in members]
        if name == "all_gather_into_tensor":
            assert args[1] == len(members)
            results.append(torch.cat(values))
        elif name == "reduce_scatter_tensor":
            assert args[2] == len(members)
            whole = _reduce(values, args[1])
            results.append(whole.chunk(len(members))[members.index(rank)])
        else:
            assert name == "all_reduce", target
            results.append(_reduce(values, args[1]))
    return results


def evaluate_ranks(
    document: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    inputs: Mapping[str, Sequence[torch.Tensor]],
) -> dict[tuple[str, str | None], list[torch.Tensor]]:
    """Results of the step by (role, of), each on every rank.

    ``tensors``: whole parameters and buffers by name; ``inputs``: the batch
    of each rank by name.
    """
    grid = _Grid(document)
    ranks = range(len(grid.places))
    results: list[dict[str, list[Any]]] = [{} for _ in ranks]
    for entry in document["parameters"] + document["buffers"]:
        for rank, part in enumerate(shard(tensors[entry["name"]], entry, document)):
            results[rank][entry["node"]] = [part]
    for entry in document["inputs"]:
        for rank in ranks:
            results[rank][entry["node"]] = [inputs[entry["name"]][rank]]
    for node in document["nodes"]:
        if node["op"] != "call":
            continue
        arguments = [argument(node["args"], results[rank]) for rank in ranks]
        if node["target"].startswith("_c10d_functional."):
            values = _collective(node["target"], arguments, grid)
        else:
            values = [
                operator(node["target"])(
                    *arguments[rank],
                    **{
                        key: argument(item, results[rank])
                        for key, item in node.get("kwargs", {}).items()
                    },
                )
                for rank in ranks
            ]
        for rank, value in enumerate(values):
            many = isinstance(value, list | tuple)
            results[rank][node["name"]] = list(value) if many else [value]
    return {
        (entry["role"], entry.get("of")): [
            results[rank][entry["node"]][entry["output"]] for rank in ranks
        ]
        for entry in document["outputs"]
    }
