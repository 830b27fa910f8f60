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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import GraphModule, Node

from regather.fx import grouped, hooks, private, sharing
from regather.fx.attention import WholeAttention
from regather.fx.attributes import Attributes
from regather.fx.checkpointing import as_tags
from regather.fx.decided import Decided
from regather.fx.decompositions import decompositions
from regather.fx.errors import CaptureError, at
from regather.fx.hooks import ParameterHooks
from regather.fx.lengths import LengthsAsTensors
from regather.fx.losses import LossesByParts
from regather.fx.mesh import is_distributed, local
from regather.fx.origin import Recorder, WritesUntraced
from regather.fx.private import FunctionalTensor, plain, pytree
from regather.fx.pystate import PythonState
from regather.fx.source import raising_line
from regather.fx.standins import StandIns
from regather.fx.state import Tensor, collect, current, replaced
from regather.fx.step import Step, loss_of
from regather.fx.wrappers import without_compilers


@dataclass
class Output:
    """One result of the step.

    ``loss``, ``gradient``, ``update`` (of a parameter), ``buffer``, ``output``.
    """

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
    private.check()
    if torch.is_inference_mode_enabled():
        raise CaptureError(
            "expects to be called outside of 'torch.inference_mode', in which "
            "nothing has a gradient"
        )
    try:
        return _trace(step, device, keep_outputs, compiles=True)
    except _ModelFailed as error:
        failure = error
    # Models have code for compilers that nobody may ever have run.
    try:
        return _trace(step, device, keep_outputs, compiles=False)
    except CaptureError as error:
        text = str(failure)
        if str(error) != text:
            text += f"; where 'torch.compiler.is_compiling()' is false: {error}"
        raise CaptureError(text) from failure.__cause__


class _ModelFailed(CaptureError):
    """An exception of the model's own."""


def _trace(step: Step, device: str, keep_outputs: bool, compiles: bool) -> Trace:
    """``compiles`` is what models hear that ask `is_compiling`."""
    parameters, buffers = collect(step.model)
    names, values, _ = step.batch()
    hooks.check(
        [*parameters, *buffers],
        [(n, v) for n, v in zip(names, values) if isinstance(v, torch.Tensor)],
    )
    losses = [] if step.loss is None else [("the loss", step.loss)]
    before = PythonState(step.model, losses)
    attributes = Attributes(step.model, __file__)
    subject = _Subject(step, parameters, buffers, attributes)
    first: tuple[str, CaptureError] | None = None
    try:
        while True:
            traced = _settled(subject, device, keep_outputs, compiles)
            change = attributes.change() or before.change()
            graph = str(traced.module.graph)
            if first is not None and (change is not None or graph != first[0]):
                raise first[1]
            if change is None:
                sharing.check(
                    [*traced.parameters, *traced.buffers],
                    {one.of for one in traced.outputs if one.of is not None},
                )
                return traced
            # Something that the first step only settles, such as a lazy setting?
            first = graph, change
            attributes.keep()
            before = PythonState(step.model, losses)
    finally:
        attributes.restore()


@dataclass(frozen=True)
class _Subject:
    """What is traced."""

    step: Step
    parameters: list[Tensor]
    buffers: list[Tensor]
    attributes: Attributes

    @property
    def state(self) -> list[Tensor]:
        return [*self.parameters, *self.buffers]


def _settled(
    subject: _Subject, device: str, keep_outputs: bool, compiles: bool
) -> Trace:
    """The step with all state that attributes of modules carry."""
    attributes = subject.attributes
    while True:
        state = [*subject.buffers, *attributes.promoted]
        attempt = _Attempt(replace(subject, buffers=state), device, compiles)
        try:
            traced = attempt.run(keep_outputs)
        except WritesUntraced as error:
            if not attributes.promote_written(error.tensor):
                raise
            continue
        if attributes.settled():
            return traced


