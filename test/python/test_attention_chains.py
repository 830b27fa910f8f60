"""Attention that models write as products and a softmax.

Every capture replays two steps of its graph beside eager PyTorch, so that a
chain that is replaced by another function is an error already.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

import regather  # noqa: E402
from regather.fx.errors import CaptureError  # noqa: E402

BATCH, ROWS, HEADS, WIDTH = 2, 6, 4, 8
Scores = Callable[["Attention", Tensor, Tensor, Tensor], Tensor]


def repeat(x: Tensor, times: int) -> Tensor:
    batch, heads, rows, width = x.shape
    wide = x[:, :, None].expand(batch, heads, times, rows, width)
    return wide.reshape(batch, heads * times, rows, width)


class Attention(nn.Module):
    """Whose scores and probabilities are those that a case computes; heads of
    values have a width of their own."""

    def __init__(self, case: Scores, shared: int, width: int = WIDTH) -> None:
        super().__init__()
        size = HEADS * WIDTH
        self.case, self.shared = case, shared
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size // shared)
        self.width = width
        self.value = nn.Linear(size, HEADS * width // shared)
        self.output = nn.Linear(HEADS * width, size)
        self.bias = nn.Parameter(torch.randn(HEADS, ROWS, ROWS))
        self.sinks = nn.Parameter(torch.randn(HEADS))
        self.register_buffer("visible", torch.ones(ROWS, ROWS).tril().bool())

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        def split(x: Tensor, width: int = WIDTH) -> Tensor:
            return x.unflatten(-1, (-1, width)).transpose(1, 2)

        query, key = split(self.query(x)), split(self.key(x))
        value = split(self.value(x), self.width)
        if self.shared != 1:
            key, value = repeat(key, self.shared), repeat(value, self.shared)
        result = self.case(self, query, key, padding) @ value
        unused = self.bias.sum() + self.sinks.sum()
        return self.output(result.transpose(1, 2).flatten(2)).sum() + unused


def plain(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (query @ key.mT / math.sqrt(WIDTH)).softmax(-1)


def scaled_query(self: Attention, query: Tensor, key: Tensor,
                 padding: Tensor) -> Tensor:
    return (query * 0.5 @ key.mT).softmax(-1)


def decayed(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    """By distance, and by head, as ALiBi."""
    place = torch.arange(ROWS)
    nearness = -(place - place[:, None]).abs()
    return (query @ key.mT + nearness * torch.tensor(
        [0.5, 0.25, 0.125, 0.0625])[:, None, None]).softmax(-1)


def hidden_scores(self: Attention, query: Tensor, key: Tensor) -> Tensor:
    scores = query @ key.mT * 0.25
    return scores.masked_fill(~self.visible, float("-inf"))


def hidden(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return hidden_scores(self, query, key).softmax(-1)


def first_visible(self: Attention, query: Tensor, key: Tensor,
                  padding: Tensor) -> Tensor:
    """Of a row of a window that begins with the first."""
    scores = query @ key.mT * 0.25
    place = torch.arange(ROWS)
    visible = (place <= place[:, None]) & (place % 3 == 0)
    return torch.where(visible, scores, torch.finfo(scores.dtype).min).softmax(-1)


def causal(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    mask = torch.full((ROWS, ROWS), float("-inf")).triu(1)
    return (query @ key.mT * 0.25 + mask).softmax(-1)


def wide(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    scores = query @ key.mT * 0.25
    return scores.softmax(-1, dtype=torch.float64).to(query.dtype)


def flat(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    scores = torch.bmm(query.flatten(0, 1), key.flatten(0, 1).mT)
    return (scores * 0.25).softmax(-1).unflatten(0, (BATCH, HEADS))


def sharpened_after(self: Attention, query: Tensor, key: Tensor,
                    padding: Tensor) -> Tensor:
    return (hidden_scores(self, query, key) / 2).softmax(-1)


def einsum(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (torch.einsum("bhid,bhjd->bhij", query, key) * 0.25).softmax(-1)


def capped(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (query @ key.mT).div(0.7).tanh().mul(0.7).softmax(-1)


def capped_and_hidden(self: Attention, query: Tensor, key: Tensor,
                      padding: Tensor) -> Tensor:
    """As in Gemma 2."""
    scores = (query @ key.mT * 0.25).div(0.7).tanh() * 0.7
    lowest = torch.finfo(scores.dtype).min
    return (scores + torch.full((ROWS, ROWS), lowest).triu(1)).softmax(-1)


def biased(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (query @ key.mT * 0.25 + self.bias).softmax(-1)


def biased_and_hidden(self: Attention, query: Tensor, key: Tensor,
                      padding: Tensor) -> Tensor:
    """As in T5, but with two factors."""
    scores = (query @ key.mT * 0.5 + self.bias) * 0.5
    return scores.masked_fill(~self.visible, float("-inf")).softmax(-1)


def biased_and_capped(self: Attention, query: Tensor, key: Tensor,
                      padding: Tensor) -> Tensor:
    scores = (query @ key.mT).tanh() * 2 + self.bias.sum(0)
    lowest = torch.finfo(scores.dtype).min
    return (scores + torch.full((ROWS, ROWS), lowest).triu(1)).softmax(-1)


def biased_by_sequence(self: Attention, query: Tensor, key: Tensor,
                       padding: Tensor) -> Tensor:
    of_rows = query.sum(1) @ key.sum(1).mT
    return (query @ key.mT * 0.25 + of_rows[:, None]).softmax(-1)


def decayed_and_hidden(self: Attention, query: Tensor, key: Tensor,
                       padding: Tensor) -> Tensor:
    """As in Bloom, whose first mask is added with other dimensions."""
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=query.dtype)
    decay = (slopes[:, None, None] * torch.arange(ROWS)).repeat(BATCH, 1, 1)
    scores = decay.baddbmm(query.flatten(0, 1), key.flatten(0, 1).mT, alpha=0.25)
    lowest = torch.finfo(scores.dtype).min
    return (scores.unflatten(0, (BATCH, HEADS))
            + torch.full((ROWS, ROWS), lowest).triu(1)).softmax(-1)


def in_windows(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    """As in Swin: sequences are windows, each of which has a mask."""
    scores = (query @ key.mT * 0.25 + self.bias).unflatten(0, (1, BATCH))
    hidden = torch.tensor([0.0, -100.0])[:, None].expand(BATCH, ROWS).diag_embed()
    return (scores + hidden[:, None]).flatten(0, 1).softmax(-1)


def cleared(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    """As in CPM-Ant, which compares its mask anew."""
    scores = query @ key.mT * 0.25 + self.bias
    scores = scores.masked_fill(self.visible == torch.tensor(False), float("-inf"))
    return scores.softmax(-1).masked_fill(self.visible == torch.tensor(False), 0)


def join_sinks(self: Attention, scores: Tensor) -> Tensor:
    sinks = self.sinks.reshape(1, -1, 1, 1).expand(BATCH, -1, ROWS, -1)
    return torch.cat([scores, sinks], -1)


def with_sinks(self: Attention, query: Tensor, key: Tensor,
               padding: Tensor) -> Tensor:
    """As in GPT-OSS."""
    lowest = torch.full((ROWS, ROWS), torch.finfo(query.dtype).min)
    joined = join_sinks(self, query @ key.mT * 0.25 + lowest.triu(1))
    return (joined - joined.max(-1, keepdim=True).values).softmax(-1)[..., :-1]


def with_sinks_only(self: Attention, query: Tensor, key: Tensor,
                    padding: Tensor) -> Tensor:
    return join_sinks(self, query @ key.mT + self.bias).softmax(-1)[..., :-1]


FUSED = [plain, einsum, scaled_query, decayed, hidden, first_visible, causal, wide,
         flat, sharpened_after, capped, capped_and_hidden, biased, biased_and_hidden,
         biased_and_capped, biased_by_sequence, decayed_and_hidden, in_windows,
         cleared, with_sinks, with_sinks_only]


def capture(case: Scores, shared: int = 1, frozen: tuple[str, ...] = (),
            dtype: torch.dtype = torch.float32, width: int = WIDTH,
            **options: Any) -> Any:
    torch.manual_seed(0)
    model = Attention(case, shared, width).to(dtype)
    for name in frozen:
        getattr(model, name).requires_grad_(False)
    x = torch.randn(BATCH, ROWS, HEADS * WIDTH, dtype=dtype)
    padding = torch.zeros(BATCH, ROWS, dtype=dtype)
    padding[1, 4:] = float("-inf")
    return regather.capture(model, (x, padding), **options)


def count(graph: Any, name: str) -> int:
    return sum(name in str(node.target) for node in graph.module.graph.nodes)


def attentions(graph: Any) -> tuple[int, int]:
    backward = count(graph, "attention_for_cpu_backward") + count(
        graph, "attention_backward")
    both = count(graph, "flash_attention_for_cpu") + count(
        graph, "regather.attention") + count(graph, "regather.biased_attention")
    return both - backward, backward


def find_note(graph: Any) -> str:
    notes = [note for note in graph.notes if "attention" in note]
    assert len(notes) == 1, graph.notes
    return notes[0]


@pytest.mark.parametrize("case", FUSED, ids=lambda case: case.__name__)
def test_becomes_one_node(case: Scores) -> None:
    graph = capture(case)
    assert attentions(graph) == (1, 1)
    assert count(graph, "softmax") == 0
    assert any("equal eager PyTorch" in note for note in graph.notes)
    assert find_note(graph) == ("1 attention written as products and a softmax "
                                "is carried out without storing scores")


def find_call(graph: Any) -> Any:
    return next(node for node in graph.module.graph.nodes
                if "flash_attention_for_cpu" in str(node.target))


def test_masks_of_constants_are_causal() -> None:
    """A buffer is no constant: somebody may load another."""
    assert find_call(capture(causal)).args[4] is True
    assert "attn_mask" not in find_call(capture(causal)).kwargs
    assert find_call(capture(hidden)).args[4] is False


@pytest.mark.parametrize("shared", [2, 4])
def test_heads_that_are_repeated_are_shared(shared: int) -> None:
    call = find_call(capture(hidden, shared))
    assert [tuple(node.meta["val"].shape) for node in call.args[:3]] == [
        (BATCH, HEADS, ROWS, WIDTH), *2 * [(BATCH, HEADS // shared, ROWS, WIDTH)]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_types(dtype: torch.dtype) -> None:
    assert attentions(capture(hidden, 2, dtype=dtype)) == (1, 1)


@pytest.mark.parametrize("width", [WIDTH - 2, WIDTH + 2])
@pytest.mark.parametrize(("shared", "frozen"), [
    (1, ()), (2, ()), (1, ("query", "key")), (1, ("value",))])
def test_values_of_another_width(width: int, shared: int,
                                 frozen: tuple[str, ...]) -> None:
    """Zeros fill the narrower heads."""
    graph = capture(hidden, shared, frozen, width=width)
    assert attentions(graph) == (1, 1)
    assert count(graph, "softmax") == 0
    assert any("equal eager PyTorch" in note for note in graph.notes)
    query, key, value = find_call(graph).args[:3]
    assert {node.meta["val"].shape[3] for node in (query, key, value)} == {
        max(width, WIDTH)}


class Called(nn.Module):
    """PyTorch's attention with values of another width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, width)

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(
            self.query(x), self.key(x), self.value(x), is_causal=True
        ).square().sum()


