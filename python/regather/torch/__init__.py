"""Regather inside of PyTorch: passes for those who keep Inductor.

    import regather.torch
    model = torch.compile(model, options=regather.torch.options(budget=2 << 30))

See docs/pytorch.md.
"""

from __future__ import annotations

from regather.torch import backend as _backend  # registers "regather"
from regather.torch.joint_pass import JointPass, joint_pass
from regather.torch.options import options
from regather.torch.overlap import OverlapPass
from regather.torch.partitioner import Partitioner

del _backend

__all__ = ["JointPass", "OverlapPass", "Partitioner", "joint_pass", "options"]
