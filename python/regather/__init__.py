"""Python side of Regather: capturing training graphs from PyTorch, and what the
compiler makes of them.

PyTorch is imported only when something that needs it is used, so that
``import regather`` works where it is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Bundle": "regather.commands",
    "Calibration": "regather.commands",
    "CaptureError": "regather.fx.errors",
    "CapturedGraph": "regather.fx.graph",
    "Diagnostic": "regather.library.errors",
    "Plan": "regather.commands",
    "RegatherError": "regather.library.errors",
    "Report": "regather.commands",
    "Simulation": "regather.commands",
    "Stats": "regather.commands",
    "Step": "regather.fx.step",
    "TrainingStep": "regather.training",
    "Tree": "regather.commands",
    "calibrate": "regather.commands",
    "capture": "regather.fx.capture",
    "compile": "regather.commands",
    "fake_mesh": "regather.fx.mesh",
    "report": "regather.commands",
    "plan": "regather.commands",
    "simulate": "regather.commands",
    "stats": "regather.commands",
    "tree": "regather.commands",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'regather' has no attribute '{name}'")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
