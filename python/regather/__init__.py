"""Python side of Regather: capturing training graphs from PyTorch.

PyTorch is imported only when something that needs it is used, so that
``import regather`` works where it is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "CaptureError": "regather.fx.errors",
    "CapturedGraph": "regather.fx.graph",
    "Step": "regather.fx.step",
    "capture": "regather.fx.capture",
    "fake_mesh": "regather.fx.mesh",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'regather' has no attribute '{name}'")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
