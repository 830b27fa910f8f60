"""Steps of tiny models: captured, lowered, run on an engine, compared.

Loss, every gradient and every new value of a buffer are compared.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from model_cases import MODELS
from regather_tools import BUILD, ENGINES, ROOT, run_tool
from safetensors.torch import load_file, save_file

import regather

# As loops, and on the engine that compiles as nodes too: those have kernels of
# other operations, and routines of the runtime for products and attention.
RUNS = [*((engine, "lowered.mlir") for engine in ENGINES), ("cpu", "step.mlir")]
# `./dev check` keeps captures in the user's cache.
CAPTURES = Path(os.environ.get("REGATHER_TEST_CAPTURES",
                               BUILD / "captures"))
FILES = ("step.fx.json", "arguments.safetensors")

Tensors = dict[str, torch.Tensor]


@dataclass
class Step:
    model: Any
    inputs: Any
    loss: Any
    targets: tuple[Any, ...]

    def tensors(self) -> list[torch.Tensor]:
        """The batch, in the order of the captured inputs."""
        values = (self.inputs.values() if isinstance(self.inputs, dict)
                  else self.inputs)
        return [value for value in (*values, *self.targets)
                if isinstance(value, torch.Tensor)]

    def to(self, dtype: torch.dtype, converts_buffers: bool = True) -> Step:
        """A copy with all floats converted."""
        def convert(value: Any) -> Any:
            is_float = isinstance(value, torch.Tensor) and \
                value.is_floating_point()
            return value.to(dtype) if is_float else value
        inputs = (({k: convert(v) for k, v in self.inputs.items()})
                  if isinstance(self.inputs, dict)
                  else tuple(map(convert, self.inputs)))
        model = copy.deepcopy(self.model)
        if converts_buffers:
            model.to(dtype)
        for parameter in model.parameters():
            parameter.data = parameter.data.to(dtype)
        return Step(model, inputs, self.loss, tuple(map(convert, self.targets)))

    def run(self) -> Tensors:
        """What eager PyTorch computes, named as results of a step are."""
        model = copy.deepcopy(self.model)
        loss = (model(**self.inputs).loss if self.loss is None
                else self.loss(model(*self.inputs), *self.targets))
        loss.backward()
        results = {"loss": loss.detach()}
        results |= {f"grad.{name}": parameter.grad
                    for name, parameter in model.named_parameters()
                    if parameter.grad is not None}
        return results | dict(model.named_buffers())

    def weights(self) -> Tensors:
        """What a step that updates buffers saves of what it leaves as it is."""
        return {name: parameter.detach()
                for name, parameter in self.model.named_parameters()}


def make_step(name: str) -> Step:
    torch.manual_seed(0)
    return Step(*MODELS[name]())


def lower(name: str, step: Step, directory: Path) -> None:
    """Captures a step as a module that the engines run, with its arguments.

    A capture depends on what is hashed below and nothing else, so it is kept for
    other tests and later runs; `name` says which model, with which types.
    """
    kept = CAPTURES / hash_of_sources() / name
    if not is_whole(kept):
        keep(step, kept)
    for file in FILES:
        shutil.copyfile(kept / file, directory / file)
    imported = run_tool("regather-translate", "--import-fx",
                        directory / "step.fx.json",
                        "-o", directory / "step.mlir")
    assert imported.code == 0, imported.stderr
    lowered = run_tool("regather-opt", directory / "step.mlir",
                       "--tg-verify-step", "--convert-tg-nodes-to-linalg",
                       "-o", directory / "lowered.mlir")
    assert lowered.code == 0, lowered.stderr


@functools.cache
def hash_of_sources() -> str:
    """Of what a capture is made with and of what."""
    hashed = hashlib.sha256(f"{torch.__version__} "
                            f"{importlib.metadata.version('transformers')} "
                            f"{sys.version}".encode())
    here = Path(__file__)
    for path in (*sorted((ROOT / "python").rglob("*.py")),
                 *sorted((ROOT / "examples").glob("*.py")), here,
                 here.with_name("capture_cases.py"),
                 here.with_name("model_cases.py"),
                 here.with_name("random_models.py")):
        hashed.update(f"{path.name} {path.stat().st_size}\n".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:32]


def digest(folder: Path) -> str:
    return "".join(hashlib.sha256((folder / file).read_bytes()).hexdigest()
                   for file in FILES)


def is_whole(kept: Path) -> bool:
    try:
        return (kept / "digest").read_text() == digest(kept)
    except OSError:
        return False


def keep(step: Step, kept: Path, **options: Any) -> None:
    """Several processes may do so; each leaves whole files. `options` are those
    of captures."""
    graph = regather.capture(step.model, step.inputs, loss=step.loss,
                             targets=step.targets, **options)
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as name:
        scratch = Path(name)
        graph.save(scratch / "step.fx.json")
        graph.save_weights(scratch / "weights.safetensors")
        arguments = load_file(scratch / "weights.safetensors")
        names = [entry["name"] for entry in graph.document["inputs"]]
        arguments |= dict(zip(names, step.tensors(), strict=True))
        save_file({name: value.contiguous().clone()
                   for name, value in arguments.items()},
                  scratch / "arguments.safetensors")
        (scratch / "digest").write_text(digest(scratch))
        for file in (*FILES, "digest"):
            os.replace(scratch / file, kept / file)


def execute(directory: Path, engine: str, file: str, *flags: str) -> Tensors:
    result = run_tool("regather", "run", directory / file,
                      f"--engine={engine}", *flags,
                      "--inputs", directory / "arguments.safetensors",
                      "--outputs", directory / "results.safetensors",
                      "--quiet", timeout=300)
    assert result.code == 0, result.stderr
    return load_file(directory / "results.safetensors")


def gradient_names(results: Tensors) -> list[str]:
    return [name for name in results if name.startswith("grad.")]


def find_errors(results: Tensors, expected: Tensors, tolerance: float
                ) -> list[str]:
    """What is farther off than that, relative to its norm."""
    names = gradient_names(expected)
    assert sorted(gradient_names(results)) == sorted(names)
    # Some gradients are zero but for rounding: the bias of attention keys.
    largest = max(expected[name].norm().float() for name in names)
    wrong = []
    for name, actual in results.items():
        want = expected[name]
        if want.is_complex():
            want = torch.view_as_real(want)
        want = want.double()
        error = (actual.double().reshape(want.shape) - want).norm()
        scale = want.norm()
        if name in names:
            scale = max(scale, 1e-2 * largest)
        if not error <= tolerance * scale:
            wrong.append(f"{name} is off by {error / scale:.1e}")
    return wrong
