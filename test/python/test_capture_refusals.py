"""What a step cannot hold is refused in a sentence that names the line."""

from __future__ import annotations

import collections
import itertools
import random
import re
import types

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.parallel import DataParallel, DistributedDataParallel  # noqa: E402

import regather  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 4)
        self.scale = 1.0
        self.seen = []

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def capture(model, **options):
    target = torch.zeros(6, dtype=torch.int64)
    return regather.capture(
        model, (torch.zeros(6, 8),), F.cross_entropy, (target,), **options
    )


class Scales(Net):
    def forward(self, x):
        self.scale = self.scale + 1  # HERE
        return super().forward(x) * self.scale


class Caches(Net):
    def forward(self, x):
        if not hasattr(self, "table"):
            self.table = x.sum()  # HERE
        return super().forward(x) + self.table


class Grows(Net):
    def __init__(self):
        super().__init__()
        self.history = torch.zeros(1)

    def forward(self, x):
        self.history = torch.cat([self.history, x.sum()[None]])  # HERE
        return super().forward(x) + self.history.sum()


class SetsGradient(Net):
    def forward(self, x):
        self.a.weight.grad = torch.ones_like(self.a.weight)  # HERE
        return super().forward(x)


class SetsData(Net):
    def forward(self, x):
        self.a.weight.data = self.a.weight.data * 1.0  # HERE
        return super().forward(x)


class Replaces(Net):
    def forward(self, x):
        self.a.weight = nn.Parameter(torch.ones(8, 8))  # HERE
        return super().forward(x)


class Freezes(Net):
    def forward(self, x):
        self.a.weight.requires_grad_(False)  # HERE
        return super().forward(x)


class Differentiates(Net):
    def forward(self, x):
        y = super().forward(x)
        y.sum().backward(retain_graph=True)  # HERE
        return y


class Hooks(Net):
    def forward(self, x):
        self.a.weight.register_hook(lambda g: g * 2)  # HERE
        return super().forward(x)


class WritesIntoList(Net):
    def __init__(self):
        super().__init__()
        self.held = [torch.zeros(())]

    def forward(self, x):
        self.held[0].add_(1)  # HERE
        return super().forward(x) * self.held[0]


@pytest.mark.parametrize(
    "kind, text",
    [
        (Scales, "forward changes 'scale', which the next step would read"),
        (Caches, "forward changes 'table', which the next step would read"),
        (Grows, "forward changes 'history', a tensor, to something of another"),
        (SetsGradient, "the model sets '.grad' of parameter 'a.weight' before"),
        (SetsData, "the model sets '.data' of parameter 'a.weight'"),
        (Replaces, "forward replaces parameter 'a.weight'"),
        (Freezes, "the model changes whether parameter 'a.weight' is trained"),
        (Differentiates, "the model runs a backward pass of its own"),
        (Hooks, "the model registers a hook on parameter 'a.weight', one more"),
        (WritesIntoList, "operator 'aten.add_.Tensor' writes into a tensor"),
    ],
)
def test_names_the_line(kind, text):
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = lines.index(f"class {kind.__name__}(Net):")
    line = next(i for i in range(first, len(lines)) if "# HERE" in lines[i]) + 1
    model = kind()
    before = {k: v for k, v in vars(model).items()}
    with pytest.raises(regather.CaptureError) as info:
        capture(model)
    assert str(info.value).startswith(f"{__file__}:{line}: {text}")
    assert "\n" not in str(info.value)
    assert vars(model) == before


def counting(gradient_of):
    calls = []

    def hook(value):
        calls.append(1)
        return value * len(calls) if gradient_of else None

    return hook


def refusal(model):
    with pytest.raises(regather.CaptureError) as info:
        capture(model)
    return str(info.value)


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_stateful_hook(kind):
    model = Net()
    hook = counting(kind == "register_hook")
    getattr(model.a.weight, kind)(hook)
    line = hook.__code__.co_firstlineno
    assert refusal(model).startswith(
        f"{__file__}:{line}: the step changes the size of 'calls' in a hook of "
        "parameter 'a.weight', which the next step would see"
    )


def test_optimizer_with_state_in_the_backward_pass():
    model = Net()
    optimizer = torch.optim.SGD([model.a.weight], lr=0.1, momentum=0.9)
    model.a.weight.register_post_accumulate_grad_hook(lambda p: optimizer.step())
    assert re.match(
        rf"{re.escape(__file__)}:\d+: the step changes .*'state' in 'optimizer' in a "
        "hook of parameter 'a.weight'", refusal(model)
    )


def test_hook_that_fails_is_named():
    model = Net()
    hook = lambda g: g[100]  # noqa: E731
    model.a.weight.register_hook(hook)
    assert refusal(model).startswith(
        f"{__file__}:{hook.__code__.co_firstlineno}: a hook of parameter 'a.weight' "
        "failed: IndexError"
    )


