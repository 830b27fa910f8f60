"""A sharded step against the step it was made from, on captured models.

Loss and every gradient are compared, on meshes that shard (FSDP), replicate
(DDP) and do both (HSDP). A mesh of one rank must give the same bits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT, example  # noqa: E402
from regather_tools import ENGINES, run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import regather  # noqa: E402

TOLERANCE = 1e-5
FSDP = "mesh=dp:4"
HSDP = "mesh=rep:2,dp:2 replicate-axis=rep"
DDP = "mesh=dp:4 replicate-axis=dp"


class Perceptron(torch.nn.Module):
    """Two layers; sizes of which four ranks divide none, one frozen bias."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 10)
        self.down = torch.nn.Linear(10, 3)
        self.scale = torch.nn.Parameter(torch.tensor(0.5))
        self.up.bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(self.up(x))
        return self.down(hidden) * self.scale


def perceptron() -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, 6, generator=generator)
    target = torch.randn(8, 3, generator=generator)
    loss = torch.nn.functional.mse_loss
    return Perceptron(), (x,), loss, (target,)


def half() -> tuple[Any, ...]:
    """Gradients that are rounded after sums in another type."""
    model, (x,), loss, (target,) = perceptron()
    return model.bfloat16(), (x.bfloat16(),), loss, (target.bfloat16(),)


class Normalized(torch.nn.Module):
    """Statistics over the batch, and a buffer that follows them."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 8)
        self.down = torch.nn.Linear(8, 3)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.up(x)
        mean = hidden.mean(0)
        spread = (hidden - mean).pow(2).mean(0).add(1e-5).sqrt()
        self.mean.mul_(0.9).add_(mean.detach(), alpha=0.1)
        return self.down((hidden - mean) / spread)


def normalized() -> tuple[Any, ...]:
    return Normalized(), *perceptron()[1:]


class Dropped(torch.nn.Module):
    """Draws random numbers: each rank needs those of its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(6, 8)
        self.down = torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.dropout(self.up(x), 0.3)
        return self.down(hidden + torch.rand_like(hidden))


def dropped() -> tuple[Any, ...]:
    return Dropped(), *perceptron()[1:]


def llama() -> tuple[Any, ...]:
    model, (tokens,), loss, _ = example("llama3").step("tiny", batch=4)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 64, tokens.shape, generator=generator)
    return model, (tokens,), loss, (tokens.roll(-1, 1),)


def masked() -> tuple[Any, ...]:
    """Ranks have other numbers of tokens that count, one has none."""
    model, inputs, loss, (labels,) = llama()
    labels = labels.clone()
    for row in range(4):
        labels[row, 4 * row + 4:] = -100
    labels[0] = -100
    return model, inputs, loss, (labels,)


def library_model(name: str) -> tuple[Any, ...]:
    """A model of the transformers library, with a batch of four."""
    models = pytest.importorskip("test_capture_models",
                                 reason="transformers is not installed")
    model, batch = getattr(models, name)()
    batch = {name: torch.cat((value, value.flip(-1)))
             for name, value in batch.items()}
    return model.train(), batch, None, ()


def bert() -> tuple[Any, ...]:
    return library_model("bert")


def gpt2() -> tuple[Any, ...]:
    return library_model("gpt2")


def qwen3() -> tuple[Any, ...]:
    return library_model("qwen3")


def t5() -> tuple[Any, ...]:
    return library_model("t5")


