"""What `convert-tg-nodes-to-linalg` makes of each target, against references.

Every case of `node_cases.py` is one node with inputs. A batch of cases makes one
module, so that one conversion and one run on each engine check many nodes. Where
PyTorch is installed, `test_against_torch` also compares with the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest

import attention_cases  # noqa: F401, which adds its cases
import factorization_cases  # noqa: F401, which adds its cases
import image_cases  # noqa: F401, which adds its cases
import indexing_cases  # noqa: F401, which adds its cases
import sorting_cases  # noqa: F401, which adds its cases
from node_cases import (Array, CASES, Case, DTYPES, DType, TOLERANCE, Value)
from regather_tools import (ENGINES, RawTensor, decode_safetensors,
                            encode_safetensors, run_tool)

try:
    import torch

    import regather.fx.attention_operators  # noqa: F401, which defines them
except ImportError:
    torch = None

# -----------------------------------------------------------------------------
# Modules
# -----------------------------------------------------------------------------


class NodeWriter:
    """Writes a node for each case, whose operands are arguments."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.body: list[str] = []
        self.results: list[tuple[str, str]] = []  # name, type

    def attribute(self, arg: Any, operands: list[Value]) -> str:
        match arg:
            case Value():
                operands.append(arg)
                return f"#tg.operand<{len(operands) - 1}>"
            case None:
                return "unit"
            case bool():
                return "true" if arg else "false"
            case int():
                return f"{arg} : i64"
            case float():
                bits = numpy.float64(arg).view(numpy.uint64)
                return f"0x{bits:016X} : f64"
            case str():
                return f'"{arg}"'
            case DType():
                return arg.name
        inner = ", ".join(self.attribute(one, operands) for one in arg)
        return f"[{inner}]"

    def add(self, one: Case, expected: list[Array]) -> None:
        operands: list[Value] = []
        args = self.attribute(one.args, operands)
        kwargs = ", ".join(f"{name} = {self.attribute(arg, operands)}"
                           for name, arg in one.kwargs.items())
        first = len(self.inputs)
        self.inputs += operands
        names = ", ".join(f"%a{first + i}" for i in range(len(operands)))
        types = [Value(dtype, array).type
                 for dtype, array in zip(one.results, expected, strict=True)]
        for i in one.absent:
            types[i] = '!tg.opaque<"none">'
        result = f"%r{len(self.body)}"
        self.body.append(
            f'  {result}:{len(types)} = tg.node "{one.target}"({names}) '
            f"args {args} " + (f"kwargs {{{kwargs}}} " if kwargs else "")
            + f": ({', '.join(value.type for value in operands)}) -> "
            f"({', '.join(types)})")
        self.results += [(f"{result}#{i}", type) for i, type in
                         enumerate(types) if i not in one.absent]

    def write(self) -> str:
        arguments = ", ".join(
            f'%a{i}: {value.type} {{tg.role = #tg.role<input>, '
            f'tg.name = "a{i}"}}' for i, value in enumerate(self.inputs))
        names = ", ".join(name for name, _ in self.results)
        types = ", ".join(f'{type} {{tg.name = "r{i}"}}'
                          for i, (_, type) in enumerate(self.results))
        body = "\n".join(self.body)
        return (f"func.func @step({arguments}) -> ({types}) {{\n{body}\n"
                f"  return {names} : "
                f"{', '.join(type for _, type in self.results)}\n}}\n")


def evaluate(one: Case) -> list[Array]:
    """The reference, in f64 for all floats."""
    def strip(arg: Any) -> Any:
        if isinstance(arg, Value):
            return (arg.data.astype(numpy.float64)
                    if arg.data.dtype.kind == "f" else arg.data)
        return [strip(x) for x in arg] if isinstance(arg, list) else arg

    with numpy.errstate(all="ignore"):
        result = one.expected(*map(strip, one.args),
                              **{k: strip(v) for k, v in one.kwargs.items()})
    results = result if isinstance(result, tuple) else (result,)
    return [numpy.asarray(array) for array in results]


def describe(one: Case) -> str:
    def show(arg: Any) -> str:
        if isinstance(arg, Value):
            return f"{arg.dtype}{list(arg.data.shape)}"
        if isinstance(arg, list):
            return "[" + ", ".join(map(show, arg)) + "]"
        return str(arg)
    return f"{one.target}({', '.join(map(show, one.args))})"


def find_difference(dtype: str, actual: RawTensor, expected: Array
                    ) -> str | None:
    if actual.shape != expected.shape:
        return f"has shape {actual.shape}, expected {expected.shape}"
    values = actual.to_floats()
    expected = expected.astype(numpy.float64)
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(values[~finite], expected[~finite],
                             equal_nan=True):
        return f"is {values}, expected {expected}"
    difference = numpy.abs(values[finite] - expected[finite])
    scale = numpy.abs(expected[finite]).max(initial=1e-30)
    if numpy.isnan(difference).any() or \
            difference.max(initial=0) > TOLERANCE[dtype] * scale:
        return f"is {values}, expected {expected}"
    return None