def test_hooks_that_several_tensors_share():
    model = Net()
    torch.autograd.graph.register_multi_grad_hook(
        (model.a.weight, model.b.weight), lambda gradients: None
    )
    assert "parameter 'a.weight' has a hook that several tensors share" in refusal(
        model
    )


def test_hooks_on_the_node_that_accumulates():
    model = Net()
    node = torch.autograd.graph.get_gradient_edge(model.a.weight).node
    node.register_hook(lambda *gradients: None)
    assert "has a hook on the node that accumulates its gradient" in refusal(model)
    assert len(node.register_hook(lambda *_: None).hooks_dict_ref()) == 2


def test_list_of_a_module():
    class Appends(Net):
        def forward(self, x):
            self.seen.append(1)
            return super().forward(x) * len(self.seen)

    assert "the step changes the size of attribute 'seen' of the model" in refusal(
        Appends()
    )


STEP = 0


def test_global():
    class CountsGlobally(Net):
        def forward(self, x):
            global STEP
            STEP += 1
            return super().forward(x) * STEP

    assert "the step changes global 'STEP' in forward of the model" in refusal(
        CountsGlobally()
    )


def count_in_namespace(self):
    self.options.count += 1
    return self.options.count


def count_in_queue(self):
    self.queue.append(1)
    return len(self.queue)


def count_with_iterator(self):
    return next(self.numbers)


def count_in_class(self):
    type(self).count += 1
    return self.count


def count_in_function(self):
    count_in_function.count = getattr(count_in_function, "count", 0) + 1
    return count_in_function.count


@pytest.mark.parametrize(
    "count, text",
    [
        (count_in_namespace, "'count' in attribute 'options' of the model"),
        (count_in_queue, "the size of attribute 'queue' of the model"),
        (count_with_iterator, "the next number of attribute 'numbers' of the model"),
        (count_in_class, "'count' in the class of the model"),
        (count_in_function, "attribute 'count' of 'count' in forward of the model"),
    ],
)
def test_other_places_for_state(count, text):
    class CountsSomewhere(Net):
        def __init__(self):
            super().__init__()
            self.options = types.SimpleNamespace(count=0)
            self.queue = collections.deque()
            self.numbers = itertools.count(1)

        def forward(self, x):
            return super().forward(x) * count(self)

    CountsSomewhere.count = 0
    assert f"the step changes {text}, which" in refusal(CountsSomewhere())


def test_hook_that_removes_itself():
    model = Net()
    handle = model.a.weight.register_hook(lambda g: (handle.remove(), g * 2)[1])
    assert "the step changes the size of the hooks of parameter 'a.wei" in refusal(
        model
    )


def test_seeding():
    class Seeds(Net):
        def forward(self, x):
            torch.manual_seed(0)
            return super().forward(x) + torch.rand(4)

    assert refusal(Seeds()).startswith("the model seeds PyTorch's random numbers")


def test_lazy_setting_that_no_later_step_changes():
    class Settles(Net):
        def __init__(self):
            super().__init__()
            self.options = {"mode": None}

        def forward(self, x):
            self.options["mode"] = self.options["mode"] or "double"
            return super().forward(x) * 2

    graph = capture(Settles())
    assert graph.notes[-1].startswith("verified: 2 steps")


def doubled(module, args, result):
    return result * 2


@pytest.mark.parametrize("verify", [0, 2])
def test_hooks_that_only_the_first_step_registers(verify):
    class Watches(Net):
        def forward(self, x):
            if not getattr(self, "watching", False):
                self.a.register_forward_hook(doubled)
                self.watching = True
            return super().forward(x)

    model = Watches()
    graph = capture(model, verify=verify)
    assert [n["target"] for n in graph.nodes if "mul" in n.get("target", "")]
    assert not hasattr(model, "watching")
    assert not model.a._forward_hooks


def test_hooks_that_each_step_registers():
    class Hooks(Net):
        def forward(self, x):
            self.a.register_forward_hook(doubled)
            return super().forward(x)

    model = Hooks()
    assert "the step changes the hooks of module 'a', which the next st" in refusal(
        model
    )
    assert not model.a._forward_hooks


def test_random_numbers_of_python():
    class Skips(Net):
        def forward(self, x):
            return super().forward(x) if random.random() < 2 else x

    assert refusal(Skips()).startswith("the model draws from 'random', which")


def test_attribute_of_a_parameter():
    class Marks(Net):
        def forward(self, x):
            self.a.weight.mark = x.sum()
            return super().forward(x) + self.a.weight.mark

    assert refusal(Marks()).startswith(
        "the step sets attribute 'mark' of parameter 'a.weight', which"
    )


@pytest.fixture
def mesh():
    yield regather.fake_mesh({"dp": 2})
    torch.distributed.destroy_process_group()


