"""A training step that runs on memory of this process."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from regather.execution import Executable
from regather.fx.capture import capture_step
from regather.fx.graph import CapturedGraph
from regather.fx.step import Step
from regather.library.errors import RegatherError
from regather.training.batches import first_micro_batch, list_leaves
from regather.training.initialization import initialize
from regather.training.optimizer import OptimizerText, learning_rate
from regather.training.process_group import (ProcessGroupTransport,
                                             require_group)
from regather.training.program import StepProgram
from regather.training.shards import (RankMesh, allocate, cut,
                                      name_of_dtype, without_padding)


@dataclass
class StepPlan:
    """What was asked for besides the step itself."""

    axes: list[tuple[str, int]]
    replicate_axis: str
    flags: list[tuple[str, str]]
    optimizer: str
    threads: int
    timeout: float
    seed: int
    # Micro-batches that a batch is cut into.
    accumulate: int = 1
    # None: that of the parameters.
    reduce_dtype: torch.dtype | None = None

    @property
    def shards(self) -> bool:
        """Whether the step goes through tg-shard-parameters."""
        return math.prod(size for _, size in self.axes) > 1 or (
            self.accumulate > 1)

    def sharding(self) -> list[tuple[str, str]]:
        """Flags of what tg-shard-parameters does."""
        if not self.shards:
            return []
        flags = [("mesh", ",".join(f"{name}:{size}"
                                   for name, size in self.axes)),
                 ("batch", "per-rank"),
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


class TrainingStep:
    """What `regather.compile` makes of a model: `loss = step(batch)`.

    Parameters and states of the optimizer are updated in place. The model and
    the optimizer that it was made of are left as they are: `state_dict` has
    what was trained.
    """

    def __init__(self, step: Step, captured: CapturedGraph, plan: StepPlan,
                 optimizer: torch.optim.Optimizer | None, rule: OptimizerText,
                 lr: float | None) -> None:
        self._step = step
        self._captured = captured
        self._plan = plan
        self._optimizer = optimizer
        self._rule = rule
        # Without an optimizer of PyTorch, the learning rate of next steps.
        self.lr = lr
        self._evaluation: StepProgram | None = None
        self._has_warned = False
        self._join()
        self._program = self._compile(captured, plan.optimizer)
        self._state = {value.name: allocate(value)
                       for value in self._program.executable.arguments
                       if value.role != "input"}
        self._values = {value.name: value
                        for value in self._program.executable.arguments}
        self._initialize()
        self._counter = self._of_role("step")
        self._rate = self._of_role("learning_rate")
        self._count = 0
        self._program.bind(self._state)

    # Making

    def _join(self) -> None:
        sizes = [size for _, size in self._plan.axes]
        ranks = math.prod(sizes)
        is_job = ranks > 1 or (not sizes and (
            (dist.is_available() and dist.is_initialized())
            or dist.is_torchelastic_launched()))
        self._group = require_group(ranks) if is_job else None
        world = dist.get_world_size(self._group) if is_job else 1
        if not sizes:
            self._plan.axes = [("dp", world)]
        elif ranks != world:
            raise RegatherError(f"expects {ranks} ranks for the mesh, got a "
                                f"process group of {world}")
        self.ranks = world
        self.rank = dist.get_rank(self._group) if is_job else 0
        self._mesh = RankMesh(self._plan.axes, self._plan.replicate_axis,
                              world > 1)

    def _compile(self, captured: CapturedGraph, optimizer: str) -> StepProgram:
        plan = self._plan
        flags = list(plan.flags)
        if optimizer:
            flags.append(("optimizer", optimizer))
        transport = None
        flags += plan.sharding()
        if self.ranks > 1:
            transport = ProcessGroupTransport(self._group, plan.timeout)
        threads = plan.threads or max(
            1, (os.cpu_count() or 1)
            // int(os.environ.get("LOCAL_WORLD_SIZE", self.ranks)))
        executable = Executable(
            "".join(captured.lines()), flags, threads=threads,
            transport=transport.address if transport else None,
            timeout=plan.timeout)
        for value in executable.arguments:
            if value.partial or len(value.shards) > 1:
                raise RegatherError(f"'{value.name}' lies in a way that steps "
                                    "in Python do not know")
        names, values, _ = self._step.batch()
        return StepProgram(executable, transport, names, values)

    def _initialize(self) -> None:
        missing = set()
        for name, tensor in self._captured.tensors.items():
            if name not in self._values:
                continue
            if tensor.is_meta:
                missing.add(name)
            else:
                self._set(name, tensor)
        if missing:
            for name, tensor in initialize(self._step.model, self._plan.seed):
                if name in missing:
                    self._set(name, tensor)
                    missing.discard(name)
        if missing:
            raise RegatherError("nothing initialises "
                                + ", ".join(sorted(missing)))
        for value in self._values.values():
            if value.role == "rng" and value.name.endswith("seed"):
                self._state[value.name].fill_(self._plan.seed)

    def _set(self, name: str, tensor: torch.Tensor) -> None:
        value = self._values[name]
        without_padding(value, self._state[name]).copy_(
            cut(value, tensor.detach()))

    def _of_role(self, role: str) -> torch.Tensor | None:
        return next((self._state[v.name] for v in self._values.values()
                     if v.role == role), None)

    # Running

    @property
    def count(self) -> int:
        """Steps that were run."""
        return self._count

    def __call__(self, batch: Any) -> torch.Tensor:
        """Runs one step on the batch of this rank and returns the loss, which
        is the mean over all ranks. After an error no step can be run."""
        if self._rate is not None:
            rate = (learning_rate(self._optimizer, self._rule)
                    if self._optimizer is not None else self.lr)
            self._rate.fill_(rate)
        if self._counter is not None:
            self._counter.fill_(self._count + 1)
        loss = self._program.run(self._leaves(batch))
        self._count += 1
        if not self._has_warned and not math.isfinite(loss):
            self._warn(loss)
        return loss

    def eval(self, batch: Any) -> torch.Tensor:
        """The loss of a batch by the model in evaluation mode. Nothing is
        updated. The first call compiles."""
        if self._evaluation is None:
            model = self._step.model
            modes = [(module, module.training) for module in model.modules()]
            model.eval()
            try:
                captured = capture_step(
                    first_micro_batch(self._step, self._plan.accumulate),
                    verify=0)
            finally:
                for module, mode in modes:
                    module.training = mode
            captured.document["outputs"] = [
                output for output in captured.document["outputs"]
                if output["role"] == "loss"]
            self._evaluation = self._compile(captured, "")
            self._evaluation.bind(self._state)
        return self._evaluation.run(self._leaves(batch))

    def _leaves(self, batch: Any) -> list[Any]:
        return list_leaves(batch, self._step.loss is not None)

    def _warn(self, loss: torch.Tensor) -> None:
        """Says once that the loss is no number, and where that shows first."""
        self._has_warned = True
        place = next((f"; the first parameter that is not finite is '{name}'"
                      for name, value in self._values.items()
                      if value.role == "parameter"
                      and not torch.isfinite(self._state[name]).all()), "")
        warnings.warn(f"the loss of step {self._count} is {float(loss)}{place}",
                      RuntimeWarning, stacklevel=3)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Everything that a step reads and writes, in the memory of the step:
        DTensors with several ranks, tensors with one.

        `model` has parameters and buffers by name, `optimizer` the states of
        parameters as torch.distributed.checkpoint.state_dict names them, and
        `step` counts steps.
        """
        model: dict[str, torch.Tensor] = {}
        states: dict[str, dict[str, torch.Tensor]] = {}
        rng: dict[str, torch.Tensor] = {}
        for name, value in self._values.items():
            if value.role in ("input", "step", "learning_rate"):
                continue
            tensor = self._mesh.to_distributed(value, self._state[name])
            if value.role == "optimizer_state":
                parameter, _, kind = name.rpartition(".")
                states.setdefault(parameter, {})[kind] = tensor
            elif value.role == "rng":
                rng[name] = self._state[name]
            else:
                model[name] = tensor
        found: dict[str, Any] = {
            "model": model, "optimizer": {"state": states},
            "step": torch.tensor(self._count, dtype=torch.int64)}
        if rng:
            found["rng"] = rng
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what `state_dict` of a step on any number of ranks gave, as it
        is or loaded by torch.distributed.checkpoint; tensors may be whole."""
        given = dict(state["model"])
        for parameter, kinds in state["optimizer"]["state"].items():
            given |= {f"{parameter}.{kind}": tensor
                      for kind, tensor in kinds.items()}
        given |= state.get("rng", {})
        wanted = {name for name, value in self._values.items()
                  if value.role not in ("input", "step", "learning_rate")}
        if missing := sorted(wanted - set(given)):
            raise RegatherError("the state lacks " + ", ".join(missing))
        for name in sorted(wanted):
            self._mesh.assign(self._values[name], self._state[name],
                              given[name])
        self._count = int(state["step"])

    def close(self) -> None:
        """Frees the programs and their memory but for parameters and states.
        Other ranks that run the step get an error."""
        self._program.close()
        if self._evaluation is not None:
            self._evaluation.close()

    def report(self, **options: Any) -> Any:
        """`regather.report` of the step, on this mesh."""
        import regather

        return regather.report(
            self._captured, optimizer=self._plan.optimizer,
            mesh=",".join(f"{n}:{s}" for n, s in self._plan.axes),
            **dict(self._plan.flags), **options)
