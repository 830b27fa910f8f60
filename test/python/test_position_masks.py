"""What is known of masks by what makes them, against their values.

No mask is taken that does not hide just what comes later; those that do and are
made as models make them are all found.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from torch import Tensor  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import regather  # noqa: E402
from regather.fx.position_masks import PositionMasks  # noqa: E402

ROWS = 5
HIDDEN = -math.inf


def places() -> tuple[Tensor, Tensor]:
    return torch.arange(ROWS)[:, None], torch.arange(ROWS)[None, :]


def added(shown: Tensor) -> Tensor:
    return torch.where(shown, 0.0, HIDDEN)


def compared() -> Tensor:
    row, column = places()
    return added(column <= row)


def turned_round() -> Tensor:
    row, column = places()
    return torch.zeros(ROWS, ROWS).masked_fill(~(row >= column), HIDDEN)


def later() -> Tensor:
    row, column = places()
    return torch.where(column > row, torch.finfo(torch.float32).min, 0.0)


def behind() -> Tensor:
    row, column = places()
    return added(column - 1 < row)


def stretched() -> Tensor:
    """Twice a distance is at most one where the distance is at most zero."""
    row, column = places()
    return added(2 * column <= 2 * row + 1)


def triangle() -> Tensor:
    return torch.full((ROWS, ROWS), HIDDEN).triu(1)


def lower_triangle() -> Tensor:
    return added(torch.ones(ROWS, ROWS, dtype=torch.bool).tril())


def of_zeros() -> Tensor:
    return torch.zeros(ROWS, ROWS).masked_fill(
        torch.ones(ROWS, ROWS).tril() == 0, HIDDEN)


def by_arithmetic() -> Tensor:
    shown = torch.ones(ROWS, ROWS).tril()
    return (1.0 - shown) * torch.finfo(torch.float32).min


def for_each_sequence() -> Tensor:
    """As transformers' models make it without a cache: no two neighbours belong
    to several sequences."""
    place = torch.arange(ROWS)[None].expand(3, ROWS)
    before = torch.cat([place[:, :1] - 1, place], -1)
    sequence = (before[:, 1:] - before[:, :-1] != 1).cumsum(-1)
    batch = torch.arange(3)[:, None, None, None]
    row, column = (one[None, None] for one in places())
    same = sequence[batch, row] == sequence[batch, column]
    return added(torch.ones((), dtype=torch.bool) & same
                 & (place[batch, column] <= place[batch, row]))


def several_conditions() -> Tensor:
    row, column = places()
    return added((column <= row) & (column > row - ROWS) & (row >= 0))


CAUSAL = [compared, turned_round, later, behind, stretched, triangle,
          lower_triangle, of_zeros, by_arithmetic, for_each_sequence,
          several_conditions]


def window() -> Tensor:
    row, column = places()
    return added((column <= row) & (column > row - 2))


def itself_hidden() -> Tensor:
    row, column = places()
    return added(column < row)


def one_ahead() -> Tensor:
    return torch.full((ROWS, ROWS), HIDDEN).triu(2)


def earlier() -> Tensor:
    row, column = places()
    return added(column >= row)


def discouraged() -> Tensor:
    row, column = places()
    return torch.where(column <= row, 0.0, -100.0)


def shifted() -> Tensor:
    row, column = places()
    return torch.where(column <= row, 1.0, HIDDEN)


def sparse() -> Tensor:
    row, column = places()
    return added(2 * column <= row)


def two_sequences() -> Tensor:
    place = torch.cat([torch.arange(2), torch.arange(ROWS - 2)])
    sequence = (place[1:] - place[:-1] != 1).cumsum(0)
    sequence = torch.cat([sequence[:1] * 0, sequence])
    row, column = places()
    return added((column <= row) & (sequence[row] == sequence[column]))


def skipped() -> Tensor:
    """A count that has a gap."""
    column = torch.cat([torch.arange(2), torch.arange(3, ROWS + 1)])
    return added(column[None] <= torch.arange(ROWS)[:, None])


def by_batch() -> Tensor:
    row, column = places()
    return added(column <= row + torch.arange(3)[:, None, None])


def wide() -> Tensor:
    return added(torch.arange(ROWS + 1)[None] <= torch.arange(ROWS)[:, None])


def everything_hidden() -> Tensor:
    return torch.full((ROWS, ROWS), HIDDEN)


OTHERS = [window, itself_hidden, one_ahead, earlier, discouraged, shifted, sparse,
          two_sequences, skipped, by_batch, wide, everything_hidden]


def is_causal(mask: Tensor) -> bool:
    if mask.shape[-2] != mask.shape[-1]:
        return False
    hidden = torch.ones(mask.shape[-2:], dtype=torch.bool).triu(1)
    return bool(torch.where(hidden, mask <= -1e30, mask == 0).all())


def find(make: Callable[[], Tensor]) -> bool:
    graph = make_fx(make, tracing_mode="fake")().graph
    return PositionMasks().hides_later(graph.output_node().args[0])


@pytest.mark.parametrize("make", CAUSAL, ids=lambda make: make.__name__)
def test_causal_masks_are_found(make: Callable[[], Tensor]) -> None:
    assert is_causal(make())
    assert find(make)


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
def test_others_are_left(make: Callable[[], Tensor]) -> None:
    assert not is_causal(make())
    assert not find(make)


def windows() -> Tensor:
    """Of transformers' models: a condition for each sequence, and a window."""
    row, column = places()
    batch = torch.arange(3)[:, None, None, None]
    place = torch.arange(ROWS)[None].expand(3, ROWS)
    own, other = place[batch, row[None, None]], place[batch, column[None, None]]
    return added((other <= own) & ~(other <= own - 2))


