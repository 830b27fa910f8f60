"""What models ask of tensors that hold the same in each step."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import assert_equals_eager, calls  # noqa: E402
from torch import distributions, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import regather  # noqa: E402

ROWS = 6
LIMITS = torch.tensor([2.0, 4.0])


def off_diagonal(y):
    products = y @ y.T
    others = ~torch.eye(ROWS, dtype=torch.bool)
    return products[others].view(ROWS, ROWS - 1).logsumexp(1).sum()


def pairs(y):
    group = torch.arange(ROWS) // 2
    same = (group[:, None] == group).float()
    products = y @ y.T
    return products[same.bool()].sum() - products[~same.bool()].exp().mean()


def selected(y):
    mask = torch.ones_like(y, dtype=torch.bool).triu(1)
    return torch.masked_select(y, mask).exp().sum()


def scattered(y):
    rows = torch.zeros(ROWS, ROWS).masked_scatter(torch.eye(ROWS).bool(), y)
    return (rows @ y).pow(2).sum()


def written(y):
    y = y.clone()
    y[torch.arange(ROWS) % 2 == 0] *= 2.0
    return y.exp().sum()


def positions(y):
    kept = torch.nonzero(torch.tensor([1, 0, 1, 1])).squeeze(1)
    return y[:, kept].repeat_interleave(torch.tensor([0, 2, 1]), 1).exp().sum()


def numbers(y):
    if torch.zeros(3).any():
        return y.sum()
    count = torch.zeros(())
    while count < LIMITS.min():
        y, count = y.tanh(), count + 1
    return (y * LIMITS.sum().item()).exp().sum()


def drawn(y):
    return -distributions.Normal(y, 1 + y.exp()).log_prob(torch.ones(4)).sum()


def asserted(y):
    # As transformers has it for the number of tokens that stand for images.
    torch._check_tensor_all_with(ValueError, (y > 0).sum() <= y.numel(), lambda: "")
    return y.exp().sum()


@pytest.mark.parametrize(
    "loss",
    [off_diagonal, pairs, selected, scattered, written, positions, numbers, drawn,
     asserted],
)
def test_the_loss_is_that_of_eager(loss):
    torch.manual_seed(0)
    model, x = nn.Linear(3, 4), torch.randn(ROWS, 3)
    graph = regather.capture(model, (x,), loss=loss)
    assert_equals_eager(graph, loss(model(x)), model, {"input": x})


class Decoder(nn.Module):
    """A layer that looks whether its mask is the causal one."""

    def __init__(self, keep):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        if keep:
            self.register_buffer("mask", self.make())

    def make(self):
        return nn.Transformer.generate_square_subsequent_mask(4)

    def forward(self, x):
        mask = self.mask if hasattr(self, "mask") else self.make()
        return self.layers(x, mask=mask).pow(3).sum()


@pytest.mark.parametrize("keep", [False, True], ids=["made", "kept"])
def test_causal_masks_of_transformers(keep):
    torch.manual_seed(0)
    model, x = Decoder(keep), torch.randn(2, 4, 8)
    graph = regather.capture(model, (x,))
    # One that is kept may hold something else in another checkpoint.
    (call,) = calls(graph, "aten._scaled_dot_product_flash_attention_for_cpu.default")
    assert ("attn_mask" in call.get("kwargs", {})) == keep
    assert_equals_eager(graph, model(x), model, {"x": x})


def of_data(y):
    return y[y > 0].sum()


def of_random_numbers(y):
    return y.sum() if torch.rand(()) < 0.5 else y.exp().sum()


def of_memory(y):
    return y.sum() if torch.empty(2).any() else y.exp().sum()


def of_checked_values(y):
    return distributions.Normal(y, 1.0, validate_args=True).log_prob(y).sum()


@pytest.mark.parametrize(
    "loss", [of_data, of_random_numbers, of_memory, of_checked_values]
)
def test_what_data_decides_is_refused(loss):
    with pytest.raises(regather.CaptureError, match="data"):
        regather.capture(nn.Linear(3, 4), (torch.randn(ROWS, 3),), loss=loss)


def test_an_assertion_that_does_not_hold_in_any_step():
    def loss(y):
        torch._check_tensor_all_with(ValueError, torch.zeros(2) > 0, lambda: "none")
        return y.sum()

    with pytest.raises(regather.CaptureError, match="ValueError: none"):
        regather.capture(nn.Linear(3, 4), (torch.randn(ROWS, 3),), loss=loss)


@pytest.mark.parametrize("compute", [torch.linalg.inv, torch.linalg.cholesky, lambda a:
                                     torch.linalg.solve(a, torch.ones(3))])
def test_what_stops_at_a_singular_matrix_is_not_a_number_there(compute):
    class Matrix(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.eye(3) + 0.25)

        def forward(self, x):
            return compute(self.weight * x).sum()

    with pytest.raises(RuntimeError, match=r"singular|positive-definite"):
        Matrix()(torch.zeros(3, 1))
    step = regather.compile(Matrix(), (torch.ones(3, 1),), optimizer="sgd", lr=0.0,
                            quiet=True)
    assert step((torch.ones(3, 1),)).item() == pytest.approx(
        Matrix()(torch.ones(3, 1)).item(), rel=1e-6)
    with pytest.warns(RuntimeWarning, match=r"stops with \w+: (torch\.)?linalg\."):
        assert not math.isfinite(step((torch.zeros(3, 1),)).item())


def test_a_tensor_that_steps_change_decides_nothing():
    class Counts(nn.Linear):
        def __init__(self):
            super().__init__(3, 4)
            self.count = torch.zeros(())

        def forward(self, x):
            self.count = self.count + 1
            y = super().forward(x)
            return F.relu(y) if self.count > 1 else y

    with pytest.raises(regather.CaptureError, match="only data can tell"):
        regather.capture(Counts(), (torch.randn(2, 3),), loss=lambda y: y.sum())
