#!/usr/bin/env python3
"""Makes the files of the Llama example again, with PyTorch.

    PYTHONPATH=python .venv/bin/python examples/record_llama3.py

writes, beside this file,

- llama3-debug.fx.json: the captured step,
- llama3-debug.losses.json: the losses of eager PyTorch on examples/text, and
  everything that is needed to reach them again. Initial weights are those of
  llama3_weights.py.

``--only losses --precise`` trains in float64 instead, writes nothing, and says
how far the recorded losses are from it: what rounding alone does to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from llama3_weights import make_weights

from regather.factory import make_step
from regather.fx.capture import capture_step
from regather.fx.graph import CapturedGraph
from regather.fx.step import Step

EXAMPLES = Path(__file__).resolve().parent
ROOT = EXAMPLES.parent
FACTORY = "examples/llama3.py:step"
CONFIG = {"config": "debug", "batch": 8}
TEXT = "examples/text/shakespeare.txt"
STEPS = 50
OPTIMIZER = {
    "name": "adamw",
    "learning_rate": 3e-4,
    "betas": [0.9, 0.95],
    "eps": 1e-8,
    "weight_decay": 0.1,
    "max_norm": 1.0,
}
FILES = ("graph", "losses")


def path_of(file: str) -> Path:
    ending = {"graph": "fx.json", "losses": "losses.json"}
    return EXAMPLES / f"llama3-debug.{ending[file]}"


def example() -> Step:
    """The step, with the weights of llama3_weights.py once it is captured."""
    step = make_step(str(ROOT / FACTORY), CONFIG)
    if path_of("graph").exists():
        document = json.loads(path_of("graph").read_text())
        weights = make_weights(document)
        step.model.load_state_dict(
            {entry["name"]: torch.from_numpy(weights[entry["name"]])
             for entry in document["parameters"]}
        )
        for name, buffer in step.model.named_buffers():
            buffer.copy_(torch.from_numpy(weights[name]))
    return step


def capture() -> CapturedGraph:
    """What ``python -m regather capture`` captures too."""
    return capture_step(
        example(),
        about={"factory": FACTORY, "config": CONFIG},
        source_root=str(ROOT),
    )


def batches(
    text: bytes, batch: int, sequence: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens and labels of each step, as ``regather run --text`` takes them.

    The text is cut into windows of ``sequence`` bytes; a last one without a
    byte after it does not count. Row r of step i is window i * batch + r, and
    after the last window comes the first. Labels are one byte ahead.
    """
    content = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    windows = (len(content) - 1) // sequence
    first = 0
    while True:
        starts = [(first + row) % windows * sequence for row in range(batch)]
        tokens, labels = (
            torch.stack([content[s + ahead : s + ahead + sequence] for s in starts])
            for ahead in (0, 1)
        )
        yield tokens, labels
        first += batch


def train(
    step: Step,
    text: bytes,
    steps: int,
    report: Callable[[int, float], None] = lambda index, loss: None,
) -> list[float]:
    """Losses of eager PyTorch, each before the update of its step."""
    optimizer = torch.optim.AdamW(
        step.model.parameters(),
        lr=OPTIMIZER["learning_rate"],
        betas=tuple(OPTIMIZER["betas"]),
        eps=OPTIMIZER["eps"],
        weight_decay=OPTIMIZER["weight_decay"],
    )
    losses: list[float] = []
    data = batches(text, *step.inputs[0].shape)
    for index, (tokens, labels) in zip(range(steps), data):
        optimizer.zero_grad()
        loss = step.loss(step.model(tokens), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(
            step.model.parameters(), OPTIMIZER["max_norm"]
        )
        optimizer.step()
        losses.append(loss.item())
        report(index, losses[-1])
    return losses


def record(losses: list[float]) -> dict[str, Any]:
    """What llama3-debug.losses.json holds."""
    text = (ROOT / TEXT).read_bytes()
    batch, sequence = example().inputs[0].shape
    return {
        "factory": FACTORY,
        "config": CONFIG,
        "torch": torch.__version__.split("+")[0],
        "dtype": "float32",
        "text": {
            "file": TEXT,
            "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest(),
        },
        "batch": batch,
        "sequence": sequence,
        "optimizer": OPTIMIZER,
        "losses": losses,
    }


def precise(step: Step) -> Step:
    """The same step in float64, also where the model widens to float32."""
    torch.Tensor.float = torch.Tensor.double
    step.model.double()
    return step


def difference(a: list[float], b: list[float]) -> float:
    """The largest relative one over the steps that both have."""
    return max(abs(x - y) / abs(y) for x, y in zip(a, b))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=FILES, help="write one of the files")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--precise", action="store_true")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"expects at least one step, got {options.steps}")
    if options.precise and options.only != "losses":
        parser.error("--precise needs --only losses")

    def report(index: int, loss: float) -> None:
        print(f"step {index + 1}/{options.steps}  loss {loss:.7g}", flush=True)

    if options.only != "losses":
        graph = capture()
        graph.save(path_of("graph"))
    if options.only in (None, "losses"):
        step = precise(example()) if options.precise else example()
        text = (ROOT / TEXT).read_bytes()
        losses = train(step, text, options.steps, report)
        path = path_of("losses")
        if options.precise:
            recorded = json.loads(path.read_text())["losses"]
            print(f"recorded losses differ by {difference(recorded, losses):.1e}")
        else:
            path.write_text(json.dumps(record(losses), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