def earlier_or_near() -> Tensor:
    row, column = places()
    return added(~((column <= row) & (column > row - 2))).expand(3, 1, ROWS, ROWS)


def of_heads() -> Tensor:
    row, column = places()
    return added((column <= row) & (column > row - torch.arange(1, 4)[:, None, None])
                 )[:, None]


@pytest.mark.parametrize(("make", "is_shared"), [
    (windows, True), (earlier_or_near, True), (for_each_sequence, True),
    (of_heads, False)])
def test_masks_that_sequences_share(make: Callable[[], Tensor],
                                    is_shared: bool) -> None:
    graph = make_fx(make, tracing_mode="fake")().graph
    known = PositionMasks().find_shared(graph.output_node().args[0])
    assert (known is not None) == is_shared
    if known is None:
        return
    row, column = places()
    low = torch.ones(ROWS, ROWS, dtype=torch.bool)
    for linear in known.linears:
        low &= (linear.constant + linear.factors[0] * row
                + linear.factors[1] * column) <= 0
    mask = torch.where(low, *known.numbers)
    assert torch.equal(mask.expand(make().shape), make())


class Called(torch.nn.Module):
    def __init__(self, make: Callable[[], Tensor]) -> None:
        super().__init__()
        self.make = make
        self.key = torch.nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        mask = self.make()
        rows = torch.nn.functional.scaled_dot_product_attention(
            x, self.key(x), x, attn_mask=mask)
        return rows.square().sum()


@pytest.mark.parametrize(("make", "size"), [
    (for_each_sequence, 0), (windows, ROWS * ROWS), (of_heads, 3 * ROWS * ROWS)])
def test_calls_store_no_more_of_a_mask_than_differs(
        make: Callable[[], Tensor], size: int) -> None:
    """The replay of the capture compares them with eager PyTorch."""
    graph = regather.capture(Called(make), (torch.randn(3, 2, ROWS, 8),))
    calls = [node for node in graph.module.graph.nodes
             if "flash_attention_for_cpu" in str(node.target)]
    assert len(calls) == 2
    sizes = {node.kwargs["attn_mask"].meta["val"].numel()
             for node in calls if "attn_mask" in node.kwargs}
    assert sizes == ({size} if size else set())
    assert any("equal eager PyTorch" in note for note in graph.notes)
    if size != 3 * ROWS * ROWS:
        assert not any("cumsum" in str(node.target)
                       for node in graph.module.graph.nodes)


def narrow_windows() -> Tensor:
    """A cast makes the number infinite."""
    row, column = places()
    shown = (column <= row) & (column > row - 2)
    return torch.where(shown, 0.0, -1e9).expand(3, 1, ROWS, ROWS).half()


def test_shared_masks_have_the_numbers_of_their_type() -> None:
    model = Called(narrow_windows).half()
    graph = regather.capture(model, (torch.randn(3, 2, ROWS, 8).half(),),
                             verify=0)
    masks = {node.kwargs["attn_mask"] for node in graph.module.graph.nodes
             if "flash_attention_for_cpu" in str(node.target)}
    (mask,) = masks
    where = mask.args[0]
    assert [node.args[1] for node in where.args[1:]] == [0.0, -math.inf]
