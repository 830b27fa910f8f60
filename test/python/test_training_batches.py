"""Batches of a training step are those of its example, or an error."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather  # noqa: E402
import regather_tools  # noqa: E402, F401  # kernels of tests have a folder
from regather import RegatherError  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, pair: Any, scale: float = 1.0,
                mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.linear(x) * scale - pair["first"]
        if mask is not None:
            y = y * mask
        return (y * pair["second"]).square().mean()


def numbers(seed: int) -> torch.Tensor:
    return torch.randn(2, 4, generator=torch.Generator().manual_seed(seed))


def named(**changed: Any) -> dict[str, Any]:
    return {"x": numbers(0), "scale": 2.0, "mask": None,
            "pair": {"first": numbers(1), "second": numbers(2)}, **changed}


@pytest.fixture(scope="module")
def step() -> regather.TrainingStep:
    return regather.compile(Model(), named(), optimizer="sgd", lr=0.0,
                            quiet=True)


def expect_eager(step: regather.TrainingStep, batch: dict[str, Any]) -> None:
    with torch.no_grad():
        expected = Model()(**batch).item()
    assert step(batch).item() == pytest.approx(expected, rel=1e-5)


def test_order_of_names_does_not_matter(step: regather.TrainingStep) -> None:
    pair = {"second": numbers(3), "first": numbers(4)}
    expect_eager(step, dict(reversed(named(pair=pair).items())))


@pytest.mark.parametrize("make", [
    torch._neg_view, lambda value: torch.complex(value, value).conj().imag,
    lambda value: torch._efficientzerotensor(value.shape),
    lambda value: value.t().contiguous().t(),
    lambda value: value[:1].expand(2, 4)])
def test_numbers_count_not_memory(step: regather.TrainingStep, make: Any
                                  ) -> None:
    """Some tensors are negated, or made, where they are read."""
    expect_eager(step, named(x=make(numbers(5))))


def without_memory() -> torch.Tensor:
    value = numbers(0)
    value.untyped_storage().resize_(0)
    return value


@pytest.mark.parametrize("batch, message", [
    (named(scale=3.0), "input 'scale': expects 2.0, as the step was compiled "
     "for, got 3.0"),
    (named(scale=2), "input 'scale': expects 2.0, .* got 2$"),
    (named(scale=torch.tensor(2.0)), "input 'scale': expects 2.0, .* a tensor"),
    (named(mask=numbers(0)), "input 'mask': expects None, .* got a tensor"),
    (named(extra=1), "inputs: expects the names x, scale, mask, pair, as in the "
     "example, got x, scale, mask, pair, extra"),
    ({"x": numbers(0)}, "inputs: expects the names .*, got x$"),
    (named(pair={"first": numbers(0), "third": numbers(0)}),
     r"inputs\['pair'\]: expects the names first, second, .* first, third"),
    (named(pair=[numbers(0), numbers(0)]),
     r"inputs\['pair'\]: expects the names first, second, .* got list"),
    ((numbers(0), numbers(0)), "expects inputs by name, .* got tuple"),
    (named(x=None), "input 'x': expects a tensor, got NoneType"),
    (named(x=numbers(0).to_sparse()), "'x': expects a dense tensor, got one of "
     "layout torch.sparse_coo"),
    (named(x=torch.nested.nested_tensor([numbers(0)])), "'x': .* a nested one"),
    (named(x=torch.complex(numbers(0), numbers(0))),
     "'x': expects torch.float32, got torch.complex64"),
    (named(x=without_memory()), "'x': expects a tensor with memory, got a Tensor "
     "without")])
def test_refused(step: regather.TrainingStep, batch: Any, message: str) -> None:
    with pytest.raises(RegatherError, match=message):
        step(batch)
    expect_eager(step, named())


def test_targets_are_tensors() -> None:
    model = torch.nn.Linear(4, 4)
    step = regather.compile(model, (numbers(0), numbers(1)), optimizer="sgd",
                            lr=0.0, loss=torch.nn.functional.mse_loss,
                            quiet=True)
    assert step(([numbers(0)], [numbers(1)])) == step((numbers(0), numbers(1)))
    with pytest.raises(RegatherError, match="targets: expects a tensor, or "
                       "several in a tuple, as in the example, got NoneType"):
        step((numbers(0), None))
    with pytest.raises(RegatherError, match="inputs: .* got ndarray"):
        step((numbers(0).numpy(), numbers(1)))


class Pair(NamedTuple):
    first: torch.Tensor
    rest: tuple[torch.Tensor, int]


def test_containers_of_other_kinds() -> None:
    class Sums(torch.nn.Linear):
        def forward(self, pair: Pair) -> torch.Tensor:
            return (super().forward(pair.first) * pair.rest[0]
                    ).sum() * pair.rest[1]

    torch.manual_seed(0)
    model = Sums(4, 4)
    step = regather.compile(model, (Pair(numbers(0), (numbers(1), 2)),),
                            optimizer="sgd", lr=0.0, quiet=True)
    given = Pair(numbers(2), (numbers(3), 2))
    assert step((given,)).item() == pytest.approx(model(given).item(), rel=1e-4)
    with pytest.raises(RegatherError, match=r"inputs\[0\]: expects a Pair as in "
                       "the example, got a dict"):
        step(({"first": numbers(2), "rest": numbers(3)},))
    with pytest.raises(RegatherError, match="expects 2, as the step was "
                       "compiled for, got 3"):
        step((Pair(numbers(2), (numbers(3), 3)),))


def test_inputs_may_be_called_as_parameters_are() -> None:
    class Masked(torch.nn.Linear):
        def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            return (super().forward(x) * bias).square().mean()

    torch.manual_seed(0)
    model = Masked(4, 4)
    batch = {"x": numbers(0), "bias": numbers(1)}
    step = regather.compile(model, batch, optimizer="sgd", lr=0.0, quiet=True)
    assert step(batch).item() == pytest.approx(model(**batch).item(), rel=1e-5)
    with pytest.raises(RegatherError, match="input 'input.bias': expects shape"):
        step({**batch, "bias": torch.ones(4)})
