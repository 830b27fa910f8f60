"""The passes on one graph of forward and backward: backward repeats what is not
to be kept, and no bit of a result changes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="inside of PyTorch")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import regather.torch  # noqa: E402
from regather.torch import unmodelled  # noqa: E402

ops = torch.ops._c10d_functional
RANKS = 4


@contextmanager
def fake_group() -> Iterator[None]:
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0,
                                         world_size=RANKS)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def step(x: torch.Tensor, *weights: torch.Tensor) -> list[torch.Tensor]:
    """Loss and gradients of a few layers."""
    value = x
    for weight in weights:
        value = torch.nn.functional.gelu(value @ weight)
    loss = value.square().mean()
    return [loss, *torch.autograd.grad(loss, weights)]


def inputs() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(4, 8),
            *(torch.randn(8, 8).requires_grad_() for _ in range(3))]


def trace(function: Any, values: list[torch.Tensor]) -> Any:
    return make_fx(function, tracing_mode="fake")(*values)


def count(module: Any, name: str) -> int:
    return sum(name in str(node.target) for node in module.graph.nodes)


@pytest.mark.parametrize("options, gelus", [
    ({"mode": "default"}, 3),
    ({"mode": "min-cut"}, 6)])
def test_backward_repeats_what_is_not_saved(options: dict[str, Any],
                                            gelus: int) -> None:
    module = trace(step, inputs())
    expected = module(*inputs())
    joint = regather.torch.joint_pass(**options)
    assert joint(module, inputs()) is module
    module.graph.lint()
    assert count(module, "gelu.default") == gelus
    assert (joint.last_repeated > 0) == (gelus > 3)
    for value, other in zip(module(*inputs()), expected):
        assert torch.equal(value, other)


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shard: torch.Tensor) -> torch.Tensor:
        return ops.wait_tensor(ops.all_gather_into_tensor(shard, RANKS, "0"))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return ops.wait_tensor(
            ops.reduce_scatter_tensor(gradient, "sum", RANKS, "0"))


def sharded_step(x: torch.Tensor, *shards: torch.Tensor) -> list[torch.Tensor]:
    value = x
    for shard in shards:
        value = (value @ Gather.apply(shard)).sigmoid()
    loss = value.sum()
    return [loss, *torch.autograd.grad(loss, shards)]


def test_gathers_are_repeated_merged_and_ordered() -> None:
    values = [torch.ones(4, 8),
              *(torch.ones(2, 8).requires_grad_() for _ in range(3))]
    with fake_group():
        module = trace(sharded_step, values)
        kept = copy.deepcopy(module)
        regather.torch.joint_pass(reshard="always")(module)
        # The first layer needs no gradient of its input.
        assert count(module, "all_gather") == 5
        joint = regather.torch.joint_pass(
            reshard="never", bucket="[.]", memory_limit=1 << 20)
        joint(kept)
    kept.graph.lint()
    assert count(kept, "all_gather") == count(kept, "reduce_scatter") == 1
    assert joint.overlap is not None
    assert joint.overlap.last_merged == (6, 2)


def test_graphs_that_are_not_understood_stay() -> None:
    module = trace(lambda x: x.sin().cos(), [torch.ones(3)])
    text = module.code
    unmodelled._warned.clear()
    with pytest.warns(UserWarning, match="because nothing tells backward from "
                                         "forward"):
        regather.torch.joint_pass()(module)
    assert module.code == text
