"""Hooks on parameters and state that forward changes, captured or refused.

What is captured is run for some steps by an evaluator that knows the file
alone, beside eager PyTorch: loss, gradients, parameters and buffers agree.
"""

from __future__ import annotations

import functools

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_evaluator import evaluate  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import regather  # noqa: E402

RATE = 0.05
STEPS = 3
TARGET = torch.tensor([0, 1, 2, 3, 0, 1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def make(kind=Net):
    torch.manual_seed(0)
    return kind()


def capture(model):
    return regather.capture(
        model, (torch.zeros(6, 8),), F.cross_entropy, (TARGET,), verify=0
    )


def batches():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(6, 8, generator=generator) for _ in range(STEPS)]


def run_eager(model, state):
    """Results of each step as the graph would name them."""
    for x in batches():
        model.zero_grad()
        loss = F.cross_entropy(model(x), TARGET)
        loss.backward()
        results = {("loss", None): loss.detach().clone()}
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                results["gradient", name] = parameter.grad.clone()
                with torch.no_grad():
                    parameter.sub_(RATE * parameter.grad)
        for name in state:
            holder, _, key = name.rpartition(".")
            value = getattr(model.get_submodule(holder), key)
            results["new", name] = value.detach().clone()
        yield results


def run_graph(graph):
    """The same, from the document; updates are fed back."""
    state = {name: value.clone() for name, value in graph.tensors.items()}
    inputs = [entry["name"] for entry in graph.document["inputs"]]
    for x in batches():
        results = evaluate(graph.document, state, dict(zip(inputs, (x, TARGET))))
        for (role, of), value in list(results.items()):
            if role in ("update", "buffer"):
                state[of] = value
                del results[role, of]
        for (role, of), value in list(results.items()):
            if role == "gradient":
                state[of] = state[of] - RATE * value
        results |= {("new", name): value.clone() for name, value in state.items()}
        yield results


def assert_faithful(model):
    graph = capture(model)
    for got, want in zip(run_graph(graph), run_eager(model, graph.tensors)):
        assert got.keys() == want.keys()
        for key, value in want.items():
            torch.testing.assert_close(got[key], value, rtol=1e-5, atol=1e-6)
    return graph


def roles(graph):
    return {(o["role"], o.get("of")) for o in graph.document["outputs"]}


def clamp(gradient):
    return gradient.clamp(-0.01, 0.01)


def halve_in_place(gradient):
    gradient.mul_(0.5)


def hooked(*hooks):
    model = make()
    for hook in hooks:
        model.a.weight.register_hook(hook)
    return model


@pytest.mark.parametrize(
    "hooks",
    [
        (clamp,),
        (clamp, lambda g: g * 3),
        (halve_in_place,),
        (lambda g: None,),
        (functools.partial(torch.mul, torch.tensor(2.0)),),
    ],
)
def test_gradient_hooks_are_in_the_graph(hooks):
    assert_faithful(hooked(*hooks))


def test_hook_that_reads_its_parameter_by_closure():
    model = make()
    weight = model.a.weight
    weight.register_hook(lambda g: g + 0.1 * weight)
    graph = assert_faithful(model)
    assert not [b for b in graph.document["buffers"] if b.get("constant")]


def test_hook_of_an_activation_reads_a_parameter_by_closure():
    model = make()
    bias = model.b.bias
    model.b.register_forward_hook(
        lambda module, inputs, output: output.register_hook(lambda g: g * bias) and None
    )
    assert_faithful(model)


def test_hook_on_a_tied_parameter_sees_the_sum():
    class Tied(Net):
        def __init__(self):
            super().__init__()
            self.c = nn.Linear(8, 8, bias=False)
            self.c.weight = self.a.weight

        def forward(self, x):
            return super().forward(self.c(x))

    model = make(Tied)
    model.a.weight.register_hook(clamp)
    assert_faithful(model)


def test_hook_node_says_where_it_comes_from():
    graph = capture(hooked(clamp))
    (node,) = (n for n in graph.nodes if n.get("target") == "aten.clamp.default")
    assert graph.document["modules"][node["module"]] == "a"
    assert graph.document["files"][node["loc"][0]].endswith("test_capture_hooks.py")
    assert node["phase"] == "backward"


def scale_gradient(parameter):
    parameter.grad = parameter.grad * 0.25


def scale_gradient_in_place(parameter):
    parameter.grad.mul_(0.25)


def update(parameter):
    with torch.no_grad():
        parameter.sub_(parameter.grad * 0.1)
    parameter.grad = None


def update_and_keep(parameter):
    parameter.data.add_(parameter.grad, alpha=-0.1)


def accumulated(*hooks):
    model = make()
    for hook in hooks:
        model.a.weight.register_post_accumulate_grad_hook(hook)
    return model


@pytest.mark.parametrize(
    "hook", [scale_gradient, scale_gradient_in_place, update, update_and_keep]
)
def test_accumulated_hooks_are_in_the_graph(hook):
    assert_faithful(accumulated(hook))


def test_both_kinds_of_hooks_run_in_their_order():
    model = accumulated(scale_gradient, update)
    model.a.weight.register_hook(clamp)
    assert_faithful(model)


def test_update_stands_behind_its_gradient_and_takes_its_place():
    graph = capture(accumulated(update))
    assert ("update", "a.weight") in roles(graph)
    assert ("gradient", "a.weight") not in roles(graph)
    steps = [n for n in graph.nodes if n["phase"] == "optimizer"]
    assert [n["target"] for n in steps] == ["aten.mul.Tensor", "aten.sub.Tensor"]
    # What makes the gradient stands in front of the hook, and nothing between.
    position = graph.nodes.index(steps[0])
    gradient = steps[0]["args"][0]["node"]
    assert graph.nodes[position - 1]["name"] == gradient
    assert graph.nodes[position + 1] == steps[1]


def test_stateless_optimizer_in_the_backward_pass():
    model = make()
    optimizers = {
        p: torch.optim.SGD([p], lr=0.1, foreach=False) for p in model.parameters()
    }

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    graph = assert_faithful(model)
    assert {role for role, _ in roles(graph)} == {"loss", "update"}


@pytest.mark.parametrize("ranks", [1, 2])
def test_hooks_run_on_ranks_as_on_one_device(ranks, tmp_path):
    model = accumulated(update)
    model.b.weight.register_hook(clamp)
    graph = capture(model)
    (x, *_), (want, *_) = batches(), list(run_eager(model, ["a.weight"]))
    graph.save(tmp_path / "step.fx.json")
    names = [entry["name"] for entry in graph.document["inputs"]]
    save_file(
        {**make().state_dict(), **dict(zip(names, (x, TARGET)))},
        tmp_path / "arguments.safetensors",
    )
    result = run_tool(
        "regather", "run", tmp_path / "step.fx.json", f"--ranks={ranks}", "--quiet",
        "--inputs", tmp_path / "arguments.safetensors",
        "--outputs", tmp_path / "results.safetensors",
    )
    assert result.code == 0, result.stderr
    got = load_file(tmp_path / "results.safetensors")
    close = functools.partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)
    close(got["loss"], want["loss", None])
    close(got["grad.b.weight"], want["gradient", "b.weight"])
    assert "grad.a.weight" not in got
    close(got["a.weight"], want["new", "a.weight"])


