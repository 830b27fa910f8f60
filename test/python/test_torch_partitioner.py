"""The partitioner for PyTorch: what it makes is what PyTorch would make.

With `match-pytorch` both modules have the text of those of PyTorch's own
min-cut, names included. Other modes change what is saved, not the results.
"""

from __future__ import annotations

import copy
import functools
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch", reason="inside of PyTorch")

from random_models import of_seed  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._functorch import partitioners  # noqa: E402
from torch.utils.checkpoint import (  # noqa: E402
    CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts)

import regather.torch  # noqa: E402
from regather.library import RegatherError  # noqa: E402
from regather.torch import Partitioner, unmodelled  # noqa: E402
from regather.torch.modules import module_of  # noqa: E402

THEIRS = partitioners.min_cut_rematerialization_partition
Model = tuple[torch.nn.Module, tuple[Any, ...]]


def make_boxed(gm: Any, inputs: Any) -> Any:
    from functorch.compile import make_boxed_func
    return make_boxed_func(gm.forward)


def train(model: Model, partition: Callable[..., Any]) -> list[torch.Tensor]:
    """Loss and gradients, compiled with `partition` and run node by node."""
    module, inputs = copy.deepcopy(model)
    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=make_boxed, bw_compiler=make_boxed,
                           partition_fn=partition)
    torch.manual_seed(0)
    loss = torch.compile(module, backend=backend, dynamic=False)(*inputs)
    loss.backward()
    return [loss.detach(), *(p.grad for p in module.parameters()
                             if p.grad is not None)]


def save_matmuls(context: Any, op: Any, *args: Any,
                  **kwargs: Any) -> CheckpointPolicy:
    return (CheckpointPolicy.MUST_SAVE
            if op is torch.ops.aten.addmm.default
            else CheckpointPolicy.PREFER_RECOMPUTE)


