"""Joint graphs whose sizes are values of the graph.

What is saved is decided with the sizes at hand, the hints of symbols. The
modules are made by PyTorch's own functions, which know what symbols the inputs
of backward need.
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node

from regather.torch.private import (OrderedSet, extract_modules,
                                    free_unbacked_symbols, is_opaque_node,
                                    partitioners, py_sym_types, size_of)
from regather.torch.unmodelled import Unmodelled


def size_with_hints(node: Node) -> int:
    """Bytes of tensors; a size itself takes next to nothing."""
    if free_unbacked_symbols(node.meta["val"]):
        raise Unmodelled("sizes depend on data")
    return int(size_of(node))


def _is_size(node: Node) -> bool:
    return isinstance(node.meta.get("val"), py_sym_types)


def extract_dynamic(module: GraphModule, saved: list[Node], num_forward: int,
                    static: list[Node]) -> tuple[GraphModule, GraphModule]:
    """Forward and backward as modules of their own."""
    sizes = [node for node in saved if _is_size(node)]
    opaque = [node for node in saved if is_opaque_node(node)]
    values = [node for node in saved
              if not _is_size(node) and not is_opaque_node(node)]
    forward, backward = extract_modules(
        module, values, sizes, saved_opaque_nodes=opaque,
        num_fwd_outputs=num_forward,
        static_lifetime_input_nodes=OrderedSet(static))
    if partitioners.has_recomputable_rng_ops(module):
        forward, backward = partitioners.functionalize_rng_ops(
            module, forward, backward, len(sizes))
    backward = partitioners.reordering_to_mimic_autograd_engine(backward)
    parts: list[Any] = [partitioners.raise_getitems(part)
                        for part in (forward, backward)]
    return (partitioners.thread_graphsafe_rng_from_hops(
                parts[0], is_backward=False),
            partitioners.thread_graphsafe_rng_from_hops(
                parts[1], is_backward=True))
