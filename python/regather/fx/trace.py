"""Runs one training step on fake tensors and records it as a flat graph.

Why ``make_fx`` over a step of our own, and not AOTAutograd's joint export:
the export traces the model twice (once only to learn what it mutates), gives
a tied parameter one gradient per name, drops source lines, and knows modules
of the forward pass only. Here the step runs once, under the same layers that
the export uses: autograd, below it functionalisation, decomposition, the
tracer, fake tensors. Between autograd and functionalisation sits our own
recorder (``origin.py``), which sees every operation of both passes.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch._subclasses.functional_tensor import (
    FunctionalTensor,
    FunctionalTensorMode,
)
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.utils import _pytree as pytree

from regather.fx.attention import WholeAttention
from regather.fx.checkpointing import as_tags
from regather.fx.decompositions import decompositions
from regather.fx.errors import CaptureError, at
from regather.fx.mesh import is_distributed, local
from regather.fx.origin import Recorder
from regather.fx.source import raising_line
from regather.fx.state import Tensor, collect, current, replaced
from regather.fx.step import Step


@dataclass
class Output:
    """One result of the step: ``loss``, ``gradient``, ``buffer``, ``output``."""

    role: str
    of: str | None = None


@dataclass
class Trace:
    """A traced step. Placeholders: parameters, buffers, batch, in order."""

    module: GraphModule
    parameters: list[Tensor]
    buffers: list[Tensor]
    batch: list[tuple[str, torch.Tensor]]
    outputs: list[Output]


def trace(step: Step, device: str = "cpu", keep_outputs: bool = False) -> Trace:
    """Traces ``step``; raises CaptureError if the model cannot be traced.

    ``device`` is where the captured program believes its tensors to be.
    ``keep_outputs`` makes the model's results outputs of the graph as well.
    """
    parameters, buffers = collect(step.model)
    names, values, rebuild = step.batch()
    batch = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(value: torch.Tensor) -> torch.Tensor:
        value = local(value)
        with fake_mode:
            return torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=device
            )

    state = [*parameters, *buffers]
    originals = [t.value for t in state] + [values[i] for i in batch]
    outputs: list[Output] = []

    def joint(*flat: torch.Tensor) -> list[torch.Tensor]:
        tracer = get_proxy_mode().tracer
        recorder = Recorder(tracer.graph, step.model, __file__)
        guard = torch._C._ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)
        )
        with guard, enable_python_dispatcher(), FunctionalTensorMode(), recorder:
            wrapped = [FunctionalTensor.to_functional(t) for t in flat]
            whole = [_like(o, w) for o, w in zip(originals, wrapped)]
            for tensor, stand_in in zip(state, whole):
                stand_in.requires_grad_(tensor.requires_grad)
            run = _Run(step, parameters, buffers, recorder)
            leaves = list(values)
            for index, stand_in in zip(batch, whole[len(state):]):
                leaves[index] = stand_in
            results = run(whole, rebuild(leaves), keep_outputs)
            for name, before, after in zip(
                [names[i] for i in batch], flat[len(state):], wrapped[len(state):]
            ):
                if _plain(after) is not before:
                    raise CaptureError(
                        f"the model writes into its input '{name}'; expects "
                        "inputs that are only read"
                    )
            kept = []
            for output, value in results:
                value = _plain(local(value))
                if output.role == "buffer":
                    index = next(
                        i for i, t in enumerate(state) if t.name == output.of
                    )
                    if value is flat[index]:
                        continue
                kept.append(value)
                outputs.append(output)
            return kept

    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(torch.enable_grad())
        # Models that look at tensors while they run ask `is_compiling` first.
        stack.enter_context(torch.compiler._compile_session_context())
        stack.enter_context(fake_mode)
        stack.enter_context(_without_onednn())
        stack.enter_context(_without_logs())
        flat = [fake(value) for value in originals]
        module = _explaining(
            lambda: make_fx(joint, decomposition_table=decompositions())(*flat)
        )
    return Trace(
        module,
        parameters,
        buffers,
        [(names[i], values[i]) for i in batch],
        outputs,
    )


@contextlib.contextmanager
def _without_onednn() -> Iterator[None]:
    """Keeps recurrent layers from becoming operators of that library."""
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(enabled)


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keeps PyTorch from logging what becomes an exception anyway."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


class _Run:
    """The step itself: forward, loss, backward, new values of buffers."""

    def __init__(
        self,
        step: Step,
        parameters: list[Tensor],
        buffers: list[Tensor],
        recorder: Recorder,
    ) -> None:
        self._step = step
        self._parameters = parameters
        self._buffers = buffers
        self._recorder = recorder

    def __call__(
        self, state: list[Any], batch: Any, keep_outputs: bool
    ) -> list[tuple[Output, Any]]:
        """Results of the step; ``state`` stands in for the model's tensors."""
        args, kwargs, targets = batch
        tensors = [*self._parameters, *self._buffers]
        with (
            replaced(tensors, state),
            WholeAttention(),
            as_tags(self._recorder),
            self._recorder.following_modules(),
        ):
            result = self._step.model(*args, **kwargs)
            loss = _loss(self._step, result, targets)
            trained = [
                (tensor, value)
                for tensor, value in zip(self._parameters, state)
                if tensor.requires_grad
            ]
            after = [current(tensor) for tensor in self._buffers]
            self._recorder.phase = "backward"
            gradients = torch.autograd.grad(
                loss, [value for _, value in trained], allow_unused=True
            )
            self._recorder.phase = "forward"
        results = [(Output("loss"), loss.detach())]
        for (tensor, value), gradient in zip(trained, gradients):
            if gradient is None:
                continue
            if is_distributed(value) and gradient.placements != value.placements:
                gradient = gradient.redistribute(placements=value.placements)
            results.append((Output("gradient", tensor.name), gradient))
        for tensor, value in zip(self._buffers, after):
            if value is not None:
                results.append((Output("buffer", tensor.name), value.detach()))
        if keep_outputs:
            for leaf in pytree.tree_leaves(result):
                if isinstance(leaf, torch.Tensor):
                    results.append((Output("output"), leaf.detach()))
        return results