@pytest.mark.parametrize("width", [WIDTH - 2, WIDTH + 2])
def test_calls_with_values_of_another_width(width: int) -> None:
    graph = regather.capture(Called(width), (torch.randn(BATCH, HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (1, 1)
    assert count(graph, "softmax") == 0
    assert any("equal eager PyTorch" in note for note in graph.notes)


class Single(nn.Module):
    """PyTorch's attention with one head of keys and values for all, as in
    Falcon."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        key = self.key(x[:, :1])
        return F.scaled_dot_product_attention(
            self.query(x), key, key.cos(), is_causal=True).square().sum()


def test_calls_with_one_head_of_keys() -> None:
    graph = regather.capture(Single(), (torch.randn(BATCH, HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (1, 1)
    assert any("equal eager PyTorch" in note for note in graph.notes)


class Biased(nn.Module):
    """PyTorch's attention with a mask that is trained, as in T5."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.bias = nn.Parameter(torch.randn(*shape, ROWS, ROWS))

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(
            self.query(x), x, x.cos(), attn_mask=self.bias).square().sum()


@pytest.mark.parametrize("shape", [(), (1, HEADS), (BATCH, 1)])
def test_calls_with_trained_masks(shape: tuple[int, ...]) -> None:
    graph = regather.capture(Biased(*shape),
                             (torch.randn(BATCH, HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (1, 1)
    assert count(graph, "biased") == 1
    assert any("equal eager PyTorch" in note for note in graph.notes)


@pytest.mark.parametrize("frozen", [
    ("query",), ("key",), ("value",), ("query", "key"), ("query", "value")],
    ids="-".join)
@pytest.mark.parametrize("shared", [1, 2])
def test_frozen_parts(frozen: tuple[str, ...], shared: int) -> None:
    """With three of them there is no backward pass."""
    graph = capture(hidden, shared, frozen)
    assert attentions(graph) == (1, 1)
    assert count(graph, "softmax") == 0
    forward = capture(hidden, shared, ("query", "key", "value"))
    assert attentions(forward) == (1, 0)


def test_stays_as_written_on_request() -> None:
    graph = capture(plain, fuse_attention=False)
    assert attentions(graph) == (0, 0)
    assert not any("attention" in note for note in graph.notes)


def padded(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (query @ key.mT * 0.25 + padding[:, None, None]).softmax(-1)


def selected(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    scores = query @ key.mT * 0.25
    lowest = torch.finfo(scores.dtype).min
    return torch.where(self.visible, scores, lowest).softmax(-1)


def hopeless(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    """No key is visible, which eager PyTorch takes for all keys alike."""
    lowest = torch.finfo(query.dtype).min
    return (query @ key.mT + torch.full((ROWS, ROWS), lowest)).softmax(-1)


def dropped(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return F.dropout(plain(self, query, key, padding), 0.1)


def shown(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    self.seen = plain(self, query, key, padding)
    return self.seen * (self.seen.sum() > 0)


def bounded_mask(self: Attention, query: Tensor, key: Tensor,
                 padding: Tensor) -> Tensor:
    return ((query @ key.mT + self.bias) / 5).tanh().mul(5).softmax(-1)


def bounded_twice(self: Attention, query: Tensor, key: Tensor,
                  padding: Tensor) -> Tensor:
    return (query @ key.mT).tanh().tanh().softmax(-1)


def scaled_sinks(self: Attention, query: Tensor, key: Tensor,
                 padding: Tensor) -> Tensor:
    joined = join_sinks(self, query @ key.mT)
    return (joined - joined.min(-1, keepdim=True).values).softmax(-1)[..., :-1]


def cleared_elsewhere(self: Attention, query: Tensor, key: Tensor,
                      padding: Tensor) -> Tensor:
    return hidden(self, query, key, padding).masked_fill(self.visible, 0)


def discouraged_padding(self: Attention, query: Tensor, key: Tensor,
                        padding: Tensor) -> Tensor:
    """By a number that takes the digits of a logarithm."""
    hidden = (padding < 0).to(query.dtype) * -1e9
    return (query @ key.mT + hidden[:, None, None]).softmax(-1)


def biased_and_padded(self: Attention, query: Tensor, key: Tensor,
                      padding: Tensor) -> Tensor:
    return (query @ key.mT + self.bias + padding[:, None, None]).softmax(-1)


def discouraged(self: Attention, query: Tensor, key: Tensor,
                padding: Tensor) -> Tensor:
    return torch.where(self.visible, query @ key.mT, -10000.0).softmax(-1)


def masked_twice(self: Attention, query: Tensor, key: Tensor,
                 padding: Tensor) -> Tensor:
    scores = query @ key.mT + padding[:, None, None]
    return scores.masked_fill(~self.visible, float("-inf")).softmax(-1)


def read_scores(self: Attention, query: Tensor, key: Tensor,
                padding: Tensor) -> Tensor:
    scores = query @ key.mT
    return (scores / 4).softmax(-1) * (scores.detach().max() > 0)


def turned_around(self: Attention, query: Tensor, key: Tensor,
                  padding: Tensor) -> Tensor:
    lowest = torch.full((ROWS, ROWS), torch.finfo(query.dtype).min).triu(1)
    return ((query @ key.mT + lowest) * -1e-3).softmax(-1)


HIDES = "its mask might hide whole rows by a finite number"
REFUSED = {
    padded: HIDES,
    selected: HIDES,
    hopeless: HIDES,
    dropped: "is applied to its probabilities|its probabilities are read by others",
    shown: "its probabilities are read by others",
    bounded_mask: "its mask is bounded with its scores",
    bounded_twice: "'aten.tanh.default' is applied to its scores",
    cleared_elsewhere: "'aten.where.self' is applied to its probabilities",
    discouraged_padding: HIDES,
    biased_and_padded: HIDES,
    discouraged: "scores are masked with -10000.0",
    masked_twice: "two masks together might hide whole rows by a finite number",
    turned_around: "its masked scores are multiplied by -0.001",
    read_scores: "its scores are read by others|is applied to its probabilities",
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.__name__)
def test_near_misses_stay_as_written(case: Scores) -> None:
    graph = capture(case)
    assert attentions(graph) == (0, 0)
    note = find_note(graph)
    assert note.startswith("1 attention stays as written: ")
    assert any(reason in note for reason in REFUSED[case].split("|")), note


def test_stays_as_written_if_the_replay_differs(
        monkeypatch: pytest.MonkeyPatch) -> None:
    from regather.fx import capture as capturing

    verified = capturing.verified

    def find_difference(step: Any, *others: Any) -> str:
        if step.fuse_attention:
            raise CaptureError("the loss differs")
        return verified(step, *others)

    monkeypatch.setattr(capturing, "verified", find_difference)
    graph = capture(plain)
    assert attentions(graph) == (0, 0)
    assert find_note(graph) == ("attention stays as written: as one node, the "
                                "loss differs")


class Crossed(nn.Module):
    """Two attentions with one mask, of which the second is done first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("hidden", torch.ones(ROWS, ROWS).triu(1).bool())

    def forward(self, x: Tensor) -> Tensor:
        def attend(query: Tensor) -> Tensor:
            scores = query @ x.mT
            return scores.masked_fill(self.hidden, float("-inf")).softmax(-1)

        first, second = attend(self.first(x)), attend(self.second(x))
        later = second @ x
        return (first @ x - later).square().sum()


def test_attentions_share_a_mask_in_any_order() -> None:
    graph = regather.capture(Crossed(), (torch.randn(BATCH, HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (2, 2)
    assert count(graph, "where") == 1


class SharedBias(nn.Module):
    """Two attentions whose biases have a causal mask in them, for each sequence:
    their gradients are added before they are summed over the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.bias = nn.Parameter(torch.randn(1, HEADS, ROWS, ROWS))

    def forward(self, x: Tensor) -> Tensor:
        place = torch.arange(ROWS).expand(BATCH, 1, 1, ROWS)
        bias = self.bias + torch.where(place <= place.mT, 0.0,
                                       torch.finfo(x.dtype).min)
        for layer in (self.first, self.second):
            query = layer(x)
            x = (query @ x.mT * 0.25 + bias).softmax(-1) @ query
        return x.square().sum()


def test_attentions_share_a_bias() -> None:
    graph = regather.capture(SharedBias(), (torch.randn(BATCH, HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (2, 2)
    assert any("equal eager PyTorch" in note for note in graph.notes)
    for node in graph.module.graph.nodes:
        if "biased" in str(node.target):
            assert node.args[7] is True
            assert tuple(node.kwargs["attn_mask"].meta["val"].shape) == (
                1, HEADS, ROWS, ROWS)


class Merged(nn.Module):
    """One head of values for all heads of scores."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        query = self.first(x).unflatten(0, (BATCH, HEADS))
        scores = (query @ query.mT).softmax(-1)
        value = query[:, 0]
        return (scores.flatten(1, 2) @ value).sum()


def test_probabilities_in_another_shape() -> None:
    graph = regather.capture(Merged(), (torch.randn(BATCH * HEADS, ROWS, WIDTH),))
    assert attentions(graph) == (0, 0)
    assert find_note(graph) == ("1 attention stays as written: its probabilities "
                                "are multiplied in another shape")


def across(self: Attention, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
    return (query @ key.mT).softmax(-2)


@pytest.mark.parametrize("case", [across, scaled_sinks])
def test_other_softmaxes_are_not_mentioned(case: Scores) -> None:
    graph = capture(case)
    assert attentions(graph) == (0, 0)
    assert not any("attention" in note for note in graph.notes)


@pytest.mark.parametrize("is_trained", [True, False])
def test_backend_stores_no_scores(is_trained: bool,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    from regather.torch import backend

    graphs = []

    class Seen(backend.Program):
        def __init__(self, gm: Any, *others: Any) -> None:
            graphs.append(gm.graph)
            super().__init__(gm, *others)

    monkeypatch.setattr(backend, "Program", Seen)
    torch.manual_seed(0)
    model = Attention(causal, shared=2)
    arguments = (torch.randn(BATCH, ROWS, HEADS * WIDTH), torch.zeros(BATCH, ROWS))
    compiled = torch.compile(model, backend="regather", dynamic=False,
                             options={"fallback": False})
    expected = model(*arguments)
    with contextlib.nullcontext() if is_trained else torch.no_grad():
        found = compiled(*arguments)
    torch.testing.assert_close(found, expected)
    if is_trained:
        parameters = list(model.parameters())
        torch.testing.assert_close(torch.autograd.grad(found, parameters),
                                   torch.autograd.grad(expected, parameters))
    assert len(graphs) == 1 + is_trained
    for graph in graphs:
        names = [str(node.target) for node in graph.nodes]
        assert sum("flash_attention" in name for name in names) == 1
        assert not any("softmax" in name for name in names)


@pytest.mark.parametrize(("make", "operator"), [
    (lambda: Biased(1, HEADS), "regather.biased_attention_backward"),
    (lambda: Attention(capped_and_hidden, shared=2), "regather.attention_backward")],
    ids=["biased", "capped"])
def test_backend_takes_biases_and_bounds(
        make: Callable[[], nn.Module], operator: str,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch writes the first one out, with zeros in rows without a key."""
    from regather.torch import backend

    names: list[str] = []

    class Seen(backend.Program):
        def __init__(self, gm: Any, *others: Any) -> None:
            names.extend(str(node.target) for node in gm.graph.nodes)
            super().__init__(gm, *others)

    monkeypatch.setattr(backend, "Program", Seen)
    torch.manual_seed(0)
    model = make()
    arguments = ((torch.randn(BATCH, HEADS, ROWS, WIDTH),)
                 if isinstance(model, Biased) else
                 (torch.randn(BATCH, ROWS, HEADS * WIDTH), torch.zeros(BATCH, ROWS)))
    compiled = torch.compile(model, backend="regather", dynamic=False,
                             options={"fallback": False})
    expected, found = model(*arguments), compiled(*arguments)
    torch.testing.assert_close(found, expected)
    parameters = [p for p in model.parameters() if p.requires_grad]
    torch.testing.assert_close(torch.autograd.grad(found, parameters),
                               torch.autograd.grad(expected, parameters))
    assert any(operator in name for name in names)
    assert not any("softmax" in name for name in names)