def test_replicated_models_are_unwrapped(mesh):
    plain = capture(Net())
    for wrapper in (DistributedDataParallel, DataParallel):
        graph = capture(wrapper(Net()))
        assert graph.nodes == plain.nodes
        assert graph.notes[0].startswith(f"{wrapper.__name__} is taken off: ")
    assert "--mesh=dp:2" in capture(DistributedDataParallel(Net())).notes[0]


def test_compiled_models_are_captured_as_written():
    model = Net()
    model.b = torch.compile(model.b)
    assert capture(torch.compile(model)).nodes == capture(Net()).nodes


def test_wrapper_inside_of_a_model(mesh):
    model = Net()
    model.b = DistributedDataParallel(model.b)
    assert refusal(model) == (
        "module 'b' is wrapped in DistributedDataParallel; expects that around "
        "the whole model or not at all"
    )


def test_communication_hook(mesh):
    model = DistributedDataParallel(Net())
    # A process group that is no real one refuses to register it in C++.
    model._comm_hooks.append((lambda state, bucket: None, None))
    assert "DistributedDataParallel has a communication hook" in refusal(model)


def test_fully_sharded_model(mesh):
    from torch.distributed.fsdp import fully_shard

    model = Net()
    fully_shard(model.b, mesh=mesh)
    assert refusal(model).startswith("module 'b' is sharded by 'fully_shard', whose")


def test_fully_sharded_wrapper(mesh):
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = Net()
    model.b = FullyShardedDataParallel(model.b, process_group=mesh.get_group(),
                                       device_id=torch.device("cpu"))
    assert refusal(model).startswith(
        "module 'b' is sharded by 'FullyShardedDataParallel', whose")


def test_collective_that_works_in_place(mesh):
    class Reduces(Net):
        def forward(self, x):
            y = super().forward(x) * 1
            torch.distributed.all_reduce(y, group=mesh.get_group())
            return y

    text = refusal(Reduces())
    assert re.match(
        rf"{re.escape(__file__)}:\d+: 'allreduce' of torch.distributed communicates",
        text,
    )


@pytest.mark.parametrize("steps, dtype, message", [
    (513, torch.float32, "at most 512 steps of time, each of which becomes nodes of "
     "its own, got 513"),
    (8, torch.bfloat16, "log-probabilities of f32 or f64, got torch.bfloat16")])
def test_alignments_that_are_not_taken_apart(steps, dtype, message):
    def loss(scores, targets):
        lengths = (steps, steps), (2, 1)
        return F.ctc_loss(scores.log_softmax(2), targets, *lengths)  # CTC

    with pytest.raises(regather.CaptureError) as info:
        regather.capture(nn.Linear(6, 5).to(dtype),
                         (torch.zeros(steps, 2, 6, dtype=dtype),), loss,
                         (torch.ones(2, 3, dtype=torch.int64),))
    with open(__file__) as source:
        line = [n for n, text in enumerate(source, 1) if text.endswith("# CTC\n")][0]
    assert str(info.value) == f"{__file__}:{line}: ctc_loss expects {message}"


class Shares(Net):
    """A buffer of its own, and one that is given."""

    def __init__(self, view):
        super().__init__()
        self.register_buffer("base", torch.ones(8))
        self.register_buffer("view", view(self))

    def forward(self, x):
        self.base.mul_(2)
        return super().forward(x) * self.view.sum() * self.base.sum()


@pytest.mark.parametrize(
    "view, names",
    [
        (lambda net: net.base[2:4], "buffer 'base' and buffer 'view'"),
        (lambda net: net.a.bias.detach(), "parameter 'a.bias' and buffer 'view'"),
        (
            lambda net: net.b.weight.detach()[:, ::3].T,
            "parameter 'b.weight' and buffer 'view'",
        ),
    ],
)
def test_memory_that_a_step_updates_under_two_names(view, names):
    with pytest.raises(regather.CaptureError) as info:
        capture(Shares(view))
    assert str(info.value).startswith(f"{names} share memory, so that a step")


def test_memory_may_be_shared_where_nothing_changes():
    class Frozen(Net):
        def __init__(self):
            super().__init__()
            flat = torch.ones(40)
            self.a.bias = nn.Parameter(flat[:8])
            self.b.bias = nn.Parameter(flat[8:12])
            # Every second element.
            self.even = nn.Parameter(flat[12:28:2])
            self.odd = nn.Parameter(flat[13:28:2])
            self.register_buffer("c", flat[28:])
            self.register_buffer("d", flat[30:36])

        def forward(self, x):
            x = x * self.even * self.odd * self.c.sum() * self.d.sum()
            return super().forward(x)

    capture(Frozen())


def test_inference_mode():
    with torch.inference_mode(), pytest.raises(
        regather.CaptureError, match="outside of 'torch.inference_mode'"
    ):
        capture(Net())
