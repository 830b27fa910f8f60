"""What `regather.compile` refuses, and what it says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather  # noqa: E402
import regather_tools  # noqa: E402, F401  # kernels of tests have a folder
from regather import RegatherError  # noqa: E402
from regather.execution import Executable  # noqa: E402
from regather.fx import private  # noqa: E402
from regather.training.shards import RankMesh  # noqa: E402
from torch import nn  # noqa: E402


def compile_with(model: nn.Module, **options: object) -> regather.TrainingStep:
    return regather.compile(model, (torch.ones(3, 2), torch.ones(3, 1)),
                            loss=nn.functional.mse_loss, **options)


def used_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    return optimizer


def two_groups(model: nn.Module, **second: object) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if "betas" in second else torch.optim.SGD
    return kind([{"params": [model.weight]},
                 {"params": [model.bias], **second}], lr=0.1)


@pytest.mark.parametrize("make, message", [
    (lambda model: torch.optim.SGD([model.weight], 0.1),
     "the optimizer does not have the parameters bias"),
    (lambda model: torch.optim.SGD(
        [*model.parameters(), *nn.Linear(3, 3).parameters()], 0.1),
     "the optimizer has 2 parameters that the model does not have"),
    (used_optimizer, "the optimizer has taken steps, and its states would be "
     "lost: compile with a new one, and load states by load_state_dict"),
    (lambda model: torch.optim.NAdam(model.parameters()),
     "expects AdamW, Adam, SGD, Adagrad, RMSprop, Adamax, Adadelta, RAdam of "
     "torch.optim, got NAdam"),
    (lambda model: torch.optim.AdamW(model.parameters(), differentiable=True),
     "AdamW with differentiable=True is not supported"),
    (lambda model: torch.optim.Adagrad(model.parameters(),
                                       initial_accumulator_value=0.5),
     "Adagrad with initial_accumulator_value=0.5 is not supported"),
    (lambda model: two_groups(model, momentum=0.5),
     "all groups need the same momentum, got 0 and 0.5"),
    (lambda model: two_groups(model, betas=(0.8, 0.9)),
     r"all groups need the same betas, got \(0.9, 0.999\) and \(0.8, 0.9\)")])
def test_optimizers(make: Callable[[nn.Module], torch.optim.Optimizer],
                    message: str) -> None:
    model = nn.Linear(2, 1)
    with pytest.raises(RegatherError, match=message):
        compile_with(model, optimizer=make(model))


@pytest.mark.parametrize("name, value", [
    ("weight_decay", 0.9), ("momentum", 0.1), ("nesterov", True)])
def test_settings_that_change_later(name: str, value: object) -> None:
    """As a schedule of the momentum does."""
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    step = compile_with(model, optimizer=optimizer, quiet=True)
    batch = torch.ones(3, 2), torch.ones(3, 1)
    step(batch)
    optimizer.param_groups[0]["lr"] = 0.01
    step(batch)
    before, optimizer.param_groups[0][name] = (
        optimizer.param_groups[0][name], value)
    with pytest.raises(RegatherError, match=f"compiled with {name} {before} of "
                       f"the optimizer, got {value}"):
        step(batch)
    optimizer.param_groups[0][name] = before
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
    with pytest.raises(RegatherError, match="with 1 groups .*, got 2"):
        step(batch)


@pytest.mark.parametrize("rates, warm", [((0.0, 0.3), False),
                                         ((0.2, 0.1), True),
                                         ((0.0, 0.1), True)])
def test_groups_that_begin_without_learning(rates: tuple[float, float],
                                            warm: bool) -> None:
    """Rates are in proportion to one that is not zero, if need be one that a
    schedule has put off."""
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    batch = torch.randn(3, 2), torch.ones(3, 1)
    expected = [nn.Parameter(p.detach().clone()) for p in model.parameters()]
    losses: list[list[float]] = [[], []]
    for parameters, found in zip((expected, list(model.parameters())), losses):
        optimizer = torch.optim.SGD([
            {"params": [parameter], "lr": rate}
            for parameter, rate in zip(parameters, rates)])
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda n: n / 3 if warm else 1.0)
        step = compile_with(model, optimizer=optimizer, quiet=True
                            ) if parameters is not expected else None
        for _ in range(4):
            if step is not None:
                found.append(step(batch).item())
            else:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(
                    nn.functional.linear(batch[0], *parameters), batch[1])
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            schedule.step()
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


def test_states_that_are_not_taken() -> None:
    """And nothing is changed before that is found."""
    step = compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1, quiet=True)
    state = step.state_dict()
    before = {name: tensor.clone() for name, tensor in state["model"].items()}
    for given, message in [
            (None, "'weight': expects a tensor, got NoneType"),
            (torch.ones(1, 2, device="meta"), "with data, got one on meta"),
            (torch.ones(3), r"'weight': expects shape \[1, 2\], got \[3\]")]:
        with pytest.raises(RegatherError, match=message):
            step.load_state_dict({**state, "model": {
                "bias": torch.full((1,), 7.0), "weight": given}})
    with pytest.raises(RegatherError, match="the state lacks model, optimizer"):
        step.load_state_dict({"step": 3})
    torch.testing.assert_close(step.state_dict()["model"], before)


def test_states_of_other_steps(tmp_path: Path) -> None:
    """What a step does not know is an error, unless it is to be left out."""
    step = compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1, quiet=True)
    state = step.state_dict()
    other = {**state, "model": {
        "bias": torch.full((1,), 7.0), "weight": torch.full((1, 2), 7.0),
        "head.weight": torch.ones(1), "head.bias": torch.ones(1)}}
    with pytest.raises(RegatherError, match="the state has head.bias, head.weight"
                       ", which this step lacks: strict=False leaves that out"):
        step.load_state_dict(other)
    with pytest.raises(RegatherError, match="the state lacks bias, weight; it has "
                       "head.weight, which this step lacks"):
        step.load_state_dict({**state, "model": {"head.weight": torch.ones(1)}})
    assert float(state["model"]["bias"]) != 7
    step.load_state_dict(other, strict=False)
    assert float(state["model"]["bias"]) == 7
    saved = compile_with(nn.Linear(2, 1), optimizer="sgd momentum=0.9", lr=0.1,
                         quiet=True)
    saved.save(tmp_path)
    with pytest.raises(RegatherError, match=r" has bias\.momentum_buffer, "
                       r"weight\.momentum_buffer, which this step lacks"):
        step.load(tmp_path)
    assert float(state["model"]["bias"]) == 7
    step.load(tmp_path, strict=False)
    torch.testing.assert_close(state["model"]["bias"],
                               saved.state_dict()["model"]["bias"])


@pytest.mark.parametrize("change", [
    lambda optimizer: optimizer.register_step_pre_hook(lambda *_: None),
    lambda optimizer: optimizer.register_step_post_hook(lambda *_: None),
    lambda optimizer: setattr(optimizer, "step", lambda: None)])
def test_optimizers_with_hooks(change: Callable) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    # A schedule replaces `step` as well.
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    compile_with(model, optimizer=optimizer, quiet=True)
    change(optimizer)
    with pytest.raises(RegatherError, match="has hooks on its step, or another "
                       "step"):
        compile_with(model, optimizer=optimizer, quiet=True)


def test_wrapped_models_keep_their_names() -> None:
    model = nn.Linear(2, 1)
    wrapped = torch.compile(nn.DataParallel(model), backend="eager")
    step = compile_with(wrapped, quiet=True,
                        optimizer=torch.optim.SGD(wrapped.parameters(), 0.1))
    assert step((torch.ones(3, 2), torch.ones(3, 1))).isfinite()
    assert step.state_dict()["model"].keys() == {"weight", "bias"}


def test_tensors_are_made_where_they_belong() -> None:
    """Whatever the default device is."""
    model = nn.Linear(2, 1)
    batch = torch.ones(3, 2), torch.ones(3, 1)
    with torch.device("meta"):
        step = compile_with(model, optimizer="sgd", lr=0.1, quiet=True)
        first, second = step(batch), step(batch)
    assert second < first and step.state_dict()["model"]["bias"].isfinite()


@pytest.mark.parametrize("options, message", [
    ({"accumulate": 2}, "input 'input': expects a batch that can be cut into 2 "
     "micro-batches, got 3 rows"),
    ({"plan": {"mesh": "dp:4"}},
     r"expects an entry of regather.plan\(...\).plans, got a dictionary of mesh"),
    ({"plan": {"flags": ["--policy=full"]}},
     "a plan names no mesh: --policy=full"),
    ({"plan": {"flags": ["mesh"]}},
     "expects a flag such as '--mesh=dp:4' in a plan, got 'mesh'"),
    ({"plan": {"flags": ["--mesh=dp:1"]}, "mesh": "dp:1"},
     'has a mesh of its own, so that mesh="dp:1" cannot be given, too'),
    ({"accumulate": 0}, "expects a number of micro-batches to accumulate, got "
     "0"),
    ({"expert_capacity": 1.25, "expert_chunks": 0}, "expects a number of "
     "expert_chunks, at least 1, or 'auto', got 0"),
    ({"expert_capacity": 1.25, "expert_chunks": "two"}, "expects a number of "
     "expert_chunks, at least 1, or 'auto', got 'two'"),
    ({"expert_chunks": 2}, "expert_chunks=2 cuts rows that are sent, which "
     "needs an expert_capacity"),
    ({"param_dtype": "bf16"}, "param_dtype: expects torch.bfloat16, "
     "torch.float16 or torch.float32, got 'bf16'"),
    ({"reduce_dtype": torch.int32}, "reduce_dtype: expects .* got torch.int32")])
def test_options(options: dict, message: str) -> None:
    with pytest.raises(RegatherError, match=message):
        compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1, **options)


def test_sharded_models_and_wrong_process_groups() -> None:
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = regather.fake_mesh({"dp": 2})
    try:
        with torch.device("meta"):
            model = nn.Linear(2, 2)
        model.weight = nn.Parameter(distribute_tensor(model.weight, mesh,
                                                      [Shard(0)]))
        with pytest.raises(RegatherError, match="parameter 'weight' is "
                           "distributed already; expects the model before it "
                           "is sharded"):
            compile_with(model, optimizer="sgd", lr=0.1)
        # What `fake_mesh` made is a process group that carries nothing.
        with pytest.raises(RegatherError, match="expects a process group that "
                           "carries messages, got one with the backend "
                           "'fake'"):
            compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1)
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("backend", ["cuda:gloo", "cpu:gloo,cuda:gloo"])
def test_states_need_a_backend_for_cpus(tmp_path: Path, backend: str) -> None:
    """As NCCL alone is none."""
    value = SimpleNamespace(shape=(2,), global_shape=(2,), shards=[])
    dist = torch.distributed
    dist.init_process_group(backend, init_method=f"file://{tmp_path / 'store'}",
                            rank=0, world_size=1)
    try:
        mesh = RankMesh([("dp", 1)], [], distributed=True)
        if backend.startswith("cpu"):
            assert mesh.gather(mesh.to_distributed(
                value, torch.ones(2))).tolist() == [1, 1]
            return
        with pytest.raises(RegatherError, match="no backend for them, only "
                           "'cuda:gloo': initialize it with "
                           "backend='cpu:gloo,cuda:nccl'"):
            mesh.to_distributed(value, torch.ones(2))
    finally:
        dist.destroy_process_group()


def test_other_versions_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is not there, the name and the versions that have it."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "regather.training", None)
        with pytest.raises(RegatherError, match="cannot compile training steps "
                           f"with PyTorch {re.escape(torch.__version__)}: .*"
                           "regather.training.*; expects PyTorch 2.13 to 2.15"):
            compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1)
    monkeypatch.setattr(private, "_missing", ["torch.nowhere.thing"])
    with pytest.raises(regather.CaptureError, match="it has no "
                       "'torch.nowhere.thing'; expects PyTorch 2.13 to 2.15"):
        compile_with(nn.Linear(2, 1), optimizer="sgd", lr=0.1)


def test_tensors_that_look_like_micro_batches() -> None:
    """A table with as many rows as a micro-batch cannot be told from it."""
    class Table(nn.Linear):
        def forward(self, values: torch.Tensor, table: torch.Tensor
                    ) -> torch.Tensor:
            return super().forward(values) + table.sum()

    with pytest.raises(RegatherError, match="'table': expects shape .2, 1., but "
                       "the step has it in shape .4, 1.; does it have as many "
                       "rows as a micro-batch"):
        regather.compile(
            Table(2, 1), ((torch.ones(4, 2), torch.ones(2, 1)),
                          torch.ones(4, 1)), loss=nn.functional.mse_loss,
            optimizer="sgd", lr=0.1, accumulate=2)


def test_frozen_parameters_may_be_in_the_optimizer_or_not() -> None:
    """Nothing is missing or foreign about what is not trained."""
    losses = []
    for takes_frozen in (False, True):
        model = nn.Linear(2, 1)
        nn.init.ones_(model.weight)
        nn.init.zeros_(model.bias)
        model.bias.requires_grad_(False)
        given = model.parameters() if takes_frozen else [model.weight]
        step = compile_with(model, optimizer=torch.optim.SGD(given, 0.1))
        step((torch.ones(3, 2), torch.ones(3, 1)))
        losses.append(step((torch.ones(3, 2), torch.ones(3, 1))).item())
        assert step.state_dict()["model"]["bias"].item() == 0
    assert losses[0] == losses[1]


def test_schedulers_keep_groups_in_proportion() -> None:
    model = nn.Linear(2, 1)
    optimizer = two_groups(model, lr=0.2)
    step = compile_with(model, optimizer=optimizer)
    optimizer.param_groups[1]["lr"] = 0.4
    with pytest.raises(RegatherError, match=r"in proportions \[1.0, 2.0\], got "
                       r"rates \[0.1, 0.4\]"):
        step((torch.ones(3, 2), torch.ones(3, 1)))


class Unset(nn.Linear):
    """Leaves its bias as it is."""

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)


class Scale(nn.Module):
    """Cannot initialise what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(1))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * self.scale


