"""Replaying a captured graph beside the model that it was captured from."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import regather  # noqa: E402


class Net(nn.Module):
    def __init__(self, rate=0.0):
        super().__init__()
        self.embedding = nn.Embedding(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.rate = rate
        self.head = nn.Linear(8, 4)

    def forward(self, tokens, x):
        y = self.norm(self.embedding(tokens) + x)
        y = checkpoint(
            lambda v: F.dropout(v.relu(), self.rate), y, use_reentrant=False
        )
        return self.head(y)


def capture(model, tokens=None, **options):
    tokens = torch.arange(6) % 4 if tokens is None else tokens
    return regather.capture(
        model, (tokens, torch.zeros(6, 8)), F.cross_entropy, (tokens,), **options
    )


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_runs_by_default_and_leaves_the_model_alone(rate):
    model = Net(rate)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    random = torch.get_rng_state()
    note = capture(model).notes[-1]
    assert note == (
        "verified: 2 steps of the graph equal eager PyTorch (--verify 0 switches "
        "this off)"
    )
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), random)


def test_number_of_steps():
    assert capture(Net(), verify=3).notes[-1].startswith("verified: 3 steps")
    assert capture(Net(), verify=0).notes[-1] == "not verified, as asked for"
    for wrong in (-1, 1.5, True):
        with pytest.raises(regather.CaptureError, match="expects a number of steps"):
            capture(Net(), verify=wrong)


class Behaves(Net):
    """Does something else while it is captured, as only a replay can see."""

    def __init__(self, what, step=1):
        super().__init__()
        self.what = what

    def forward(self, tokens, x):
        y = super().forward(tokens, x)
        if torch.compiler.is_compiling():
            return y
        if self.what == "loss":
            return y * 2
        if self.what == "buffer":
            self.norm.num_batches_tracked.add_(1)
        if self.what == "parameter":
            with torch.no_grad():
                self.head.bias.add_(1)
        if self.what == "gradient":
            y.register_hook(lambda g: g * 2)
        return y


@pytest.mark.parametrize(
    "what, named",
    [
        ("loss", "the loss differs from eager PyTorch: by"),
        ("gradient", "the gradient of 'embedding.weight' differs from eager"),
        ("buffer", "the new value of buffer 'norm.num_batches_tracked'"),
        ("parameter", "the new value of parameter 'head.bias' differs"),
    ],
)
def test_names_the_first_tensor_that_differs(what, named):
    with pytest.raises(regather.CaptureError) as info:
        capture(Behaves(what))
    text = str(info.value)
    assert text.startswith("the captured graph is not the model: in step 1 of its")
    assert named in text


def test_state_that_only_later_steps_show():
    class Hidden:
        """Looks like one of PyTorch's own objects, whose state is not looked at."""

        __module__ = "torch.hidden"
        count = 0

    hidden = Hidden()

    class Counts(Net):
        def forward(self, tokens, x):
            hidden.count += not torch.compiler.is_compiling()
            return super().forward(tokens, x) * max(hidden.count, 1)

    with pytest.raises(regather.CaptureError, match="in step 2 of its replay, the los"):
        capture(Counts())


def test_drawn_integers_that_are_no_indices():
    """A vocabulary of one word: what was given is used."""
    model = Net()
    model.embedding = nn.Embedding(1, 8)
    note = capture(model, torch.zeros(6, dtype=torch.int64)).notes[-1]
    assert note.startswith("verified: 2 steps")


def test_padding_stays_where_it_is():
    """CTC in eager PyTorch reads outside of memory at labels that are padding."""
    from regather.fx import verify

    x, labels = torch.zeros(4, 2), torch.tensor([[1, 2, 3], [4, 5, -1], [6, -1, -1]])
    lengths = (labels >= 0).sum(1)
    generator = torch.Generator().manual_seed(0)
    drawn = verify._draw_batch([x, labels, lengths], generator)
    assert not torch.equal(drawn[0], x)
    assert drawn[1] is labels
    assert drawn[2] is lengths
    # Without padding any order will do.
    drawn, = verify._draw_batch([labels.abs()], generator)
    assert sorted(drawn.flatten()) == sorted(labels.abs().flatten())
    assert not torch.equal(drawn, labels.abs())


@pytest.mark.parametrize("explicit", [False, True])
def test_models_that_cannot_run(explicit):
    with torch.device("meta"):
        model = Net()
    if not explicit:
        assert capture(model).notes[-1] == (
            "not verified: 'embedding.weight' has no data"
        )
        return
    with pytest.raises(regather.CaptureError) as info:
        capture(model, verify=1)
    assert str(info.value) == (
        "cannot verify the capture: 'embedding.weight' has no data"
    )


def test_large_models_are_let_pass(monkeypatch):
    from regather.fx import verify

    monkeypatch.setattr(verify, "MOST_PARAMETERS", 10)
    assert "84 parameters are more than 10" in capture(Net()).notes[-1]
    assert capture(Net(), verify=1).notes[-1].startswith("verified: 1 steps")
    monkeypatch.undo()
    monkeypatch.setattr(verify, "MOST_WORK", 10.0)
    assert "GFLOP a step are more than" in capture(Net()).notes[-1]


def test_work_counts_products():
    from regather.fx.replay import work

    graph = regather.capture(
        nn.Linear(64, 64, bias=False), (torch.zeros(32, 64),), lambda y: y.sum()
    )
    products = 2 * 2 * 32 * 64 * 64
    assert products <= work(graph.module) <= 1.2 * products


def test_command_says_that_it_ran(tmp_path):
    (tmp_path / "models.py").write_text(
        "import torch\ndef step():\n"
        "    return torch.nn.Linear(4, 1), (torch.ones(2, 4),), lambda y: y.sum()\n"
    )

    def run(*options):
        result = subprocess.run(
            [sys.executable, "-m", "regather", "capture", "--model", "models:step",
             "-o", "x.fx.json", *options],
            capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )
        return result.returncode, result.stderr

    assert "regather capture: verified: 2 steps of the graph equal" in run()[1]
    assert "not verified, as asked for" in run("--verify", "0")[1]
    code, text = run("--verify", "x")
    assert code == 2 and "expects a number of steps, got 'x'" in text


class Itself(nn.Module):
    """Attention of a value with itself."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, 2, 4, 4))

    def forward(self, x):
        return F.scaled_dot_product_attention(*(self.weight * x,) * 3)


def test_operands_may_be_one_value():
    graph = regather.capture(
        Itself(), (torch.ones(4),), lambda y: y.square().sum(), ()
    )
    assert graph.notes[-1].startswith("verified: 2 steps")
