"""Trains a model of cpu_models.py with PyTorch, at the command of a benchmark.

Reads lines from standard input: `time eager N` and `time compiled N` run N steps
and answer with a JSON list of their seconds, `losses eager N` with losses,
`peak eager` with the bytes that tensors take at the peak of a step, `nodes FILE
A,B` with the seconds of nodes of an fx.json, `version` with PyTorch's. A step is
forward, backward and a fused AdamW.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from cpu_models import MODELS, compute_loss, convert
from torch.profiler import ProfilerActivity, profile
from torch_nodes import time_nodes


class Trainer:
    def __init__(self, made: tuple[Any, ...], compiled: bool,
                 optimizer: dict[str, Any]) -> None:
        model, self.inputs, loss, self.targets = made
        self.model = copy.deepcopy(model)

        def compute(inputs: Any, targets: Any) -> torch.Tensor:
            return compute_loss((self.model, inputs, loss, targets))

        self.compute: Callable[..., torch.Tensor] = \
            torch.compile(compute) if compiled else compute
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), fused=True, **optimizer)

    def step(self) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compute(self.inputs, self.targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def time(self, steps: int) -> list[float]:
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return seconds

    def peak(self) -> int:
        """Bytes of tensors at the peak of a step: what is there before it and
        what the allocator hands out during it."""
        self.optimizer.zero_grad(set_to_none=True)
        inputs = (self.inputs.values() if isinstance(self.inputs, dict)
                  else self.inputs)
        held = [*self.model.parameters(), *self.model.buffers(), *inputs,
                *self.targets]
        for state in self.optimizer.state.values():
            held += [value for value in state.values()
                     if isinstance(value, torch.Tensor)]
        before = sum(value.untyped_storage().nbytes() for value in held)
        with profile(activities=[ProfilerActivity.CPU],
                     profile_memory=True) as profiler:
            self.step()
        live = most = 0
        events = profiler.profiler.kineto_results.events()
        for event in sorted(events, key=lambda event: event.start_ns()):
            if event.name() == "[memory]":
                live += event.nbytes()
                most = max(most, live)
        return before + most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--weights", type=Path,
                        help="a state_dict, over what the model draws")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--optimizer", type=json.loads, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    made = convert(MODELS[args.model](), getattr(torch, args.dtype))
    if args.weights:
        made[0].load_state_dict(torch.load(args.weights))
    trainers: dict[str, Trainer] = {}
    for line in sys.stdin:
        job, *words = line.split()
        if job == "version":
            print(json.dumps(torch.__version__), flush=True)
            continue
        if job == "nodes":
            document = json.loads(Path(words[0]).read_text())
            print(json.dumps(time_nodes(document, words[1].split(","))),
                  flush=True)
            continue
        kind, *count = words
        if kind not in trainers:
            trainers[kind] = Trainer(made, kind == "compiled",
                                     args.optimizer)
        trainer = trainers[kind]
        if job == "time":
            answer: Any = trainer.time(int(count[0]))
        elif job == "losses":
            answer = [trainer.step() for _ in range(int(count[0]))]
        else:
            answer = trainer.peak()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
