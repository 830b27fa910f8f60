"""The pass that orders Inductor's graphs: collectives start before computation
that does not need them, and the generated code keeps the order."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="inside of PyTorch")

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
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
        {}, {"memory_limit": 5}, {"in_flight": 1}, {"cluster": "a100-8"},
        {"bucket": "auto"}, {"bucket": "[a]"}, {"schedule": "auto"},
        {"plan": {"tg-schedule": {"memory-limit": "2x"}}})}
    assert len(texts) == 8
    with pytest.raises(ValueError, match="memory_limit expects .* got -1"):
        OverlapPass(memory_limit=-1)
    with pytest.raises(ValueError, match="in_flight must not be negative"):
        OverlapPass(in_flight=-1)
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


KERNELS = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce",
           "wait_tensor", "mm", "addmm")


class Gather(torch.autograd.Function):
    """A parameter as FSDP reads it: backward reduces its gradient."""

    @staticmethod
    def forward(ctx: Any, shard: torch.Tensor) -> torch.Tensor:
        return gather(shard)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return ops.wait_tensor(
            ops.reduce_scatter_tensor(gradient, "sum", RANKS, "0"))


class Reduced(Gather):
    """The same with copies of shards, whose gradients are added as well."""

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        reduced = ops.wait_tensor(
            ops.reduce_scatter_tensor(gradient, "sum", RANKS, "0"))
        return ops.wait_tensor(ops.all_reduce(reduced, "sum", "0"))


class Layer(torch.nn.Module):
    """A product and a sum with parameters that are gathered."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 32) / 8)
        self.bias = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ Reduced.apply(self.weight)
                + Reduced.apply(self.bias)).sigmoid()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))
        self.head = Layer()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x).sum()


Parts = tuple[list[Any], list[Any]]


def compile_parts(overlap: OverlapPass) -> tuple[Parts, list[torch.Tensor]]:
    """Forward and backward of the model, as they come and behind `overlap`, and
    the arguments of forward."""
    plain: list[Any] = []
    merged: list[Any] = []
    arguments: list[torch.Tensor] = []

    def compile_part(module: Any, inputs: Any) -> Any:
        from functorch.compile import make_boxed_func
        plain.append(copy.deepcopy(module))
        overlap(module.graph)
        module.graph.lint()
        module.recompile()
        merged.append(module)

        def run(*values: torch.Tensor) -> Any:
            if not arguments:
                arguments.extend(values)
            return module(*values)
        return make_boxed_func(run)

    backend = aot_autograd(
        fw_compiler=compile_part, bw_compiler=compile_part,
        partition_fn=regather.torch.Partitioner(reshard="always"))
    with fake_group():
        torch._dynamo.reset()
        torch.compile(Model(), backend=backend)(torch.ones(4, 32)).backward()
    return (plain, merged), arguments


def run_on_ranks(parts: Parts, arguments: list[torch.Tensor]
                 ) -> list[list[list[torch.Tensor]]]:
    """By rank and version, loss and gradients. Ranks are threads with tensors of
    their own, and sums are added in their order."""
    from torch.testing._internal.distributed import multi_threaded_pg
    distributed = torch.distributed
    found: list[list[list[torch.Tensor]]] = [[] for _ in range(RANKS)]

    def run(rank: int, store: Any) -> None:
        distributed.init_process_group("threaded", rank=rank,
                                       world_size=RANKS, store=store)
        try:
            own = [value.detach() * (1 + rank / 7) for value in arguments]
            for forward, backward in parts:
                loss, *saved = forward(*own)
                found[rank].append([loss, *backward(*saved, torch.ones(()))])
        except BaseException as error:
            multi_threaded_pg.ProcessLocalGroup.exception_handle(error)
            raise
        finally:
            distributed.destroy_process_group()

    isolate = torch._C._distributed_c10d._set_thread_isolation_mode
    multi_threaded_pg._install_threaded_pg()
    isolate(True)
    try:
        with ThreadPoolExecutor(RANKS) as pool:
            list(pool.map(run, range(RANKS),
                          [distributed.HashStore()] * RANKS))
    finally:
        isolate(False)
        multi_threaded_pg._uninstall_threaded_pg()
    return found