class _Attempt:
    """One run of the tracer over the step."""

    def __init__(self, subject: _Subject, device: str, compiles: bool) -> None:
        self._subject = subject
        self._device = device
        self._compiles = compiles
        self._state = subject.state
        self._names, self._values, self._rebuild = subject.step.batch()
        self._batch = [
            i for i, v in enumerate(self._values) if isinstance(v, torch.Tensor)
        ]
        self._originals = [
            *(t.value for t in self._state),
            *(self._values[i] for i in self._batch),
        ]
        self._outputs: list[Output] = []

    def run(self, keep_outputs: bool) -> Trace:
        fake_mode = private.FakeTensorMode(allow_non_fake_inputs=True)

        def fake(value: torch.Tensor) -> torch.Tensor:
            value = local(value)
            with fake_mode:
                return torch.empty_strided(
                    value.shape, value.stride(), dtype=value.dtype,
                    device=self._device,
                )

        def joint(*flat: torch.Tensor) -> list[torch.Tensor]:
            return self._joint(list(flat), keep_outputs)

        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.autograd.set_multithreading_enabled(False))
            stack.enter_context(torch.enable_grad())
            stack.enter_context(without_compilers())
            if self._compiles:
                stack.enter_context(private.compile_session())
            stack.enter_context(fake_mode)
            stack.enter_context(private.without_onednn())
            stack.enter_context(private.shape_of_grouped(grouped.shape))
            stack.enter_context(private.masks_by_data())
            stack.enter_context(private.data_unchecked())
            stack.enter_context(_without_logs())
            flat = [fake(value) for value in self._originals]
            module = _explaining(
                lambda: private.make_fx(
                    joint, decomposition_table=decompositions()
                )(*flat)
            )
        return Trace(
            module,
            self._subject.parameters,
            self._subject.buffers,
            [(self._names[i], self._values[i]) for i in self._batch],
            self._outputs,
        )

    def _joint(
        self, flat: list[torch.Tensor], keep_outputs: bool
    ) -> list[torch.Tensor]:
        """The step on traced tensors, and which of its results are kept."""
        tracer = private.get_proxy_mode().tracer
        recorder = Recorder(tracer.graph, self._subject.step.model, __file__)
        with (
            private.below_functionalisation(),
            private.enable_python_dispatcher(),
            private.FunctionalTensorMode(),
            Decided(tracer),
            recorder,
        ):
            wrapped = [FunctionalTensor.to_functional(t) for t in flat]
            whole = [_like(o, w) for o, w in zip(self._originals, wrapped)]
            for original, stand_in in zip(self._originals, whole):
                if original.requires_grad:
                    stand_in.requires_grad_()
            count = len(self._state)
            run = _Run(self._subject, recorder)
            leaves = list(self._values)
            for index, stand_in in zip(self._batch, whole[count:]):
                leaves[index] = stand_in
            results = run(whole[:count], self._rebuild(leaves), keep_outputs)
            for index, before, after in zip(
                self._batch, flat[count:], wrapped[count:]
            ):
                if plain(after) is not before:
                    raise CaptureError(
                        f"the model writes into its input '{self._names[index]}'; "
                        "expects inputs that are only read"
                    )
            for tensor, before, after in zip(self._subject.parameters, flat, wrapped):
                if plain(after) is not before:
                    results.append((Output("update", tensor.name), after))
            return self._kept(results, flat)

    def _kept(
        self, results: list[tuple[Output, Any]], flat: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Results but for buffers that stay as they are."""
        before = {t.name: f for t, f in zip(self._state, flat)}
        kept = []
        for output, value in results:
            value = plain(local(value))
            if output.role == "buffer":
                old = before[output.of]
                if value is old:
                    continue
                if (value.shape, value.dtype) != (old.shape, old.dtype):
                    raise CaptureError(
                        f"forward changes buffer '{output.of}' from "
                        f"{_type(old)} to {_type(value)}; expects one type"
                    )
            kept.append(value)
            self._outputs.append(output)
        return kept


def _type(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keeps PyTorch from logging what becomes an exception anyway."""
    logger = logging.getLogger(private.FAKE_TENSOR_LOGGER)
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


class _Run:
    """The step itself: forward, loss, backward, new values of buffers."""

    def __init__(self, subject: _Subject, recorder: Recorder) -> None:
        self._subject = subject
        self._recorder = recorder

    def __call__(
        self, state: list[Any], batch: Any, keep_outputs: bool
    ) -> list[tuple[Output, Any]]:
        """Results of the step; ``state`` stands in for the model's tensors."""
        args, kwargs, targets = batch
        subject, tensors = self._subject, self._subject.state
        stand_ins = StandIns(tensors, state, __file__)
        backward = ParameterHooks(tensors, state, self._recorder, stand_ins)
        known = _python_attributes(tensors, state)
        with (
            replaced(tensors, state),
            subject.attributes.observing(),
            WholeAttention(subject.step.fuse_attention),
            LengthsAsTensors(),
            LossesByParts(),
            as_tags(self._recorder),
            self._recorder.following_modules(),
            stand_ins.in_functions(),
            private.backward_in_modes(),
            stand_ins,
        ):
            with stand_ins.computing_in(subject.step.compute):
                args, kwargs = stand_ins.narrow((args, kwargs))
                result = subject.step.model(*args, **kwargs)
                loss = loss_of(subject.step, result, targets)
            after = [current(tensor) for tensor in subject.buffers]
            self._recorder.phase = "backward"
            gradients = backward.gradients(loss)
            self._recorder.phase = "forward"
        _check_python_attributes(tensors, state, known)
        loss = loss.detach()
        # Summed over ranks and micro-batches like the gradients.
        results = [(Output("loss"), loss.float() if subject.step.compute else loss)]
        trained = [
            (tensor, value)
            for tensor, value in zip(subject.parameters, state)
            if tensor.requires_grad
        ]
        for (tensor, value), gradient in zip(trained, gradients):
            if gradient is None:
                continue
            if is_distributed(value) and gradient.placements != value.placements:
                gradient = gradient.redistribute(placements=value.placements)
            results.append((Output("gradient", tensor.name), gradient))
        for tensor, value in zip(subject.buffers, after):
            results.append((Output("buffer", tensor.name), value))
        if keep_outputs:
            for leaf in pytree.tree_leaves(result):
                if isinstance(leaf, torch.Tensor):
                    results.append((Output("output"), leaf.detach()))
        return results


def _like(original: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
    """``part`` as what ``original`` is: itself, or a distributed tensor."""
    if not is_distributed(original):
        return part
    return private.distributed_like(original, part)


def _python_attributes(tensors: list[Tensor], values: list[Any]) -> list[dict[str, Any]]:
    """Gives stand-ins what code attached to the tensors; returns theirs."""
    for tensor, value in zip(tensors, values):
        for key, held in vars(tensor.value).items():
            if key not in vars(value):
                setattr(value, key, held)
    return [dict(vars(value)) for value in values]


def _check_python_attributes(
    tensors: list[Tensor], values: list[Any], known: list[dict[str, Any]]
) -> None:
    for tensor, value, before in zip(tensors, values, known):
        now = vars(value)
        for key in {**before, **now}:
            if now.get(key, before) is not before.get(key, now):
                kind = "parameter" if tensor.parameter else "buffer"
                raise CaptureError(
                    f"the step sets attribute '{key}' of {kind} '{tensor.name}', "
                    "which the next step would see; expects state in buffers"
                )


def _explaining(run: Any) -> Any:
    """Runs the tracer; says where a model cannot be traced, and why."""
    try:
        return run()
    except CaptureError:
        raise
    except (
        private.DataDependentOutputException,
        private.DynamicOutputShapeException,
    ) as error:
        line = raising_line(error.__traceback__, __file__)
        what = (
            "the shape of its result depends on data"
            if isinstance(error, private.DynamicOutputShapeException)
            else "the program needs a value that only data can tell"
        )
        raise CaptureError(
            at(f"cannot capture '{error.func}': {what}", line)
        ) from error
    except Exception as error:
        line = raising_line(error.__traceback__, __file__)
        first = (str(error).strip().splitlines() or [""])[0]
        raise _ModelFailed(
            at(f"the model failed: {type(error).__name__}: {first}", line)
        ) from error


def placeholders(module: GraphModule) -> list[Node]:
    """Placeholder nodes in order."""
    return [n for n in module.graph.nodes if n.op == "placeholder"]
