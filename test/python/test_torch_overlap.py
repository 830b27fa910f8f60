"""The pass that orders Inductor's graphs: collectives start before computation
that does not need them, and the generated code keeps the order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="inside of PyTorch")

from torch._inductor.custom_graph_pass import CustomGraphPass  # noqa: E402
from torch._inductor.utils import run_and_get_code  # noqa: E402

import regather.torch  # noqa: E402
from regather.torch import OverlapPass  # noqa: E402

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


def gather(x: torch.Tensor) -> torch.Tensor:
    return ops.wait_tensor(ops.all_gather_into_tensor(x, RANKS, "0"))


def step(x: torch.Tensor, *shards: torch.Tensor) -> torch.Tensor:
    """Each product waits for its own gather, which starts right before it."""
    for shard in shards:
        x = torch.mm(x, gather(shard))
    return x


def arguments() -> list[torch.Tensor]:
    return [torch.ones(256, 256), *(torch.ones(64, 256) for _ in range(4))]


def trace(function: Any, inputs: list[torch.Tensor]) -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx
    return make_fx(function, tracing_mode="fake")(*inputs)


def names(graph: Any) -> list[str]:
    return [node.target.overloadpacket.__name__ for node in graph.nodes
            if node.op == "call_function"]


def test_gathers_start_before_products_that_do_not_need_them() -> None:
    with fake_group():
        module = trace(step, arguments())
        before = names(module.graph)
        overlap = OverlapPass()
        overlap(module.graph)
    module.graph.lint()
    after = names(module.graph)
    assert sorted(after) == sorted(before)
    # The second gather is on its way while the first product runs.
    assert before.index("mm") < [i for i, name in enumerate(before)
                                 if name == "all_gather_into_tensor"][1]
    assert after.index("mm") > [i for i, name in enumerate(after)
                                if name == "all_gather_into_tensor"][1]
    assert overlap.last_score is not None and overlap.last_given is not None
    assert overlap.last_score.seconds < overlap.last_given.seconds
    assert overlap.last_score.peak_bytes <= overlap.last_given.peak_bytes


def test_memory_limits_how_early_gathers_start() -> None:
    def peak(limit: int | None) -> int:
        module = trace(step, arguments())
        overlap = OverlapPass(memory_limit=limit)
        overlap(module.graph)
        assert overlap.last_score is not None
        return int(overlap.last_score.peak_bytes)

    with fake_group():
        assert peak(1 << 30) > peak(None)
        with pytest.raises(regather.library.RegatherError, match="limit"):
            peak(1)


def test_writes_and_random_numbers_stay_in_order() -> None:
    def function(x: torch.Tensor, shard: torch.Tensor,
                 state: torch.Tensor) -> torch.Tensor:
        first = torch.rand_like(x)
        state.copy_(first)
        second = torch.rand_like(x) @ gather(shard)
        return second + state

    with fake_group():
        module = trace(function, [torch.ones(256, 256), torch.ones(64, 256),
                                  torch.ones(256, 256)])
        random = [node for node in module.graph.nodes
                  if "rand_like" in str(node.target)]
        OverlapPass()(module.graph)
    module.graph.lint()
    order = [node for node in module.graph.nodes]
    copy, = (node for node in order if "copy_" in str(node.target))
    assert (order.index(random[0]) < order.index(copy)
            < order.index(random[1]))
    assert (order.index(copy)
            < order.index(next(node for node in order if node.op == "output")
                          .args[0]))


def test_graphs_without_collectives_stay() -> None:
    module = trace(lambda x: x.sin().cos(), [torch.ones(4)])
    nodes = list(module.graph.nodes)
    overlap = OverlapPass()
    overlap(module.graph)
    assert list(module.graph.nodes) == nodes
    assert overlap.last_score is None


def test_keys_hold_what_decides() -> None:
    texts = {OverlapPass(**options).uuid() for options in (
        {}, {"memory_limit": 5}, {"in_flight": 1}, {"cluster": "a100-8"})}
    assert len(texts) == 4
    with pytest.raises(ValueError, match="must not be negative"):
        OverlapPass(memory_limit=-1)
    with pytest.raises(ValueError, match="is for schedule"):
        regather.torch.options(memory_limit=5)


class Recorder(CustomGraphPass):
    """What stands in the graph when it is lowered."""

    def __init__(self) -> None:
        self.names: list[list[str]] = []

    def uuid(self) -> None:
        """No caching: the pass has to run."""

    def __call__(self, graph: Any) -> None:
        self.names.append([name for name in names(graph) if name in KERNELS])


KERNELS = ("all_gather_into_tensor", "reduce_scatter_tensor", "wait_tensor",
           "mm")


class Gather(torch.autograd.Function):
    """A parameter as FSDP reads it: backward reduces its gradient."""

    @staticmethod
    def forward(ctx: Any, shard: torch.Tensor) -> torch.Tensor:
        return gather(shard)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return ops.wait_tensor(
            ops.reduce_scatter_tensor(gradient, "sum", RANKS, "0"))


def test_generated_code_keeps_the_order() -> None:
    """In forward, and in backward, which is compiled later."""
    def function(x: torch.Tensor, *shards: torch.Tensor) -> torch.Tensor:
        for shard in shards:
            x = torch.mm(x, Gather.apply(shard)).sigmoid()
        return x.sum()

    options = regather.torch.options(reshard="always", schedule=True)
    recorder = Recorder()
    options["post_grad_custom_post_pass"].append(recorder)
    x, *shards = arguments()
    for shard in shards:
        shard.requires_grad_()
    with fake_group():
        torch._dynamo.reset()
        compiled = torch.compile(function, options=options)
        _, codes = run_and_get_code(
            lambda: compiled(x, *shards).backward())
    assert len(recorder.names) == len(codes) == 2
    for code, expected in zip(codes, recorder.names):
        body = code[code.index("def call("):]
        found = re.findall(r"\b(?:_c10d_functional|extern_kernels)\.(\w+?)"
                           r"(?:\.default)?\(", body)
        assert [name for name in found if name in KERNELS] == expected
    forward = recorder.names[0]
    assert forward[:2] == ["all_gather_into_tensor"] * 2
