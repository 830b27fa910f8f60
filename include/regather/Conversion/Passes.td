//===- Passes.td - Conversions between dialects ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_CONVERSION_PASSES
#define REGATHER_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertTGNodesToLinalgPass
    : Pass<"convert-tg-nodes-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Replace the nodes of a step by structured operations";
  let description = [{
    Replaces every `tg.node` by operations of `linalg`, `tensor`, `arith`,
    `math` and `scf` that compute what the target means. Collectives and all
    other operations are left as they are.

    Precondition: every node is pure and calls a target that the conversion
    knows. Otherwise nothing is changed, and there is one error for each
    unknown target, with the number of its nodes and the place of the first.
    A known target with arguments that do not fit is an error at the node.

    Postcondition: no `tg.node` is left, and all new types are static. The
    operation that computes a result carries the `tg.*` attributes of the node,
    and every new operation its location.

    Numbers: pointwise arithmetic on bf16 and f16 is carried out in f32 and
    rounded once, at the end of the node; reductions and products of matrices
    accumulate in f32 for both, in f64 for f64, and in the result type for
    integers. Contributions to one element are added in row-major order of what
    they come from, so results do not depend on the schedule.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of nodes converted">,
    Statistic<"numOperations", "num-operations",
              "Number of operations that took their place">
  ];
}

def ConvertTGRandomToLinalgPass
    : Pass<"convert-tg-random-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Replace random bits by integer arithmetic";
  let description = [{
    Replaces every `tg.random` by one `linalg.generic` that computes each
    element from its position: the ten rounds of Philox4x32, one block for each
    element, so that the operation fuses with what uses it. Everything else is
    left as it is.

    Precondition: none.

    Postcondition: no `tg.random` is left, and every tensor has the bits that
    the description of `tg.random` says. The new operation carries the `tg.*`
    attributes and the location of the old one.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of operations converted">
  ];
}

#endif // REGATHER_CONVERSION_PASSES
