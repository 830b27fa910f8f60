"""Private names of PyTorch that the drop-ins stand on, all in one place.

Its extension points lie in modules whose names begin with an underscore. A
version that lacks one of them fails here, at the import of `regather.torch`.
"""

from __future__ import annotations

from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch import _inductor
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd
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
from torch._subclasses.fake_tensor import (FakeTensor,
                                           unset_fake_temporarily)
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.fx._lazy_graph_module import _make_graph_module
from torch.fx.experimental.proxy_tensor import py_sym_types
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree
from torch.utils._ordered_set import OrderedSet

# Of 2.15: a floating-point argument by its bits.
normalize_argument = getattr(compile_utils, "_normalize_cse_arg",
                             lambda argument: argument)
extract_modules = partitioners._extract_fwd_bwd_modules
inductor_config = _inductor.config
make_graph_module = _make_graph_module
resolve_process_group = _resolve_process_group
size_of = partitioners._size_of
wait_tensor = torch.ops._c10d_functional.wait_tensor.default


def append_node(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Adds a node of the graph at its point of insertion, the end unless said
    otherwise, under its name, which has to be legal and new."""
    names = graph._graph_namespace
    names._used_names.add(node.name)
    names._obj_to_name[node] = node.name
    graph._insert(node)
    graph._find_nodes_lookup_table.insert(node)
    graph._len += 1


def new_call(graph: torch.fx.Graph, target: Any, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> torch.fx.Node:
    """What `Graph.call_function` adds, in a quarter of the time. Whoever watches
    for new nodes is told by the other way."""
    if getattr(graph.owning_module, "_create_node_hooks", None):
        return graph.call_function(target, args, kwargs)
    name = graph._graph_namespace.create_name(graph._target_to_str(target), None)
    node = torch.fx.Node(graph, name, "call_function", target, args, kwargs)
    append_node(graph, node)
    return node


def name_counts(graph: torch.fx.Graph) -> dict[str, int]:
    """The last number that names of the graph have, by what comes before it."""
    return graph._graph_namespace._base_count


def mark_boxed(function: Any) -> Any:
    """`function`, which takes its arguments as a list that it may clear."""
    function._boxed_call = True
    return function


def storage_key(tensor: torch.Tensor) -> int:
    """Equal for tensors that share memory."""
    return int(tensor.untyped_storage()._cdata)


__all__ = [
    "CustomGraphPass", "CustomPartitionerFn", "FakeTensor",
    "HigherOrderOperator", "OpOverload", "OrderedSet",
    "SavedForBackwardsAOTOutput", "SavedForBackwardsNoVcCheckAOTOutput",
    "TracingContext", "aot_autograd", "compile_utils", "extract_modules",
    "free_unbacked_symbols", "functorch_config", "get_aten_target",
    "inductor_config", "is_opaque_node", "list_backends", "make_boxed_func",
    "make_graph_module", "normalize_argument", "partitioners", "py_sym_types",
    "pytree", "rand_ops", "register_backend", "resolve_process_group", "size_of",
    "unset_fake_temporarily", "wait_tensor"]
