"""Comparing a captured graph with the model that it was captured from.

Both run for some steps on the same drawn data, the model as PyTorch runs it
and the graph node by node. Before each step the graph gets the model's
parameters and buffers, so that errors do not add up; what the model keeps
anywhere else is missing from the second step on, and shows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from regather.fx import private
from regather.fx.checkpointing import without_recomputation
from regather.fx.errors import CaptureError
from regather.fx.mesh import is_distributed
from regather.fx.replay import SameDraws, draws, replay, work
from regather.fx.state import Tensor, current
from regather.fx.step import Step, loss_of
from regather.fx.trace import Trace
from regather.fx.wrappers import without_compilers

#: Steps, where nothing else is asked for, of models up to so many parameters
#: and so many floating-point operations a step.
DEFAULT_STEPS = 2
MOST_PARAMETERS = 50_000_000
MOST_WORK = 1e11

# Relative to the norm of a tensor, by the bytes of the narrowest numbers.
_TOLERANCES = {1: 0.5, 2: 0.1, 4: 1e-3, 8: 1e-6}
_RATE = 1e-2
# Below this, threads cost more than they bring.
_LITTLE_WORK = 1e8


def verified(
    step: Step,
    trace: Trace,
    constants: list[torch.Tensor],
    device: str,
    steps: int | None,
) -> str:
    """Compares for ``steps`` steps; returns one sentence that says so.

    With None, a model that is large, or that cannot run, is let pass, and the
    sentence says why. Raises CaptureError, naming the first tensor that
    differs, if one does.
    """
    wanted = DEFAULT_STEPS if steps is None else steps
    if wanted == 0:
        return "not verified, as asked for"
    reason = _hindrance(step, trace, device) or (
        _expense(trace) if steps is None else None
    )
    if reason is None:
        try:
            _compare(step, trace, constants, wanted)
        except _CannotRun as error:
            reason = str(error)
    if reason is None:
        return (
            f"verified: {wanted} steps of the graph equal eager PyTorch "
            "(--verify 0 switches this off)"
        )
    if steps is not None:
        raise CaptureError(f"cannot verify the capture: {reason}")
    return f"not verified: {reason}"


class _CannotRun(Exception):
    """The eager model does not run on drawn data."""


def _hindrance(step: Step, trace: Trace, device: str) -> str | None:
    """Why the graph and the model cannot run here, or None."""
    if step.compute is not None:
        return f"the graph computes in {step.compute}, unlike the model"
    if torch.device(device).type != "cpu":
        return f"the graph is for device '{device}'"
    for tensor in [*trace.parameters, *trace.buffers]:
        value = tensor.value
        if value.is_meta or hasattr(value, "fake_mode"):
            return f"'{tensor.name}' has no data"
        if is_distributed(value) or value.device.type != "cpu":
            return f"'{tensor.name}' is not whole on the CPU"
    for node in trace.module.graph.nodes:
        if "c10d" in str(node.target):
            return f"node '{node.name}' communicates"
    if any(is_distributed(value) for _, value in trace.batch):
        return "an input is distributed"
    return None


def _expense(trace: Trace) -> str | None:
    """Why comparing would take long, or None."""
    count = sum(t.value.numel() for t in trace.parameters)
    if count > MOST_PARAMETERS:
        return (
            f"{count:,} parameters are more than {MOST_PARAMETERS:,} (--verify "
            f"{DEFAULT_STEPS} does it all the same)"
        )
    operations = work(trace.module)
    if operations > MOST_WORK:
        return (
            f"{operations / 1e9:,.0f} GFLOP a step are more than "
            f"{MOST_WORK / 1e9:,.0f} (--verify {DEFAULT_STEPS} does it all the same)"
        )
    return None


def _compare(
    step: Step, trace: Trace, constants: list[torch.Tensor], steps: int
) -> None:
    state = [*trace.parameters, *trace.buffers]
    random = any(draws(node.target) for node in trace.module.graph.nodes)
    with contextlib.ExitStack() as stack:
        if work(trace.module) < _LITTLE_WORK:
            stack.enter_context(_one_thread())
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(_kept(step.model, state))
        stack.enter_context(without_compilers())
        if random:
            # What is computed again would draw again.
            stack.enter_context(without_recomputation())
        generator = torch.Generator().manual_seed(0)
        for number in range(1, steps + 1):
            before = [t.value.detach().clone() for t in state]
            batch, eager = _run_eager(step, trace, number, generator, random)
            arguments = [*before, *batch, *constants]
            with SameDraws(number) if random else contextlib.nullcontext():
                results = replay(trace.module, arguments)
            _check(number, trace, before, results, eager)
            _train(trace.parameters, eager)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(count)


@dataclass
class _Eager:
    """What one step of the model did."""

    loss: torch.Tensor
    gradients: dict[str, torch.Tensor]
    state: dict[str, torch.Tensor]


def _run_eager(
    step: Step, trace: Trace, number: int, generator: torch.Generator, random: bool
) -> tuple[list[torch.Tensor], _Eager]:
    """Runs a step of the model on drawn data, or on what it was given."""
    state = [*trace.parameters, *trace.buffers]
    examples = [value for _, value in trace.batch]
    before = [t.value.detach().clone() for t in state]
    drawn = _draw_batch(examples, generator)
    failure = None
    for batch in (drawn, examples):
        if any(v.is_meta or hasattr(v, "fake_mode") for v in batch):
            continue
        try:
            return batch, _eager_step(step, state, batch, number, random)
        except Exception as error:
            # Drawn integers may be no valid indices.
            failure = failure or error
            _restore(state, before)
    text = (str(failure).strip().splitlines() or [""])[0]
    raise _CannotRun(
        f"the model fails in eager PyTorch: {type(failure).__name__}: {text}"
    )


def _eager_step(
    step: Step, state: list[Tensor], batch: list[torch.Tensor], number: int,
    random: bool,
) -> _Eager:
    _, leaves, rebuild = step.batch()
    values = iter(batch)
    leaves = [
        next(values).detach().clone().requires_grad_(leaf.requires_grad)
        if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    args, kwargs, targets = rebuild(leaves)
    for tensor in state:
        tensor.value.grad = None
    draws = SameDraws(number) if random else contextlib.nullcontext()
    with torch.enable_grad(), draws:
        loss = loss_of(step, step.model(*args, **kwargs), targets)
        loss.backward()
    held = {t.name: current(t) for t in state}
    for tensor in state:
        # Code may know a buffer by its place or by identity.
        if held[tensor.name] is not tensor.value:
            _set(tensor.value, held[tensor.name])
            for slots, key in tensor.slots:
                slots[key] = tensor.value
    return _Eager(
        loss.detach(),
        {
            t.name: t.value.grad.detach()
            for t in state
            if t.parameter and t.requires_grad and t.value.grad is not None
        },
        {t.name: t.value.detach().clone() for t in state},
    )


def _draw_batch(
    examples: list[torch.Tensor], generator: torch.Generator
) -> list[torch.Tensor]:
    """Data like the examples. Where integers are negative, all stay as they are:
    those are padding that does not count, and other integers, or numbers in the
    model, say where it is. An operator that trusts a length would read outside of
    its memory, and some of eager PyTorch do."""
    integers = [_is_given_integer(value) for value in examples]
    has_padding = any(known and value.numel() and int(value.min()) < 0
                      for known, value in zip(integers, examples))
    return [value if known and has_padding else _draw(value, generator)
            for known, value in zip(integers, examples)]


def _is_given_integer(example: torch.Tensor) -> bool:
    return not (
        example.is_meta
        or hasattr(example, "fake_mode")
        or example.is_floating_point()
        or example.is_complex()
        or example.dtype == torch.bool
    )


def _draw(example: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Data like ``example``: new numbers, or its integers in another order."""
    real = not (example.is_meta or hasattr(example, "fake_mode"))
    count = example.numel()
    if example.is_complex() or example.dtype == torch.bool or count == 0:
        return example if real else torch.zeros(example.shape, dtype=example.dtype)
    if example.is_floating_point():
        values = example.double() if real else torch.zeros(1)
        largest = float(values.abs().max()) or 1.0
        if float(values.min()) >= 0 and float(values.max()) > 0:
            drawn = torch.rand(example.shape, generator=generator) * largest
        else:
            drawn = torch.randn(example.shape, generator=generator)
            drawn *= min(largest, 1.0)
        return drawn.to(example.dtype)
    if real and int(example.min()) == int(example.max()) != 0:
        return example
    if not real or int(example.max()) == int(example.min()):
        drawn = torch.randint(0, 2, example.shape, generator=generator)
        return drawn.to(example.dtype)
    order = torch.randperm(count, generator=generator)
    return example.reshape(-1)[order].reshape(example.shape)