class Captured:
    """A captured step, its inputs, and what it computes on one device."""

    def __init__(self, make: Any, directory: Path) -> None:
        torch.manual_seed(0)
        model, inputs, loss, targets = make()
        graph = regather.capture(model, inputs, loss=loss, targets=targets)
        self.directory = directory
        graph.save(directory / "step.fx.json")
        graph.save_weights(directory / "weights.safetensors")
        self.inputs = graph.document["inputs"]
        names = [entry["name"] for entry in self.inputs]
        values = inputs.values() if isinstance(inputs, dict) else inputs
        arguments = load_file(directory / "weights.safetensors")
        arguments |= dict(zip(names, (*values, *targets), strict=True))
        save_file({name: value.contiguous().clone()
                   for name, value in arguments.items()},
                  directory / "arguments.safetensors")
        imported = run_tool("regather-translate", "--import-fx",
                            directory / "step.fx.json",
                            "-o", directory / "step.mlir")
        assert imported.code == 0, imported.stderr
        self.whole = self.run(None)

    def run(self, options: str | None, engine: str = "cpu",
            canonicalize: bool = True,
            arguments: Path | None = None) -> dict[str, torch.Tensor]:
        passes = ["--tg-verify-step", "--convert-tg-nodes-to-linalg"]
        if canonicalize:
            passes.insert(0, "--canonicalize")
        if options is not None:
            passes.insert(0, f"--tg-shard-parameters={options}")
        lowered = run_tool("regather-opt", self.directory / "step.mlir",
                           *passes, "-o", self.directory / "lowered.mlir",
                           timeout=100)
        assert lowered.code == 0, lowered.stderr
        result = run_tool("regather", "run", self.directory / "lowered.mlir",
                          f"--engine={engine}", "--quiet",
                          "--inputs", arguments or
                          self.directory / "arguments.safetensors",
                          "--outputs", self.directory / "results.safetensors",
                          timeout=300)
        assert result.code == 0, result.stderr
        return load_file(self.directory / "results.safetensors")


CAPTURED: dict[Any, Captured] = {}


@pytest.fixture
def captured(make, tmp_path_factory) -> Captured:
    if make not in CAPTURED:
        CAPTURED[make] = Captured(make, tmp_path_factory.mktemp("captured"))
    return CAPTURED[make]


def assert_close(actual: dict[str, torch.Tensor],
                 expected: dict[str, torch.Tensor],
                 tolerance: float = TOLERANCE) -> None:
    assert actual.keys() == expected.keys()
    # Some gradients are zero but for rounding: the bias of attention keys.
    largest = max(value.double().norm() for value in expected.values())
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        error = (actual[name].double() - value.double()).norm()
        scale = max(value.double().norm(), 1e-2 * largest)
        assert error <= tolerance * scale, (name, float(error / scale))


SMALL = [dropped, perceptron, normalized]
LARGE = [llama, masked, gpt2, qwen3, bert, t5]
every_model = pytest.mark.parametrize("make", SMALL + LARGE,
                                      ids=lambda f: f.__name__)
small_models = pytest.mark.parametrize("make", SMALL,
                                       ids=lambda f: f.__name__)


@pytest.mark.parametrize("options", ["mesh=dp:2", FSDP, DDP])
@small_models
def test_every_mesh(captured: Captured, options: str) -> None:
    assert_close(captured.run(options), captured.whole)


@every_model
def test_equals_whole_step(captured: Captured) -> None:
    """Sharded over one axis and replicated over another, which is both."""
    assert_close(captured.run(HSDP), captured.whole)


@every_model
def test_one_rank_gives_the_same_bits(captured: Captured) -> None:
    results = captured.run("mesh=dp:1")
    assert results.keys() == captured.whole.keys()
    for name, value in captured.whole.items():
        assert torch.equal(results[name], value), name


@small_models
def test_is_correct_without_canonicalization(captured: Captured) -> None:
    assert_close(captured.run(FSDP, canonicalize=False), captured.whole)


@small_models
def test_engines_agree(captured: Captured) -> None:
    for engine in ENGINES:
        assert_close(captured.run("mesh=dp:2", engine), captured.whole)


@pytest.mark.parametrize("options", ["units=none", "units=up",
                                     "ignore=up.weight"])
@small_models
def test_units_change_no_bit(captured: Captured, options: str) -> None:
    """What travels together has no influence on any sum."""
    expected = captured.run(FSDP)
    results = captured.run(f"{FSDP} {options}")
    for name, value in expected.items():
        assert torch.equal(results[name], value), name


