"""A training step that runs on memory of this process."""

from __future__ import annotations

import math
import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import torch

from regather.execution import Executable
from regather.fx.capture import capture_step
from regather.fx.graph import CapturedGraph
from regather.fx.step import Step
from regather.library.errors import RegatherError
from regather.training.agreement import describe
from regather.training.batches import (BatchForm, first_micro_batch,
                                       join_batches)
from regather.training.diagnosis import find_nonfinite
from regather.training.interrupts import DeferredInterrupt
from regather.training.job import Job
from regather.training.optimizer import OptimizerText, learning_rate
from regather.training.placements import (list_placements,
                                         require_equal_parts)
from regather.training.plan import StepPlan
from regather.training.process_group import ProcessGroupTransport
from regather.training.program import StepProgram
from regather.training.progress import Progress
from regather.training.shards import EXPERTS, RankMesh, allocate
from regather.training.state import DeviceState, StepState


class TrainingStep:
    """What `regather.compile` makes of a model: `loss = step(batch)`.

    Parameters and states of the optimizer are updated in place. The model and
    the optimizer that it was made of are left as they are: `state_dict` has
    what was trained.

    An interrupt (SIGINT) in the middle of a step takes effect when the step is
    over, and the next one can be run. After a `RegatherError` in the middle of
    a step, such as that a rank is gone, none can.
    """

    def __init__(self, step: Step, plan: StepPlan, job: Job,
                 optimizer: torch.optim.Optimizer | None, rule: OptimizerText,
                 lr: float | None, progress: Progress) -> None:
        self._step = step
        self._form = BatchForm(step)
        self._plan = plan
        self._job = job
        self.rank = job.rank
        self.ranks = job.ranks
        self._optimizer = optimizer
        self._rule = rule
        # Without an optimizer of PyTorch, the learning rate of next steps.
        self.lr = lr
        self._evaluation: StepProgram | None = None
        self._accumulation: _Accumulation | None = None
        # Whose memory on a GPU has the state.
        self._owner: Executable | None = None
        # Flags that say where the first program has what later ones read.
        self._placements: list[tuple[str, str]] = []
        with progress.phase("capturing"):
            self._captured = self._capture()
        self._mesh = RankMesh(plan.axes, plan.model_axes, job.ranks > 1)
        with progress.phase("compiling"):
            self._program = self._compile(self._captured, plan.optimizer)
        with progress.phase("initialising"):
            executable = self._owner = self._program.executable
            self._state = (
                DeviceState(executable, self._mesh, plan.elastic)
                if plan.is_on_gpu else
                StepState(executable.arguments, self._mesh, plan.elastic))
            self._placements = list_placements(
                executable.arguments,
                {number: plan.axes[number][0] for number in plan.decided_axes})
            self._state.initialize(self._captured, step.model, plan.seed)
        self._counter = self._state.find("step")
        self._rate = self._state.find("learning_rate")
        self._count = 0
        self._skipped = 0
        self._program.bind(self._state.tensors)

    # Making

    def _capture(self) -> CapturedGraph:
        """Of the batch that the program computes with: that of all ranks, or of
        one."""
        step = self._step
        if self._plan.has_global_batch:
            step = join_batches(step, self._plan.count_batches())
        return capture_step(first_micro_batch(step, self._plan.accumulate),
                            verify=0)

    def _compile(self, captured: CapturedGraph, optimizer: str, *,
                 has_room_for_all: bool = False) -> StepProgram:
        plan = self._plan
        flags = plan.list_flags(optimizer, self._placements)
        document = "".join(captured.lines())
        transport = None
        if self.ranks > 1:
            transport = ProcessGroupTransport(self._job.group, plan.timeout)
            transport.compare(describe(document, [
                *flags, ("seed", str(plan.seed)),
                ("timeout", str(plan.timeout)),
                # Of GPUs each rank may have another one.
                ("device", plan.device.split(":")[0])], captured.tensors))
        executable = (self._load(document, flags, transport, has_room_for_all)
                      if plan.is_on_gpu else Executable(
                          document, flags, threads=plan.count_threads(),
                          transport=transport.address if transport else None,
                          timeout=plan.timeout,
                          has_room_for_all=has_room_for_all))
        for value in [*executable.arguments, *executable.results]:
            if value.partial:
                raise RegatherError(f"'{value.name}' lies in a way that steps "
                                    "in Python do not know")
        self._check_experts(executable)
        if self._owner is not None:
            require_equal_parts(executable.arguments, self._state.values)
        names, values, _ = self._step.batch()
        # Programs do not keep the step alive.
        find = weakref.WeakMethod(self._make_room)

        def make_room() -> StepProgram:
            make = find()
            assert make is not None
            return make(captured, optimizer)

        return StepProgram(executable, transport, names, values, plan,
                           None if has_room_for_all else make_room)

    def _check_experts(self, executable: Executable) -> None:
        """Or each rank would have to be given the rows of others, too."""
        cut = {axis for value in executable.arguments if value.role == "input"
               for shard in value.shards for axis in shard.axes}
        for number, (name, size) in enumerate(self._plan.axes):
            if name == EXPERTS and size > 1 and number not in cut:
                raise RegatherError(
                    f"axis '{name}' of mesh '{self._plan.mesh}' cuts no batch: "
                    "the model has no experts that are grouped GEMMs")

    def _make_room(self, captured: CapturedGraph,
                   optimizer: str) -> StepProgram:
        """What runs a step again that had too little room for the rows of
        experts. All ranks come here together, since they have the same count
        of rows."""
        warnings.warn(
            f"step {self._count + 1} had too little room for the rows of "
            "experts; nothing was updated, and it is run again with room for "
            "all, for which it is compiled once", RuntimeWarning, stacklevel=5)
        return self._compile(captured, optimizer, has_room_for_all=True)

    def _load(self, document: str, flags: list[tuple[str, str]],
              transport: ProcessGroupTransport | None,
              has_room_for_all: bool) -> Executable:
        """On the GPU, where programs after the first have its memory."""
        if transport:
            transport.watch()
        return Executable(
            document, flags, device=self._plan.device,
            store=transport.store.address if transport else None,
            timeout=self._plan.timeout,
            memory_of=self._owner, has_room_for_all=has_room_for_all)

    # Running

    @property
    def data_ranks(self) -> int:
        """Ranks that are given rows of their own: all, but for those along axes
        of the model, which are given one batch."""
        return self._plan.count_batches()

    @property
    def data_rank(self) -> int:
        """Which of them this rank belongs to."""
        return self._plan.find_batch(self.rank)

    @property
    def count(self) -> int:
        """Steps that were run."""
        return self._count

    @property
    def skipped(self) -> int:
        """Steps of this process that updated nothing, because their loss was
        infinite or no number."""
        return self._skipped

    @property
    def repeated(self) -> int:
        """Runs of this process, those of `accumulate` and `eval` included, that
        had too little room for the rows of experts and were done again."""
        return (self._program.repeated
                + (self._evaluation.repeated if self._evaluation else 0)
                + (self._accumulation.repeated if self._accumulation else 0))

    def __call__(self, batch: Any) -> torch.Tensor:
        """Runs one step on the batch of this rank and returns the loss, which
        is the mean over all ranks.

        Gradients of batches that `accumulate` was called with since the last
        step count as much as those of this one. If the loss is infinite or no
        number, parameters and states of the optimizer stay as they are; the
        first time, a warning says what is not finite first.
        """
        if self._rate is not None:
            rate = (learning_rate(self._optimizer, self._rule)
                    if self._optimizer is not None else self.lr)
            self._rate.fill_(rate)
        if self._counter is not None:
            self._counter.fill_(self._count + 1)
        leaves = self._form.list_leaves(batch)
        earlier = self._accumulation
        with DeferredInterrupt():
            if earlier is not None and earlier.batches:
                loss = earlier.finish(leaves)
            else:
                loss = self._program.run(leaves)
            self._count += 1
        if not math.isfinite(loss):
            self._skip(loss, leaves)
        return loss

    def accumulate(self, batch: Any) -> torch.Tensor:
        """Adds the gradients of a batch to those of the next step, which takes
        the mean over all batches, and returns the loss. All ranks do so
        equally often. A loss that is infinite or no number is left out, as
        the step would. The first call compiles.

        The sums are no part of `state_dict`.
        """
        leaves = self._form.list_leaves(batch)
        if self._accumulation is None:
            self._accumulation = _Accumulation(
                self._compile(self._captured, ""),
                self._compile(self._captured,
                              f"{self._plan.optimizer} gradient-sums=true"),
                self._state)
        with DeferredInterrupt():
            loss = self._accumulation.add(leaves)
        if not math.isfinite(loss):
            self._skip(loss, leaves)
        return loss

    def eval(self, batch: Any) -> torch.Tensor:
        """The loss of a batch by the model in evaluation mode. Nothing is
        updated. The first call compiles."""
        if self._evaluation is None:
            model = self._step.model
            modes = [(module, module.training) for module in model.modules()]
            model.eval()
            try:
                captured = self._capture()
            finally:
                for module, mode in modes:
                    module.training = mode
            captured.document["outputs"] = [
                output for output in captured.document["outputs"]
                if output["role"] == "loss"]
            self._evaluation = self._compile(captured, "")
            self._evaluation.bind(self._state.tensors)
        return self._evaluation.run(
            self._form.list_leaves(batch))

    def _skip(self, loss: torch.Tensor, leaves: list[Any]) -> None:
        """Says once that the loss is no number, and where that shows first."""
        self._skipped += 1
        if self._skipped > 1:
            return
        # All ranks come here, since they have the same loss.
        tensors = {name: self._state.gather(name)
                   for name, value in self._state.values.items()
                   if value.role in ("parameter", "buffer")}
        cause = find_nonfinite(self._step, tensors, leaves)
        warnings.warn(
            f"the loss of step {self._count} is {float(loss)}, and nothing is "
            "updated; " + (cause or "eager PyTorch finds nothing that is not "
                           f"finite on the batch of rank {self.rank}"),
            RuntimeWarning, stacklevel=3)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Everything that a step reads and writes, in the memory of the step:
        DTensors with several ranks, tensors with one. Of a step on a GPU, copies
        on the CPU. Raises `RegatherError` if the default process group has no
        backend for CPUs.

        `model` has parameters and buffers by name, `optimizer` the states of
        parameters as torch.distributed.checkpoint.state_dict names them,
        `step` counts steps, and `elastic` is the number of segments that the
        step was compiled with, or 0.
        """
        return self._state.to_dict() | {
            "step": torch.tensor(self._count, dtype=torch.int64,
                                 device="cpu"),
            "elastic": torch.tensor(self._plan.elastic, dtype=torch.int64,
                                    device="cpu")}

    def load_state_dict(self, state: Mapping[str, Any],
                        strict: bool = True) -> None:
        """Takes what `state_dict` of a step on any number of ranks gave, as it
        is or loaded by torch.distributed.checkpoint; tensors may be whole.
        What was accumulated is dropped. Raises `RegatherError`, and changes
        nothing, if something is missing, if there is something that this step
        does not have, unless `strict` is false, or if the state is that of a
        step with another number of segments."""
        self._state.check_segments(int(state.get("elastic", 0)))
        self._state.load(state, strict)
        self._restart(int(state["step"]))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the state as safetensors, with whole tensors; see
        `regather.training.files`. All ranks call it."""
        from regather.training import files

        files.save(folder, self._state, self._count, self.rank, self.ranks)

    def load(self, folder: str | os.PathLike[str], strict: bool = True) -> None:
        """Reads what `save` wrote on any number of ranks: of each tensor what
        this rank has. Raises `RegatherError` for what is missing or has
        another shape or type, and for tensors that this step does not have,
        unless `strict` is false."""
        from regather.training import files

        self._restart(files.load(folder, self._state, strict))

    def _restart(self, count: int) -> None:
        self._count = count
        if self._accumulation is not None:
            self._accumulation.clear()

    def close(self) -> None:
        """Frees the programs and their memory but for parameters and states.
        Other ranks that run the step get an error."""
        self._program.close()
        if self._evaluation is not None:
            self._evaluation.close()
        if self._accumulation is not None:
            self._accumulation.close()

    def report(self, **options: Any) -> Any:
        """`regather.report` of the step, on this mesh."""
        import regather

        flags: dict[str, list[str]] = {}
        for name, value in self._plan.list_flags(self._plan.optimizer):
            flags.setdefault(name.replace("-", "_"), []).append(value)
        return regather.report(self._captured, **(flags | options))


