"""Captures random modules and compares the captures with eager PyTorch.

    check_module.py --first 0 --count 100 [--engine 4]

Prints a line of JSON before and after each module. What a capture is worth is
looked at twice: `regather.capture` replays it itself, and an evaluator that
knows the file alone (test/python/capture_evaluator.py) runs it for some steps
beside the module. With `--engine N`, every N-th capture is also lowered and run
by the CPU engine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "python")]

# pylint: disable=wrong-import-position
import torch  # noqa: E402
from capture_evaluator import evaluate  # noqa: E402
from random_module import RandomStep, make  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402
from regather.fx.replay import draws  # noqa: E402

STEPS = 3
RATE = 0.05
# Relative to the norm of a tensor. Sums that cancel lose some digits.
TOLERANCES = {torch.float32: 2e-3, torch.float64: 1e-7}
Results = dict[tuple[str, str | None], torch.Tensor]


class Find(Exception):
    """Something that may not happen."""


def run_eager(step: RandomStep) -> Iterator[Results]:
    """What each step of PyTorch gives, and what the state is after it."""
    model = step.model
    for number in range(STEPS):
        inputs, target = step.batch(number)
        model.zero_grad()
        loss = step.loss(model(*inputs), target)
        loss.backward()
        results: Results = {("loss", None): loss.detach().clone()}
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                results["gradient", name] = parameter.grad.clone()
                with torch.no_grad():
                    parameter.sub_(RATE * parameter.grad)
        held = [*model.named_parameters(), *model.named_buffers()]
        results |= {("new", name): value.detach().clone() for name, value in held}
        yield results


def run_graph(step: RandomStep, graph: Any) -> Iterator[Results]:
    """The same of the captured file."""
    state = {name: value.clone() for name, value in graph.tensors.items()}
    names = [entry["name"] for entry in graph.document["inputs"]]
    for number in range(STEPS):
        inputs, target = step.batch(number)
        values = [v for v in (*inputs, target) if v is not None]
        results = evaluate(graph.document, state,
                           dict(zip(names, values, strict=True)))
        gradients = {of: v for (role, of), v in results.items() if role == "gradient"}
        state |= {of: v for (role, of), v in results.items()
                  if role in ("update", "buffer")}
        for name, gradient in gradients.items():
            state[name] = state[name] - RATE * gradient
        found: Results = {("loss", None): results["loss", None]}
        found |= {("gradient", name): value for name, value in gradients.items()}
        yield found | {("new", name): value.clone() for name, value in state.items()}


def compare(got: Results, want: Results, tolerance: float, where: str) -> None:
    names = {key for key in want if key[0] == "gradient"}
    if names != {key for key in got if key[0] == "gradient"}:
        raise Find(f"{where}: gradients of other parameters")
    largest = max((float(want[key].double().norm()) for key in names), default=0.0)
    for key in want.keys() & got.keys():
        a, b = got[key], want[key]
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Find(f"{where}: {key} is {a.dtype} {list(a.shape)}, not "
                       f"{b.dtype} {list(b.shape)}")
        a, b = a.double(), b.double()
        if not torch.equal(a.isfinite(), b.isfinite()):
            raise Find(f"{where}: {key} is not finite elsewhere")
        finite = b.isfinite()
        # Some gradients are zero but for rounding, and so is what they move.
        least = 1e-2 * largest * {"gradient": 1.0, "new": RATE}.get(key[0], 0.0)
        scale = max(float(b[finite].detach().norm()), least)
        error = float((a - b)[finite].detach().norm())
        if error > tolerance * max(scale, 1e-3):
            raise Find(f"{where}: {key} is off by {error / max(scale, 1e-3):.1e}")


def is_random(graph: Any) -> bool:
    return any(draws(node.target) for node in graph.module.graph.nodes)


def run_engine(step: RandomStep, graph: Any, want: Results) -> str:
    """Lowers the capture and runs it on the CPU engine: `equal`, or what it
    cannot do, in a sentence."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph.save(folder / "step.fx.json")
        inputs, target = step.batch(0)
        names = [entry["name"] for entry in graph.document["inputs"]]
        values = [v for v in (*inputs, target) if v is not None]
        save_file({k: v.contiguous().clone() for k, v in
                   (*graph.tensors.items(), *zip(names, values, strict=True))},
                  folder / "arguments.safetensors")
        run = run_tool("regather", "run", folder / "step.fx.json", "--quiet",
                       "--inputs", folder / "arguments.safetensors",
                       "--outputs", folder / "results.safetensors", timeout=120)
        if run.code < 0 or run.code >= 70 or run.timed_out or not run.stderr and run.code:
            raise Find(f"the engine ended with {run.code}: {run.last_words}")
        if run.code:
            return run.stderr.split("error: ", 1)[-1].split("\n")[0]
        found = load_file(folder / "results.safetensors")
    got: Results = {}
    for key, value in found.items():
        if key == "loss":
            got["loss", None] = value
        elif key.startswith("grad."):
            got["gradient", key.removeprefix("grad.")] = value
    compare({k: v.reshape(want[k].shape) if k in want else v for k, v in got.items()},
            {k: v for k, v in want.items() if k[0] != "new"},
            TOLERANCES[step.dtype], "on the engine")
    return "equal"


def check(number: int, engine: bool) -> dict[str, Any]:
    """What became of a module: `equal`, `refused` by the capture, `invalid` in
    eager PyTorch, or a find."""
    try:
        with torch.random.fork_rng():
            torch.manual_seed(number)
            expected = list(run_eager(make(number)))
    except Exception as error:  # pylint: disable=broad-except
        return {"result": "invalid", "message": f"{type(error).__name__}: {error}"}
    step = make(number)
    before = {k: v.clone() for k, v in step.model.state_dict().items()}
    inputs, target = step.batch(0)
    try:
        graph = regather.capture(step.model, tuple(inputs), step.loss, (target,),
                                 verify=2)
    except regather.CaptureError as error:
        kind = "find" if "is not the model" in str(error) else "refused"
        return {"result": kind, "message": str(error)}
    changed = [name for name, value in step.model.state_dict().items()
               if not torch.equal(value, before[name])]
    if changed:
        raise Find(f"capturing changes {changed}")
    if is_random(graph):
        return {"result": "equal", "message": "random"}
    for number, (got, want) in enumerate(zip(run_graph(step, graph), expected)):
        compare(got, want, TOLERANCES[step.dtype], f"in step {number}")
    if not engine:
        return {"result": "equal", "message": ""}
    return {"result": "equal", "message": "",
            "engine": run_engine(step, graph, expected[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--engine", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for place in range(arguments.count):
        number = arguments.first + place * arguments.stride
        print(json.dumps({"case": number}), flush=True)
        try:
            engine = bool(arguments.engine) and number % arguments.engine == 0
            found = check(number, engine)
        except Find as error:
            found = {"result": "find", "message": str(error)}
        except Exception as error:  # pylint: disable=broad-except
            found = {"result": "find", "message": f"{type(error).__name__}: {error}"}
        print(json.dumps({"case": number, **found}), flush=True)


if __name__ == "__main__":
    main()