def _loss(step: Step, result: Any, targets: Any) -> torch.Tensor:
    """The loss as a scalar tensor that depends on a trained parameter."""
    loss: Any = result
    if step.loss is not None:
        loss = step.loss(result, *targets)
    elif isinstance(result, Mapping):
        loss = result.get("loss")
    elif hasattr(result, "loss"):
        loss = result.loss
    if not isinstance(loss, torch.Tensor):
        raise CaptureError(
            "expects a tensor as the loss, got "
            f"{type(loss).__name__}; give a loss function, or let the model "
            "return its loss"
        )
    if is_distributed(loss):
        loss = loss.full_tensor()
    if loss.numel() != 1:
        raise CaptureError(
            f"expects a loss with one element, got shape {list(loss.shape)}"
        )
    if not loss.requires_grad:
        raise CaptureError("the loss depends on no parameter that is trained")
    return loss if loss.dim() == 0 else loss.reshape(())


def _like(original: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
    """``part`` as what ``original`` is: itself, or a distributed tensor."""
    if not is_distributed(original):
        return part
    return type(original)(part, original._spec, requires_grad=False)


def _plain(value: Any) -> Any:
    """The traced tensor below the functional wrapper, brought up to date."""
    if isinstance(value, FunctionalTensor):
        torch._sync(value)
        return torch._from_functional_tensor(value.elem)
    return value


def _explaining(run: Any) -> Any:
    """Runs the tracer; says where a model cannot be traced, and why."""
    try:
        return run()
    except CaptureError:
        raise
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        line = raising_line(error.__traceback__, __file__)
        what = (
            "the shape of its result depends on data"
            if isinstance(error, DynamicOutputShapeException)
            else "the program needs a value that only data can tell"
        )
        raise CaptureError(
            at(f"cannot capture '{error.func}': {what}", line)
        ) from error
    except Exception as error:
        line = raising_line(error.__traceback__, __file__)
        first = (str(error).strip().splitlines() or [""])[0]
        raise CaptureError(
            at(f"the model failed: {type(error).__name__}: {first}", line)
        ) from error


def placeholders(module: GraphModule) -> list[Node]:
    """Placeholder nodes in order."""
    return [n for n in module.graph.nodes if n.op == "placeholder"]