def count(module: Any) -> dict[str, int]:
    found = names(module.graph)
    return {name: found.count(name) for name in sorted(set(found))
            if name in KERNELS and "mm" not in name}


@pytest.mark.parametrize("bucket, gathers, again, reductions", [
    ("none", 6, 2, 6), ("auto max-bytes=1000000", 3, 2, 3), ("[layers.*]each", 4, 2, 4),
    ("[layers.0,head],/layers\\.(1|2)/", 2, 2, 2)])
def test_buckets_change_no_bit(bucket: str, gathers: int, again: int,
                               reductions: int) -> None:
    overlap = OverlapPass(bucket=bucket, memory_limit=1 << 30)
    parts, arguments = compile_parts(overlap)
    forward, backward = parts[1]
    assert count(forward) == {"all_gather_into_tensor": gathers,
                              "wait_tensor": gathers}
    assert count(backward) == {
        "all_gather_into_tensor": again, "reduce_scatter_tensor": reductions,
        "all_reduce": reductions, "wait_tensor": again + 2 * reductions}
    assert (overlap.last_merged == (0, 0)) == (bucket == "none")
    for theirs, ours in run_on_ranks(parts, arguments):
        for expected, value in zip(theirs, ours):
            if expected is not None:
                assert torch.equal(expected, value)
                assert expected.stride() == value.stride()


def test_generated_code_keeps_buckets_and_order() -> None:
    """In forward, and in backward, which is compiled later."""
    options = regather.torch.options(reshard="always", bucket="[layers.*]each",
                                     memory_limit=1 << 30)
    recorder = Recorder()
    options["post_grad_custom_post_pass"].append(recorder)
    with fake_group():
        torch._dynamo.reset()
        compiled = torch.compile(Model(), options=options)
        _, codes = run_and_get_code(
            lambda: compiled(torch.ones(4, 32)).backward())
    assert len(recorder.names) == len(codes) == 2
    for code, expected in zip(codes, recorder.names):
        body = code[code.index("def call("):]
        found = re.findall(r"\b(?:_c10d_functional|extern_kernels)\.(\w+?)_?"
                           r"(?:\.default)?\(", body)
        assert [name for name in found if name in KERNELS] == expected
    forward, backward = recorder.names
    # Two buckets, and what the head gathers in two.
    assert forward.count("all_gather_into_tensor") == 4
    assert backward.count("reduce_scatter_tensor") == 4
    # The second one is on its way while the first layer computes.
    assert forward[:2] == ["all_gather_into_tensor"] * 2


def test_plans_name_modules_of_the_graph() -> None:
    for plan, message in (
            ("[layers.7],[norm]", 'patterns "layers.7" and "norm" of option '
             "'plan' match no module of the graph"),
            ("[layers.*],[layers.1]", "claimed by two patterns"),
            ("[layers.*", "expects ',' or ']'")):
        with pytest.raises(Exception, match=re.escape(message)):
            compile_parts(OverlapPass(bucket=plan))


def test_new_calls_are_those_of_pytorch() -> None:
    """Names, arguments and uses; and who watches for them is told."""
    from regather.torch.private import new_call

    def add(make: Any) -> Any:
        module = trace(lambda x: x + 1, [torch.ones(2)])
        told: list[Any] = []
        if make is None:
            module._register_create_node_hook(told.append)
        call = make or new_call
        with module.graph.inserting_before(module.graph.output_node()):
            first = next(iter(module.graph.nodes))
            made = [call(module.graph, torch.ops.aten.cat.default,
                         ([first, first], 0), {}) for _ in range(2)]
        assert told == (made if make is None else [])
        assert module.graph.find_nodes(op="call_function",
                                       target=made[0].target) == made
        module.graph.lint()
        return str(module.graph), len(first.users)

    expected = add(lambda graph, *call: graph.call_function(*call))
    assert add(new_call) == add(None) == expected
