"""Steps that tg-append-optimizer made train as torch.optim does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the reference is PyTorch")

from regather_tools import ENGINES, ROOT, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

TOLERANCE = 1e-6
STEPS = 10
LEARNING_RATE = 0.05
MAX_NORM = 2.0

Tensors = dict[str, torch.Tensor]

# Name, global shape, and the dimension that is sharded. On four ranks the last
# shard of the first one is partly padding, that of the second one entirely.
PARAMETERS: tuple[tuple[str, tuple[int, ...], int | None], ...] = (
    ("layers.0.weight", (10, 3), 0),
    ("layers.0.norm", (6,), 0),
    ("embedding.weight", (3, 8), 1),
    ("scale", (), None),
)

# Options of the pass, and what they are in PyTorch: the optimizer, its
# arguments, and those of parameters whose names contain a word.
CASES: dict[str, tuple[str, Any, dict, dict[str, dict]]] = {
    "sgd": ("optimizer=sgd", torch.optim.SGD, {}, {}),
    "momentum": ("optimizer=sgd momentum=0.9 dampening=0.25 weight-decay=0.01",
                 torch.optim.SGD,
                 {"momentum": 0.9, "dampening": 0.25, "weight_decay": 0.01},
                 {}),
    "nesterov": ("optimizer=sgd momentum=0.9 nesterov", torch.optim.SGD,
                 {"momentum": 0.9, "nesterov": True}, {}),
    "adamw": ("", torch.optim.AdamW, {}, {}),
    "betas": ("betas=0.3,0.95 eps=1e-6 weight-decay=0.1", torch.optim.AdamW,
              {"betas": (0.3, 0.95), "eps": 1e-6, "weight_decay": 0.1}, {}),
    "amsgrad": ("amsgrad maximize", torch.optim.AdamW,
                {"amsgrad": True, "maximize": True}, {}),
    "adam": ("optimizer=adam weight-decay=0.1", torch.optim.Adam,
             {"weight_decay": 0.1}, {}),
    "adagrad": ("optimizer=adagrad lr-decay=0.1 weight-decay=0.01",
                torch.optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.01},
                {}),
    "rmsprop": ("optimizer=rmsprop", torch.optim.RMSprop, {}, {}),
    "centered": ("optimizer=rmsprop alpha=0.9 momentum=0.5 centered",
                 torch.optim.RMSprop,
                 {"alpha": 0.9, "momentum": 0.5, "centered": True}, {}),
    "adamax": ("optimizer=adamax weight-decay=0.1", torch.optim.Adamax,
               {"weight_decay": 0.1}, {}),
    "adadelta": ("optimizer=adadelta rho=0.8", torch.optim.Adadelta,
                 {"rho": 0.8}, {}),
    # The sixth step is the first that divides by the root of squares.
    "radam": ("optimizer=radam weight-decay=0.1", torch.optim.RAdam,
              {"weight_decay": 0.1}, {}),
    "radam_decoupled": ("optimizer=radam weight-decay=0.1 betas=0.8,0.9 "
                        "decoupled-weight-decay", torch.optim.RAdam,
                        {"weight_decay": 0.1, "betas": (0.8, 0.9),
                         "decoupled_weight_decay": True}, {}),
    "groups": ("groups=*norm*:weight-decay=0|embedding.*:"
               "learning-rate-scale=0.1,weight-decay=0.5", torch.optim.AdamW,
               {}, {"norm": {"weight_decay": 0},
                    "embedding": {"lr": 0.1 * LEARNING_RATE,
                                  "weight_decay": 0.5}}),
}


def tensor_type(shape: tuple[int, ...]) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def quadratic_step(ranks: int) -> str:
    """Gradients (p - target) * 4 + 1: one in padding too, where all is zero."""
    arguments, results, body, values = [], [], [], []
    for number, (name, shape, dim) in enumerate(PARAMETERS):
        local, placement = list(shape), ""
        if dim is not None:
            local[dim] = -(-shape[dim] // ranks)
            placement = (f", tg.placement = #tg.placement<@mesh "
                         f"[[dp] = shard {dim}] of {list(shape)}>")
        kind = tensor_type(tuple(local))
        p, t, g = f"%p{number}", f"%t{number}", f"%g{number}"
        arguments += [
            f'{p}: {kind} {{tg.role = #tg.role<parameter>, tg.name = "{name}", '
            f'tg.registration = {number} : i64{placement}}}',
            f'{t}: {kind} {{tg.role = #tg.role<input>, '
            f'tg.name = "target.{name}"{placement}}}']
        results.append(f"{kind} {{tg.role = #tg.role<gradient of "
                       f"{2 * number}>}}")
        body += [f"{g}d = arith.subf {p}, {t} : {kind}",
                 f"{g}f = arith.constant dense<4.0> : {kind}",
                 f"{g}m = arith.mulf {g}d, {g}f : {kind}",
                 f"{g}o = arith.constant dense<1.0> : {kind}",
                 f"{g} = arith.addf {g}m, {g}o : {kind}"]
        values.append((g, kind))
    return (f"tg.mesh @mesh [dp = {ranks}]\n"
            f"func.func @step({', '.join(arguments)}) -> "
            f"({', '.join(results)}) {{\n" + "\n".join(body) +
            f"\nreturn {', '.join(v for v, _ in values)} : "
            f"{', '.join(k for _, k in values)}\n}}\n")


def quadratic_inputs() -> Tensors:
    generator = torch.Generator().manual_seed(0)
    tensors = {}
    for name, shape, _ in PARAMETERS:
        tensors[name] = torch.randn(shape, generator=generator)
        tensors[f"target.{name}"] = torch.randn(shape, generator=generator)
    return tensors


def append_optimizer(step: str, options: str, directory: Path) -> Path:
    (directory / "step.mlir").write_text(step)
    flag = f"--tg-append-optimizer={options}"
    result = run_tool("regather-opt", directory / "step.mlir", flag,
                      "--tg-verify-step", "-o", directory / "trained.mlir")
    assert result.code == 0, result.stderr
    return directory / "trained.mlir"


def train(module: Path, inputs: Tensors, *flags: str) -> Tensors:
    files = module.with_suffix(".inputs"), module.with_suffix(".outputs")
    save_file({name: tensor.contiguous().clone()
               for name, tensor in inputs.items()}, files[0])
    result = run_tool("regather", "run", module, "--inputs", files[0],
                      "--outputs", files[1], "--quiet",
                      f"--learning-rate={LEARNING_RATE}", *flags, timeout=120)
    assert result.code == 0, result.stderr
    assert "warning" not in result.stderr
    return load_file(files[1])


def train_in_torch(case: str, parameters: Tensors, clip: bool,
                   backward: Callable[[Tensors], None]) -> Tensors:
    """Parameters and states after all steps, under the names of files."""
    _, optimizer_class, settings, words = CASES[case]
    parameters = {name: torch.nn.Parameter(value.clone())
                  for name, value in parameters.items()}
    groups = []
    for name, parameter in parameters.items():
        group: dict[str, Any] = {"params": [parameter]}
        for word, changes in words.items():
            if word in name:
                group |= changes
        groups.append(group)
    optimizer = optimizer_class(groups, lr=LEARNING_RATE, foreach=False,
                                **settings)
    for _ in range(STEPS):
        optimizer.zero_grad()
        backward(parameters)
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM)
        optimizer.step()
    results = {name: value.detach() for name, value in parameters.items()}
    for name, parameter in parameters.items():
        for state, value in optimizer.state[parameter].items():
            if state != "step" and value is not None:
                results[f"{name}.{state}"] = value
    return results


# A variance is a difference of numbers that come to be almost equal.
TOLERANCES = {"centered": 1e-5}
# Clipping is the same for all.
CLIPPED = ("sgd", "momentum", "nesterov", "adamw", "betas", "groups")


def assert_equal_to_rounding(actual: Tensors, expected: Tensors,
                             tolerance: float = TOLERANCE) -> None:
    for name, tensor in expected.items():
        error = (actual[name] - tensor).norm()
        assert error <= tolerance * tensor.norm(), (name, error)


@pytest.mark.parametrize(("case", "clip"),
                         [(case, False) for case in CASES] +
                         [(case, True) for case in CLIPPED])
def test_equals_torch(case: str, clip: bool, tmp_path: Path) -> None:
    inputs = quadratic_inputs()

    def backward(parameters: Tensors) -> None:
        for name, parameter in parameters.items():
            target = inputs[f"target.{name}"]
            parameter.grad = (parameter.detach() - target) * 4 + 1

    expected = train_in_torch(case, {name: inputs[name]
                                     for name, _, _ in PARAMETERS},
                              clip, backward)
    options = CASES[case][0] + (f" max-norm={MAX_NORM}" if clip else "")
    for ranks in (1, 4):
        module = append_optimizer(quadratic_step(ranks), options, tmp_path)
        for engine in ENGINES:
            actual = train(module, inputs, f"--steps={STEPS}",
                           f"--engine={engine}")
            assert actual.keys() == expected.keys()
            assert_equal_to_rounding(actual, expected,
                                     TOLERANCES.get(case, TOLERANCE))


def sharded_perceptron() -> str:
    """examples/mlp-fsdp.mlir without its optimizer."""
    text = (ROOT / "examples" / "mlp-fsdp.mlir").read_text()
    text = text.replace("#tg.role<update of", "#tg.role<gradient of")
    step, optimizer = text.split("  // SGD on the shards.\n")
    waits = [line for line in optimizer.splitlines() if " tg.wait " in line]
    step += "\n".join(waits)
    names = ["%loss", "%gw0", "%gb0", "%gw1", "%gb1", "%gw2", "%gb2"]
    types = re.search(r"return .*\n? *: (.*)", optimizer)
    assert types
    return f"{step}\n  return {', '.join(names)} : {types[1]}\n}}\n"


def test_sharded_perceptron_equals_torch(tmp_path: Path) -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                 torch.nn.Linear(32, 32), torch.nn.ReLU(),
                                 torch.nn.Linear(32, 8))
    generator = torch.Generator().manual_seed(1)
    inputs = {"x": torch.randn(16, 16, generator=generator),
              "target": torch.randn(16, 8, generator=generator)}
    parameters: Tensors = {}
    for number, layer in enumerate((layers[0], layers[2], layers[4])):
        shape = layer.weight.shape[::-1]
        parameters[f"layers.{number}.weight"] = \
            0.3 * torch.randn(shape, generator=generator)
        parameters[f"layers.{number}.bias"] = \
            0.1 * torch.randn(layer.bias.shape, generator=generator)

    def backward(parameters: Tensors) -> None:
        hidden = inputs["x"]
        for number in range(3):
            hidden = (hidden @ parameters[f"layers.{number}.weight"] +
                      parameters[f"layers.{number}.bias"])
            if number < 2:
                hidden = hidden.relu()
        torch.nn.functional.mse_loss(hidden, inputs["target"]).backward()

    # AdamW would make much of gradients that are zero but for rounding.
    expected = train_in_torch("nesterov", parameters, True, backward)
    module = append_optimizer(sharded_perceptron(),
                              f"{CASES['nesterov'][0]} max-norm={MAX_NORM}",
                              tmp_path)
    for engine in ENGINES:
        actual = train(module, inputs | parameters, f"--steps={STEPS}",
                       f"--engine={engine}")
        assert_equal_to_rounding(actual, expected)


@pytest.mark.parametrize("ranks, ranks_after, options", [
    (4, 4, f"max-norm={MAX_NORM}"),
    (4, 2, "weight-decay=0.1"),
    (1, 4, "optimizer=sgd momentum=0.9 dampening=0.25"),
])
def test_continues_where_it_stopped(ranks: int, ranks_after: int, options: str,
                                    tmp_path: Path) -> None:
    inputs = quadratic_inputs()
    module = append_optimizer(quadratic_step(ranks), options, tmp_path)
    at_once = train(module, inputs, "--steps=5")
    saved = train(module, inputs, "--steps=3")
    targets = {name: tensor for name, tensor in inputs.items()
               if name.startswith("target.")}
    module = append_optimizer(quadratic_step(ranks_after), options, tmp_path)
    resumed = train(module, saved | targets, "--steps=2", "--first-step=4")
    assert resumed.keys() == at_once.keys()
    for name, tensor in at_once.items():
        assert torch.equal(resumed[name], tensor), name
    # The number of the step counts.
    other = train(module, saved | targets, "--steps=2", "--first-step=1")
    assert any(not torch.equal(other[name], at_once[name]) for name in other)


def test_half_precision_is_rounded_once(tmp_path: Path) -> None:
    """A bf16 parameter is updated as in f32, and then rounded."""
    generator = torch.Generator().manual_seed(2)
    # Quarters, so that gradients are small integers in either type.
    inputs = {name: torch.randint(-8, 8, tensor.shape,
                                  generator=generator) / 4
              for name, tensor in quadratic_inputs().items()}
    step, options = quadratic_step(1), "max-norm=0.5"
    wide = train(append_optimizer(step, options, tmp_path), inputs)
    module = append_optimizer(step.replace("f32>", "bf16>"), options, tmp_path)
    halves = {name: tensor.bfloat16() for name, tensor in inputs.items()}
    actual = train(module, halves)
    for name, _, _ in PARAMETERS:
        assert torch.equal(actual[name], wide[name].bfloat16())
        assert torch.equal(actual[f"{name}.exp_avg"], wide[f"{name}.exp_avg"])
