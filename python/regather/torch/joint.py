"""A joint graph of AOTAutograd as flat arrays, and what it must not hold."""

from __future__ import annotations

import operator
from array import array
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from regather import library
from regather.fx.private import schema
from regather.torch.private import (HigherOrderOperator, OpOverload,
                                    is_opaque_node, py_sym_types, pytree)
from regather.torch.dynamic import size_with_hints
from regather.torch.targets import TargetTable
from regather.torch.unmodelled import Unmodelled

ARGUMENT, TANGENT, ITEM, TUPLE, FREE = 1, 2, 4, 8, 16
FORWARD_RESULT, BACKWARD_RESULT = 32, 64
RELEASED = 2048

_POLICIES = {CheckpointPolicy.MUST_SAVE: 128,
             CheckpointPolicy.MUST_RECOMPUTE: 256,
             CheckpointPolicy.PREFER_SAVE: 512,
             CheckpointPolicy.PREFER_RECOMPUTE: 1024}

_SEEDS = ("fwd_seed", "fwd_base_offset", "bwd_seed", "bwd_base_offset",
          "rng_state")


@dataclass
class Joint:
    """A joint graph and what AOTAutograd says beside it."""

    module: GraphModule
    nodes: list[Node]
    forward_results: list[Any]
    backward_results: list[Any]
    forward_descs: list[Any]
    backward_descs: list[Any]
    static: frozenset[int]
    # Of a graph without tangents: calls with which backward begins.
    seeds: frozenset[Node] = frozenset()

    @property
    def is_dynamic(self) -> bool:
        """Sizes are values of the graph."""
        return any(isinstance(node.meta.get("val"), py_sym_types)
                   for node in self.nodes)

    @property
    def placeholders(self) -> list[Node]:
        return [node for node in self.nodes if node.op == "placeholder"]


def read_joint(module: GraphModule, num_forward: int,
               static: list[int] | None) -> Joint:
    nodes = list(module.graph.nodes)
    output = nodes[-1]
    results = pytree.arg_tree_leaves(*output.args)
    descs = pytree.arg_tree_leaves(
        output.meta.get("desc", [None] * len(results)))
    return Joint(module, nodes, results[:num_forward], results[num_forward:],
                 descs[:num_forward], descs[num_forward:],
                 frozenset(static or ()))


def find_parameters(joint: Joint) -> frozenset[int]:
    """Positions, among the arguments, of parameters and buffers.

    AOTAutograd counts static inputs before it takes tensor subclasses apart; the
    descriptions lead from a part to the input that it belongs to.
    """
    found = []
    arguments = [node for node in joint.placeholders if not is_tangent(node)]
    for position, node in enumerate(arguments):
        desc = node.meta.get("desc")
        while (base := getattr(desc, "base", None)) is not None:
            desc = base
        if type(desc).__name__ == "ParamAOTInput" or (
                getattr(desc, "idx", position) in joint.static):
            found.append(position)
    return frozenset(found)


def is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def _placeholder_traits(node: Node, position: int, static: frozenset[int],
                        released: frozenset[int]) -> int:
    target = str(node.target)
    if "tangents" in target:
        return TANGENT
    if any(name in target for name in _SEEDS):
        raise Unmodelled("a state of a random generator is an argument")
    traits = ARGUMENT
    if position in static:
        traits |= FREE
    if position in released:
        traits |= RELEASED
    return traits


def _check_call(node: Node) -> None:
    target = node.target
    if isinstance(target, OpOverload):
        if schema(target).is_mutable:
            raise Unmodelled(f"'{target}' writes into its arguments")
    elif isinstance(target, HigherOrderOperator):
        if "effects" in target.name() or "functionalized" in target.name():
            raise Unmodelled(f"'{target.name()}' has effects")


def check_calls(graph: Graph) -> None:
    """Raises `Unmodelled` if a call has effects on tensors."""
    for node in {node.target: node for node in graph.nodes
                 if node.op == "call_function"}.values():
        _check_call(node)


