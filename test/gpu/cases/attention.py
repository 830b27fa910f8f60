"""Attention of bf16 by generated kernels and by cuDNN, where it is there."""

from __future__ import annotations

import math
from pathlib import Path

from cases.builder import Cases

# Q, K and V are learnt, so that the loss of a step depends on all gradients of
# the step before. Each number is exact in bf16.
ATTENTION = """
#all = affine_map<(b, h, s, d) -> (b, h, s, d)>
#row = affine_map<(b, h, s, d) -> (b, h, s)>
#rows = affine_map<(b, h, s) -> (b, h, s)>
#one = affine_map<(b, h, s) -> ()>
!heads = tensor<{shape}xbf16>
func.func @step(%q: !heads {{tg.role = #tg.role<parameter>, tg.name = "q", tg.registration = 0 : i64, tg.donated}},
    %k: !heads {{tg.role = #tg.role<parameter>, tg.name = "k", tg.registration = 1 : i64, tg.donated}},
    %v: !heads {{tg.role = #tg.role<parameter>, tg.name = "v", tg.registration = 2 : i64, tg.donated}},
    %t: !heads {{tg.role = #tg.role<input>, tg.name = "target"}})
    -> (tensor<f32> {{tg.role = #tg.role<loss>}}, !heads {{tg.role = #tg.role<update of 0>}},
        !heads {{tg.role = #tg.role<update of 1>}}, !heads {{tg.role = #tg.role<update of 2>}}) {{
  %zero = arith.constant 0.0 : f32
  %mean = arith.constant {mean} : f32
  %rate = arith.constant 0.0625 : bf16
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (!heads, !heads, !heads) -> (!heads, tensor<{logs}xf32>)
  %empty = tensor.empty() : !heads
  %rows = tensor.empty() : tensor<{logs}xf32>
  %rows0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<{logs}xf32>) -> tensor<{logs}xf32>
  %sums = linalg.generic {{indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%o#0, %t : !heads, !heads) outs(%rows0 : tensor<{logs}xf32>) {{
  ^body(%y: bf16, %z: bf16, %sum: f32):
    %y0 = arith.extf %y : bf16 to f32
    %z0 = arith.extf %z : bf16 to f32
    %e = arith.subf %y0, %z0 : f32
    %square = arith.mulf %e, %e : f32
    %scaled = arith.mulf %square, %mean : f32
    %next = arith.addf %sum, %scaled : f32
    linalg.yield %next : f32
  }} -> tensor<{logs}xf32>
  %scalar = tensor.empty() : tensor<f32>
  %scalar0 = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {{indexing_maps = [#rows, #one], iterator_types = ["reduction", "reduction", "reduction"]}}
      ins(%sums : tensor<{logs}xf32>) outs(%scalar0 : tensor<f32>) {{
  ^body(%x: f32, %sum: f32):
    %next = arith.addf %sum, %x : f32
    linalg.yield %next : f32
  }} -> tensor<f32>
  %g = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%o#0, %t : !heads, !heads) outs(%empty : !heads) {{
  ^body(%y: bf16, %z: bf16, %out: bf16):
    %e = arith.subf %y, %z : bf16
    linalg.yield %e : bf16
  }} -> !heads
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %v, %o#0, %o#1)
      args [{operands}, 0.0, true]
      : (!heads, !heads, !heads, !heads, !heads, tensor<{logs}xf32>) -> (!heads, !heads, !heads)
{updates}
  return %loss, %q1, %k1, %v1 : tensor<f32>, !heads, !heads, !heads
}}
"""

UPDATE = """  %{name}1 = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%{name}, %d#{i} : !heads, !heads) outs(%empty : !heads) {{
  ^body(%p: bf16, %g0: bf16, %out: bf16):
    %step = arith.mulf %g0, %rate : bf16
    %p1 = arith.subf %p, %step : bf16
    linalg.yield %p1 : bf16
  }} -> !heads"""

# The sizes of a step that a model has, and those that a stand-in computes in time.
LARGE, SMALL = (2, 16, 2048, 128), (1, 2, 40, 32)


def write_step(path: Path, shape: tuple[int, ...]) -> Path:
    path.write_text(ATTENTION.format(
        shape="x".join(map(str, shape)), logs="x".join(map(str, shape[:3])),
        mean=1 / math.prod(shape),
        operands=", ".join(f"#tg.operand<{i}>" for i in range(6)),
        updates="\n".join(UPDATE.format(name=name, i=i)
                          for i, name in enumerate("qkv"))))
    return path


def add_size(cases: Cases, base: str, shape: tuple[int, ...],
             stand_in_steps: int) -> None:
    """Learns 100 steps; the losses are those of the engine for CPUs."""
    step = write_step(cases.scratch / f"{base}.mlir", shape)
    flags = ["--random-inputs=1"]
    losses = cases.record(step, base, 5, *flags)
    bundle = cases.compile(step, base)
    generated, cudnn = ({"REGATHER_ATTENTION": way}
                        for way in ("generated", "cudnn"))
    cases.add(f"{base}-generated", bundle, flags, variables=generated,
              check=cases.reaches(losses, 1e-2), stand_in_steps=stand_in_steps)
    cases.add(f"{base}-cudnn", bundle, flags, variables=cudnn,
              check=cases.near(f"{base}-generated", 1e-2),
              stand_in_steps=stand_in_steps)
    cases.add(f"{base}-cudnn-full",
              cases.compile(step, f"{base}-full", "--cuda-graph=full"), flags,
              variables=cudnn, check=cases.same(f"{base}-cudnn"),
              stand_in_steps=stand_in_steps)


def add_cases(cases: Cases) -> None:
    add_size(cases, "attention-small", SMALL, stand_in_steps=4)
    if not cases.short:
        add_size(cases, "attention", LARGE, stand_in_steps=0)