class _Accumulation:
    """Gradients of several batches: a program that only computes them, and one
    that takes their mean with those of its own batch. The sums lie on the CPU,
    those of a step on a GPU, too."""

    def __init__(self, gradients: StepProgram, update: StepProgram,
                 state: StepState) -> None:
        self._gradients = gradients
        self._update = update
        require_equal_parts(update.executable.arguments, {
            f"{gradients.executable.arguments[value.argument].name}"
            ".gradient_sum": value for value in gradients.executable.results
            if value.role == "gradient"})
        gradients.bind(state.tensors)
        more = {value.name: allocate(value)
                for value in update.executable.arguments
                if value.role != "input" and value.name not in state.values}
        self._total = more["batches"]
        update.bind({**state.tensors, **more})
        results = gradients.list_gradients()
        self._sums = [more[f"{name}.gradient_sum"] for name in results]
        self._results = list(results.values())
        self.batches = 0

    @property
    def repeated(self) -> int:
        return self._gradients.repeated + self._update.repeated

    def add(self, leaves: list[Any]) -> torch.Tensor:
        loss = self._gradients.run(leaves)
        if math.isfinite(loss):
            for total, gradient in zip(self._sums, self._results):
                total += gradient
            self.batches += 1
        return loss

    def finish(self, leaves: list[Any]) -> torch.Tensor:
        self._total.fill_(self.batches + 1)
        loss = self._update.run(leaves)
        self.clear()
        return loss

    def clear(self) -> None:
        for total in self._sums:
            total.zero_()
        self.batches = 0

    def close(self) -> None:
        self._gradients.close()
        self._update.close()


__all__ = ["TrainingStep"]