class Checkpointed(torch.nn.Module):
    """Blocks inside of checkpoints, with random numbers; the second one saves
    matmuls."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(),
                                torch.nn.LayerNorm(8), torch.nn.Dropout(0.2),
                                torch.nn.Linear(8, 8))
            for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = self.blocks
        x = x + checkpoint(first, x, use_reentrant=False)
        x = x + checkpoint(
            second, x, use_reentrant=False,
            context_fn=functools.partial(create_selective_checkpoint_contexts,
                                         save_matmuls))
        return third(x.softmax(-1)).square().mean()


def checkpointed() -> Model:
    torch.manual_seed(1)
    return Checkpointed(), (torch.randn(8, 8),)


def drawn(seed: int) -> Model:
    module, inputs, _, _ = of_seed(seed)
    return module, inputs


MODELS: dict[str, Callable[[], Model]] = {"checkpointed": checkpointed} | {
    f"random-{seed}": lambda seed=seed: drawn(seed) for seed in (0, 2, 4, 6)}


def text_of(module: Any) -> str:
    return str(module.print_readable(print_output=False, include_stride=True,
                                     include_device=True))


def descriptions(module: Any) -> list[Any]:
    """What AOTAutograd reads beside the graph."""
    output = list(module.graph.nodes)[-1]
    return [output.meta.get("desc"),
            [node.meta.get("autograd_backward") for node in module.graph.nodes]]


@pytest.mark.parametrize("name", MODELS)
def test_modules_are_those_of_pytorch(name: str) -> None:
    seen = []

    def compare(gm: Any, inputs: Any, **kwargs: Any) -> Any:
        theirs = THEIRS(copy.deepcopy(gm), inputs, **kwargs)
        ours = Partitioner(mode="match-pytorch")(gm, inputs, **kwargs)
        for mine, other in zip(ours, theirs):
            assert text_of(mine) == text_of(other)
            assert descriptions(mine) == descriptions(other)
            mine.graph.lint()
        seen.append(True)
        return ours

    train(MODELS[name](), compare)
    assert seen


@pytest.mark.parametrize("options", [
    {}, {"mode": "default"}, {"budget": 3000}], ids=str)
@pytest.mark.parametrize("name", ["checkpointed", "random-2"])
def test_results_do_not_depend_on_what_is_saved(
        name: str, options: dict[str, Any]) -> None:
    """Eager kernels give recomputed values the bits of the original."""
    theirs = train(MODELS[name](), THEIRS)
    ours = train(MODELS[name](), Partitioner(**options))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert torch.equal(mine, other)


def test_default_saves_more() -> None:
    counts = []
    for mode in ("default", "min-cut"):
        partitioner = Partitioner(mode=mode)
        train(checkpointed(), partitioner)
        counts.append(len(partitioner.last_saved))
    assert counts[0] > counts[1] > 0


def test_replay_saves_what_was_recorded(tmp_path: Path) -> None:
    first = Partitioner(mode="default")
    train(checkpointed(), first)
    record = tmp_path / "saved.json"
    record.write_text(json.dumps(first.last_saved))
    again = Partitioner(record=record)
    train(checkpointed(), again)
    assert again.last_saved == first.last_saved
    record.write_text(json.dumps(["no_such_node"]))
    with pytest.raises(Exception, match="names 'no_such_node'"):
        train(checkpointed(), Partitioner(record=record))


def test_small_budget_is_an_error() -> None:
    with pytest.raises(Exception, match="budget of 0 bytes is below the "
                                        "minimum of"):
        train(checkpointed(), Partitioner(budget=0))


@pytest.mark.parametrize("options, message", [
    ({"mode": "fastest"}, "expects one of .* as mode"),
    ({"reshard": "perhaps"}, 'reshard expects .*always.* got "perhaps"'),
    ({"reshard": "default modules=head"}, "expects PATTERN:always or "),
    ({"reshard": "always depth=3"}, 'has no option "depth"; there are group'),
    ({"reshard": "default group=2"}, "group=2 of tg-reshard-after-forward is "),
    ({"policy": "some"}, 'policy expects none, full or selective, got "some"'),
    ({"policy": "full modules=head"}, "expects PATTERN:none, PATTERN:full or "),
    ({"policy": "none budget=5"}, "budget=5 of tg-apply-policy is not for "),
    ({"policy": "full every-second-product=true"}, "has no effect without"),
    ({"policy": "full others=selective"}, "has no effect without 'units'"),
    ({"policy": "none units=1"}, "'units' has no effect without 'policy'"),
    ({"policy": "full", "mode": "match-pytorch"}, "which knows no policy"),
    ({"plan": "/no/plan.json"}, "cannot read plan '/no/plan.json'"),
    ({"plan": {"tg-form-kernels": {"max-ops": 2}, "tg-verify-step": {},
               "exec-plan-memory": {"effort": 1}}}, "plan names .*"),
    ({"plan": {"tg-partition": {"mode": "default"}}, "mode": "min-cut"},
     "decide about the same"),
    ({"plan": {"tg-apply-policy": {"policy": "full"}}, "policy": "none"},
     "tg-apply-policy of the plan and policy decide about the same"),
    ({"plan": {"tg-partition": {"split": False}}}, "split=False of "),
    ({"mode": "budget"}, "need each other"),
    ({"mode": "min-cut", "budget": 1}, "need each other"),
    ({"budget": 1, "record": "x"}, "need each other"),
    ({"budget": 0.5}, "budget expects a number of bytes, or text .* got 0.5"),
    ({"budget": -1}, "got -1"), ({"budget": "2 GB"}, "got '2 GB'"),
    ({"budget": "much"}, "got 'much'")])
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Partitioner(**options)


def test_budget_may_be_text() -> None:
    assert Partitioner(budget="2GB").budget == 2_000_000_000
    assert Partitioner(budget="2MiB").budget == 2 << 20


def test_another_library_is_an_error(tmp_path: Path) -> None:
    from regather.library import loading
    with (mock.patch.object(loading, "_candidates",
                            lambda: [tmp_path / "libregather.so"]),
          pytest.raises(RegatherError, match="is at none of")):
        loading.load.__wrapped__()


def test_keys_hold_what_decides(tmp_path: Path) -> None:
    record = tmp_path / "saved.json"
    record.write_text("[]")
    texts = [Partitioner(**options).uuid() for options in (
        {}, {"mode": "match-pytorch"}, {"budget": 1}, {"budget": 2},
        {"reshard": "always"}, {"record": record})]
    record.write_text('["sin"]')
    texts.append(Partitioner(record=record).uuid())
    assert all(isinstance(text, str) for text in texts)
    assert len(set(texts)) == len(texts)
    assert Partitioner().uuid() == Partitioner().uuid()


class Counted(torch.nn.Module):
    """Statistics of a batch are written into a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten._assert_async.msg(x.sum() < 1000, "too large")
        y = self.linear(x)
        keys = torch.nonzero(y > 0)
        return y.sum() + keys.sum()


