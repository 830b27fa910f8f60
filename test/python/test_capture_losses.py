"""Losses that captures take apart by themselves, against eager PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import assert_equals_eager  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import regather  # noqa: E402

LABELS = torch.tensor([[0, 2, -1, 1], [-1, 0, 1, 2], [3, 1, 0, 2]])


def gaussian(y, **options):
    # Some variances are raised to eps.
    return F.gaussian_nll_loss(y[:, :2], y[:, 2:] * 0.1, y[:, 2:].relu(), **options)


CASES = {
    "gaussian": gaussian,
    "gaussian-full": lambda y: gaussian(y, full=True, eps=0.1, reduction="sum"),
    "gaussian-columns": lambda y: F.gaussian_nll_loss(
        y, torch.zeros(3, 4), y.exp().sum(1, keepdim=True)),
    "gaussian-rows": lambda y: nn.GaussianNLLLoss(reduction="none")(
        y, torch.zeros(3, 4), y.exp().sum(1)).exp().sum(),
    "gaussian-number": lambda y: F.gaussian_nll_loss(y, torch.zeros(3, 4), 2.0),
    "multilabel": lambda y: F.multilabel_margin_loss(y, LABELS),
    "multilabel-row": lambda y: F.multilabel_margin_loss(y[0], LABELS[0]),
    "multilabel-each": lambda y: nn.MultiLabelMarginLoss(reduction="none")(
        y, LABELS).pow(2).sum(),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_eager(name):
    torch.manual_seed(0)
    model, x, loss = nn.Linear(3, 4), torch.randn(3, 3), CASES[name]
    graph = regather.capture(model, (x,), loss=loss, verify=0)
    assert_equals_eager(graph, loss(model(x)), model, {"input": x})
