"""A graph of AOTAutograd as a program of ours, on the tensors of PyTorch."""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from regather.execution import Executable
from regather.fx import cleanup
from regather.fx.encode import call_record, reference, results
from regather.fx.errors import CaptureError
from regather.fx.private import is_made_when_read
from regather.library import RegatherError
from regather.torch.drawing import lift_random
from regather.torch.joint import is_tangent
from regather.torch.modules import module_of
from regather.torch.private import pytree, unset_fake_temporarily
from regather.torch.unmodelled import Unmodelled

COPY = torch.ops.aten.copy_.default
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')

def _copied(gm: GraphModule) -> GraphModule:
    """A copy that may be changed; the graph itself may run instead of it."""
    graph = Graph()
    output = graph.graph_copy(gm.graph, {})
    graph.output(output)
    return GraphModule(gm, graph)


def memory_order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the slowest to the fastest, if the tensor lies
    densely in memory in some order; else None."""
    order = sorted(range(value.dim()),
                   key=lambda d: (-value.stride(d), -value.shape[d], d))
    expected = 1
    for dim in reversed(order):
        if value.shape[dim] != 1 and value.stride(dim) != expected:
            return None
        expected *= max(value.shape[dim], 1)
    return order


def _is_plain(order: list[int]) -> bool:
    return order == sorted(order)


class _Document:
    """Writes the graph, with the modules and lines of its nodes."""

    def __init__(self) -> None:
        self.modules: dict[str, int] = {}
        self.files: dict[str, int] = {}
        self.nodes: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self._orders = 0

    def add_input(self, node: Node, order: list[int] | None,
                  is_updated: bool = False) -> None:
        """What is updated comes first, in the graph as among arguments."""
        value = node.meta["val"]
        entries = self.buffers if is_updated else self.inputs
        entries.append({"node": node.name, "name": node.name})
        record = {"name": node.name, "op": "placeholder", "args": [],
                  "outputs": _dense(value), "phase": "forward"}
        self.nodes.append(record)
        if order is None or _is_plain(order):
            return
        # Argument and value: the value is another view of the memory.
        entries[-1]["node"] = record["name"] = f"memory.{node.name}"
        record["outputs"] = _dense(value.permute(order))

    def add_views(self, node: Node, order: list[int] | None) -> None:
        if order is not None and not _is_plain(order):
            back = [order.index(d) for d in range(len(order))]
            self._permute(node.name, {"node": f"memory.{node.name}",
                                      "output": 0}, back, node.meta["val"])

    def _permute(self, name: str, source: Any, order: list[int],
                 value: torch.Tensor) -> None:
        self.nodes.append({
            "name": name, "op": "call", "target": "aten.permute.default",
            "args": [source, order], "outputs": _dense(value),
            "phase": "forward"})

    def add_call(self, node: Node) -> None:
        record = call_record(node)
        record["phase"] = "forward"
        if node.meta.get("nn_module_stack") or node.meta.get(
                "fwd_nn_module_stack"):
            record["module"] = self.modules.setdefault(module_of(node),
                                                       len(self.modules))
        if frames := _FRAME.findall(node.meta.get("stack_trace") or ""):
            file, line = frames[-1]
            record["loc"] = [self.files.setdefault(file, len(self.files)),
                             int(line)]
        if cleanup.has_effects(node):
            record["effects"] = True
        self.nodes.append(record)

    def add_update(self, node: Node, value: Node, order: list[int] | None
                   ) -> None:
        """The argument gets this value, in its memory."""
        self.add_output(value, order)
        self.outputs[-1] |= {"role": "buffer", "of": node.name}

    def add_output(self, node: Node, order: list[int] | None) -> None:
        source = reference(node)
        if order is not None and not _is_plain(order):
            name = f"result.{self._orders}"
            self._orders += 1
            self._permute(name, source, order, node.meta["val"].permute(order))
            source = {"node": name, "output": 0}
        self.outputs.append({**source, "role": "output"})

    def text(self) -> str:
        return json.dumps({
            "schema": "regather.fx", "version": 1, "torch": torch.__version__,
            "model": {}, "meshes": [], "groups": {},
            "modules": list(self.modules), "files": list(self.files),
            "nodes": self.nodes, "parameters": [], "buffers": self.buffers,
            "inputs": self.inputs, "outputs": self.outputs})


def _dense(value: torch.Tensor) -> list[dict[str, Any] | None]:
    return results(torch.empty(value.shape, dtype=value.dtype, device="meta"))


def _check_values(graph: Graph) -> None:
    for node in graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                raise Unmodelled("sizes are dynamic")
            if isinstance(value, torch.Tensor):
                if any(not isinstance(size, int) for size in value.shape):
                    raise Unmodelled("sizes are dynamic")
                if value.device.type != "cpu":
                    raise Unmodelled(f"a tensor is on {value.device}; the "
                                     "backend runs on CPUs")


def _take_updates(graph: Graph) -> list[Node]:
    """The arguments that the graph writes to when all else is done, as the step
    of an optimizer does. Their new values become its last results. Raises
    `Unmodelled` for any other writing."""
    values: dict[Node, Node] = {}
    for node in graph.find_nodes(op="call_function", target=COPY):
        target, value = node.args[:2]
        if target.op != "placeholder" or target in values:
            raise Unmodelled(f"'{target}' is written to in the middle of the "
                             "graph")
        if any(user.op != "output" for user in node.users):
            raise Unmodelled(f"'{node.name}' is read after it was written")
        old, new = target.meta["val"], value.meta["val"]
        if old.dtype != new.dtype or old.shape != new.shape:
            raise Unmodelled(f"'{target.name}' is written to with another type")
        values[target] = value
        node.replace_all_uses_with(target)
        graph.erase_node(node)
    output = graph.output_node()
    output.args = ((*output.args[0], *values.values()),)
    return list(values)


class Program:
    """What runs instead of the graph: called with the list of its arguments,
    which is emptied, it returns the list of its results.

    Results are tensors of their own, laid out as those of the graph. Arguments
    are used, and updated, where they lie if they are dense; others are copied
    first, and back. Raises
    `Unmodelled` for what we do not model, and `RegatherError` with all
    operators that we do not know.
    """

    def __init__(self, gm: GraphModule, name: str,
                 updated: frozenset[int] = frozenset()) -> None:
        # Of an argument that is written to behind the graph, backward gets what
        # it holds now.
        self._updated = updated
        # PyTorch compiles with fake tensors; constants are real.
        with unset_fake_temporarily():
            self._compile(gm, name)

    def _compile(self, gm: GraphModule, name: str) -> None:
        _check_values(gm.graph)
        module = _copied(gm)
        graph = module.graph
        updated = _take_updates(graph)
        drawn = lift_random(graph)
        self._draws = [draw for _, draw in drawn]
        given = [node for node in graph.nodes if node.op == "placeholder"
                 ][:len(gm.graph.find_nodes(op="placeholder"))]
        try:
            held = cleanup.clean(module)
            self._constants = [value.contiguous() for _, value in held]
            cleanup.check(graph)
            document, used = self._write(
                graph, given, [n for n, _ in drawn], [n for n, _ in held],
                updated)
        except CaptureError as error:
            raise Unmodelled(str(error)) from error
        self._used = used
        self._executable = (Executable(
            document.text(), [("plan", "as-captured")], name=name,
            threads=torch.get_num_threads()) if document.outputs else None)

    def _write(self, graph: Graph, given: list[Node], drawn: list[Node],
               held: list[Node], updated: list[Node]
               ) -> tuple[_Document, list[int]]:
        document = _Document()
        numbers = {node: i for i, node in enumerate(given)}
        output = next(reversed(graph.nodes))
        used, self._strides = [], []
        self._may_be_lazy: list[int] = []
        arguments: list[tuple[Node, list[int] | None]] = []
        self._num_updated = len(updated)
        results = list(output.args[0])
        values = dict(zip(updated, results[len(results) - len(updated):]))
        read = {*values, *values.values()}
        for i in sorted(numbers.values(), key=lambda i: given[i] not in values):
            node = given[i]
            if node not in read and all(user is output for user in node.users):
                continue
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor):
                raise Unmodelled(f"argument '{node.name}' is no tensor")
            order = memory_order(value)
            arguments.append((node, order))
            if _may_be_lazy(node):
                self._may_be_lazy.append(len(used))
            used.append(i)
            self._strides.append(
                tuple(value.stride()) if order is not None
                else torch.empty(value.shape, device="meta").stride())
        arguments += [(node, None) for node in (*drawn, *held)]
        for node, order in arguments:
            document.add_input(node, order, node in values)
        for node, order in arguments:
            document.add_views(node, order)
        for node in graph.nodes:
            if (node.op == "call_function"
                    and node.target is not operator.getitem):
                document.add_call(node)
        for node, order in arguments[:len(updated)]:
            document.add_update(node, values[node], order)
        # For each result of the graph: an argument, one of the program, None.
        self._sources: list[tuple[str, int] | None] = []
        self._shapes: list[tuple[Any, ...]] = []
        places: dict[Node, int] = {}
        for value in results[:len(results) - len(updated)]:
            if not isinstance(value, Node):
                if value is not None:
                    raise Unmodelled("a result is no tensor")
                self._sources.append(None)
            elif value in numbers:
                number = numbers[value]
                self._sources.append(("copy" if number in self._updated
                                      else "argument", number))
            else:
                if value not in places:
                    places[value] = len(self._shapes)
                    self._add_result(document, value)
                self._sources.append(("result", places[value]))
        return document, used

    def _add_result(self, document: _Document, node: Node) -> None:
        value = node.meta["val"]
        order = memory_order(value)
        document.add_output(node, order)
        stride = (value.stride() if order is not None
                  else torch.empty(value.shape, device="meta").stride())
        self._shapes.append((tuple(value.shape), tuple(stride), value.dtype))

    def __call__(self, args: list[Any]) -> list[Any]:
        made: list[torch.Tensor] = []
        if self._executable is not None:
            tensors = []
            for i, stride in zip(self._used, self._strides):
                tensor = args[i]
                if tensor.stride() != stride:
                    tensor = _laid_out(tensor, stride)
                tensors.append(tensor)
            for i in self._may_be_lazy:
                tensors[i] = _with_memory(tensors[i])
            tensors += [draw().contiguous() for draw in self._draws]
            tensors += self._constants
            made = [torch.empty_strided(shape, stride, dtype=dtype,
                                        device="cpu")
                    for shape, stride, dtype in self._shapes]
            addresses = [tensor.data_ptr() for tensor in tensors]
            if 0 in addresses:
                tensors = [_with_memory(tensor) for tensor in tensors]
                addresses = [tensor.data_ptr() for tensor in tensors]
            self._executable.run(addresses,
                                 [None] * self._num_updated +
                                 [tensor.data_ptr() for tensor in made])
            for i, tensor in zip(self._used[:self._num_updated], tensors):
                if tensor is not args[i]:
                    args[i].copy_(tensor)
        kept = [None if source is None else
                made[source[1]] if source[0] == "result" else
                args[source[1]] if source[0] == "argument" else
                args[source[1]].clone() for source in self._sources]
        args.clear()
        return kept


def _is_lazy(tensor: torch.Tensor) -> bool:
    """Whether memory, if there is any, does not hold the numbers: those of a
    negative, of a conjugate or of zeros that PyTorch computes where they are
    read."""
    return tensor.is_neg() or tensor.is_conj() or is_made_when_read(tensor)


def _may_be_lazy(node: Node) -> bool:
    """What forward gets is guarded to be what it was compiled for, and what it
    saves is as it was then; gradients of its results may be anything."""
    return is_tangent(node) or _is_lazy(node.meta["val"])


def _with_memory(tensor: torch.Tensor) -> torch.Tensor:
    if not _is_lazy(tensor):
        if tensor.numel() and not tensor.data_ptr():
            raise RegatherError(f"a tensor of shape {list(tensor.shape)} has "
                                "no memory: its storage was freed")
        return tensor
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype,
                               device="cpu")
    return made.copy_(tensor.detach())


def _laid_out(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """The tensor with these strides; those of dimensions of one element do not
    matter."""
    if all(size == 1 or a == b for size, a, b in
           zip(tensor.shape, tensor.stride(), stride)) or not tensor.numel():
        return tensor
    made = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype,
                               device="cpu")
    return made.copy_(tensor.detach())


__all__ = ["Program", "RegatherError"]
