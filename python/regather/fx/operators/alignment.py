"""Connectionist temporal classification (Graves et al., 2006), step by step.

A target of n labels has 2n + 1 states, since blanks lie around each. The
logarithms of the sums over all ways to get to a state, and from a state to the
end, are recurrences over the steps of time, in which a sample of the batch is a
row. There is a node for each operation of each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from regather.fx.errors import CaptureError, at
from regather.fx.source import user_line

_aten = torch.ops.aten

# A step has about 25 nodes forward and as many backward; more are too many to
# compile in a reasonable time.
_MOST_STEPS = 512

# Steps that are joined at once.
_GROUP = 16

Lengths = torch.Tensor | Sequence[int]


@dataclass
class _Problem:
    """Log-probabilities ``(time, batch, state)`` of the states, the class
    ``(batch, state)`` of each, and what jumps over a blank to a state adds:
    zero or minus infinity. Lengths are columns."""

    emitted: torch.Tensor
    classes: torch.Tensor
    jumps: torch.Tensor
    input_lengths: torch.Tensor
    target_lengths: torch.Tensor


def _check(log_probs: torch.Tensor, targets: torch.Tensor) -> None:
    """Raises ``CaptureError`` for what is not taken apart."""
    steps = log_probs.shape[0]
    problem = None
    if log_probs.dtype not in (torch.float32, torch.float64):
        problem = f"log-probabilities of f32 or f64, got {log_probs.dtype}"
    elif 0 in log_probs.shape or targets.numel() == 0:
        problem = ("log-probabilities and targets that are not empty, got "
                   f"{list(log_probs.shape)} and {list(targets.shape)}")
    elif steps > _MOST_STEPS:
        problem = (f"at most {_MOST_STEPS} steps of time, each of which becomes "
                   f"nodes of its own, got {steps}")
    if problem:
        # Forward comes first, and the line that called it is that of the model.
        raise CaptureError(at(f"ctc_loss expects {problem}", user_line(stop="")))


def _as_column(lengths: Lengths, like: torch.Tensor) -> torch.Tensor:
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.cat([torch.full((1,), length, device=like.device)
                             for length in lengths])
    return lengths.reshape(-1, 1).to(torch.int64)


def _most_labels(targets: torch.Tensor, lengths: Lengths) -> int:
    """A number of labels that no target of the batch is longer than."""
    if isinstance(lengths, torch.Tensor):
        return targets.shape[-1]
    return max(1, *lengths)


def _label(targets: torch.Tensor, lengths: torch.Tensor, most: int,
           blank: int) -> torch.Tensor:
    """The labels ``(batch, most)``, and blanks behind the end of each target,
    where padding may be any number. A length above what there is reads outside,
    which is an error."""
    places = torch.arange(most, device=targets.device).unsqueeze(0)
    is_label = places < lengths
    if targets.dim() == 1:
        starts = lengths.cumsum(0) - lengths
        flat = torch.where(is_label, starts + places, 0)
        labels = targets.index_select(0, flat.reshape(-1)).view(flat.shape)
    else:
        labels = targets.narrow(1, 0, most)
    return torch.where(is_label, labels.to(torch.int64), blank)


def _prepare(log_probs: torch.Tensor, targets: torch.Tensor,
             input_lengths: Lengths, target_lengths: Lengths, blank: int,
             most: int) -> _Problem:
    lengths = _as_column(target_lengths, log_probs)
    labels = _label(targets, lengths, most, blank)
    batch = labels.shape[0]
    blanks = torch.full_like(labels, blank)
    classes = torch.stack([blanks, labels], 2).view(batch, 2 * most)
    classes = torch.cat([classes, blanks.narrow(1, 0, 1)], 1)
    # Equal labels have a blank between them, and from blank to blank there is a
    # label.
    is_other = classes.narrow(1, 2, 2 * most - 1) != classes.narrow(
        1, 0, 2 * most - 1)
    jumps = F.pad(torch.where(is_other, 0.0, -math.inf).to(log_probs.dtype),
                  (2, 0), value=-math.inf)
    index = classes.unsqueeze(0).expand(log_probs.shape[0], -1, -1)
    return _Problem(log_probs.gather(2, index), classes, jumps,
                    _as_column(input_lengths, log_probs), lengths)


def _add(first: torch.Tensor, second: torch.Tensor,
         third: torch.Tensor) -> torch.Tensor:
    """The logarithm of the sum of exponentials."""
    largest = torch.maximum(torch.maximum(first, second), third)
    shift = torch.where(largest == -math.inf, 0.0, largest)
    total = (first - shift).exp() + (second - shift).exp() + (third - shift).exp()
    return total.log() + shift


def _stack(steps: list[torch.Tensor]) -> torch.Tensor:
    """Steps of time along dimension 1, joined in groups of groups: one operator
    with very many operands takes long to compile."""
    parts = [step.unsqueeze(1) for step in steps]
    while len(parts) > 1:
        parts = [torch.cat(parts[i:i + _GROUP], 1)
                 for i in range(0, len(parts), _GROUP)]
    return parts[0]


def _sum_to_states(problem: _Problem) -> torch.Tensor:
    """``(batch, time, state)``: over all ways that end in a state at a time."""
    emitted, count = problem.emitted, problem.emitted.shape[2]
    state = torch.arange(count, device=emitted.device)
    current = torch.where(state < 2, emitted[0], -math.inf)
    found = [current]
    for step in emitted[1:].unbind(0):
        padded = F.pad(current, (2, 0), value=-math.inf)
        current = step + _add(current, padded.narrow(1, 1, count),
                              padded.narrow(1, 0, count) + problem.jumps)
        found.append(current)
    return _stack(found)


def _sum_from_states(problem: _Problem) -> torch.Tensor:
    """``(batch, time, state)``: over all ways from a state at a time to the end
    of the sample; minus infinity behind it."""
    emitted, count = problem.emitted, problem.emitted.shape[2]
    state = torch.arange(count, device=emitted.device)
    last = 2 * problem.target_lengths
    is_end = (state == last) | (state == last - 1)
    jumps = F.pad(problem.jumps, (0, 2), value=-math.inf).narrow(1, 2, count)
    current = torch.full_like(emitted[0], -math.inf)
    found = []
    end = torch.where(is_end, 0.0, -math.inf).to(emitted.dtype)
    times = torch.arange(1, len(emitted) + 1, device=emitted.device).view(-1, 1, 1)
    is_last = times == problem.input_lengths
    for step, stops in zip(reversed(emitted.unbind(0)), reversed(is_last.unbind(0))):
        padded = F.pad(current, (0, 2), value=-math.inf)
        ways = _add(current, padded.narrow(1, 1, count),
                    padded.narrow(1, 2, count) + jumps)
        current = step + torch.where(stops, end, ways)
        found.append(current)
    return _stack(found[::-1])


def _ctc_loss(log_probs: torch.Tensor, targets: torch.Tensor,
              input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
              zero_infinity: bool = False) -> Any:
    """``zero_infinity`` is for the gradient, as in PyTorch."""
    _check(log_probs, targets)
    problem = _prepare(log_probs, targets, input_lengths, target_lengths, blank,
                       _most_labels(targets, target_lengths))
    to_states = _sum_to_states(problem)
    takes_no_time = problem.input_lengths == 0
    # A negative length is an error, too.
    time = torch.where(takes_no_time, 0, problem.input_lengths - 1).unsqueeze(2)
    ends = to_states.gather(1, time.expand(-1, -1, to_states.shape[2])).squeeze(1)
    blank_end = ends.gather(1, 2 * problem.target_lengths)
    label_end = ends.gather(1, (2 * problem.target_lengths - 1).clamp_min(0))
    is_empty = problem.target_lengths == 0
    label_end = torch.where(is_empty, -math.inf, label_end)
    found = _add(blank_end, label_end, torch.full_like(blank_end, -math.inf))
    # In no time there is only the empty target.
    alone = torch.where(is_empty, 0.0, -math.inf).to(found.dtype)
    found = torch.where(takes_no_time, alone, found)
    return -found.squeeze(1), to_states


def _ctc_loss_backward(grad: torch.Tensor, log_probs: torch.Tensor,
                       targets: torch.Tensor, input_lengths: Lengths,
                       target_lengths: Lengths, neg_log_likelihood: torch.Tensor,
                       log_alpha: torch.Tensor, blank: int,
                       zero_infinity: bool = False) -> Any:
    """Of the input of the softmax that made ``log_probs``, whose gradient leaves
    it as it is: what is likely less what the target says."""
    _check(log_probs, targets)
    problem = _prepare(log_probs, targets, input_lengths, target_lengths, blank,
                       (log_alpha.shape[2] - 1) // 2)
    from_states = _sum_from_states(problem)
    loss = neg_log_likelihood.view(-1, 1, 1)
    # Both sums count what the state itself emits.
    through = log_alpha + from_states - problem.emitted.transpose(0, 1)
    through = torch.where(from_states == -math.inf, -math.inf, through)
    share = (through + loss).exp()
    steps, batch, count = log_probs.shape
    index = problem.classes.unsqueeze(1).expand(-1, steps, -1)
    expected = log_probs.new_zeros(batch, steps, count).scatter_add(2, index, share)
    result = log_probs.exp() - expected.transpose(0, 1)
    is_infinite = (neg_log_likelihood == math.inf).view(1, -1, 1)
    result = torch.where(is_infinite, 0.0 if zero_infinity else math.nan, result)
    result = result * grad.view(1, -1, 1)
    if zero_infinity:
        result = torch.where(is_infinite, 0.0, result)
    time = torch.arange(steps, device=grad.device).view(-1, 1, 1)
    return torch.where(time < problem.input_lengths.view(1, -1, 1), result, 0.0)


TABLE: dict[Any, Any] = {
    _aten._ctc_loss.Tensor: _ctc_loss,
    _aten._ctc_loss.default: _ctc_loss,
    _aten._ctc_loss_backward.Tensor: _ctc_loss_backward,
    _aten._ctc_loss_backward.default: _ctc_loss_backward,
}
