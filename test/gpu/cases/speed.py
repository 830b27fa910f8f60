"""Speed: generated kernels beside a device copy of as many bytes, GEMMs,
attention and whole steps beside PyTorch, and what graphs save."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

from cases.attention import SMALL
from cases.builder import Cases

ROOT = Path(__file__).resolve().parents[3]
KERNELS = ROOT / "benchmarks" / "kernels.mlir"
BYTES = {"f32": 4, "bf16": 2, "i64": 8}
FLAGS = ["--random-inputs=1"]
# In steps, of which the median counts.
STEPS = 20
HEADS = (2, 32, 4096, 128)

PRODUCT = """
!matrix = tensor<{size}x{size}x{type}>
func.func @step(%a: !matrix, %b: !matrix) -> !matrix {{
  %c = tg.node "aten.mm.default"(%a, %b) : (!matrix, !matrix) -> !matrix
  return %c : !matrix
}}
"""

ATTENTION = """
!heads = tensor<{shape}xbf16>
func.func @step(%q: !heads, %k: !heads, %v: !heads, %g: !heads) -> (!heads, !heads, !heads, !heads) {{
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (!heads, !heads, !heads) -> (!heads, tensor<{logs}xf32>)
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %v, %o#0, %o#1)
      args [{operands}, 0.0, true]
      : (!heads, !heads, !heads, !heads, !heads, tensor<{logs}xf32>) -> (!heads, !heads, !heads)
  return %o#0, %d#0, %d#1, %d#2 : !heads, !heads, !heads, !heads
}}
"""


def add(cases: Cases, name: str, bundle: str, **fields: object) -> None:
    """Its results are not compared: other cases are for that."""
    cases.add(name, bundle, fields.pop("flags", FLAGS), outputs=False,
              **{"steps": STEPS, "stand_in_steps": 3 if cases.short else 0,
                 **fields})


def add_torch(cases: Cases, name: str, job: str, sizes: dict[str, object],
              goal: float, deadline: int = 60) -> None:
    cases.add_case({"kind": "torch", "name": name, "job": job, "sizes": sizes,
                    "goal": goal, "deadline": deadline,
                    "stand_in_steps": 1 if cases.short else 0})


def write(cases: Cases, name: str, text: str) -> Path:
    path = cases.scratch / f"{name}.mlir"
    path.write_text(text)
    return path


def count_bytes(types: str) -> int:
    """Of all tensors in a text."""
    count = 0
    for shape, element in re.findall(r"tensor<((?:\d+x)*)(\w+)>", types):
        count += BYTES[element] * math.prod(map(int, shape.split("x")[:-1]))
    return count


def add_kernels(cases: Cases) -> None:
    """Those of `./dev bench kernels`, each as a step of its own."""
    text = KERNELS.read_text().replace(" {tg.rows = 0}", "").replace(
        " {tg.rows = 1}", "").replace("tg.return", "return")
    # Larger than there, so that launching is a small part; or small.
    rows, tokens = (16, 4) if cases.short else (16384, 2048)
    text = re.sub(r"\b8192(?=x|>|x)", str(rows), text)
    text = re.sub(r"\b2048(?=x)", str(tokens), text)
    header, *kernels = re.split(r"^tg\.kernel @", text, flags=re.MULTILINE)
    aliases = "\n".join(re.findall(r"^#map.*$", text, re.MULTILINE))
    sizes = {}
    for kernel in kernels:
        word, rest = kernel.split("(", 1)
        name = f"kernel-{word}"
        body = re.sub(r"^#map.*$|^//.*$", "", rest, flags=re.MULTILINE)
        step = write(cases, name, f"{aliases}\nfunc.func @step({body}")
        sizes[name] = count_bytes(rest[:re.search(r"\{\n", rest).start()])
        add(cases, name, cases.compile(step, name))
        if cases.short and len(sizes) == 2:
            break
    # 90 % of the bandwidth of a copy.
    add_torch(cases, "torch-copy", "copy", sizes, 1.11)


def add_gemms(cases: Cases) -> None:
    sizes: dict[str, object] = {}
    for short, long, size in (("bf16", "bfloat16", 8192),
                              ("f32", "float32", 4096)):
        name, size = f"gemm-{short}", 64 if cases.short else size
        step = write(cases, name, PRODUCT.format(size=size, type=short))
        add(cases, name, cases.compile(step, name))
        sizes[name] = [long, size]
    add_torch(cases, "torch-gemm", "gemm", sizes, 1.03)


def add_attention(cases: Cases) -> None:
    shape = SMALL if cases.short else HEADS
    step = write(cases, "sdpa", ATTENTION.format(
        shape="x".join(map(str, shape)), logs="x".join(map(str, shape[:3])),
        operands=", ".join(f"#tg.operand<{i}>" for i in range(6))))
    bundle, names = cases.compile(step, "sdpa"), []
    for way in ("cudnn", "generated"):
        names.append(f"sdpa-{way}")
        add(cases, names[-1], bundle, variables={"REGATHER_ATTENTION": way})
    add_torch(cases, "torch-sdpa", "attention",
              {name: list(shape) for name in names}, 1.03)


def add_model(cases: Cases, name: str, factory: str, deadline: int) -> None:
    """A step of bf16, launched one by one and as one graph."""
    import torch
    import torch_models

    import regather

    print(f"capturing {name}", flush=True)
    # Weights of 8B need no memory here.
    with torch.device("meta"):
        step = torch_models.FACTORIES[factory]()
    model, inputs, loss, targets = step.made
    captured = cases.scratch / f"{name}.fx.json"
    regather.capture(model, inputs, loss=loss, targets=targets).save(captured)
    options = ["--optimizer=adamw"] if step.learns else []
    names = [name, f"{name}-full"]
    for one, graph in zip(names, ("none", "full")):
        bundle = cases.compile(captured, one, *options, f"--cuda-graph={graph}")
        add(cases, one, bundle, deadline=deadline,
            flags=FLAGS + ["--learning-rate=0.001"] * step.learns)
    cases.add_case({"kind": "gaps", "name": f"{name}-gaps", "of": names,
                    "stand_in_steps": 1})
    add_torch(cases, f"torch-{name}", "model", {names[0]: factory}, 1.0,
              deadline=150)


def add_cases(cases: Cases) -> None:
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples"),
                    str(ROOT / "test" / "gpu" / "kit")]
    add_kernels(cases)
    add_gemms(cases)
    add_attention(cases)
    if cases.short:
        add_model(cases, "block", "block-tiny", 60)
        add_model(cases, "llama-step", "llama-tiny", 60)
    else:
        add_model(cases, "block-8B", "block-8B", 60)
        add_model(cases, "llama-1B", "llama-1B", 120)