def assert_layouts_agree(captured: Captured, options: str,
                         flat: str = "") -> None:
    expected = captured.run(f"{options} layout=per-parameter")
    results = captured.run(f"{options} layout=flat {flat}")
    assert_close(results, expected)
    for name, value in expected.items():
        # On a hybrid mesh, a scalar that is no part of a buffer is reduced
        # over both axes at once, in another order.
        if options != HSDP or value.dim() > 0:
            assert torch.equal(results[name], value), name


@pytest.mark.parametrize("options", [
    "mesh=dp:1", "mesh=dp:2", FSDP, "mesh=dp:8", HSDP,
    f"{FSDP} compute-dtype=bf16 reduce-dtype=bf16", f"{FSDP} units=none",
    f"{FSDP} ignore=up.weight"])
@small_models
def test_layouts_give_the_same_bits(captured: Captured, options: str) -> None:
    """Every element is reduced in rank order, wherever it lies."""
    assert_layouts_agree(captured, options)


@pytest.mark.parametrize("flat", ["alignment=1", "optimizer-groups=*bias"])
@small_models
def test_places_in_buffers_change_no_bit(captured: Captured,
                                         flat: str) -> None:
    assert_layouts_agree(captured, FSDP, flat)


@pytest.mark.parametrize("make", [half, llama, masked, t5],
                         ids=lambda f: f.__name__)
def test_layouts_agree_on_other_models(captured: Captured) -> None:
    """Among them one with a weight that is used in three places."""
    assert_layouts_agree(captured, FSDP)


@pytest.mark.parametrize(("options", "tolerance"), [
    ("compute-dtype=f64 reduce-dtype=f64", TOLERANCE),
    ("compute-dtype=bf16", 3e-2),
    ("reduce-dtype=bf16", 1e-2),
])
@pytest.mark.parametrize("make", [perceptron])
def test_element_types(captured: Captured, options: str,
                       tolerance: float) -> None:
    results = captured.run(f"{FSDP} {options}")
    assert_close(results, captured.whole, tolerance)
    if tolerance > TOLERANCE:
        assert any(not torch.equal(results[name], value)
                   for name, value in captured.run(FSDP).items())


@pytest.mark.parametrize("options", ["mesh=dp:1", FSDP, HSDP])
@small_models
def test_micro_batches(captured: Captured, options: str,
                       tmp_path: Path) -> None:
    """Means of what each batch gives alone, buffers one after the other."""
    path = captured.directory / "arguments.safetensors"
    first = load_file(path)
    inputs = [entry["name"] for entry in captured.inputs]
    second = first | {name: first[name].flip(0).mul(1.5).contiguous()
                      for name in inputs}
    # What the first batch leaves in the buffers, the second finds there; it
    # draws the numbers of the next offset.
    kept = {name for name in captured.whole
            if name in first or name == "rng.offset"}
    second |= {name: captured.whole[name] for name in kept}
    both = first | {name: torch.cat((first[name], second[name]))
                    for name in inputs}
    save_file(second, tmp_path / "second.safetensors")
    save_file(both, tmp_path / "both.safetensors")
    alone = captured.run(None, arguments=tmp_path / "second.safetensors")
    expected = {name: alone[name] if name in kept else
                (captured.whole[name] + alone[name]) / 2 for name in alone}
    assert_close(captured.run(f"{options} micro-batches=2",
                              arguments=tmp_path / "both.safetensors"),
                 expected)


def test_example_trains() -> None:
    """Hand-written structured operations, with an optimizer."""
    def losses(*passes: str) -> list[float]:
        module = run_tool("regather-opt", ROOT / "examples" / "mlp.mlir",
                          *passes)
        assert module.code == 0, module.stderr
        result = run_tool("regather", "run", "-", "--steps=20",
                          "--random-inputs=1", "--json", stdin=module.stdout)
        assert result.code == 0, result.stderr
        found = re.search(rb'"losses":\[([^]]*)\]', result.stdout)
        return [float(loss) for loss in found[1].split(b",")]

    whole = losses()
    assert whole[-1] < whole[0]
    for options in (FSDP, HSDP, DDP):
        assert losses(f"--tg-shard-parameters={options}") == pytest.approx(
            whole, rel=1e-6)
