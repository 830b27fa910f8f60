//===- Passes.td - Passes on tg ----------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def VerifyStepPass : Pass<"tg-verify-step", "::mlir::ModuleOp"> {
  let summary = "Check what must hold of a training step as a whole";
  let description = [{
    Checks, for every function with a body, what the verifier of a single
    operation cannot see. Independent of the passes that produced the step,
    linear in its size, and without communication.

    - All ranks start the same collectives in the same order: no collective is
      nested in control flow that depends on `tg.axis_index`, or on data that
      differs between ranks (sharded or partial arguments, scattered results).
    - Every value has a static shape.
    - No future enters or leaves a function.
    - Names of arguments are unique, there is at most one loss, and no argument
      has two updates or two gradients.
    - If the step updates a parameter, it updates every parameter that has a
      gradient.

    The IR is left as it is. With `fingerprint`, a remark on each function that
    communicates holds a hash of its collectives (kinds, attributes, types and
    order): two ranks may run together only if theirs are equal.
  }];
  let options = [
    Option<"fingerprint", "fingerprint", "bool", /*default=*/"false",
           "Print a hash of the collectives of each function as a remark">
  ];
  let statistics = [
    Statistic<"numCollectives", "num-collectives",
              "Number of collectives checked">,
    Statistic<"numRankDependent", "num-rank-dependent-values",
              "Number of values that may differ between ranks">
  ];
}

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PASSES
