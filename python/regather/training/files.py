"""The state of a step as safetensors.

A folder has `state-00001-of-00004.safetensors` and so on, one for each rank
that wrote, and `state.safetensors.index.json`, which says in which file a
tensor is, as those of Hugging Face do. Tensors are whole and called as in the
model; states of the optimizer are `NAME.exp_avg` and so on. The index is
written last: a folder without one is no checkpoint.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from regather.fx.files import replacing
from regather.library.errors import RegatherError
from regather.training.shards import DTYPES, as_real, local_range
from regather.training.state import StepState

INDEX = "state.safetensors.index.json"


def save(folder: str | os.PathLike[str], state: StepState, count: int,
         rank: int, ranks: int) -> None:
    """Writes the state of a step that was run `count` times.

    All ranks gather each tensor, one after the other, and each keeps those that
    it writes: about as many bytes as the others.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if rank == 0:
        (path / INDEX).unlink(missing_ok=True)
    owners = _share_out(state, ranks)
    own = {}
    for name, owner in owners.items():
        whole = as_real(state.gather(name))
        if owner == rank:
            # Tensors that share memory, such as one rank's with its step.
            own[name] = whole.contiguous().clone()
    with replacing(path / _file(rank, ranks)) as temporary:
        save_file(own, temporary, metadata={"format": "pt"})
    if ranks > 1:
        dist.barrier()
    if rank == 0:
        sizes = [state.values[name].global_bytes for name in owners]
        index = {"metadata": {"total_size": sum(sizes), "step": count,
                              "elastic": state.segments},
                 "weight_map": {name: _file(owner, ranks)
                                for name, owner in owners.items()}}
        with replacing(path / INDEX) as temporary:
            Path(temporary).write_text(json.dumps(index, indent=2) + "\n")
    if ranks > 1:
        dist.barrier()


def load(folder: str | os.PathLike[str], state: StepState, strict: bool) -> int:
    """Reads the part of this rank of each tensor, and returns the count.
    Nothing is changed if something is wrong; if `strict`, other tensors are."""
    path = Path(folder)
    index = _read_index(path / INDEX)
    state.check_segments(index["metadata"]["elastic"])
    where = index["weight_map"]
    state.check_names(where, str(path), strict)
    parts: dict[str, torch.Tensor] = {}
    for file in sorted({where[name] for name in state.saved}):
        try:
            with safe_open(str(path / file), "pt") as tensors:
                for name in state.saved:
                    if where[name] == file:
                        parts[name] = _read(tensors, name, state)
        except (OSError, SafetensorError) as error:
            raise RegatherError(f"cannot read {path / file}: {error}") from error
    for name, part in parts.items():
        state.assign_part(name, part)
    return int(index["metadata"]["step"])


def _file(rank: int, ranks: int) -> str:
    return f"state-{rank + 1:05}-of-{ranks:05}.safetensors"


def _share_out(state: StepState, ranks: int) -> dict[str, int]:
    """Which rank writes which tensor: the largest first, each to the rank that
    has the fewest bytes."""
    loads = [0] * ranks
    owners = {}
    for name in sorted(state.saved,
                       key=lambda name: -state.values[name].global_bytes):
        owner = min(range(ranks), key=loads.__getitem__)
        owners[name] = owner
        loads[owner] += state.values[name].global_bytes
    return {name: owners[name] for name in state.saved}


def _read_index(path: Path) -> dict[str, Any]:
    try:
        index = json.loads(path.read_text())
        return {"weight_map": dict(index["weight_map"]),
                "metadata": {"step": int(index["metadata"]["step"]),
                             "elastic": int(index["metadata"].get("elastic",
                                                                  0))}}
    except OSError as error:
        raise RegatherError(f"no checkpoint: cannot read {path}: "
                            f"{error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RegatherError(f"{path} is no index of a checkpoint: "
                            f"{error!r}") from error


def _read(tensors: Any, name: str, state: StepState) -> torch.Tensor:
    value = state.values[name]
    if name not in tensors.keys():
        raise RegatherError(f"'{name}' is not where the index says")
    whole = tensors.get_slice(name)
    if tuple(whole.get_shape()) != value.global_shape:
        raise RegatherError(f"'{name}': expects shape "
                            f"{list(value.global_shape)}, got "
                            f"{whole.get_shape()}")
    rows = local_range(value)
    if all(part.start < part.stop for part in rows) and rows:
        part = whole[rows]
    else:
        # Of nothing and of scalars there are no slices.
        part = tensors.get_tensor(name)[rows]
    if part.dtype != DTYPES[value.element_type]:
        raise RegatherError(f"'{name}': expects {DTYPES[value.element_type]}, "
                            f"got {part.dtype}")
    return part


__all__ = ["INDEX", "load", "save"]
