"""From a model and a batch to a training step."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist

from regather.fx.mesh import is_distributed
from regather.fx.step import Step
from regather.fx.wrappers import unwrap
from regather.library.errors import RegatherError
from regather.training import optimizer as optimizers
from regather.training.device import choose_device
from regather.training.job import join
from regather.training.mesh_plan import read_mesh_plan
from regather.training.plan import StepPlan
from regather.training.progress import Progress
from regather.training.step import TrainingStep


def compile_step(
    model: torch.nn.Module,
    example_batch: Any,
    *,
    loss: Callable[..., Any] | None = None,
    optimizer: torch.optim.Optimizer | str,
    mesh: str | None = None,
    replicate_axis: str = "",
    plan: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    options: Mapping[str, str | Sequence[str]] | None = None,
    clip: float | None = None,
    lr: float | None = None,
    accumulate: int = 1,
    memory: str | int | None = None,
    micro_batches: str | int = 1,
    offload: str | None = None,
    param_dtype: torch.dtype | None = None,
    reduce_dtype: torch.dtype | None = None,
    elastic: int = 0,
    expert_capacity: float | None = None,
    expert_chunks: int | str = 1,
    fuse_attention: bool = True,
    seed: int = 0,
    device: str | torch.device | None = None,
    threads: int = 0,
    timeout: float = 600,
    quiet: bool = False,
) -> TrainingStep:
    """Compiles forward, backward and optimizer of `model` into one program.

    With `loss`, a batch is a pair: what the model is called with, and what
    `loss(result, *targets)` is called with besides; a tensor, a tuple or, for
    the model, a dictionary. Without it a batch is the first alone, and the
    model returns its loss. `example_batch` is that of one rank; shapes are
    fixed, and the loss is the mean over the ranks, as in FSDP2.

    `optimizer` is one of `torch.optim` (AdamW, Adam, SGD, Adagrad, RMSprop,
    Adamax, Adadelta or RAdam) over the parameters of the model, from whose `param_groups` each step reads the learning rate, so that
    schedulers work; or options of tg-append-optimizer, with `lr`. `clip` is the
    largest norm of all gradients together.

    `accumulate` cuts each batch of a rank into so many micro-batches of equal
    rows, one after the other in dimension 0 of the first tensor and of all that
    have as many rows. Loss and gradients are means over them, and gradients are
    reduced once. Batch sizes are those of whole batches.

    `memory`, such as "80GB", is the most that each rank may use: what no flag
    decides is chosen so that the step fits and is quickest. `offload` says what
    lies on the host, such as "states". `micro_batches` cuts the batch of a rank
    like `accumulate`, but all results are those of the whole batch, up to
    rounding; "auto" leaves their number to the choice within `memory`.

    `mesh` is "dp:4", or "rep:2,dp:2" with `replicate_axis="rep"`; axes called
    "tp" and "cp", and those that `options={"shard": ...}` names, cut the model,
    as in "dp:2,tp:2", and their ranks are given the same batch. Each rank is
    a process of the default group of torch.distributed, which is made if
    torchrun started the process; by default there are as many ranks as this
    group has, or one. Parameters and states of the optimizer are cut into
    shards. `plan` and `options` are flags of `regather run`: a file, and such
    as `{"policy": "full"}`, with lists for flags that are given repeatedly. An
    entry of `regather.plan(...).plans` as `plan` brings its mesh with it.

    `param_dtype` and `reduce_dtype` are those of `MixedPrecisionPolicy`: the
    model gathers and computes with parameters and inputs in `param_dtype`, such
    as torch.bfloat16, and gradients are reduced in `reduce_dtype`, by default
    in the type of the parameters. Parameters, states of the optimizer and
    `state_dict` keep their types.

    With `elastic=S` no bit of any result depends on the number of ranks: sums
    over the rows of all ranks together are trees over S equal segments. The
    loss is that of this batch as a whole, and `accumulate` cuts it, not the
    batches of ranks. S divides its rows and is a multiple of the ranks, whose
    number is a power of two or S.

    An axis called "ep", as in "dp:2,ep:2", cuts experts that are grouped GEMMs,
    and its ranks share a batch with all others: the loss is that of the rows of
    all ranks as one batch. With `expert_capacity=1.25` rows are sent to the
    ranks of their experts, which have room for so many times as many as they
    get if all experts get equally many. A step that needs more updates nothing
    and is run again with room for all; `repeated` of the step counts. With
    `expert_chunks=2` they are sent in as many equal parts, each by itself, so
    that one travels while another one is multiplied; "auto" takes 1, 2 or 4,
    whatever is quickest in simulation. No bit depends on it.

    With `fuse_attention`, attention that the model writes as products and a
    softmax is carried out by blocks, as PyTorch's own is, and stores no scores.

    Parameters on the meta device are initialised with `seed` straight into
    shards, one module at a time. `threads` compute on each rank, by default the
    processors of the machine divided by its ranks. A rank waits `timeout`
    seconds for others. Rank 0 shows on standard error how far this is, unless
    `quiet`.

    `device` is "cpu", "cuda:N" or "cuda", by default that of the parameters.
    "cuda" is the GPU of LOCAL_RANK, or the first. Parameters and states of the
    optimizer then lie on the GPU, batches may lie there or on the CPU, and the
    loss is on the CPU. The model is captured as if it were on the CPU: its code
    takes devices from its tensors.

    Raises CaptureError for what cannot be captured, and RegatherError for what
    cannot be compiled or run.
    """
    chosen = None
    if isinstance(plan, Mapping):
        if mesh is not None or replicate_axis:
            raise RegatherError("a plan of regather.plan has a mesh of its own, "
                                f"so that mesh=\"{mesh or replicate_axis}\" "
                                "cannot be given, too")
        chosen = read_mesh_plan(plan)
        mesh, replicate_axis = chosen.mesh, chosen.replicate_axis
    # Under the names of the model itself.
    model, _ = unwrap(model)
    _check_parameters(model)
    place = choose_device(device, model)
    axes = _read_mesh(mesh)
    step = _split_batch(model, example_batch, loss)
    rule = _read_optimizer(model, optimizer, lr)
    text = rule.text
    if clip is not None:
        if not clip > 0:
            raise RegatherError(f"expects a positive norm to clip, got {clip}")
        text += f" max-norm={float(clip)!r}"
    if type(accumulate) is not int or accumulate < 1:
        raise RegatherError("expects a number of micro-batches to accumulate, "
                            f"got {accumulate!r}")
    if type(elastic) is not int or elastic < 0:
        raise RegatherError("expects a number of segments as elastic, got "
                            f"{elastic!r}")
    if expert_capacity is not None and not expert_capacity > 0:
        raise RegatherError("expects an expert_capacity above 0, got "
                            f"{expert_capacity!r}")
    if expert_chunks != "auto" and (type(expert_chunks) is not int
                                    or expert_chunks < 1):
        raise RegatherError("expects a number of expert_chunks, at least 1, or "
                            f"'auto', got {expert_chunks!r}")
    if expert_chunks != 1 and expert_capacity is None:
        raise RegatherError(f"expert_chunks={expert_chunks!r} cuts rows that are "
                            "sent, which needs an expert_capacity")
    step = replace(step, compute=_read_dtype("param_dtype", param_dtype),
                   fuse_attention=fuse_attention)
    progress = Progress(3, quiet or not _is_first_rank())
    flags = [(name, text) for name, given in (options or {}).items()
             for text in ([given] if isinstance(given, str) else given)]
    flags += [(name, str(given)) for name, given in (
        ("memory", memory), ("offload", offload),
        ("micro-batches", None if micro_batches == 1 else micro_batches))
        if given is not None]
    if chosen is not None:
        flags += chosen.flags
    elif plan is not None:
        flags.append(("plan", os.fspath(plan)))
    if expert_capacity is not None:
        flags.append(("expert-capacity", repr(float(expert_capacity))))
        flags.append(("expert-chunks", str(expert_chunks)))
    job = join(axes)
    # A loss that is no number does not spoil what was trained.
    made = StepPlan(axes or [("dp", job.ranks)], f"{text} skip-nonfinite=true",
                    replicate_axis=replicate_axis, flags=flags,
                    threads=threads, timeout=timeout, seed=seed,
                    accumulate=accumulate, elastic=elastic, device=place,
                    reduce_dtype=_read_dtype("reduce_dtype", reduce_dtype))
    return TrainingStep(step, made, job,
                        optimizer if isinstance(optimizer, torch.optim.Optimizer)
                        else None, rule, lr, progress)


def _is_first_rank() -> bool:
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank() == 0
    return os.environ.get("RANK", "0") == "0"


def _check_parameters(model: torch.nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if is_distributed(parameter):
            raise RegatherError(f"parameter '{name}' is distributed already; "
                                "expects the model before it is sharded")


def _read_mesh(text: str | None) -> list[tuple[str, int]]:
    if text is None:
        return []
    axes = []
    for part in text.split(","):
        if not (found := re.fullmatch(r"\s*(\w+):([1-9]\d*)\s*", part)):
            raise RegatherError(f'expects a mesh such as "dp:4", got "{text}"')
        axes.append((found[1], int(found[2])))
    return axes


def _read_dtype(name: str, dtype: torch.dtype | None) -> torch.dtype | None:
    if dtype in (None, torch.bfloat16, torch.float16, torch.float32):
        return dtype
    raise RegatherError(f"{name}: expects torch.bfloat16, torch.float16 or "
                        f"torch.float32, got {dtype!r}")


def _split_batch(model: torch.nn.Module, batch: Any,
                 loss: Callable[..., Any] | None) -> Step:
    if loss is None:
        return Step(model, batch)
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise RegatherError("with a loss, expects a batch of two parts: inputs "
                            f"and targets, got {type(batch).__name__}")
    return Step(model, batch[0], loss, batch[1])


def _read_optimizer(model: torch.nn.Module,
                    optimizer: torch.optim.Optimizer | str,
                    lr: float | None) -> optimizers.OptimizerText:
    if isinstance(optimizer, torch.optim.Optimizer):
        if lr is not None:
            raise RegatherError("lr is for optimizers given as text")
        names = {id(p): name for name, p in model.named_parameters()
                 if p.requires_grad}
        return optimizers.describe(optimizer, names)
    if lr is None:
        raise RegatherError("an optimizer given as text needs lr")
    return optimizers.OptimizerText(optimizer, [1.0])


__all__ = ["compile_step"]
