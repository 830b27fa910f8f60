"""What capturing says about models and requests that it cannot serve."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402
from torch import nn  # noqa: E402
from torch.library import Library  # noqa: E402

import regather  # noqa: E402


class Model(nn.Module):
    """Runs a function on the product of its input and its weight."""

    def __init__(self, function):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.function = function

    def forward(self, x):
        return self.function(x, x * self.weight)


def message(function, loss=None):
    with pytest.raises(regather.CaptureError) as info:
        regather.capture(Model(function), (torch.ones(2, 4),), loss)
    return str(info.value)


def line_of(function):
    return f"{os.path.abspath(__file__)}:{function.__code__.co_firstlineno}: "


@pytest.mark.parametrize(
    "function, operator",
    [
        (lambda x, y: y[y > 0].sum(), "aten.nonzero.default"),
        (lambda x, y: y.sum() if y.sum() > 0 else y.mean(), "aten._local_scalar"),
        (lambda x, y: y.sum() * x.sum().item(), "aten._local_scalar_dense"),
    ],
)
def test_data_dependence_names_operator_and_line(function, operator):
    text = message(function)
    assert text.startswith(line_of(function) + f"cannot capture '{operator}")


def test_memory_whose_layout_is_not_told():
    assert message(lambda x, y: y[:, ::2].as_strided((3,), (2,)).sum()).endswith(
        "operator 'aten.as_strided.default' reads the memory of a tensor that "
        "is not laid out row by row"
    )


def test_writing_into_an_input():
    class Writing(nn.Linear):
        def forward(self, x):
            x.add_(1)
            return super().forward(x).sum()

    with pytest.raises(regather.CaptureError) as info:
        regather.capture(Writing(4, 4), (torch.ones(2, 4),))
    assert str(info.value) == (
        "the model writes into its input 'x'; expects inputs that are only read"
    )


def test_mutating_operator_that_stays():
    library = Library("regather_test", "FRAGMENT")
    library.define("bump(Tensor(a!) x) -> ()")
    library.impl("bump", lambda x: None, "Meta")
    library.impl("bump", lambda x: None, "CPU")

    def function(x, y):
        z = y.detach().clone()
        torch.ops.regather_test.bump(z)
        return (y * z).sum()

    line = function.__code__.co_firstlineno + 2
    text = message(function)
    assert text.startswith(f"{os.path.abspath(__file__)}:{line}: ")
    assert "writes into its arguments" in text and "regather_test" in text


def test_failing_model():
    def function(x, y):
        return torch.mm(y, y)

    line = function.__code__.co_firstlineno + 1
    text = message(function)
    assert f"{__file__}:{line}: the model failed: " in text
    assert "is_compiling" not in text


def test_model_that_fails_where_it_is_compiled():
    """The code for compilers fails: that for eager PyTorch counts."""

    def scale_of(x):
        scale = None if torch.compiler.is_compiling() else 2.0
        return scale * x

    step = regather.capture(
        Model(lambda x, y: scale_of(y).sum()), (torch.ones(2, 4),)
    )
    assert step.notes[-1].startswith("verified")

    text = message(lambda x, y: scale_of(y)[y > 0].sum())
    assert "the model failed: TypeError" in text
    assert "'torch.compiler.is_compiling()' is false: " in text
    assert "cannot capture 'aten.nonzero.default'" in text


def test_conversion_to_what_it_is():
    """`Module.to` sets '.data' to the same tensor."""

    class Converting(nn.Linear):
        def forward(self, x):
            self.to(torch.float32)
            return super().forward(x).sum()

    regather.capture(Converting(4, 4), (torch.ones(2, 4),))


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda x, y: y, "expects a loss with one element, got shape [2, 4]"),
        (
            lambda x, y: torch.complex(y, y).sum(),
            "expects a real loss, got one of type complex64",
        ),
        (lambda x, y: x.sum(), "the loss depends on no parameter that is trained"),
        (lambda x, y: 3, "expects a tensor as the loss, got int"),
    ],
)
def test_no_usable_loss(function, text):
    assert message(function).startswith(text)


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "regather", "capture", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )


MODEL = """
import torch

def step(width=4):
    model = torch.nn.Linear(width, 1)
    return model, (torch.ones(2, width),), lambda y: y.sum()

def nothing():
    return None

def broken():
    raise ValueError("no such size")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models.py").write_text(MODEL)
    return tmp_path


@pytest.mark.parametrize(
    "model, config, text",
    [
        ("models.py", "{}", "expects MODULE:FUNCTION or FILE.py:FUNCTION, got"),
        ("other.py:step", "{}", "no such file: 'other.py'"),
        ("other:step", "{}", "cannot import 'other': ModuleNotFoundError"),
        ("models.py:other", "{}", "'models.py' has no function 'other'"),
        ("models:step", '{"width": }', "configuration is not valid JSON: "),
        ("models:step", "none.json", "cannot read 'none.json': No such file"),
        ("models:step", '{"width": NaN}', "configuration is not valid JSON: 'NaN'"),
        ("models:step", '{"depth": 1}', "'models:step' failed: TypeError"),
        ("models:nothing", "{}", "expects 'models:nothing' to return (model, in"),
        ("models:broken", "{}", "'models:broken' failed: ValueError: no such"),
    ],
)
def test_command_reports_errors_in_one_line(folder, model, config, text):
    result = run("--model", model, "--config", config, "-o", "x.json", cwd=folder)
    assert result.returncode == 1
    assert result.stderr.startswith(f"regather capture: error: {text}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not (folder / "x.json").exists()


def test_command_writes_graph_and_weights(folder):
    result = run(
        "--model", "models.py:step", "--config", '{"width": 3}', "-o", "x.fx.json",
        "--weights", "x.safetensors", "--quiet", cwd=folder,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (folder / "x.fx.json").stat().st_size > 0
    assert (folder / "x.safetensors").stat().st_size > 0


@pytest.mark.parametrize(
    "path, text",
    [("none/x.fx.json", "No such file or directory"), (".", "Is a directory")],
)
def test_command_checks_its_output_first(folder, path, text):
    result = run("--model", "models:step", "-o", path, cwd=folder)
    assert result.returncode == 1
    assert result.stderr == f"regather capture: error: {path}: {text}\n"


def test_failing_to_write_weights_leaves_old_files(folder):
    (folder / "x.fx.json").write_text("old")
    (folder / "meta.py").write_text(
        "import torch\ndef step():\n"
        "    model = torch.nn.Linear(4, 1, device='meta')\n"
        "    return model, (torch.ones(2, 4),), lambda y: y.sum()\n"
    )
    result = run(
        "--model", "meta:step", "-o", "x.fx.json", "--weights", "x.safetensors",
        "--quiet", cwd=folder,
    )
    assert result.returncode == 1
    assert result.stderr.startswith(
        "regather capture: error: 'weight' has no data: "
    )
    assert (folder / "x.fx.json").read_text() == "old"
    assert {p.name for p in folder.iterdir()} <= {
        "x.fx.json", "meta.py", "models.py", "__pycache__"
    }


def test_wrong_usage(folder):
    assert run("--model", "models:step", cwd=folder).returncode == 2
