"""An executable on memory that stays where it is."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from regather.execution import Executable, Value
from regather.fx.private import is_made_when_read
from regather.library.errors import RegatherError
from regather.training.agreement import hash_tensor
from regather.training.plan import StepPlan
from regather.training.process_group import ProcessGroupTransport
from regather.training.shards import DTYPES, allocate, as_real


class StepProgram:
    """An executable with its tables of addresses, which change only where a
    batch lies elsewhere."""

    def __init__(self, executable: Executable,
                 transport: ProcessGroupTransport | None, names: list[str],
                 examples: list[Any], plan: StepPlan,
                 make_room: Callable[[], StepProgram] | None = None) -> None:
        """`make_room` compiles what runs the step again where it had too little
        room for the rows of experts."""
        self.executable = executable
        # Runs that were done again.
        self.repeated = 0
        self._make_room = make_room
        self._roomy: StepProgram | None = None
        self._state: Mapping[str, torch.Tensor] = {}
        self._arguments = (ctypes.c_void_p * len(executable.arguments))()
        self._results = (ctypes.c_void_p * len(executable.results))()
        numbers = {name: i for i, name in enumerate(names)}
        # Of inputs: number of the argument, and of the leaf of the batch.
        self._inputs: list[tuple[int, int, Value, tuple[int, ...]]] = [
            (i, numbers[value.name], value,
             tuple(as_real(examples[numbers[value.name]]).shape))
            for i, value in enumerate(executable.arguments)
            if value.role == "input"]
        self._plan = plan
        # Of each input, where along which dimensions this rank's part lies.
        self._cuts = [_list_cuts(value, plan) for *_, value, _ in self._inputs]
        for (*_, value, shape), cuts in zip(self._inputs, self._cuts):
            own = list(shape)
            for dimension, _, size in cuts:
                own[dimension] = size
            if tuple(own) != value.shape:
                raise RegatherError(
                    f"input '{value.name}': expects shape {list(shape)}, but "
                    f"the step has it in shape {list(value.shape)}; does it "
                    "have as many rows as a micro-batch?")
        # What is left to compare with the ranks that are given the same batch.
        self._transport = (transport if transport and
                           plan.count_batches() < plan.ranks else None)
        self._num_leaves = len(names)
        self._device = executable.device
        self._loss = next(i for i, value in enumerate(executable.results)
                          if value.role == "loss")
        # Rows that there was no room for, if there may be any.
        self._overflow: torch.Tensor | None = None
        # Updates that do not lie in their argument.
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []
        # Results besides the loss that need memory.
        self._others: list[tuple[Value, torch.Tensor]] = []
        # At the exit of the interpreter, too, while functions can be called.
        self._finish = weakref.finalize(self, _close, executable, transport)

    def close(self) -> None:
        """Frees everything; it cannot be run any more."""
        self._finish()
        if self._roomy is not None:
            self._roomy.close()

    def bind(self, state: Mapping[str, torch.Tensor],
             gradients: Mapping[str, torch.Tensor] | None = None) -> None:
        """Takes the memory of arguments. What `state` lacks lies on the GPU.
        Gradients are written to `gradients`, by the name of the parameter, if
        that is given."""
        self._state = state
        for i, value in enumerate(self.executable.arguments):
            if value.role != "input" and (self._device is None
                                          or value.name in state):
                self._arguments[i] = state[value.name].data_ptr()
        for i, value in enumerate(self.executable.results):
            if i == self._loss or value.donated:
                continue
            if value.role == "overflow":
                self._overflow = allocate(value)
                self._results[i] = self._overflow.data_ptr()
                continue
            if self._device is not None and value.role != "gradient":
                # Nobody asks for it.
                continue
            result = (gradients[self.executable.arguments[value.argument].name]
                      if gradients is not None and value.role == "gradient"
                      else allocate(value))
            self._others.append((value, result))
            self._results[i] = result.data_ptr()
            if value.role == "update":
                owner = self.executable.arguments[value.argument]
                self._copies.append((state[owner.name], result))

    def list_gradients(self) -> dict[str, torch.Tensor]:
        """The gradients that a run leaves, by the name of the parameter."""
        return {self.executable.arguments[value.argument].name: tensor
                for value, tensor in self._others
                if value.role == "gradient"}

    def run(self, leaves: list[Any]) -> torch.Tensor:
        if len(leaves) != self._num_leaves:
            raise RegatherError(f"expects a batch of {self._num_leaves} "
                                f"tensors, got {len(leaves)}")
        given = [_check_input(value, shape, leaves[leaf], self._device)
                 for _, leaf, value, shape in self._inputs]
        self._compare(given)
        kept = [_take_part(tensor, cuts)
                for tensor, cuts in zip(given, self._cuts)]
        self._take_from_device(kept)
        for (number, *_), tensor in zip(self._inputs, kept):
            self._arguments[number] = (tensor.data_ptr()
                                       if tensor.device.type == "cpu" else None)
        loss = allocate(self.executable.results[self._loss])
        self._results[self._loss] = loss.data_ptr()
        self.executable.run(self._arguments, self._results)
        if self._overflow is not None and int(self._overflow) > 0:
            return self._run_again(leaves)
        for target, source in self._copies:
            target.copy_(source)
        return loss

    def _compare(self, given: list[torch.Tensor]) -> None:
        """Before the first run, so that a loader that gives each rank rows of
        its own is found."""
        if self._transport is None:
            return
        self._transport.compare_batches(
            self._plan.find_batch(self._transport.rank),
            {value.name: hash_tensor(tensor)
             for (*_, value, _), tensor in zip(self._inputs, given)},
            self._plan.mesh)
        self._transport = None

    def _run_again(self, leaves: list[Any]) -> torch.Tensor:
        """With room for all rows. The run before has updated nothing."""
        if self._roomy is None:
            assert self._make_room is not None
            self._roomy = self._make_room()
            self._roomy.bind(self._state, self.list_gradients())
        self.repeated += 1
        return self._roomy.run(leaves)

    def _take_from_device(self, tensors: list[torch.Tensor]) -> None:
        """Inputs that lie on the GPU are copied there, once the work that makes
        them is done."""
        on_device = [(number, tensor) for (number, *_), tensor
                     in zip(self._inputs, tensors)
                     if tensor.device.type == "cuda"]
        if on_device:
            torch.cuda.current_stream(self._device).synchronize()
        for number, tensor in on_device:
            self.executable.write(number, tensor.data_ptr(), on_device=True)


def _list_cuts(value: Value, plan: StepPlan) -> list[tuple[int, int, int]]:
    """Dimension, offset and size of the parts that a rank takes of a batch
    which ranks along axes of the model are given alike."""
    shared = set(range(len(plan.axes))) - set(plan.batch_axes)
    return [(shard.dimension, shard.index * value.shape[shard.dimension],
             value.shape[shard.dimension])
            for shard in value.shards if shared.issuperset(shard.axes)]


def _take_part(tensor: torch.Tensor, cuts: list[tuple[int, int, int]]
               ) -> torch.Tensor:
    for cut in cuts:
        tensor = tensor.narrow(*cut)
    return tensor.contiguous()


def _check_input(value: Value, shape: tuple[int, ...], tensor: Any,
                 device: int | None) -> torch.Tensor:
    if not isinstance(tensor, torch.Tensor):
        raise RegatherError(f"input '{value.name}': expects a tensor, got "
                            f"{type(tensor).__name__}")
    places = ["cpu"] if device is None else ["cpu", f"cuda:{device}"]
    if str(tensor.device) not in places:
        raise RegatherError(f"input '{value.name}': expects a tensor on "
                            f"{' or '.join(places)}, got one on "
                            f"{tensor.device}")
    if tensor.layout != torch.strided or tensor.is_nested:
        raise RegatherError(f"input '{value.name}': expects a dense tensor, got "
                            + ("a nested one" if tensor.is_nested
                               else f"one of layout {tensor.layout}"))
    dtype, tensor = tensor.dtype, as_real(tensor.detach())
    if tensor.dtype != DTYPES[value.element_type] or (
            dtype.is_complex and len(shape) < tensor.dim()):
        raise RegatherError(f"input '{value.name}': expects "
                            f"{DTYPES[value.element_type]}, got {dtype}")
    if tensor.shape != shape:
        raise RegatherError(
            f"input '{value.name}': expects shape {list(shape)}, as the step "
            f"was compiled for, got {list(tensor.shape)}")
    tensor = tensor.contiguous()
    if tensor.numel() and not tensor.data_ptr():
        # Zeros that PyTorch makes where they are read.
        if not is_made_when_read(tensor):
            raise RegatherError(f"input '{value.name}': expects a tensor with "
                                f"memory, got a {type(tensor).__name__} "
                                "without")
        tensor = tensor.clone()
    return tensor


def _close(executable: Executable,
           transport: ProcessGroupTransport | None) -> None:
    executable.close()
    if transport:
        transport.close()
