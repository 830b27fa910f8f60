"""The modules of a model that nodes of a graph come from."""

from __future__ import annotations

import re
from functools import cache

from torch.fx import Node

from regather.fx.private import WRAPPERS

_COMPONENT = re.compile(r"\[['\"]?([^'\"\]]+)['\"]?\]|\.?([^.\[\]]+)")

# In graphs, tables of modules and FSDP1 add components, too.
_ADDED = (*WRAPPERS, "_modules", "_fsdp_wrapped_module")


@cache
def _path_of(text: str) -> str:
    """`layers.0.attention` of `L['self'].layers.0.attention`, which some versions
    write as `L['self']._modules['layers']._modules['0'].attention`."""
    names = [first or second for first, second in _COMPONENT.findall(text)]
    if names[:1] == ["L"]:
        # What is called, and the variable that holds it.
        names = names[2:]
    return ".".join(name for name in names if name not in _ADDED)


def module_of(node: Node) -> str:
    """The path of the innermost module, of backward nodes as well; empty for the
    model itself, and if nobody knows."""
    stack = (node.meta.get("nn_module_stack")
             or node.meta.get("fwd_nn_module_stack"))
    return _path_of(next(reversed(stack.values()))[0]) if stack else ""
