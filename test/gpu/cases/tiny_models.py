"""Tiny models of transformers in f32 and bf16, against the losses that eager
PyTorch reaches where the kit is made, with parts of them in CUDA graphs."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

from cases.builder import Cases

ROOT = Path(__file__).resolve().parents[3]
RATE = 1e-3
# Of which PyTorch's losses are recorded.
STEPS = 20
ATTENTION = {"modules": "modules=*.self_attn"}
MODES: dict[str, dict[str, str]] = {
    "llama": {**ATTENTION, "unit": "unit", "full": "full"},
    "gpt2": {"modules": "modules=*.attn", "unit": "unit", "full": "full"},
    "mixtral": {**ATTENTION, "router": "modules=*.gate min-ops=1",
                "unit": "unit", "full": "full"},
    "vit": {"modules": "modules=*.attention", "unit": "unit", "full": "full"}}
# Of losses, relative. That of the ViT is itself a number of bf16.
TOLERANCES = {"f32": 1e-4, "bf16": 1e-2}
VIT_BF16 = 2e-2


def train(step: Any) -> list[float]:
    """Losses of eager PyTorch."""
    import torch

    model = copy.deepcopy(step.model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(**step.inputs).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def add_model(cases: Cases, model: str, dtype: str,
              stand_in_steps: int) -> None:
    import torch
    from captured_models import lower, make_step

    step, kept, name = make_step(model), model, f"{model}-{dtype}"
    if dtype == "bf16":
        step, kept = step.to(torch.bfloat16), f"{model}-bfloat16"
    work = cases.scratch / name
    work.mkdir()
    print(f"recording {name}", flush=True)
    lower(kept, step, work)
    inputs = f"{name}.safetensors"
    (work / "arguments.safetensors").rename(cases.folder / inputs)
    captured = work / "step.fx.json"
    tolerance = VIT_BF16 if name == "vit-bf16" else TOLERANCES[dtype]
    flags = [f"--inputs={inputs}", f"--learning-rate={RATE}"]
    losses = cases.write_losses(name, train(step))
    cases.add(name, cases.compile(captured, name, "--optimizer=adamw"), flags,
              check=cases.reaches(losses, tolerance),
              stand_in_steps=stand_in_steps)
    if dtype == "f32" and not cases.short:
        cases.add_graphs(captured, name, flags, MODES[model],
                         "--optimizer=adamw", stand_in_steps=stand_in_steps)


def add_cases(cases: Cases) -> None:
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "python")]
    for model in ["llama"] if cases.short else MODES:
        for dtype in TOLERANCES:
            add_model(cases, model, dtype, stand_in_steps=3)
