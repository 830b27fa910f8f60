"""Parameters, buffers and states of the optimizer, in the shards of a rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from regather.execution import Executable, Value
from regather.fx.graph import CapturedGraph
from regather.library.errors import RegatherError
from regather.training.initialization import initialize
from regather.training.shards import (RankMesh, allocate, as_real, check_given,
                                      cut, without_padding)

# What a step is told anew each time.
_GIVEN = ("step", "learning_rate")


class StepState:
    """What a step keeps between two runs, on the CPU. `tensors` are the
    arguments of its programs by name, with their padding, that lie in memory of
    this process: here all of them. `segments` are those of an elastic step, 0 for
    others."""

    def __init__(self, arguments: Iterable[Value], mesh: RankMesh,
                 segments: int) -> None:
        self._mesh = mesh
        self.segments = segments
        self.values = {value.name: value for value in arguments
                       if value.role != "input"}
        self.tensors = {name: allocate(value)
                        for name, value in self.values.items()
                        if self._lies_here(value)}
        # Parameters and buffers of complex numbers, which lie as real ones.
        self._complex: set[str] = set()

    def _lies_here(self, value: Value) -> bool:
        return True

    def _read(self, name: str) -> torch.Tensor:
        """What this rank has of a tensor, with its padding."""
        return self.tensors[name]

    def _blank(self, name: str) -> torch.Tensor:
        """The same for who writes to all of it but the padding, and then calls
        `_keep`."""
        return self.tensors[name]

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        """Makes `tensor` the value."""

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
            if tensor.is_complex():
                self._complex.add(name)
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
                drawn = self._blank(name)
                drawn.fill_(seed)
                self._keep(name, drawn)

    def _set(self, name: str, tensor: torch.Tensor) -> None:
        value = self.values[name]
        own = self._blank(name)
        without_padding(value, own).copy_(cut(value, as_real(tensor.detach())))
        self._keep(name, own)

    def part(self, name: str) -> torch.Tensor:
        """The tensor as `state_dict` has it: distributed with several ranks."""
        local = self._read(name)
        if self.values[name].role == "rng":
            return local
        return self._mesh.to_distributed(self.values[name], local,
                                         self._is_complex(name))

    def _is_complex(self, name: str) -> bool:
        """States of the optimizer are as their parameter."""
        if self.values[name].role == "optimizer_state":
            name = name.rpartition(".")[0]
        return name in self._complex

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

    def check_names(self, given: Iterable[str], where: str, strict: bool) -> None:
        """Raises `RegatherError` with all that `given` lacks, or, if `strict`,
        has beside what a step saves. `where` is the subject of the message."""
        problems = []
        if missing := sorted(set(self.saved) - set(given)):
            problems.append("lacks " + ", ".join(missing))
        others = sorted(set(given) - set(self.saved))
        if strict and others:
            problems.append(f"has {', '.join(others)}, which this step lacks: "
                            "strict=False leaves that out")
        if problems:
            raise RegatherError(f"{where} {'; it '.join(problems)}")

    def load(self, state: Mapping[str, Any], strict: bool) -> None:
        """What `to_dict` gave on any number of ranks. Raises `RegatherError`,
        and changes nothing, if something is missing or has another shape, or, if
        `strict`, if there is something else."""
        if lost := [part for part in ("model", "optimizer", "step")
                    if part not in state]:
            raise RegatherError("the state lacks " + ", ".join(lost))
        given = dict(state["model"])
        for parameter, kinds in state["optimizer"].get("state", {}).items():
            given |= {f"{parameter}.{kind}": tensor
                      for kind, tensor in kinds.items()}
        given |= state.get("rng", {})
        self.check_names(given, "the state", strict)
        for name in self.saved:
            check_given(self.values[name], given[name])
        for name in sorted(self.saved):
            own = self._blank(name)
            self._mesh.assign(self.values[name], own, given[name])
            self._keep(name, own)

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
        own = self._blank(name)
        without_padding(self.values[name], own).copy_(part)
        self._keep(name, own)


class DeviceState(StepState):
    """The state of a step on a GPU: it lies in the arguments of `executable`
    there. Only what a step is told anew each time lies in `tensors`; all else is
    copied to and from the host when it is asked for."""

    def __init__(self, executable: Executable, mesh: RankMesh,
                 segments: int) -> None:
        super().__init__(executable.arguments, mesh, segments)
        self._executable = executable
        self._numbers = {value.name: i
                         for i, value in enumerate(executable.arguments)}
        for name in self.saved:
            self._keep(name, self._blank(name))

    def _lies_here(self, value: Value) -> bool:
        return value.role in _GIVEN

    def _read(self, name: str) -> torch.Tensor:
        if name in self.tensors:
            return self.tensors[name]
        tensor = allocate(self.values[name])
        self._executable.read(self._numbers[name], tensor.data_ptr())
        return tensor

    def _blank(self, name: str) -> torch.Tensor:
        return (self.tensors[name] if name in self.tensors
                else allocate(self.values[name]))

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        if name not in self.tensors:
            self._executable.write(self._numbers[name], tensor.data_ptr())


__all__ = ["DeviceState", "StepState"]
