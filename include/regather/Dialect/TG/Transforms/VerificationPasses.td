//===- VerificationPasses.td - What steps must hold --------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check of a step as a whole, and what mends a step that does not pass it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_VERIFICATIONPASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_VERIFICATIONPASSES

include "mlir/Pass/PassBase.td"

def InferPhasesPass : Pass<"tg-infer-phases", "::mlir::ModuleOp"> {
  let summary = "Tell forward, backward and optimizer apart";
  let description = [{
    Gives each operation of a step that has no `tg.phase` the one that follows
    from who needs it:

    - forward: what the loss needs, and other results, such as updates of
      buffers, that depend on no gradient; and what operations that are marked
      as forward read;
    - backward: what gradients need besides, be they returned or read by
      operations that are marked as optimizer;
    - optimizer: what updates of parameters and of optimizer states need
      besides.

    What nobody needs comes with the last of what it reads. Marks that are there
    stay, and a wait has the phase of its collective.

    Precondition: results have roles. Where gradients are returned, one result is
    the loss. A parameter that is updated has a gradient that is returned, or
    its backward is marked. Steps without operations that lack a phase are left
    alone, and so are functions of several blocks.

    Postcondition: every operation of the step has a phase; nothing else has
    changed.
  }];
  let statistics = [
    Statistic<"numForward", "num-forward",
              "Number of operations that became forward">,
    Statistic<"numBackward", "num-backward",
              "Number of operations that became backward">,
    Statistic<"numOptimizer", "num-optimizer",
              "Number of operations that became optimizer">
  ];
}

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
    - Names of arguments, and of what flat ones hold, are unique, there is at
      most one loss, learning rate and step number, and no argument has two
      updates or two gradients.
    - If the step has an optimizer (an argument of role `learning_rate` or
      `optimizer_state`), it updates every parameter that has a gradient.
    - The `library_call` of a kernel, if it has one, is what its body computes.
    - In an `exec.program`, what is read was written before, to the same buffer;
      nothing that another stream may still read or write is touched without an
      event in between; operands share bytes only where the operation can work
      in place; nothing is in flight when a region ends; and neither constants
      nor arguments that are not donated are written to. With that, no two
      buffers that are in use at one time overlap.
    - Where a loss and gradients are returned, whatever only gradients need is
      marked as backward, or reads what is; see `tg-infer-phases`. What is made
      of constants alone needs no mark.
    - No operation of backward reads a gathered parameter of forward whose
      `tg.reshard` says that it is released, unless a policy saves the value;
      the forward part of a partitioned step does not return one.
    - A collective and its wait are not marked to be saved and recomputed.
    - With `policies`, after `tg-rematerialize`, no operation of backward reads
      a value of forward that must be recomputed.

    The IR is left as it is. With `fingerprint`, a remark on each function that
    communicates holds a hash of its collectives (kinds, attributes, types and
    order): two ranks may run together only if theirs are equal.
  }];
  let options = [
    Option<"policies", "policies", "bool", /*default=*/"false",
           "Check that what must be recomputed is">,
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

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFICATIONPASSES
