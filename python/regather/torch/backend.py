"""`torch.compile(model, backend="regather")`: our engine for CPUs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from regather.fx.attention_chains import fuse_attention
from regather.fx.cleanup import erase_dead
from regather.torch.drawing import eager_decompositions
from regather.torch.partitioner import Partitioner
from regather.torch.private import (TracingContext, aot_autograd,
                                    list_backends, make_boxed_func, mark_boxed,
                                    register_backend)
from regather.torch.program import COPY, Program, RegatherError
from regather.torch.unmodelled import Unmodelled

_warned: set[str] = set()


def _fall_back(gm: GraphModule, part: str, reason: Exception
               ) -> Callable[[list[Any]], Any]:
    message = (f"regather: PyTorch runs a {part} graph of "
               f"{len(gm.graph.nodes)} nodes, because {reason}")
    if isinstance(reason, RegatherError):
        message += ("\nregather.torch.options(...) works on such graphs: its "
                    "passes leave code to Inductor")
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, stacklevel=2)
    return make_boxed_func(gm.forward)


def _find_updated() -> frozenset[int]:
    """Arguments of the forward graph that PyTorch writes to behind it, such as
    the statistics of a batch normalization."""
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    return frozenset(i for i, info in enumerate(
        metadata.input_info if metadata else ()) if info.mutates_data)


def _find_trained(joint: GraphModule, num_outputs: int) -> frozenset[Node]:
    """Arguments whose gradients are results, behind ``num_outputs`` of forward:
    parameters, of the model or of a caller."""
    arguments = [node for node in joint.graph.nodes if node.op == "placeholder"]
    (results,) = joint.graph.output_node().args
    gradients: Any = list(results)[num_outputs:]
    return frozenset(node for node, gradient in zip(arguments, gradients)
                     if gradient is not None)


def _boxed(program: Program) -> Callable[[list[Any]], Any]:
    """As a function: PyTorch copies the mark to what it wraps around it."""
    def run(args: list[Any]) -> list[Any]:
        return program(args)
    return mark_boxed(run)


def _fuse_attention(gm: GraphModule, trained: frozenset[Node]) -> None:
    """Before anybody decides what is saved: scores need not be."""
    fuse_attention(gm.graph, parameters=trained)
    erase_dead(gm.graph, kept=(COPY,))
    gm.recompile()


def _compiler(part: str, falls_back: bool) -> Callable[..., Any]:
    def compile_graph(gm: GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        if part == "inference":
            _fuse_attention(gm, frozenset())
        try:
            program = Program(gm, f"{part} graph", _find_updated()
                              if part == "forward" else frozenset())
        except (Unmodelled, RegatherError) as reason:
            if not falls_back:
                raise RegatherError(f"cannot compile the {part} graph: {reason}"
                                    ) from reason
            return _fall_back(gm, part, reason)
        return _boxed(program)
    return compile_graph


def regather(gm: GraphModule, inputs: list[Any], *,
             options: Mapping[str, Any] | None = None, **kwargs: Any
             ) -> Callable[..., Any]:
    """The backend. Options: `fallback` (True), whether PyTorch runs what we
    cannot; all others are those of `regather.torch.Partitioner`."""
    chosen = dict(options or {})
    falls_back = bool(chosen.pop("fallback", True))
    try:
        partitioner = Partitioner(**chosen)
    except TypeError as error:
        raise ValueError(f"backend \"regather\": {error}; options are fallback, "
                         "mode, budget, policy, reshard, record, plan, cluster") from error

    def partition(joint: GraphModule, *args: Any, **named: Any) -> Any:
        _fuse_attention(joint, _find_trained(joint, named["num_fwd_outputs"]))
        return partitioner(joint, *args, **named)

    # A graph without gradients writes to its arguments itself, as the step of
    # an optimizer does: nothing needs what they held before.
    writes = not torch.is_grad_enabled() or not any(
        isinstance(one, torch.Tensor) and one.requires_grad for one in inputs)
    compiled = aot_autograd(
        keep_inference_input_mutations=writes,
        fw_compiler=_compiler("forward", falls_back),
        bw_compiler=_compiler("backward", falls_back),
        inference_compiler=_compiler("inference", falls_back),
        partition_fn=partition, decompositions=eager_decompositions())
    return compiled(gm, inputs)


# Of an installed package PyTorch finds it by itself, and registers it then.
if "regather" not in list_backends(exclude_tags=()):
    register_backend(regather, name="regather")
