"""Parameters, buffers and states of the optimizer, in the shards of a rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from regather.execution import Value
from regather.fx.graph import CapturedGraph
from regather.library.errors import RegatherError
from regather.training.initialization import initialize
from regather.training.shards import RankMesh, allocate, cut, without_padding

# What a step is told anew each time.
_GIVEN = ("step", "learning_rate")


class StepState:
    """What a step keeps between two runs. `tensors` are the arguments of its
    programs by name, with their padding; `segments` are those of an elastic
    step, 0 for others."""

    def __init__(self, arguments: Iterable[Value], mesh: RankMesh,
                 segments: int) -> None:
        self._mesh = mesh
        self.segments = segments
        self.values = {value.name: value for value in arguments
                       if value.role != "input"}
        self.tensors = {name: allocate(value)
                        for name, value in self.values.items()}

    @property
    def saved(self) -> list[str]:
        """Names of what belongs to a checkpoint."""
        return [name for name, value in self.values.items()
                if value.role not in _GIVEN]

    def find(self, role: str) -> torch.Tensor | None:
        """The first tensor of a role."""
        return next((self.tensors[name] for name, value in self.values.items()
                     if value.role == role), None)

    def initialize(self, captured: CapturedGraph, model: torch.nn.Module,
                   seed: int) -> None:
        """The values of the model, or drawn ones where it is on the meta
        device. Raises `RegatherError` for what nothing initialises."""
        missing = set()
        for name, tensor in captured.tensors.items():
            if name not in self.values:
                continue
            if tensor.is_meta:
                missing.add(name)
            else:
                self._set(name, tensor)
        if missing:
            for name, tensor in initialize(model, seed):
                if name in missing:
                    self._set(name, tensor)
                    missing.discard(name)
        if missing:
            raise RegatherError("nothing initialises "
                                + ", ".join(sorted(missing)))
        for name, value in self.values.items():
            if value.role == "rng" and name.endswith("seed"):
                self.tensors[name].fill_(seed)

    def _set(self, name: str, tensor: torch.Tensor) -> None:
        value = self.values[name]
        without_padding(value, self.tensors[name]).copy_(
            cut(value, tensor.detach()))

    def part(self, name: str) -> torch.Tensor:
        """The tensor as `state_dict` has it: distributed with several ranks."""
        if self.values[name].role == "rng":
            return self.tensors[name]
        return self._mesh.to_distributed(self.values[name], self.tensors[name])

    def gather(self, name: str) -> torch.Tensor:
        """The whole tensor. All ranks ask for the same one."""
        return self._mesh.gather(self.part(name))

    def to_dict(self) -> dict[str, Any]:
        """`model`, `optimizer` and, if there are any, `rng`."""
        model: dict[str, torch.Tensor] = {}
        states: dict[str, dict[str, torch.Tensor]] = {}
        rng: dict[str, torch.Tensor] = {}
        for name in self.saved:
            role = self.values[name].role
            if role == "optimizer_state":
                parameter, _, kind = name.rpartition(".")
                states.setdefault(parameter, {})[kind] = self.part(name)
            else:
                (rng if role == "rng" else model)[name] = self.part(name)
        found: dict[str, Any] = {"model": model,
                                 "optimizer": {"state": states}}
        return found | ({"rng": rng} if rng else {})

    def load(self, state: Mapping[str, Any]) -> None:
        """What `to_dict` gave on any number of ranks. Raises `RegatherError`,
        and changes nothing, if something is missing."""
        given = dict(state["model"])
        for parameter, kinds in state["optimizer"]["state"].items():
            given |= {f"{parameter}.{kind}": tensor
                      for kind, tensor in kinds.items()}
        given |= state.get("rng", {})
        if missing := sorted(set(self.saved) - set(given)):
            raise RegatherError("the state lacks " + ", ".join(missing))
        for name in sorted(self.saved):
            self._mesh.assign(self.values[name], self.tensors[name],
                              given[name])

    def check_segments(self, saved: int) -> None:
        """Raises `RegatherError` if a step with another number of segments
        saved: its losses would go on in another way. What no elastic step
        saved is a beginning like others."""
        if saved and saved != self.segments:
            own = f"elastic={self.segments}" if self.segments else "none"
            raise RegatherError(f"the state was saved by a step with elastic="
                                f"{saved}, but this one has {own}, whose losses "
                                "differ")

    def assign_part(self, name: str, part: torch.Tensor) -> None:
        """Writes what this rank has of a tensor, without padding."""
        without_padding(self.values[name], self.tensors[name]).copy_(part)


__all__ = ["StepState"]
