"""What is asked of a step besides what it computes."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field

import torch

from regather.training.shards import EXPERTS, name_of_dtype

# Axes that cut the model, besides those that an annotation names.
_MODEL_AXES = ("tp", "cp", EXPERTS)


@dataclass
class StepPlan:
    """`flags` are those of `regather run`, and `optimizer` is one of them."""

    axes: list[tuple[str, int]]
    optimizer: str
    replicate_axis: str = ""
    flags: list[tuple[str, str]] = field(default_factory=list)
    threads: int = 0
    timeout: float = 600
    seed: int = 0
    # Micro-batches that a batch is cut into.
    accumulate: int = 1
    # None: that of the parameters.
    reduce_dtype: torch.dtype | None = None
    # Segments of the batch of all ranks; 0 if sums are in the order of ranks.
    elastic: int = 0
    # As the C interface calls it.
    device: str = "cpu"

    def __post_init__(self) -> None:
        # Micro-batches and types of reductions belong to an axis of batches.
        if not self.batch_axes:
            self.axes = [("dp", 1), *self.axes]

    @property
    def is_on_gpu(self) -> bool:
        return self.device != "cpu"

    @property
    def ranks(self) -> int:
        return math.prod(size for _, size in self.axes)

    @property
    def mesh(self) -> str:
        return ",".join(f"{name}:{size}" for name, size in self.axes)

    @property
    def model_axes(self) -> list[int]:
        """The axes that cut the model, by number. But for those of experts,
        the ranks along them are given the same batch."""
        return [number for number, (name, _) in enumerate(self.axes)
                if name in _MODEL_AXES or number in self._annotated_axes]

    @property
    def decided_axes(self) -> list[int]:
        """Those of which each graph decides anew what they cut besides what
        annotations say."""
        return [number for number in self.model_axes
                if self.axes[number][1] > 1
                and (self.axes[number][0] != EXPERTS
                     or number in self._annotated_axes)]

    @property
    def _annotated_axes(self) -> list[int]:
        named = {axis for name, text in self.flags if name == "shard"
                 for found in re.findall(r"=\s*\[([^\]]*)\]", text)
                 for axis in re.findall(r"\w+", found)}
        return [number for number, (name, _) in enumerate(self.axes)
                if name in named]

    @property
    def batch_axes(self) -> list[int]:
        """The axes along which ranks are given rows of their own."""
        return [number for number, (name, _) in enumerate(self.axes)
                if name == EXPERTS or number not in self.model_axes]

    def count_batches(self) -> int:
        """Ranks that are given rows of their own."""
        return math.prod(self.axes[axis][1] for axis in self.batch_axes)

    def find_batch(self, rank: int) -> int:
        """Which of them the rank belongs to."""
        number = 0
        for axis in self.batch_axes:
            inner = math.prod(size for _, size in self.axes[axis + 1:])
            size = self.axes[axis][1]
            number = number * size + rank // inner % size
        return number

    @property
    def has_global_batch(self) -> bool:
        """Each rank is given its rows of the batch of all ranks: an elastic
        step sums over it, and the ranks of experts share it."""
        return bool(self.elastic) or any(name == EXPERTS and size > 1
                                         for name, size in self.axes)

    def list_flags(self, optimizer: str,
                   placements: list[tuple[str, str]] | None = None
                   ) -> list[tuple[str, str]]:
        """All flags of a program, with or without an optimizer. `placements`
        say of all inputs, parameters and buffers where they lie, instead of
        annotations."""
        flags = self.flags
        if placements:
            flags = [(name, text) for name, text in flags if name != "shard"]
            # What leaves modules may still be said.
            flags += [(name, part.strip()) for name, text in self.flags
                      if name == "shard" for part in text.split(";")
                      if part.strip().startswith("output(")]
            flags += placements
        flags = flags + self._list_sharding()
        return flags + [("optimizer", optimizer)] if optimizer else flags

    def _list_sharding(self) -> list[tuple[str, str]]:
        if self.ranks == 1 and self.accumulate == 1 and not self.elastic:
            return []
        flags = [("mesh", self.mesh),
                 ("batch", "global" if self.has_global_batch else "per-rank"),
                 *([("elastic", str(self.elastic))] if self.elastic else []),
                 # A parameter is an argument of its own, as a DTensor is.
                 ("layout", "per-parameter")]
        if self.replicate_axis:
            flags.append(("replicate-axis", self.replicate_axis))
        options = {}
        if self.accumulate > 1:
            options["micro-batches"] = str(self.accumulate)
        if self.reduce_dtype:
            options["reduce-dtype"] = name_of_dtype(self.reduce_dtype)
        return flags + [("pass-option", f"tg-shard-parameters:{name}={value}")
                        for name, value in options.items()]

    def count_threads(self) -> int:
        """Threads that compute on a rank."""
        beside = int(os.environ.get("LOCAL_WORLD_SIZE", self.ranks))
        return self.threads or max(1, (os.cpu_count() or 1) // beside)


__all__ = ["StepPlan"]