@pytest.mark.parametrize("make, message", [
    (lambda: nn.Sequential(nn.Linear(2, 2), Unset(2, 1)),
     r"reset_parameters of module '1' \(Unset\) does not set 1.bias$"),
    (lambda: nn.Sequential(nn.Linear(2, 1), Scale()),
     r"module '1' \(Scale\) is on the meta device and has no "
     "reset_parameters")])
def test_models_that_nothing_initialises(make: Callable[[], nn.Module],
                                         message: str) -> None:
    with torch.device("meta"):
        model = make()
    with pytest.raises(RegatherError, match=message):
        compile_with(model, optimizer="sgd", lr=0.1)




def test_options_of_passes_go_over_plans_in_any_order(tmp_path: Path) -> None:
    """As on the command line: flags, then the plan, then options of passes.
    What came last is what a wrong value is blamed on."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tg-append-optimizer": {"eps": 0.5}}))
    text = capture_of_a_line()
    flags = [("optimizer", "adamw betas=0,0 weight-decay=0"),
             ("plan", str(plan)),
             ("pass-option", "tg-append-optimizer:eps=1.0")]
    # With one gradient g and rate 1 the update is g / (|g| + eps).
    expected = [1.0 / (1.0 + 1.0), 1.0 / (1.0 + 0.5)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        assert update(text, [flags[i] for i in order]) == expected[0]
    for order in ([0, 1], [1, 0]):
        assert update(text, [flags[i] for i in order]) == pytest.approx(
            expected[1])


def capture_of_a_line() -> str:
    """A step whose only gradient is 1."""
    model = nn.Linear(1, 1, bias=False)
    captured = regather.capture(model, torch.ones(1, 1),
                                lambda result: result.sum(), verify=0)
    return "".join(captured.lines())


def update(text: str, options: list[tuple[str, str]]) -> float:
    """How far one step moves a weight of 0."""
    step = Executable(text, options)
    values = {"parameter": torch.zeros(1, 1), "input": torch.ones(1, 1),
              "optimizer_state": torch.zeros(1, 1),
              "learning_rate": torch.tensor(1.0), "step": torch.tensor(1)}
    tensors = [values[value.role].clone() for value in step.arguments]
    results = [torch.zeros(value.shape) for value in step.results]
    step.run([tensor.data_ptr() for tensor in tensors],
             [None if value.donated else result.data_ptr()
              for value, result in zip(step.results, results)])
    (moved,) = (tensor.item() for tensor, value in zip(tensors, step.arguments)
                if value.role == "parameter")
    return -moved
