"""Regather inside of PyTorch: passes for those who keep Inductor.

    import regather.torch
    model = torch.compile(model, options=regather.torch.options(budget=2 << 30))

See docs/pytorch.md.
"""

from __future__ import annotations

import torch

try:
    from regather.torch import private as _private
except (AttributeError, ImportError) as error:
    raise ImportError(
        f"regather.torch does not work with PyTorch {torch.__version__}: "
        f"{error}; expects PyTorch 2.13 to 2.15") from error
from regather.torch import backend as _backend  # registers "regather"
from regather.torch.joint_pass import JointPass, joint_pass
from regather.torch.options import options
from regather.torch.overlap import OverlapPass
from regather.torch.partitioner import Partitioner

del _backend, _private

__all__ = ["JointPass", "OverlapPass", "Partitioner", "joint_pass", "options"]
