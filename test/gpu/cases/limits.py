"""Kernels at the limits of the device: shared memory around 48 KiB, and tensors
of more than 2^31 elements."""

from __future__ import annotations

from pathlib import Path

from cases.builder import Cases

# Elements of a row: 32 to 48 KiB of shared memory, 48 KiB to the byte, and more.
WIDTHS = {"40k": 10240, "48k": 12256, "60k": 15360}

# A block keeps one row, so that its width is what counts.
SOFTMAX = """
!rows = tensor<{rows}x{width}xf32>
func.func @step(%x: !rows {{tg.role = #tg.role<input>, tg.name = "x"}})
    -> (tensor<f32> {{tg.role = #tg.role<loss>}}, !rows) {{
  %y = tg.node "aten._softmax.default"(%x) args [#tg.operand<0>, -1, false] : (!rows) -> !rows
  %z = tg.node "aten.mul.Tensor"(%y, %y) : (!rows, !rows) -> !rows
  %loss = tg.node "aten.sum.default"(%z) : (!rows) -> tensor<f32>
  return %loss, %y : tensor<f32>, !rows
}}
"""

# The matrix is a result, so it is in memory as a whole. Of whole numbers, all of
# this is exact in any order: the loss is the product of two sums.
LARGE = """
!matrix = tensor<{rows}x{width}xbf16>
!column = tensor<{rows}x1xbf16>
!row = tensor<1x{width}xbf16>
func.func @step(%x: !column {{tg.role = #tg.role<input>, tg.name = "x"}}, %y: !row {{tg.role = #tg.role<input>, tg.name = "y"}})
    -> (tensor<f32> {{tg.role = #tg.role<loss>}}, !matrix) {{
  %m = tg.node "aten.mul.Tensor"(%x, %y) : (!column, !row) -> !matrix
  %f = tg.node "aten._to_copy.default"(%m) : (!matrix) -> tensor<{rows}x{width}xf32>
  %s = tg.node "aten.sum.dim_IntList"(%f) args [#tg.operand<0>, [0]] : (tensor<{rows}x{width}xf32>) -> tensor<{width}xf32>
  %loss = tg.node "aten.sum.default"(%s) : (tensor<{width}xf32>) -> tensor<f32>
  return %loss, %m : tensor<f32>, !matrix
}}
"""

SUMS = """
!column = tensor<{rows}x1xf32>
!row = tensor<1x{width}xf32>
func.func @step(%x: !column {{tg.role = #tg.role<input>, tg.name = "x"}}, %y: !row {{tg.role = #tg.role<input>, tg.name = "y"}})
    -> (tensor<f32> {{tg.role = #tg.role<loss>}}) {{
  %a = tg.node "aten.sum.default"(%x) : (!column) -> tensor<f32>
  %b = tg.node "aten.sum.default"(%y) : (!row) -> tensor<f32>
  %loss = tg.node "aten.mul.Tensor"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}}
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def add_softmax(cases: Cases) -> None:
    flags = ["--random-inputs=1"]
    for size, width in WIDTHS.items():
        for rows in (4,) if cases.short else (4, 2048):
            name = f"softmax-{size}" + ("" if rows == 2048 else "-small")
            step = write(cases.scratch / f"{name}.mlir",
                         SOFTMAX.format(rows=rows, width=width))
            losses = cases.record(step, name, 3, *flags)
            cases.add(name, cases.compile(step, name), flags, steps=3,
                      check=cases.reaches(losses, 1e-4),
                      stand_in_steps=3 if rows == 4 else 0)


def add_large(cases: Cases) -> None:
    """The step on few rows shows what stand-ins can show."""
    flags, width = ["--random-inputs=1,integers"], 32768
    for name, rows in (("large-tensor-small", 8), ("large-tensor", 65544)):
        sizes = {"rows": rows, "width": width}
        sums = write(cases.scratch / f"{name}-sums.mlir", SUMS.format(**sizes))
        step = write(cases.scratch / f"{name}.mlir", LARGE.format(**sizes))
        losses = cases.record(sums, name, 1, *flags)
        # Its results are 4 GB.
        cases.add(name, cases.compile(step, name), flags, outputs=False,
                  steps=3, check=cases.reaches(losses, 1e-6),
                  stand_in_steps=1 if rows == 8 else 0)


def add_cases(cases: Cases) -> None:
    add_softmax(cases)
    add_large(cases)