@dataclass
class NodeModule:
    """Cases as a module, converted to linalg, with its inputs."""
    path: Path
    inputs: Path
    # Of each result its case, number, type and expected value.
    checks: list[tuple[Case, int, str, Array]]

    def find_differences(self, outputs: Path) -> list[str]:
        actual = decode_safetensors(outputs.read_bytes())
        assert len(actual) == len(self.checks)
        wrong = []
        for i, (one, number, dtype, array) in enumerate(self.checks):
            difference = find_difference(dtype, actual[f"r{i}"], array)
            if difference:
                wrong.append(f"result {number} of {describe(one)} {difference}")
        return wrong


def write_module(cases: list[Case], scratch: Path,
                 reference: Callable[[Case], list[Array]]) -> NodeModule:
    writer = NodeWriter()
    checks = []
    for one in cases:
        expected = reference(one)
        writer.add(one, expected)
        checks += [(one, i, dtype, array) for i, (dtype, array)
                   in enumerate(zip(one.results, expected))
                   if i not in one.absent]
    nodes, converted = scratch / "nodes.mlir", scratch / "linalg.mlir"
    inputs = scratch / "inputs.safetensors"
    nodes.write_text(writer.write())
    inputs.write_bytes(encode_safetensors(
        {f"a{i}": value.encode() for i, value in enumerate(writer.inputs)}))
    result = run_tool("regather-opt", "--convert-tg-nodes-to-linalg", nodes,
                      "-o", converted, timeout=60)
    assert result.code == 0, result.last_words
    return NodeModule(converted, inputs, checks)


def run_cases(cases: list[Case], scratch: Path,
              reference: Callable[[Case], list[Array]]) -> list[str]:
    """What is wrong with the cases, on any engine."""
    module = write_module(cases, scratch, reference)
    wrong = []
    for engine in ENGINES:
        outputs = scratch / f"{engine}.safetensors"
        result = run_tool("regather", "run", module.path, f"--engine={engine}",
                          f"--inputs={module.inputs}", f"--outputs={outputs}",
                          "--quiet", timeout=60)
        assert result.code == 0, f"{engine}: {result.last_words}"
        wrong += [f"{engine}: {one}" for one in module.find_differences(outputs)]
    return wrong


# -----------------------------------------------------------------------------
# Tests
# -----------------------------------------------------------------------------

BATCH = 60
BATCHES = [CASES[i:i + BATCH] for i in range(0, len(CASES), BATCH)]


@pytest.mark.parametrize("cases", BATCHES, ids=lambda cases: cases[0].target)
def test_against_numpy(cases: list[Case], tmp_path: Path) -> None:
    wrong = run_cases(cases, tmp_path, evaluate)
    assert not wrong, "\n".join(wrong)


# These have no kernel for the CPU; numpy remains.
WITHOUT_KERNEL = {"aten._fused_rms_norm_backward.default"}


def call_torch(one: Case) -> list[Array]:
    """The operator itself, in the types that the node has."""
    if one.target in WITHOUT_KERNEL or not one.in_torch:
        return evaluate(one)
    if one.target.startswith("transformers."):
        # The library declares its operators there.
        pytest.importorskip("transformers.integrations.moe",
                            reason="it computes its own operators")

    def convert(arg: Any) -> Any:
        if isinstance(arg, Value):
            numpy_type = DTYPES[arg.dtype][1] or numpy.float32
            tensor = torch.from_numpy(
                numpy.array(arg.data, numpy_type, copy=True))
            return tensor.to(getattr(torch, DTYPES[arg.dtype][2]))
        if isinstance(arg, DType):
            return getattr(torch, DTYPES[arg.name][2])
        return [convert(x) for x in arg] if isinstance(arg, list) else arg

    namespace, name, overload = one.target.split(".")
    operator = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    result = operator(*map(convert, one.args),
                      **{k: convert(v) for k, v in one.kwargs.items()})
    results = result if isinstance(result, (tuple, list)) else (result,)
    for i, (dtype, tensor) in enumerate(zip(one.results, results, strict=True)):
        if i not in one.absent:
            assert tensor.dtype == getattr(torch, DTYPES[dtype][2]), \
                describe(one)
    # An absent result is none, or a tensor without anything in it.
    return [numpy.zeros(()) if tensor is None or i in one.absent else
            (tensor.double() if tensor.is_floating_point() else tensor).numpy()
            for i, tensor in enumerate(results)]


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("cases", BATCHES, ids=lambda cases: cases[0].target)
def test_against_torch(cases: list[Case], tmp_path: Path) -> None:
    wrong = run_cases(cases, tmp_path, call_torch)
    assert not wrong, "\n".join(wrong)
