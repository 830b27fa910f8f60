"""Capturing single layers of PyTorch, against eager PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import assert_equals_eager, calls  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import regather  # noqa: E402


def weighed_sum(y):
    """A loss that tells the elements of ``y`` apart."""
    return (y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum()


class Weighed(nn.Module):
    """A layer and a loss."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        y = self.layer(x)
        y = y[0] if isinstance(y, tuple) else y
        return weighed_sum(y)


class SelfAttention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)


ROWS, IMAGE = (2, 4, 8), (1, 3, 8, 8)
CASES = {
    "native_layer_norm": (lambda: nn.LayerNorm(8), ROWS),
    "native_group_norm": (lambda: nn.GroupNorm(2, 4), ROWS),
    "_native_batch_norm_legit_functional": (lambda: nn.BatchNorm1d(4), ROWS),
    "rsqrt": (lambda: nn.RMSNorm(8), ROWS),
    "convolution": (lambda: nn.Conv2d(3, 4, 3, padding=1), IMAGE),
    "max_pool2d_with_indices": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)), IMAGE
    ),
    "tanh": (lambda: nn.LSTM(8, 4, batch_first=True), ROWS),
    "_softmax": (lambda: nn.Sequential(nn.Linear(8, 8), nn.Softmax(-1)), ROWS),
    "_scaled_dot_product_flash_attention_for_cpu": (
        lambda: SelfAttention(8, 2, batch_first=True), ROWS
    ),
}


@pytest.mark.parametrize("target", CASES)
def test_layer_computes_what_eager_computes(target):
    torch.manual_seed(0)
    make, shape = CASES[target]
    # In double precision, a wrong graph cannot hide among rounding errors.
    model, x = Weighed(make()).double(), torch.randn(shape).double()
    graph = regather.capture(model, (x,))
    assert calls(graph, f"aten.{target}.default")
    assert_equals_eager(graph, model(x), model, {"x": x})


class Attention(nn.Module):
    def __init__(self, heads, **options):
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.value = nn.Linear(8, 8 * heads // 4)
        self.options = options
        if isinstance(options.get("attn_mask"), nn.Parameter):
            self.mask = options.pop("attn_mask")

    def forward(self, x):
        mask = {"attn_mask": self.mask} if hasattr(self, "mask") else {}
        query = self.query(x).view(2, 4, 4, 2).transpose(1, 2)
        value = self.value(x).view(2, 4, -1, 2).transpose(1, 2)
        return weighed_sum(
            F.scaled_dot_product_attention(query, value, value, **mask, **self.options)
        )


MASK = torch.ones(4, 4, dtype=torch.bool).tril()


@pytest.mark.parametrize(
    "heads, options",
    [
        (4, {}),
        (4, {"is_causal": True, "scale": 0.3}),
        (2, {"enable_gqa": True}),
        (4, {"attn_mask": MASK}),
        (4, {"attn_mask": MASK.float()}),
        (4, {"attn_mask": MASK.expand(2, 1, 4, 4)}),
        (4, {"attn_mask": nn.Parameter(MASK.float())}),
    ],
)
def test_attention_variants(heads, options):
    torch.manual_seed(0)
    model, x = Attention(heads, **options), torch.randn(2, 4, 8)
    graph = regather.capture(model, (x,))
    flash = "aten._scaled_dot_product_flash_attention_for_cpu.default"
    assert len(calls(graph, flash)) == 1
    assert_equals_eager(graph, model(x), model, {"x": x})


def test_attention_with_dropout_keeps_its_random_node():
    model = Attention(4, dropout_p=0.5)
    graph = regather.capture(model, (torch.randn(2, 4, 8),))
    assert len(calls(graph, "aten.native_dropout.default")) == 1


class Windows(nn.Linear):
    """Windows that overlap, as an attention to near positions reads them."""

    def forward(self, x):
        y = super().forward(x).transpose(0, 1)
        return weighed_sum(y.as_strided((3, 2, 8), (8, 16, 1)).tanh())


def test_views_of_memory_that_was_permuted():
    torch.manual_seed(0)
    model, x = Windows(8, 8), torch.randn(3, 2, 8)
    graph = regather.capture(model, (x,))
    assert calls(graph, "aten.as_strided.default")
    assert_equals_eager(graph, model(x), model, {"x": x})