def _check(
    number: int,
    trace: Trace,
    before: list[torch.Tensor],
    results: list[torch.Tensor],
    eager: _Eager,
) -> None:
    """Raises CaptureError for the first tensor that differs."""
    limit = _tolerance(trace)
    gradients: dict[str, torch.Tensor] = {}
    state = dict(
        zip((t.name for t in [*trace.parameters, *trace.buffers]), before)
    )
    for output, value in zip(trace.outputs, results):
        if output.role == "loss":
            _check_equal(number, "the loss", value, eager.loss, limit, 0.0)
        elif output.role == "gradient":
            gradients[output.of] = value
        elif output.role in ("update", "buffer"):
            state[output.of] = value
    norms = [float(g.norm()) for g in eager.gradients.values()]
    # Some gradients are zero but for rounding.
    least = 1e-2 * max((n for n in norms if n < float("inf")), default=0.0)
    for tensor in trace.parameters:
        name = tensor.name
        what = f"the gradient of '{name}'"
        if (name in gradients) != (name in eager.gradients):
            only = "the graph" if name in gradients else "eager PyTorch"
            raise _difference(number, what, f"only {only} has one")
        if name in gradients:
            _check_equal(
                number, what, gradients[name], eager.gradients[name], limit, least
            )
    for tensor in [*trace.parameters, *trace.buffers]:
        kind = "parameter" if tensor.parameter else "buffer"
        what = f"the new value of {kind} '{tensor.name}'"
        want = eager.state[tensor.name]
        _check_equal(number, what, state[tensor.name], want, limit, 0.0)


