"""What a `torch.optim` optimizer says, as options of tg-append-optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from regather.fx.private import has_step_hooks, mark_stepped
from regather.library.errors import RegatherError

# Settings of PyTorch that change what is computed, and that the pass lacks.
_UNSUPPORTED = ("capturable", "differentiable")
_FLAGS = ("amsgrad", "nesterov", "centered", "maximize")
_NUMBERS = ("eps", "momentum", "dampening", "alpha", "rho", "lr_decay")

# Each with its own settings; all have a weight decay and may climb.
_KINDS: dict[type, tuple[str, tuple[str, ...]]] = {
    torch.optim.AdamW: ("adamw", ("betas", "eps", "amsgrad")),
    torch.optim.Adam: ("adam", ("betas", "eps", "amsgrad")),
    torch.optim.SGD: ("sgd", ("momentum", "dampening", "nesterov")),
    torch.optim.Adagrad: ("adagrad", ("lr_decay", "eps")),
    torch.optim.RMSprop: ("rmsprop", ("alpha", "eps", "momentum", "centered")),
    torch.optim.Adamax: ("adamax", ("betas", "eps")),
    torch.optim.Adadelta: ("adadelta", ("rho", "eps")),
    torch.optim.RAdam: ("radam", ("betas", "eps", "decoupled_weight_decay")),
}
_SETTINGS = ("betas", "weight_decay", "decoupled_weight_decay",
             "initial_accumulator_value", *_FLAGS, *_NUMBERS, *_UNSUPPORTED)


@dataclass
class OptimizerText:
    """`text` for the flag `optimizer`. `scales` are the learning rates of
    groups beside that of the group `base`, which the step is compiled with, as
    it is with `settings`, by group."""

    text: str
    scales: list[float]
    base: int = 0
    settings: list[dict[str, Any]] = field(default_factory=list)


def describe(optimizer: torch.optim.Optimizer,
             names: Mapping[int, str]) -> OptimizerText:
    """`names` are those of parameters, by `id`. Raises `RegatherError` for
    what the pass cannot do."""
    kind = type(optimizer)
    if kind not in _KINDS:
        raise RegatherError("expects " + ", ".join(k.__name__ for k in _KINDS)
                            + f" of torch.optim, got {kind.__name__}")
    if has_step_hooks(optimizer):
        raise RegatherError("the optimizer has hooks on its step, or another "
                            "step in place of it, which would not be called")
    groups = optimizer.param_groups
    _check_groups(kind, groups)
    words = _words(kind, groups[0])
    first = groups[0]
    given = {id(p): p for group in groups for p in group["params"]}
    if missing := sorted(names[key] for key in names.keys() - given.keys()):
        raise RegatherError("the optimizer does not have the parameters "
                            + ", ".join(missing))
    foreign = sum(parameter.requires_grad for key, parameter in given.items()
                  if key not in names)
    if foreign:
        raise RegatherError(f"the optimizer has {foreign} parameters that the "
                            "model does not have")
    # Adagrad makes its states at once.
    if any(float(state.get("step", 1)) for state in optimizer.state.values()):
        raise RegatherError("the optimizer has taken steps, and its states "
                            "would be lost: compile with a new one, and load "
                            "states by load_state_dict of the step")
    # Schedulers warn if nobody has called `step` of the optimizer.
    mark_stepped(optimizer)
    rates = _rates(groups)
    base = next((i for i, rate in enumerate(rates) if rate), 0)
    scales = [rate / rates[base] if rates[base] else 1.0 for rate in rates]
    # The first group has those of the text, but for its scale.
    settings = [_settings(group, scale, kind, names)
                for group, scale in zip(groups, scales)
                if group is not first or scale != 1.0]
    if any(settings):
        words.append("groups=" + "|".join(filter(None, settings)))
    return OptimizerText(" ".join(words), scales, base, list(map(_read, groups)))


def _check_groups(kind: type, groups: list[dict[str, Any]]) -> None:
    first = groups[0]
    of_all = [name for name in (*_KINDS[kind][1], "maximize",
                                "decoupled_weight_decay")
              if name != "eps" and name in first]
    for group in groups:
        for name in _UNSUPPORTED:
            if group.get(name):
                raise RegatherError(f"{kind.__name__} with {name}="
                                    f"{group[name]} is not supported")
        if group.get("initial_accumulator_value"):
            raise RegatherError(
                "Adagrad with initial_accumulator_value="
                f"{group['initial_accumulator_value']} is not supported: states "
                "are zero before the first step")
        for name in of_all:
            if group[name] != first[name]:
                raise RegatherError(f"all groups need the same {name}, got "
                                    f"{first[name]} and {group[name]}")


def _words(kind: type, group: dict[str, Any]) -> list[str]:
    """The name of the optimizer, and its settings that are no defaults of the
    pass."""
    name, own = _KINDS[kind]
    # As PyTorch has AdamW from 2.13 on.
    if kind is torch.optim.Adam and group.get("decoupled_weight_decay"):
        name = "adamw"
    words = [name]
    for setting in own:
        value = group[setting]
        option = setting.replace("_", "-")
        if setting == "betas":
            words.append("betas=" + ",".join(repr(float(b)) for b in value))
        elif setting in _NUMBERS and (value or setting == "eps"):
            words.append(f"{option}={float(value)!r}")
        elif setting not in _NUMBERS and value:
            words.append(option)
    if group.get("maximize"):
        words.append("maximize")
    words.append(f"weight-decay={float(group['weight_decay'])!r}")
    return words


def _read(group: dict[str, Any]) -> dict[str, Any]:
    """What a step cannot change any more."""
    return {**{name: group.get(name) for name in _SETTINGS},
            "params": len(group["params"])}


def _check_settings(optimizer: torch.optim.Optimizer, text: OptimizerText
                    ) -> None:
    groups = optimizer.param_groups
    if len(groups) != len(text.settings):
        raise RegatherError(f"the step was compiled with {len(text.settings)} "
                            f"groups of parameters, got {len(groups)}")
    for group, settings in zip(groups, text.settings):
        now = _read(group)
        if now != settings:
            name = next(name for name in now if now[name] != settings[name])
            raise RegatherError(
                f"the step was compiled with {name} {settings[name]} of the "
                f"optimizer, got {now[name]}; of groups only the learning rate "
                "may change")


def _rates(groups: list[dict[str, Any]]) -> list[float]:
    """Learning rates, or those that a schedule has put off if there are none."""
    rates = [float(group["lr"]) for group in groups]
    if any(rates):
        return rates
    return [float(group.get("initial_lr", 0.0)) for group in groups]


def _settings(group: dict[str, Any], scale: float, kind: type,
              names: Mapping[int, str]) -> str:
    settings = (f"weight-decay={float(group['weight_decay'])!r},"
                f"learning-rate-scale={scale!r}")
    if "eps" in _KINDS[kind][1]:
        settings += f",eps={float(group['eps'])!r}"
    return "|".join(f"{names[id(p)]}:{settings}" for p in group["params"]
                    if id(p) in names)


def learning_rate(optimizer: torch.optim.Optimizer, text: OptimizerText) -> float:
    """That of the base group now. Raises `RegatherError` if a scheduler has
    changed one group beside the others, or anything else."""
    _check_settings(optimizer, text)
    groups = optimizer.param_groups
    base = float(groups[text.base]["lr"])
    for group, scale in zip(groups, text.scales):
        if abs(float(group["lr"]) - scale * base) > 1e-9 * abs(scale * base):
            raise RegatherError(
                "the step was compiled with learning rates of the groups in "
                f"proportions {text.scales}, got rates "
                f"{[float(group['lr']) for group in groups]}")
    return base