class _Flattener:
    """The arrays of a joint graph, node by node."""

    def __init__(self, joint: Joint, released: frozenset[int]) -> None:
        self.joint = joint
        self.released = released
        self.table = TargetTable()
        self.numbers: dict[Node, int] = {}
        self.targets, self.traits = array("I"), array("I")
        self.begins, self.inputs = array("I", [0]), array("I")
        self.sizes, self.input_sizes = array("q"), array("q")
        self.results = {node: FORWARD_RESULT for node in joint.forward_results
                        if isinstance(node, Node)}
        for node in joint.backward_results:
            if isinstance(node, Node):
                if self.results.get(node) == FORWARD_RESULT:
                    raise Unmodelled(f"'{node}' is a result of forward and of "
                                     "backward")
                self.results[node] = BACKWARD_RESULT

    def _measure(self, node: Node) -> tuple[int, int]:
        """Bytes, and what kind of value it is."""
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            count = value.numel()
            if type(count) is not int:
                return size_with_hints(node), 0
            return count * value.dtype.itemsize, 0
        if isinstance(value, (list, tuple)):
            parts = [part for part in value if isinstance(part, torch.Tensor)]
            if any(type(part.numel()) is not int for part in parts):
                return size_with_hints(node), TUPLE
            return sum(part.numel() * part.dtype.itemsize
                       for part in parts), TUPLE
        if isinstance(value, py_sym_types):
            return size_with_hints(node), 0
        if value is None:
            return 0, TUPLE if "tensor_meta" not in node.meta else 0
        if is_opaque_node(node):
            return 0, FREE
        raise Unmodelled(f"'{node}' is a {type(value).__name__}")

    def run(self) -> None:
        position = 0
        numbers, inputs, sizes = self.numbers, self.inputs, self.sizes
        results, policies = self.results, _POLICIES
        for number, node in enumerate(self.joint.nodes[:-1]):
            size, traits = self._measure(node)
            op, target, input_size, meta = node.op, 0, 0, node.meta
            if node in self.joint.seeds:
                traits |= TANGENT
            elif op == "call_function":
                target = self.table.get(node)
                if node.target is operator.getitem:
                    traits |= ITEM
                for source in node.all_input_nodes:
                    inputs.append(numbers[source])
                for source in node.args:
                    if type(source) is Node:
                        input_size += sizes[numbers[source]]
            elif op == "placeholder":
                traits |= _placeholder_traits(node, position, self.joint.static,
                                              self.released)
                if not traits & TANGENT:
                    position += 1
            elif op == "get_attr":
                traits |= ITEM
            else:
                raise Unmodelled(f"'{node}' is a {op}")
            traits |= results.get(node, 0)
            if "recompute" in meta and op == "call_function":
                policy = meta["recompute"]
                if policy not in policies:
                    raise Unmodelled(f"'{node}' is offloaded")
                traits |= policies[policy]
            if str(meta.get("partitioner_tag", "")).startswith("must_be"):
                raise Unmodelled(f"'{node}' is tied to one part")
            numbers[node] = number
            self.targets.append(target)
            self.traits.append(traits)
            self.begins.append(len(inputs))
            sizes.append(size)
            self.input_sizes.append(input_size)


@dataclass
class FlatJoint:
    graph: library.Graph
    # By target.
    target_names: list[str]
    sizes: array[int]
    input_sizes: array[int]
    numbers: dict[Node, int]


def flatten(joint: Joint, released: frozenset[int]) -> FlatJoint:
    """Raises `Unmodelled` if PyTorch's partitioner has to be asked.

    `released` are positions of parameters that backward gathers again.
    """
    flat = _Flattener(joint, released)
    flat.run()
    graph = library.Graph(flat.targets, flat.traits,
                          array("I", flat.table.traits), flat.begins,
                          flat.inputs, flat.sizes, flat.input_sizes)
    return FlatJoint(graph, flat.table.names, flat.sizes, flat.input_sizes,
                     flat.numbers)
