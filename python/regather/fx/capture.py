"""Capturing a training step."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from regather.fx import cleanup, private
from regather.fx.attention_chains import fuse_attention
from regather.fx.attention_operators import BIASED_BACKWARD
from regather.fx.document import constant_name, document
from regather.fx.errors import CaptureError
from regather.fx.graph import CapturedGraph
from regather.fx.mesh import Meshes
from regather.fx.step import Step
from regather.fx.trace import placeholders, trace
from regather.fx.verify import verified
from regather.fx.wrappers import unwrap


def capture(
    model: torch.nn.Module,
    example_inputs: Any,
    loss: Callable[..., Any] | None = None,
    targets: Sequence[Any] | torch.Tensor = (),
    *,
    meshes: Mapping[str, Any] | None = None,
    device: str = "cpu",
    keep_outputs: bool = False,
    about: Mapping[str, Any] | None = None,
    source_root: str | None = None,
    verify: int | None = None,
    fuse_attention: bool = True,
) -> CapturedGraph:
    """Captures forward, loss and backward of one step as one flat graph.

    Nothing is computed: parameters may be on the meta device. The model is
    left as it was. ``example_inputs``, ``loss`` and ``targets`` are as in
    ``Step``; only shapes and dtypes of example tensors matter. ``meshes``
    names device meshes beside those of distributed parameters, and ``device``
    is where the program shall believe its tensors to be. ``keep_outputs``
    adds the model's results. ``about`` goes into the file's ``model`` field,
    and source files are recorded relative to ``source_root``, by default the
    current directory.

    ``verify`` is the number of steps for which the graph is replayed beside
    the model, in eager PyTorch on drawn data; 0 for none. By default it is 2
    for models that have data, at most 50 million parameters and little work
    to do. The result's ``notes`` say whether it ran.

    With ``fuse_attention``, attention that is written as products and a softmax
    becomes one node (see ``attention_chains``); ``notes`` say where.

    Raises CaptureError, with the source line, if the step cannot be captured:
    a shape or a branch depends on data, an operator writes into its arguments
    in a way that cannot be undone, the model itself fails, or a replayed
    tensor differs.
    """
    step = Step(model, example_inputs, loss, targets, meshes or {},
                fuse_attention=fuse_attention)
    return capture_step(
        step,
        device=device,
        keep_outputs=keep_outputs,
        about=about,
        source_root=source_root,
        verify=verify,
    )


def capture_step(
    step: Step,
    *,
    device: str = "cpu",
    keep_outputs: bool = False,
    about: Mapping[str, Any] | None = None,
    source_root: str | None = None,
    verify: int | None = None,
) -> CapturedGraph:
    """``capture`` for a ``Step``."""
    if verify is not None and (type(verify) is not int or verify < 0):
        raise CaptureError(f"expects a number of steps to verify, got {verify!r}")
    model, notes = unwrap(step.model)
    step = replace(step, model=model)
    traced = trace(step, device, keep_outputs)
    constants = cleanup.clean(traced.module)
    fused = 0
    if step.fuse_attention:
        fused, said = fuse_attention(
            traced.module.graph, dict(constants),
            frozenset(placeholders(traced.module)[:len(traced.parameters)]))
        notes += said
        fused += any(node.target is BIASED_BACKWARD
                     for node in traced.module.graph.nodes)
        cleanup.erase_dead(traced.module.graph)
    cleanup.check(traced.module.graph)
    state = [*traced.parameters, *traced.buffers]
    names = [
        *(f"{'p' if t.parameter else 'b'}_{t.name}" for t in state),
        *(f"in_{name}" for name, _ in traced.batch),
        *(f"c_{index}" for index in range(len(constants))),
    ]
    cleanup.name_placeholders(zip(placeholders(traced.module), names))
    meshes = Meshes(
        step.meshes,
        [t.value for t in state] + [value for _, value in traced.batch],
    )
    notes += private.notes()
    try:
        notes.append(verified(
            step, traced, [value for _, value in constants], device, verify))
    except CaptureError as error:
        if not fused:
            raise
        # PyTorch's operator has rules of its own for what is not finite.
        written = capture_step(
            replace(step, fuse_attention=False), device=device,
            keep_outputs=keep_outputs, about=about, source_root=source_root,
            verify=verify)
        written.notes.insert(0, f"attention stays as written: as one node, {error}")
        return written
    tensors = {t.name: t.value for t in state}
    for index, (_, value) in enumerate(constants):
        tensors[constant_name(index)] = value
    content = document(
        traced, constants, meshes, dict(about or {}), source_root or os.getcwd()
    )
    return CapturedGraph(content, traced.module, tensors, notes)