class Decays(Net):
    def forward(self, x):
        with torch.no_grad():
            self.a.weight.mul_(0.9)
        return super().forward(x)


class DecaysByList(Net):
    def __init__(self):
        super().__init__()
        self.held = [self.a.weight]

    def forward(self, x):
        with torch.no_grad():
            self.held[0].mul_(0.9)
        return super().forward(x) + self.held[0].mean()


class Averages(Net):
    """A frozen copy that follows the trained weight."""

    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(8, 8), requires_grad=False)

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_(self.a.weight, 0.1)
        return super().forward(x @ self.mean + x)


class Counts(Net):
    """State in an attribute that is no buffer."""

    def __init__(self):
        super().__init__()
        self.steps = torch.zeros(())

    def forward(self, x):
        self.steps = self.steps + 1
        return super().forward(x) * self.steps


class CountsInPlace(Counts):
    def forward(self, x):
        self.steps.add_(1)
        return Net.forward(self, x) * self.steps


class Remembers(Net):
    """An attribute that each step writes before it reads it is no state."""

    def forward(self, x):
        self.last = x.sum()
        return super().forward(x) + self.last


class Rebinds(Net):
    def forward(self, x):
        y = super().forward(x)
        self.count = self.count * 0.5 + y.detach().mean(0)
        return y + self.count


@pytest.mark.parametrize(
    "kind",
    [Decays, DecaysByList, Averages, Counts, CountsInPlace, Remembers, Rebinds],
)
def test_state_that_forward_changes(kind):
    model = make(kind)
    before = dict(vars(model))
    graph = assert_faithful(model)
    assert vars(model).keys() <= {*before, "last"}
    if kind in (Decays, DecaysByList):
        assert ("update", "a.weight") in roles(graph)
    if kind in (Counts, CountsInPlace):
        assert ("buffer", "steps") in roles(graph)
    if kind is Averages:
        assert ("update", "mean") in roles(graph)


def test_buffer_that_stays_as_it_is_is_no_result():
    assert ("buffer", "count") not in roles(capture(make()))


def test_custom_function_gets_a_parameter_by_closure():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w, (g * x).sum(0)

    model = make()
    bias = model.b.bias
    model.b.register_forward_hook(lambda m, i, output: Scale.apply(output, bias))
    assert_faithful(model)
