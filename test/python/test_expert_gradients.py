"""Gradients of experts that other systems were reported to compute wrongly.

Each case is one of three public reports, about losses that were right (or
curves that looked right) over gradients that were not. What ranks compute is
compared with the gradients of PyTorch's eager, whole model, one by one: norms
of all, or parameters after Adam, which divides a factor out, would hide them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from model_cases import EXPERTS, GROUPED, random_tokens  # noqa: E402
from test_expert_parallel import run  # noqa: E402
from test_shard_parameters import Captured, assert_close  # noqa: E402

ONE_LAYER = dict(GROUPED, **EXPERTS, num_hidden_layers=1)


def olmoe(experts: str, **options: Any) -> torch.nn.Module:
    transformers = pytest.importorskip("transformers",
                                       reason="its models are trained here")
    config = transformers.OlmoeConfig(**ONE_LAYER, norm_topk_prob=False,
                                      **options)
    model = transformers.OlmoeForCausalLM(config)
    model.config._experts_implementation = experts
    return model.train()


def grouped() -> tuple[Any, ...]:
    """pytorch/pytorch#160285: gradients with ep:2 were exactly doubled.

    Curves of losses were equal all the same.
    """
    tokens = random_tokens(8, 6)
    return olmoe("grouped_mm"), {"input_ids": tokens,
                                 "labels": tokens.roll(1, 1)}, None, ()


def batched() -> tuple[Any, ...]:
    """huggingface/transformers#48687: the router's gradient, the loss right.

    There, a slot whose expert another rank has is multiplied by a weight of
    zero, which hides it in the forward pass and not in the weight's gradient.
    Here, experts that are looked up by token have no such slots on any mesh.
    """
    tokens = random_tokens(8, 6)
    return olmoe("batched_mm"), {"input_ids": tokens,
                                 "labels": tokens.roll(1, 1)}, None, ()


def uneven() -> tuple[Any, ...]:
    """NVIDIA/Megatron-LM#7452: means over a rank's own count of tokens, and
    an auxiliary loss that each rank adds.

    Rows have other numbers of tokens that count, some have none, and a large
    share of the loss balances the experts.
    """
    tokens = random_tokens(8, 6)
    labels = tokens.roll(1, 1)
    for row in range(8):
        labels[row, max(6 - row, 0):] = -100
    model = olmoe("grouped_mm", output_router_logits=True,
                  router_aux_loss_coef=0.5)
    return model, {"input_ids": tokens, "labels": labels}, None, ()


class TwoHeads(torch.nn.Module):
    """Experts, and heads for the next token and for the one after it, each with
    a loss that is the mean over the tokens that count for it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(64, 16)
        self.router = torch.nn.Linear(16, 4, bias=False)
        self.up = torch.nn.Parameter(torch.randn(4, 16, 8) / 4)
        self.down = torch.nn.Parameter(torch.randn(4, 8, 16) / 4)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(16, 64)
                                         for _ in range(2))

    def forward(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        hidden = self.embedding(tokens).reshape(-1, 16)
        score, expert = self.router(hidden).softmax(-1).max(-1)
        order = expert.argsort(stable=True)
        ends = (expert[:, None] == torch.arange(4)).sum(0).cumsum(0).int()
        rows = torch._grouped_mm(hidden[order], self.up, offs=ends).relu()
        rows = torch._grouped_mm(rows, self.down, offs=ends)
        hidden = hidden.index_add(0, order, rows * score[order, None])
        return [head(hidden) for head in self.heads]


def several_heads() -> tuple[Any, ...]:
    """NVIDIA/Megatron-LM#7452: losses of heads that predict several tokens, each
    divided by a rank's own count."""
    _, inputs, _, _ = uneven()

    def loss(heads: list[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
        return sum(torch.nn.functional.cross_entropy(
            head, labels.roll(-distance, 1).flatten())
            for distance, head in enumerate(heads))

    return TwoHeads(), (inputs["input_ids"],), loss, (inputs["labels"],)


class Case:
    """A captured step, and what eager PyTorch computes with the same model."""

    def __init__(self, make: Callable[[], tuple[Any, ...]],
                 directory: Path) -> None:
        torch.manual_seed(0)
        made = make()
        model, inputs, measure, targets = made
        # Also the first run, in which the library installs its hooks.
        loss = (model(**inputs).loss if measure is None
                else measure(model(*inputs), *targets))
        loss.backward()
        self.eager = {"loss": loss.detach()} | {
            f"grad.{name}": value.grad.clone()
            for name, value in model.named_parameters()}
        model.zero_grad()
        self.captured = Captured(lambda: made, directory)


CASES: dict[Any, Case] = {}


@pytest.fixture
def case(make: Callable[[], tuple[Any, ...]],
         tmp_path_factory: pytest.TempPathFactory) -> Case:
    if make not in CASES:
        CASES[make] = Case(make, tmp_path_factory.mktemp(make.__name__))
    return CASES[make]


RUNS = [
    (grouped, "ep:2"),
    (grouped, "dp:2,ep:2"),
    # The rows of each expert are cut, so each rank has partial sums of what
    # the router's weights get, in place of slots that count as zero.
    (batched, "ep:2"),
    (batched, "dp:2,tp:2"),
    (uneven, "dp:4"),
    (uneven, "dp:2,ep:2"),
    (uneven, "dp:2,tp:2"),
    (several_heads, "dp:4"),
    (several_heads, "dp:2,ep:2"),
]


@pytest.mark.parametrize("make", [grouped, batched, uneven, several_heads])
def test_one_device_equals_eager(case: Case) -> None:
    assert_close(case.captured.whole, case.eager)


@pytest.mark.parametrize(("make", "mesh"), RUNS)
def test_ranks_equal_eager(case: Case, mesh: str) -> None:
    _, results = run(case.captured, f"--mesh={mesh}")
    assert_close(results, case.eager)


@pytest.mark.parametrize("make", [uneven])
def test_means_of_ranks_would_differ(case: Case) -> None:
    """The batch tells a mean over all tokens from one of ranks' means."""
    torch.manual_seed(0)
    model, inputs, _, _ = uneven()
    for half in (slice(0, 4), slice(4, 8)):
        (model(**{name: value[half] for name, value in inputs.items()})
         .loss / 2).backward()
    wrong = {"loss": case.eager["loss"]} | {
        f"grad.{name}": value.grad for name, value in model.named_parameters()}
    with pytest.raises(AssertionError):
        assert_close(wrong, case.eager, tolerance=1e-2)
