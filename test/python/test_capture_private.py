"""Private names of PyTorch: all in one file, which says what is missing."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402

import regather  # noqa: E402
from regather.fx import private  # noqa: E402

SOURCES = sorted((ROOT / "python" / "regather").rglob("*.py"))
PRIVATE = re.compile(
    r"torch(\.\w+)*\._(?!_)|from torch[\w.]* import \(?\s*_"
    r"|torch\.testing\._internal"
)


def capture():
    return regather.capture(torch.nn.Linear(4, 1), (torch.ones(2, 4),), torch.sum)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_private_names_are_in_one_file(path):
    found = PRIVATE.search(path.read_text(encoding="utf-8"))
    assert (found is not None) == (path.name == "private.py"), found


def test_this_version_lacks_nothing():
    assert private.notes() == []


def test_name_that_tracing_needs(monkeypatch):
    monkeypatch.setattr(private, "_missing", [])
    assert private._needed("torch.nowhere", "thing") is None
    with pytest.raises(regather.CaptureError) as info:
        capture()
    assert str(info.value) == (
        f"cannot capture with PyTorch {torch.__version__}: it has no "
        "'torch.nowhere.thing'; expects PyTorch 2.13 to 2.15"
    )


def test_name_of_a_feature(monkeypatch):
    monkeypatch.setattr(private, "lost", {})
    assert private._optional("torch.nn", "Nothing.at_all", "dreams") is None
    assert capture().notes[0] == (
        f"PyTorch {torch.__version__} has no 'torch.nn.Nothing.at_all': dreams are "
        "lost"
    )


def test_generators_of_checkpoints_are_found():
    names = {name for _, name in private.checkpoint_generators()}
    assert names and all(name.startswith("_checkpoint_without") for name in names)
