"""`torch.compile(backend="regather")`: eager PyTorch's loss and gradients."""

from __future__ import annotations

import copy
import functools
import os
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="inside of PyTorch")

from captured_models import make_step  # noqa: E402
from regather_tools import ROOT  # noqa: E402

import regather.torch  # noqa: E402, F401
from regather.execution import Executable  # noqa: E402
from regather.library import RegatherError  # noqa: E402
from regather.torch import program  # noqa: E402

functional = torch.nn.functional
STRICT = {"fallback": False}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    regather.torch.backend._warned.clear()
    yield


def compiled(function: Any, **options: Any) -> Any:
    return torch.compile(function, backend="regather",
                         options={**STRICT, **options})


def messages(run: Callable[[], Any]) -> list[str]:
    """What we warn of meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [str(one.message) for one in caught
            if "PyTorch runs a" in str(one.message)]


def close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance,
                               atol=tolerance)


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.grad
            for name, parameter in model.named_parameters()
            if parameter.grad is not None}


def perceptron() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(),
                               torch.nn.Linear(16, 4))


# -----------------------------------------------------------------------------
# Models
# -----------------------------------------------------------------------------

FAMILIES = ["llama", "gpt2", "bert", "vit", "residual", "mixtral"]


def loss_of(step: Any, model: Any) -> torch.Tensor:
    if step.loss is None:
        return model(**step.inputs).loss
    return step.loss(model(*step.inputs), *step.targets)


@pytest.mark.parametrize("name", FAMILIES)
def test_trains_as_eager(name: str) -> None:
    """Gradients of the first step, then losses and buffers of 20."""
    step = make_step(name)
    models = [step.model, copy.deepcopy(step.model)]
    losses, firsts = [], []
    for model, run in zip(models, [models[0], compiled(models[1])]):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        torch.manual_seed(1)
        own: list[float] = []
        for i in range(20):
            optimizer.zero_grad()
            loss = loss_of(step, run)
            loss.backward()
            if i == 0:
                firsts.append({name: value.clone() for name, value
                               in gradients(model).items()})
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    eager, ours = firsts
    assert eager.keys() == ours.keys()
    largest = max(value.norm() for value in eager.values())
    for key, value in eager.items():
        error = (ours[key] - value).norm()
        assert error <= 1e-4 * max(value.norm(), 1e-2 * largest), key
    close(losses[1], losses[0], 1e-3)


def test_transformers_model() -> None:
    """As users build one: a configuration, a model, its own loss."""
    transformers = pytest.importorskip("transformers", reason="its models")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        use_cache=False)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    other = copy.deepcopy(model)
    tokens = torch.randint(0, 64, (2, 16))
    expected = model(input_ids=tokens, labels=tokens).loss
    expected.backward()
    actual = compiled(other)(input_ids=tokens, labels=tokens).loss
    actual.backward()
    close(actual, expected)
    for name, gradient in gradients(model).items():
        close(gradients(other)[name], gradient, 1e-4)


# -----------------------------------------------------------------------------
# Optimizers
# -----------------------------------------------------------------------------

OPTIMIZERS: dict[str, Any] = {
    "adadelta": torch.optim.Adadelta,
    "adagrad": torch.optim.Adagrad,
    "adam": functools.partial(torch.optim.Adam, amsgrad=True),
    "adamax": torch.optim.Adamax,
    "adamw": functools.partial(torch.optim.AdamW, weight_decay=0.1),
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": functools.partial(torch.optim.RMSprop, momentum=0.9),
    "sgd": functools.partial(torch.optim.SGD, momentum=0.9, nesterov=True),
}


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers(name: str, foreach: bool) -> None:
    """`torch.compile(optimizer.step)`: parameters and states as eager leaves them."""
    models = [perceptron(), perceptron()]
    optimizers = [OPTIMIZERS[name](model.parameters(), lr=0.01, foreach=foreach)
                  for model in models]
    runs = [optimizers[0].step, compiled(optimizers[1].step)]
    torch.manual_seed(1)
    for _ in range(4):
        inputs = torch.randn(3, 8)
        for model, optimizer, run in zip(models, optimizers, runs):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            run()
    for eager, ours in zip(models[0].parameters(), models[1].parameters()):
        close(ours, eager)
        states = [optimizer.state[one]
                  for optimizer, one in zip(optimizers, (eager, ours))]
        assert states[0].keys() == states[1].keys()
        for key, value in states[0].items():
            close(states[1][key], value)


# -----------------------------------------------------------------------------
# Memory
# -----------------------------------------------------------------------------


def test_results_live_as_long_as_they_are_held() -> None:
    model = perceptron()
    run = compiled(model)
    batches = [torch.randn(3, 8) for _ in range(3)]
    outputs = [run(batch) for batch in batches]
    for batch, output in zip(batches, outputs):
        close(output, model(batch))
    # All three forwards are alive; backward in another order.
    expected = [torch.autograd.grad(model(batch).sum(), model.parameters())
                for batch in batches]
    for i in (2, 0, 1):
        for actual, want in zip(torch.autograd.grad(
                outputs[i].sum(), model.parameters()), expected[i]):
            close(actual, want)


def test_backward_twice() -> None:
    model = perceptron()
    loss = compiled(model)(torch.ones(3, 8)).sum()
    loss.backward(retain_graph=True)
    once = {n: g.clone() for n, g in gradients(model).items()}
    loss.backward()
    for name, gradient in gradients(model).items():
        close(gradient, 2 * once[name])


def test_parameters_are_read_where_they_lie() -> None:
    """A step reads what the optimizer has just written, and no copy of it."""
    model = perceptron()
    run = compiled(model)
    batch = torch.ones(3, 8)
    run(batch)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    close(run(batch), model(batch))


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded",
                                    "channels last"])
def test_layouts_of_inputs(layout: str) -> None:
    batch = {"transposed": torch.randn(5, 4).t(),
             "sliced": torch.randn(4, 10)[:, ::2],
             "expanded": torch.randn(4, 1).expand(4, 5),
             "channels last": torch.randn(2, 3, 4, 5).to(
                 memory_format=torch.channels_last)}[layout]

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + torch.arange(x.shape[-1])

    actual, expected = compiled(scaled)(batch), scaled(batch)
    close(actual, expected)
    if layout in ("transposed", "channels last"):
        assert actual.stride() == expected.stride()


LAZY = {
    "negative": lambda value: torch._neg_view(value),
    "imaginary": lambda value: torch.complex(value, value).conj().imag,
    "zeros": lambda value: torch._efficientzerotensor(value.shape)}


@pytest.mark.parametrize("kind", LAZY)
def test_numbers_that_no_memory_holds(kind: str) -> None:
    """PyTorch negates, or makes, them where they are read."""
    model, other = perceptron(), perceptron()
    run = torch.compile(other, backend="regather", options=STRICT, dynamic=False)
    inputs, outer = torch.randn(5, 8), torch.randn(5, 4)
    # Compiled for what memory holds.
    run(inputs).sum()
    for given, gradient in ((inputs, LAZY[kind](outer)),
                            (LAZY[kind](inputs), outer)):
        for step in (model, run):
            step(given).backward(gradient)
        close(gradients(other), gradients(model), 1e-4)


def test_conjugates_are_read_as_such() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * x * 1j).real

    run = compiled(function)
    value = torch.complex(torch.randn(3, 4), torch.randn(3, 4))
    for given in (value, value.conj(), torch._neg_view(value.conj())):
        close(run(given), function(given))


def test_freed_memory_is_not_read() -> None:
    model = perceptron()
    run = compiled(model)
    run(torch.ones(5, 8))
    model[0].weight.untyped_storage().resize_(0)
    with pytest.raises(RegatherError, match=r"of shape \[16, 8\] has no memory"):
        run(torch.ones(5, 8))


def test_results_lie_on_the_cpu() -> None:
    """Whatever the default device is."""
    model, inputs = perceptron(), torch.ones(5, 8)
    run = compiled(lambda x: functional.dropout(model(x), 0.5))
    with torch.device("meta"):
        actual = run(inputs)
    assert actual.device.type == "cpu"
    actual.sum().backward()


@pytest.mark.parametrize("loss", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_means_over_nothing(loss: str) -> None:
    model, other = perceptron(), perceptron()

    def mean(model: torch.nn.Module) -> torch.Tensor:
        return getattr(functional, loss)(model(torch.zeros(0, 8)),
                                         torch.zeros(0, 4))

    mean(model).backward()
    assert compiled(mean)(other).isnan()
    compiled(mean)(other).backward()
    close(gradients(other), gradients(model))


def test_threads_share_a_model() -> None:
    model = perceptron()
    run = compiled(model)
    batches = [torch.randn(3, 8) for _ in range(4)]
    expected = [model(batch).detach() for batch in batches]
    wrong: list[str] = []
    with torch.no_grad():
        run(batches[0])

    def work(i: int) -> None:
        for _ in range(50):
            with torch.no_grad():
                if not torch.allclose(run(batches[i]), expected[i], atol=1e-5):
                    wrong.append(f"batch {i}")
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -----------------------------------------------------------------------------
# What AOTAutograd hands over
# -----------------------------------------------------------------------------


def test_tied_weights() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.embed = torch.nn.Embedding(10, 6)
            self.head = torch.nn.Linear(6, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.embed(x))

    model, other = Tied(), Tied()
    tokens = torch.tensor([[1, 2, 3]])
    model(tokens).square().sum().backward()
    compiled(other)(tokens).square().sum().backward()
    close(other.embed.weight.grad, model.embed.weight.grad)


def test_buffers_and_inputs_are_updated() -> None:
    norms = [torch.nn.BatchNorm1d(4) for _ in range(2)]
    batch = torch.randn(6, 4)
    run = compiled(norms[1])
    for _ in range(3):
        close(run(batch), norms[0](batch))
    close(dict(norms[1].named_buffers()), dict(norms[0].named_buffers()))

    def add(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    value = torch.zeros(3)
    close(compiled(add)(value), torch.full((3,), 2.0))
    close(value, torch.ones(3))


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x, "transposed": lambda x: x.t(),
    "gaps": lambda x: x[:, ::2], "repeated row": lambda x: x[1:2]}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_are_updated_where_they_lie(layout: str) -> None:
    def update(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor
               ) -> tuple[torch.Tensor, ...]:
        old = x.sum()
        x.mul_(2).add_(y[0, 0])
        z.copy_(y)
        return old, x, x.sum(), z.sum()

    torch.manual_seed(0)
    arguments = [torch.randn(4, 6) for _ in range(3)]
    others = [one.clone() for one in arguments]
    views = [LAYOUTS[layout](one) for one in arguments]
    places = [LAYOUTS[layout](one) for one in others]
    run = compiled(update)
    with torch.no_grad():
        for _ in range(2):
            expected, actual = update(*views), run(*places)
            close(actual, expected)
            assert actual[1].data_ptr() == places[0].data_ptr()
    # Also between the elements of a view.
    close(others, arguments)


def test_fallback_updates_arguments() -> None:
    x = torch.randn(4, 3)
    expected = x.mode(1).values

    def update(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.mode(1).values

    run = torch.compile(update, backend="regather")
    assert len(messages(lambda: close(run(x), expected + 1))) == 1
    close(x.mode(1).values, expected + 1)


def test_outputs_that_alias() -> None:
    def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x.view(6), y, y, y[0], x

    batch = torch.randn(2, 3)
    outputs = compiled(views)(batch)
    for actual, expected in zip(outputs, views(batch)):
        close(actual, expected)
    outputs[0][0] = 7
    assert batch[0, 0] == 7


def test_without_gradients() -> None:
    model = perceptron()
    with torch.no_grad():
        close(compiled(model)(torch.ones(3, 8)), model(torch.ones(3, 8)))
    torch._dynamo.reset()
    with torch.inference_mode():
        close(compiled(model)(torch.ones(3, 8)), model(torch.ones(3, 8)))


def test_other_batch_sizes() -> None:
    """Each size is compiled by itself, with `dynamic=False`."""
    model = perceptron()
    run = torch.compile(model, backend="regather", dynamic=False,
                        options=STRICT)
    for size in (2, 3, 5):
        close(run(torch.ones(size, 8)), model(torch.ones(size, 8)))


def test_dynamic_sizes_fall_back_with_one_warning() -> None:
    model = perceptron()
    run = torch.compile(model, backend="regather", dynamic=True)

    def train() -> None:
        for size in (2, 3, 5):
            output = run(torch.ones(size, 8))
            close(output, model(torch.ones(size, 8)))
            output.sum().backward()

    said = messages(train)
    assert [text for text in said if "forward graph" in text] == said[:1]
    assert "sizes are dynamic" in said[0]


def test_graph_breaks() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = (x * 3).sum()
        return x + 1 if y.item() > 0 else x - 1

    run = compiled(broken)
    for sign in (1, -1):
        value = torch.ones(4) * sign
        close(run(value), broken(value))


def test_autocast() -> None:
    model, other = perceptron(), perceptron()
    run = compiled(other)
    batch = torch.randn(16, 8)
    with torch.autocast("cpu", torch.bfloat16):
        expected, actual = model(batch), run(batch)
    assert actual.dtype == torch.bfloat16
    close(actual, expected, 2e-2)
    expected.float().sum().backward()
    actual.float().sum().backward()
    for name, gradient in gradients(model).items():
        close(gradients(other)[name], gradient, 5e-2)


# -----------------------------------------------------------------------------
# Random numbers
# -----------------------------------------------------------------------------


class Noisy(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(8, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.dropout(self.linear(x), 0.3)
        x = x + torch.randn(x.shape) + torch.rand_like(x)
        # Numbers are drawn in the order of memory.
        x = functional.dropout(x.mT, 0.2) + torch.rand_like(x.mT)
        x = x[torch.randperm(32)]
        x = x * torch.bernoulli(x.double().sigmoid()).float()
        x = x + torch.empty_like(x).geometric_(0.5)
        return functional.dropout(x, 0.5)


def test_a_seed_draws_what_eager_draws() -> None:
    model, other = Noisy(), Noisy()
    run = compiled(other)
    batch = torch.randn(64, 8)
    for seed in (1, 2):
        torch.manual_seed(seed)
        expected = model(batch)
        torch.manual_seed(seed)
        actual = run(batch)
        close(actual, expected)
        expected.sum().backward()
        actual.sum().backward()
    close(gradients(other), gradients(model), 1e-4)


def test_a_graph_without_arguments_draws() -> None:
    run = compiled(lambda: torch.rand(3) * 2)
    torch.manual_seed(0)
    actual = run()
    torch.manual_seed(0)
    close(actual, torch.rand(3) * 2)


def test_draws_that_depend_on_the_graph_fall_back() -> None:
    def sample(x: torch.Tensor) -> torch.Tensor:
        return x[torch.multinomial(x.softmax(0), 7, replacement=True)] * 2

    batch = torch.randn(100)
    run = torch.compile(sample, backend="regather")
    outputs: list[torch.Tensor] = []

    def once() -> None:
        torch.manual_seed(1)
        outputs.append(run(batch))

    said = messages(once)
    assert len(said) == 1 and "'aten.multinomial.default' draws" in said[0]
    torch.manual_seed(1)
    close(outputs[0], sample(batch))


# -----------------------------------------------------------------------------
# What is not supported
# -----------------------------------------------------------------------------


def unknown(x: torch.Tensor) -> torch.Tensor:
    y = torch.linalg.eigh(x)[0]
    return y + torch.special.bessel_j0(x)


def test_unknown_operators_are_listed_at_once() -> None:
    batch = torch.randn(3, 3)
    with pytest.raises(Exception) as caught:
        compiled(unknown)(batch)
    text = str(caught.value)
    for name in ("linalg_eigh", "bessel_j0"):
        assert name in text
    assert "test_torch_backend.py" in text


def test_fallback_computes_with_one_warning() -> None:
    batch = torch.randn(3, 3)
    run = torch.compile(unknown, backend="regather")
    outputs: list[torch.Tensor] = []
    said = messages(lambda: outputs.extend([run(batch), run(batch)]))
    close(outputs[1], unknown(batch))
    assert len(said) == 1 and "regather.torch.options" in said[0]


def test_another_device_is_refused() -> None:
    with pytest.raises(Exception, match="a tensor is on meta|runs on CPUs"):
        compiled(torch.sin)(torch.ones(3, device="meta"))


def test_options_that_do_not_exist() -> None:
    with pytest.raises(Exception, match="options are fallback, mode"):
        compiled(torch.sin, colour="red")(torch.ones(3))


def test_an_index_out_of_bounds_is_an_exception() -> None:
    run = compiled(lambda table, i: table[i])
    with pytest.raises(Exception, match="out of bounds"):
        run(torch.ones(4), torch.tensor([9]))


@pytest.mark.parametrize("first", ["", "import regather.torch"])
def test_pytorch_finds_the_installed_backend(first: str, tmp_path: Path
                                             ) -> None:
    """By its entry point, whether we were imported before or not."""
    package = tmp_path / "regather-0.1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: regather\nVersion: 0.1.0\n")
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())
    points = project["project"]["entry-points"]["torch_dynamo_backends"]
    (package / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\n"
        + "".join(f"{name} = {place}\n" for name, place in points.items()))
    script = f"""if True:
        import torch
        {first}
        run = torch.compile(torch.sin, backend="regather",
                            options={{"fallback": False}})
        assert run(torch.zeros(3)).sum() == 0
        import regather.torch
    """
    subprocess.run([sys.executable, "-c", script], check=True, env={
        **os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{tmp_path}"})


def test_pytorch_without_an_extension_point() -> None:
    """What is missing is named, and so are the versions that have it."""
    script = """if True:
        import torch
        from torch._inductor import custom_graph_pass
        del custom_graph_pass.CustomPartitionerFn
        try:
            import regather.torch
        except ImportError as error:
            print(error)
    """
    text = subprocess.run([sys.executable, "-c", script], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert text.startswith(f"regather.torch does not work with PyTorch "
                           f"{torch.__version__}: cannot import name "
                           "'CustomPartitionerFn'"), text
    assert text.endswith("; expects PyTorch 2.13 to 2.15\n")


# -----------------------------------------------------------------------------
# Below
# -----------------------------------------------------------------------------


def test_program_of_a_module() -> None:
    """Text of MLIR; the update lies in the argument."""
    text = """
      func.func @step(%w: tensor<4xf32> {tg.donated, tg.role = #tg.role<parameter>})
          -> (tensor<4xf32> {tg.role = #tg.role<update of 0>}, tensor<4xf32>) {
        %w2 = arith.addf %w, %w : tensor<4xf32>
        %n = arith.negf %w : tensor<4xf32>
        return %w2, %n : tensor<4xf32>, tensor<4xf32>
      }"""
    step = Executable(text, is_capture=False)
    assert [value.role for value in step.results] == ["update", ""]
    assert [value.donated for value in step.results] == [True, False]
    assert step.arguments[0].shape == (4,) and step.arguments[0].donated
    weight, result = torch.ones(4), torch.empty(4)
    step.run([weight.data_ptr()], [None, result.data_ptr()])
    close(weight, torch.full((4,), 2.0))
    close(result, torch.full((4,), -1.0))


@pytest.mark.parametrize("text,message", [
    ("func.func @f(", "expected"),
    ("", "function"),
    ("{", "1:1"),
])
def test_broken_documents(text: str, message: str) -> None:
    with pytest.raises(RegatherError, match=message):
        Executable(text, is_capture=text == "{")


def test_options_of_executables() -> None:
    with pytest.raises(RegatherError, match="colour"):
        Executable("", [("colour", "red")])


def test_a_program_outlives_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """When Python ends, modules lose their names first."""
    step = Executable("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> "
                      "{ return %a : tensor<4xf32> }", is_capture=False)
    monkeypatch.setattr("regather.execution.c_void_p", None)
    step.close()
    step.close()


def test_memory_order() -> None:
    value = torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert program.memory_order(value) == [0, 2, 3, 1]
    assert program.memory_order(torch.empty(2, 3)) == [0, 1]
    assert program.memory_order(torch.empty(2, 6)[:, ::2]) is None
    assert program.memory_order(torch.empty(2, 1).expand(2, 3)) is None


def test_little_time_beside_dynamo() -> None:
    """300 parameters: 0.2 ms are the goal; a machine under load gets more."""
    class Many(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.all = torch.nn.ParameterList(
                [torch.ones(2) for _ in range(300)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for parameter in self.all:
                x = x + parameter
            return x

    run = compiled(Many())
    batch = torch.ones(2)
    seconds = []
    with torch.no_grad():
        for _ in range(30):
            begin = time.perf_counter()
            run(batch)
            seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 2e-3