def _difference(number: int, what: str, why: str) -> CaptureError:
    return CaptureError(
        f"the captured graph is not the model: in step {number} of its replay, "
        f"{what} differs from eager PyTorch: {why} (--verify 0 captures it all "
        "the same)"
    )


def _check_equal(
    number: int, what: str, got: torch.Tensor, want: torch.Tensor, limit: float,
    least: float,
) -> None:
    if got.shape != want.shape or got.dtype != want.dtype:
        raise _difference(
            number, what, f"it is {got.dtype} {list(got.shape)}, not {want.dtype} "
            f"{list(want.shape)}"
        )
    if torch.equal(got, want):
        return
    wide = torch.complex128 if want.is_complex() else torch.float64
    got, want = got.to(wide), want.to(wide)
    usual = torch.isfinite(want)
    if not torch.equal(torch.isfinite(got), usual):
        raise _difference(number, what, "it is not finite elsewhere")
    error = float((got - want)[usual].norm())
    scale = max(float(want[usual].norm()), least)
    if not error <= limit * scale:
        share = error / scale if scale else float("inf")
        raise _difference(number, what, f"by {share:.1e} of its norm")


def _tolerance(trace: Trace) -> float:
    """How far results may be off, from the narrowest floats of the graph."""
    width = 8
    for node in trace.module.graph.nodes:
        for value in private.pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and (
                value.is_floating_point() or value.is_complex()
            ):
                parts = 2 if value.is_complex() else 1
                width = min(width, value.element_size() // parts)
    return _TOLERANCES[width]


def _train(parameters: list[Tensor], eager: _Eager) -> None:
    """A small step, so that the next one sees other parameters."""
    for tensor in parameters:
        gradient = eager.gradients.get(tensor.name)
        if gradient is not None and bool(torch.isfinite(gradient).all()):
            with torch.no_grad():
                tensor.value.sub_(_RATE * gradient)


def _set(value: torch.Tensor, to: torch.Tensor) -> None:
    with torch.no_grad():
        value.copy_(to)


def _restore(state: list[Tensor], values: list[torch.Tensor]) -> None:
    for tensor, value in zip(state, values):
        _set(tensor.value, value)
        for slots, key in tensor.slots:
            slots[key] = tensor.value


@contextlib.contextmanager
def _kept(model: torch.nn.Module, state: list[Tensor]) -> Iterator[None]:
    """Leaves the model as it was before the block."""
    modules = list(model.modules())
    tables = [table for m in modules for table in (m.__dict__, *private.hooks_of(m))]
    held = [dict(table) for table in tables]
    values = [t.value.detach().clone() for t in state]
    gradients = [t.value.grad for t in state]
    try:
        yield
    finally:
        for table, content in zip(tables, held):
            table.clear()
            table.update(content)
        _restore(state, values)
        for tensor, gradient in zip(state, gradients):
            tensor.value.grad = gradient