def test_what_is_not_modelled_goes_to_pytorch() -> None:
    def run() -> torch.Tensor:
        torch._dynamo.reset()
        torch.manual_seed(0)
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            loss = torch.compile(Counted(), backend=backend, fullgraph=True)(
                torch.ones(3, 4))
        loss.backward()
        return loss

    backend = aot_autograd(fw_compiler=make_boxed, bw_compiler=make_boxed,
                           partition_fn=Partitioner())
    # Another test may have met the reason.
    unmodelled._warned.clear()
    with pytest.warns(UserWarning, match="PyTorch's own partitioner runs, "
                                         "because "):
        first = run()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert torch.equal(run(), first)


class AnySize(torch.nn.Module):
    """Sizes are values of the graph, and backward needs some of them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
            for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        halves = x.reshape(x.shape[0] * 2, 4)
        return (halves / x.shape[0]).softmax(0).square().sum()


@pytest.mark.parametrize("options", [
    {}, {"mode": "default"}, {"policy": "full"}], ids=str)
def test_sizes_may_be_dynamic(options: dict[str, Any]) -> None:
    partitioner = Partitioner(**options)
    found: list[list[torch.Tensor]] = []
    for partition in (partitioner, THEIRS):
        torch._dynamo.reset()
        module = AnySize()
        backend = aot_autograd(fw_compiler=make_boxed, bw_compiler=make_boxed,
                               partition_fn=partition)
        compiled = torch.compile(module, backend=backend, dynamic=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for size in (5, 3, 7):
                torch.manual_seed(size)
                compiled(torch.randn(size, 8)).backward()
        found.append([p.grad for p in module.parameters()])
    assert partitioner.last_saved
    for mine, other in zip(*found):
        assert torch.equal(mine, other)


def test_inductor_gives_the_bits_of_pytorch_where_it_saves_the_same() -> None:
    def run(**options: Any) -> list[torch.Tensor]:
        module, inputs = drawn(2)
        torch._dynamo.reset()
        loss = torch.compile(module, options=options)(*inputs)
        loss.backward()
        return [loss.detach(), *(p.grad for p in module.parameters()
                                 if p.grad is not None)]

    ours = run(**regather.torch.options(mode="match-pytorch"))
    for mine, other in zip(ours, run()):
        assert torch.equal(mine, other)


class Gathered(torch.nn.Module):
    """What SimpleFSDP makes of a parameter: a property that gathers it."""

    def __init__(self, mesh: Any) -> None:
        from torch.distributed.tensor import Shard, distribute_tensor
        super().__init__()
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(distribute_tensor(torch.full((16, 16), 0.1), mesh,
                                                 [Shard(0)]))
            for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch.distributed.tensor import Partial, Replicate
        for weight in self.weights:
            whole = weight.redistribute(placements=[Replicate()]).to_local(
                grad_placements=[Partial("sum")])
            x = (x @ whole.t()).sigmoid()
        return x.sum()


@contextmanager
def fake_group() -> Iterator[Any]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0,
                                         world_size=4)
    try:
        yield init_device_mesh("cpu", (4,))
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("mode", ["min-cut", "match-pytorch", "default"])
def test_reshard_gathers_again_in_backward(mode: str) -> None:
    gathers: dict[str, list[int]] = {}

    def count(reshard: str) -> Any:
        def partition(gm: Any, inputs: Any, **kwargs: Any) -> Any:
            parts = Partitioner(mode=mode, reshard=reshard)(gm, inputs, **kwargs)
            gathers[reshard] = [
                sum("all_gather_into_tensor" in str(node.target)
                    for node in part.graph.nodes) for part in parts]
            return parts
        return partition

    with fake_group() as mesh:
        for reshard in ("never", "always"):
            train((Gathered(mesh), (torch.randn(8, 16),)), count(reshard))
    assert gathers["never"] == [3, 0]
    # Nobody needs the gradient of the input.
    assert gathers["always"] == [3, 2]


class GatheredBlocks(torch.nn.Module):
    """Two blocks, and what comes behind them."""

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Gathered(mesh) for _ in range(2))
        self.head = Gathered(mesh)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


@pytest.mark.parametrize("reshard, kept", [
    ("never", {"layers.0", "layers.1", "head"}),
    # Backward begins with the head.
    ("default", {"head"}), ("always", set()),
    ("default modules=layers.1:never,head:always", {"layers.1"}),
    # Commas and spaces of a regular expression are its own.
    ("always modules=/layers\\.0|7, x/:never,/he{1,2}ad/:never",
     {"layers.0", "head"}),
    ("never modules=layers.*:always", {"head"})])
def test_reshard_knows_modules(reshard: str, kept: set[str]) -> None:
    found: dict[str, list[str]] = {}

    def partition(gm: Any, inputs: Any, **kwargs: Any) -> Any:
        parts = Partitioner(reshard=reshard)(gm, inputs, **kwargs)
        for name, part in zip(("forward", "backward"), parts):
            found[name] = [module_of(node) for node in part.graph.nodes
                           if "all_gather_into_tensor" in str(node.target)]
        return parts

    with fake_group() as mesh:
        train((GatheredBlocks(mesh), (torch.randn(8, 16),)), partition)
    modules = {"layers.0", "layers.1", "head"}
    assert set(found["forward"]) == modules
    assert set(found["backward"]) == modules - kept


def test_patterns_that_match_nothing_are_an_error() -> None:
    with (fake_group() as mesh,
          pytest.raises(Exception, match='pattern "blocks.\\*" of option '
                                         "'modules' matches no module of a "
                                         "gathered parameter; there are ")):
        train((GatheredBlocks(mesh), (torch.randn(8, 16),)),
              Partitioner(reshard="default modules=blocks.*:never"))


class Blocks(torch.nn.Module):
    """Two repeated blocks and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(),
                                torch.nn.Linear(32, 32),
                                torch.nn.LayerNorm(32), torch.nn.Linear(32, 8),
                                torch.nn.Dropout(0.5))
            for _ in range(2))
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x).square().mean()


