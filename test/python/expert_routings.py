"""One layer of experts under drawn routings, with rows that are sent.

Which experts a token goes to is a function of the token, so a text of drawn
bytes is a list of routings: even ones, skewed ones, all tokens to one pair of
experts, to the experts of one rank, or to few of them, so that others are
empty. A run with a capacity has a loss for each step, and parameters that all
of the steps have trained, as one device has.

    python test/python/expert_routings.py 1000

draws so many and says what differs.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
from pathlib import Path

import torch
from regather_tools import run_tool
from safetensors.torch import load_file
from test_shard_parameters import Captured

EXPERTS = 8
BATCH, SEQUENCE = 8, 16
# The experts of a token, by its number.
PAIRS = list(itertools.permutations(range(EXPERTS), 2))


class Layer(torch.nn.Module):
    """Experts beside a residual and a shared one. The router decides how much
    each counts, the token which they are."""

    choice: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(len(PAIRS), 16)
        self.router = torch.nn.Linear(16, EXPERTS, bias=False)
        self.shared = torch.nn.Linear(16, 16)
        self.up = torch.nn.Parameter(torch.randn(EXPERTS, 16, 8) / 4)
        self.down = torch.nn.Parameter(torch.randn(EXPERTS, 8, 16) / 4)
        self.head = torch.nn.Linear(16, len(PAIRS))
        self.register_buffer("choice", torch.tensor(PAIRS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(tokens).reshape(-1, 16)
        choice = self.choice[tokens.flatten()]
        score = self.router(hidden).softmax(-1).gather(1, choice).flatten()
        expert = choice.flatten()
        order = expert.argsort(stable=True)
        ends = (expert[:, None] == torch.arange(EXPERTS)).sum(0).cumsum(0).int()
        rows = torch._grouped_mm(hidden[order // 2], self.up, offs=ends).relu()
        rows = torch._grouped_mm(rows, self.down, offs=ends)
        rows = rows * score[order, None]
        hidden = hidden + self.shared(hidden)
        return self.head(hidden.index_add(0, order // 2, rows))


def measure(result: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(result, labels.flatten())


def draw_step(draw: random.Random, ranks: int) -> list[int]:
    """The tokens of a step."""
    count = BATCH * SEQUENCE
    kind = draw.randrange(6)
    if kind == 0:
        return [draw.randrange(len(PAIRS)) for _ in range(count)]
    if kind == 1:
        return [draw.randrange(len(PAIRS))] * count
    if kind == 2:
        # Those of one rank.
        own = EXPERTS // ranks
        first = draw.randrange(ranks) * own
        allowed = set(range(first, first + max(own, 2)))
    elif kind == 3:
        # One is everybody's first choice.
        first = draw.randrange(EXPERTS)
        return [draw.choice([i for i, pair in enumerate(PAIRS)
                             if pair[0] == first]) for _ in range(count)]
    elif kind == 4:
        allowed = set(draw.sample(range(EXPERTS), draw.randint(2, EXPERTS)))
    else:
        weights = [draw.gammavariate(0.1, 1) + 1e-9 for _ in PAIRS]
        return draw.choices(range(len(PAIRS)), weights, k=count)
    tokens = [i for i, pair in enumerate(PAIRS) if set(pair) <= allowed]
    tokens = tokens or [0]
    return [draw.choice(tokens) for _ in range(count)]


def write_text(path: Path, steps: int, seed: int, ranks: int) -> None:
    draw = random.Random(seed)
    tokens = [token for _ in range(steps) for token in draw_step(draw, ranks)]
    path.write_bytes(bytes([*tokens, 0]))


def capture(directory: Path) -> Captured:
    tokens = torch.zeros(BATCH, SEQUENCE, dtype=torch.int64)
    return Captured(lambda: (Layer(), (tokens,), measure, (tokens,)), directory)


def train(captured: Captured, text: Path, steps: int, *options: str
          ) -> tuple[dict, dict[str, torch.Tensor]]:
    outputs = captured.directory / "routed.safetensors"
    result = run_tool(
        "regather", "run", captured.directory / "step.mlir", *options,
        "--optimizer=sgd momentum=0.9", "--learning-rate=0.02",
        f"--steps={steps}", "--text", text, "--json", "--quiet",
        "--inputs", captured.directory / "arguments.safetensors",
        "--outputs", outputs, timeout=3000)
    assert result.code == 0, result.stderr
    return json.loads(result.stdout), load_file(outputs)


def difference(actual: dict[str, torch.Tensor],
               expected: dict[str, torch.Tensor]) -> float:
    """The largest of all tensors, by the largest element of each."""
    assert actual.keys() == expected.keys()
    return max(float((actual[name].double() - value.double()).abs().max()
                     / value.double().abs().max().clamp(min=1e-3))
               for name, value in expected.items())


def compare(captured: Captured, text: Path, steps: int, mesh: str,
            capacity: str, chunks: int = 1) -> tuple[int, float, float]:
    """Steps that were run again, and what losses and results differ by."""
    one, expected = train(captured, text, steps)
    report, actual = train(captured, text, steps, f"--mesh={mesh}",
                           f"--expert-capacity={capacity}",
                           f"--expert-chunks={chunks}")
    losses = max(abs(a - b) / abs(b)
                 for a, b in zip(report["losses"], one["losses"], strict=True))
    return report["repeated_steps"], losses, difference(actual, expected)


def main() -> None:
    steps = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        captured = capture(directory)
        for mesh, ranks in (("ep:4", 4), ("dp:2,ep:2", 2)):
            for capacity, chunks in itertools.product(("1", "1.25", "2"),
                                                      (1, 2)):
                text = directory / "text"
                write_text(text, steps, seed=0, ranks=ranks)
                repeated, losses, results = compare(captured, text, steps,
                                                    mesh, capacity, chunks)
                print(f"{mesh} capacity {capacity}, chunks {chunks}: "
                      f"{repeated} of {steps} steps were run again; losses "
                      f"differ by {losses:.2g}, results by {results:.2g}",
                      flush=True)


if __name__ == "__main__":
    main()
