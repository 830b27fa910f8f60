"""Private names of PyTorch that the drop-ins stand on, all in one place.

Its extension points lie in modules whose names begin with an underscore. A
version that lacks one of them fails here, at the import of `regather.torch`.
"""

from __future__ import annotations

import torch
from torch import _inductor
from torch._functorch import compile_utils, partitioners
from torch._functorch import config as functorch_config
from torch._functorch._aot_autograd.descriptors import (
    SavedForBackwardsAOTOutput, SavedForBackwardsNoVcCheckAOTOutput)
from torch._functorch._aot_autograd.graph_compile import is_opaque_node
from torch._functorch.compile_utils import get_aten_target, rand_ops
from torch._guards import TracingContext
from torch._inductor.custom_graph_pass import (CustomGraphPass,
                                               CustomPartitionerFn)
from torch._ops import HigherOrderOperator, OpOverload
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.fx._lazy_graph_module import _make_graph_module
from torch.utils import _pytree as pytree

inductor_config = _inductor.config
make_graph_module = _make_graph_module
resolve_process_group = _resolve_process_group
wait_tensor = torch.ops._c10d_functional.wait_tensor.default

__all__ = [
    "CustomGraphPass", "CustomPartitionerFn", "HigherOrderOperator",
    "OpOverload", "SavedForBackwardsAOTOutput",
    "SavedForBackwardsNoVcCheckAOTOutput", "TracingContext", "compile_utils",
    "functorch_config", "get_aten_target", "inductor_config", "is_opaque_node",
    "make_graph_module", "partitioners", "pytree", "rand_ops",
    "resolve_process_group", "wait_tensor"]
