"""What ranks compare before they compile a step together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import torch

from regather.library.errors import RegatherError

# Elements at either end of a tensor that stand for all of it.
_SAMPLE = 1024


def describe(document: str, flags: Iterable[tuple[str, str]],
             tensors: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Everything that has to be equal on all ranks, by a name for messages.
    Of tensors, the ends are looked at: a model that was initialised with other
    random numbers differs there."""
    facts = {"the captured graph": _hash(document.encode())}
    for name, value in flags:
        key = f"option '{name}'"
        facts[key] = f"{facts[key]} {value}" if key in facts else value
    for name, tensor in tensors.items():
        if not tensor.is_meta:
            facts[f"the initial value of '{name}'"] = _hash(_ends(tensor))
    return facts


def require_agreement(facts: list[dict[str, str]]) -> None:
    """Raises `RegatherError` for the first fact in which a rank differs from
    rank 0. All ranks have all facts, and raise alike."""
    first = facts[0]
    for rank, others in enumerate(facts):
        for name in [*first, *(others.keys() - first.keys())]:
            if first.get(name) == others.get(name):
                continue
            raise RegatherError(
                f"all ranks need the same step, but ranks 0 and {rank} differ "
                f"in {name}: {_show(first, name)} and {_show(others, name)}"
                + _advise(name))


def require_equal_batches(found: list[tuple[int, dict[str, str]]],
                          mesh: str) -> None:
    """Raises `RegatherError` for the first input in which a rank differs from
    the first that is given the same batch. Of each rank, `found` has the number
    of its batch, and hashes of inputs by name."""
    first: dict[int, int] = {}
    for rank, (batch, inputs) in enumerate(found):
        other = first.setdefault(batch, rank)
        for name, text in inputs.items():
            if found[other][1][name] != text:
                raise RegatherError(
                    f"ranks {other} and {rank} compute on one batch on mesh "
                    f"'{mesh}', but are given different inputs '{name}': a "
                    "data loader has to give ranks that differ in an axis of "
                    "the model alone the same rows")


def hash_tensor(tensor: torch.Tensor) -> str:
    """Of all bytes."""
    flat = tensor.detach().contiguous().cpu().reshape(-1)
    return _hash(bytes(flat.view(torch.uint8).numpy()))


def _show(facts: dict[str, str], name: str) -> str:
    return f"'{facts[name]}'" if name in facts else "none"


def _advise(name: str) -> str:
    if name.startswith("the initial value"):
        return ("; make the model with the same torch.manual_seed on all ranks, "
                "or on the meta device")
    return ""


def _ends(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().reshape(-1)
    ends = torch.cat([flat[:_SAMPLE], flat[-_SAMPLE:]]).contiguous().cpu()
    return bytes(ends.view(torch.uint8).numpy())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


__all__ = ["describe", "hash_tensor", "require_agreement",
           "require_equal_batches"]