def blocks() -> Model:
    torch.manual_seed(2)
    return Blocks(), (torch.randn(16, 8),)


@pytest.mark.parametrize("policy, products, gelus", [
    ("none", 4, 2), ("full", 0, 0), ("selective", 4, 0),
    # Of products that backward reads; the third one of a block is not.
    ("selective every-second-product=true", 2, 0),
    ("full units=1", 2, 1), ("full units=1 others=selective", 2, 0),
    ("full units=0 others=selective", 4, 0),
    ("selective save=aten.gelu.*", 0, 2),
    ("none modules=layers.1:full", 2, 1),
    ("full modules=/layers\\.(0)/:selective", 2, 0)])
def test_policies_decide_what_blocks_save(policy: str, products: int,
                                          gelus: int) -> None:
    saved: list[Any] = []
    partitioner = Partitioner(mode="default", policy=policy)

    def partition(gm: Any, inputs: Any, **kwargs: Any) -> Any:
        nodes = {node.name: node for node in gm.graph.nodes}
        parts = partitioner(gm, inputs, **kwargs)
        saved.extend(nodes[name] for name in partitioner.last_saved)
        return parts

    ours = train(blocks(), partition)
    for target, expected in (("addmm", products), ("gelu", gelus)):
        assert sum(target in str(node.target) and module_of(node) != "head"
                   for node in saved) == expected
    if policy == "full":
        # Each block is computed again from what comes into it, but for masks.
        wide = [node for node in saved if node.meta["val"].shape == (16, 32)]
        assert not wide
    for mine, other in zip(ours, train(blocks(), THEIRS)):
        assert torch.equal(mine, other)


def test_a_plan_is_replayed(tmp_path: Path) -> None:
    """What one run saves, the next one saves by a plan; what the plan names and
    the graph lacks is listed."""
    first = Partitioner(policy="full")
    train(blocks(), first)
    plan = {"tg-partition": {"mode": "replay", "saved": first.last_saved},
            "tg-reshard-after-forward": {"mode": "never"}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    for given in (plan, file, str(file)):
        again = Partitioner(plan=given)
        train(blocks(), again)
        assert again.last_saved == first.last_saved
    plan["tg-partition"]["saved"] = ["no_such_node", first.last_saved[0], "nor"]
    with pytest.raises(Exception, match="plan names 'no_such_node', 'nor', "
                                        "which the graph does not have"):
        train(blocks(), Partitioner(plan=plan))
    with pytest.raises(Exception, match='patterns "blocks.*" and "tail" of '
                                        "option 'modules' match no module"):
        train(blocks(), Partitioner(
            policy="full modules=blocks.*:none,tail:none"))
