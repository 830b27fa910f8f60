"""Steps whose batch is cut into micro-batches, against eager PyTorch on the whole
batch: losses, parameters and buffers after three steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather  # noqa: E402
from regather import RegatherError  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from test_shard_parameters import Captured, assert_close, dropped  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

ROWS, LENGTH, WORDS, WIDTH = 8, 6, 13, 16
Batch = tuple[torch.Tensor, torch.Tensor]


class Words(nn.Module):
    def __init__(self, drop: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.hidden(self.embedding(words)))
        return self.head(self.drop(self.norm(hidden)))


class Routed(nn.Module):
    """Two of four experts for each word, and if wanted a loss that balances
    them."""

    def __init__(self, balance: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.router = nn.Linear(WIDTH, 4, bias=False)
        self.experts = nn.Parameter(torch.randn(4, WIDTH, WIDTH) / 4)
        self.head = nn.Linear(WIDTH, WORDS)
        self.balance = balance

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(words).flatten(0, 1)
        shares = self.router(hidden).softmax(-1)
        score, chosen = shares.topk(2)
        gate = torch.zeros_like(shares).scatter(1, chosen, score)
        each = torch.einsum("th,ehk->tek", hidden, self.experts)
        result = self.head((each * gate[..., None]).sum(1))
        if self.balance:
            counts = torch.zeros_like(shares).scatter(1, chosen, 1.0).mean(0)
            result = result + self.balance * (counts * shares.mean(0)).sum()
        return result.view(*words.shape, WORDS)


class Pictures(nn.Module):
    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = norm
        self.head = nn.Linear(8, 5)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.convolution(pictures)).relu()
        return self.head(hidden.mean((2, 3)))


class Centred(nn.Module):
    """Buffers that follow the inputs of all rows, and that count steps."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 5)
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        self.steps.add_(1)
        self.mean.mul_(0.9).add_(features.mean(0) * 0.1)
        return self.head(self.norm(features) - self.mean)


class Pairs(nn.Module):
    """Each row is compared with all rows."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 5), nn.Linear(4, 5)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.left(features) @ self.right(features).T


def words(number: int) -> Batch:
    """Rows have other numbers of targets that count, one has none."""
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randint(0, WORDS, (ROWS, LENGTH + 1), generator=generator)
    targets = drawn[:, 1:].clone()
    targets[:2, 1:] = -100
    targets[5] = -100
    return drawn[:, :-1], targets


def draw(*shape: int) -> Callable[[int], Batch]:
    def make(number: int) -> Batch:
        generator = torch.Generator().manual_seed(number)
        return (torch.randn(ROWS, *shape, generator=generator),
                torch.randint(0, 5, (ROWS,), generator=generator))
    return make


def entropy(logits: torch.Tensor, targets: torch.Tensor,
            **options: Any) -> torch.Tensor:
    return cross_entropy(logits.flatten(0, -2), targets.flatten(), **options)


def weighted(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return entropy(logits, targets, weight=torch.linspace(0.5, 2, WORDS),
                   label_smoothing=0.1)


def summed(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (entropy(logits, targets, reduction="sum") / 100
            + 0.01 * logits.logsumexp(-1).square().mean())


def by_row(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    each = cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return (each.sum(1) / (targets != -100).sum(1).clamp(min=1)).mean()


def root(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return entropy(logits, targets).sqrt()


def in_order(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits, torch.arange(ROWS))


CASES = {
    "masked": (Words, entropy, words),
    "weighted": (Words, weighted, words),
    "summed": (Words, summed, words),
    "by row": (Words, by_row, words),
    "routed": (Routed, entropy, words),
    "pictures": (lambda: Pictures(nn.GroupNorm(2, 8)), entropy, draw(3, 6, 6)),
    "centred": (Centred, entropy, draw(4)),
}
# What rows of one part would need of what parameters and others decide, and the
# operation that needs it.
REFUSED = {
    "batch norm": (lambda: Pictures(nn.BatchNorm2d(8)), entropy,
                   draw(3, 6, 6), "extract_slice"),
    "balanced experts": (lambda: Routed(0.1), entropy, words, "aten.mul"),
    "other rows": (Pairs, in_order, draw(4), "aten.mm"),
    "root of the loss": (Words, root, words, "aten.where"),
}


def train(make: Callable[[], nn.Module], loss: Callable[..., torch.Tensor],
          batches: Callable[[int], Batch], **options: Any
          ) -> tuple[list[float], dict[str, torch.Tensor]]:
    torch.manual_seed(1)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    step = regather.compile(model, batches(0), loss=loss, optimizer=optimizer,
                            quiet=True, **options)
    losses = [step(batches(number)).item() for number in range(3)]
    return losses, {name: value.float().clone()
                    for name, value in step.state_dict()["model"].items()}


def train_eager(make: Callable[[], nn.Module],
                loss: Callable[..., torch.Tensor],
                batches: Callable[[int], Batch]
                ) -> tuple[list[float], dict[str, torch.Tensor]]:
    torch.manual_seed(1)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for number in range(3):
        inputs, targets = batches(number)
        optimizer.zero_grad()
        value = loss(model(inputs), targets)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, {name: value.float() for name, value
                    in model.state_dict().items()}


@pytest.mark.parametrize("name", list(CASES))
def test_equals_the_whole_batch(name: str) -> None:
    losses, state = train_eager(*CASES[name])
    for parts in (2, 4):
        found, values = train(*CASES[name], micro_batches=parts)
        assert found == pytest.approx(losses, rel=1e-5)
        assert_close(values, {key: state[key] for key in values}, 1e-4)


@pytest.mark.parametrize("name", list(REFUSED))
def test_refuses_rows_that_depend_on_others(name: str) -> None:
    *case, reader = REFUSED[name]
    with pytest.raises(RegatherError, match=(
            rf"cannot be cut into micro-batches: '\S*{reader}\S*' computes a "
            "part of the rows from what all rows decide together")):
        train(*case, micro_batches=2)


def test_draws_the_random_numbers_of_the_whole_batch() -> None:
    case = (lambda: Words(0.3), entropy, words)
    losses, state = train(*case)
    found, values = train(*case, micro_batches=4)
    assert found == pytest.approx(losses, rel=1e-5)
    assert_close(values, state, 1e-4)


@pytest.mark.parametrize("batch", ["global", "per-rank"])
def test_ranks_draw_the_random_numbers_of_their_rows(
        batch: str, tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory) -> None:
    captured = Captured(dropped, tmp_path_factory.mktemp("dropped"))

    def run(parts: int) -> dict[str, torch.Tensor]:
        result = run_tool(
            "regather", "run", captured.directory / "step.mlir", "--mesh=dp:2",
            f"--batch={batch}", f"--micro-batches={parts}", "--quiet",
            "--random-inputs=1" if batch == "per-rank" else
            f"--inputs={captured.directory / 'arguments.safetensors'}",
            "--outputs", tmp_path / "out.safetensors", timeout=60)
        assert result.code == 0, result.stderr
        return load_file(tmp_path / "out.safetensors")

    assert_close(run(2), run(1))


def test_auto_needs_a_limit() -> None:
    with pytest.raises(RegatherError, match='micro-batches "auto" are as many '
                                            "as a limit of memory asks for"):
        train(*CASES["masked"], micro_batches="auto")
