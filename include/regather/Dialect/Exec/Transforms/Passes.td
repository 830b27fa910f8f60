//===- Passes.td - Passes on exec --------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES
#define REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"exec-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer of a program its place in memory";
  let description = [{
    Finds when each slice of the arena is in use, over all streams, and gives
    all of them offsets such that no two that are in use together share a byte.
    Slices that nothing uses are erased.

    A buffer is in use from the operation that first writes it until its last
    access is known to be complete: on another stream, until something waited
    for it. What a region of `exec.if` or `exec.for` touches is in use for the
    whole operation. Results are in use until the program ends.

    - **Donation.** The update of a donated argument (`tg.donated`) is computed
      in the memory of the argument, if everything that reads the old value is
      done by then. Otherwise it is copied there at the end of the program. It
      stays elsewhere only if the program also returns the old value, or if it
      is another argument that is overwritten itself.
    - **In place.** The output of a launch takes the place of an input that is
      not needed any more, if the kernel allows it (`tg::getInPlacePairs`); so
      does the target of a copy.

    Places that slices have already are forgotten. Arguments and constants are
    not part of the arena.

    Precondition: each access comes after the first write of its buffer, by the
    order of a stream or by events; otherwise there is an error for both.

    Postcondition: the program has `arena`, the bytes it needs, and
    `lower_bound`, the most bytes in use at one time, and passes
    `tg-verify-step`. A remark with both on each program.

    The result depends on the program and the options alone. Near-linear in the
    number of operations, apart from `effort`.
  }];
  let options = [
    Option<"effort", "effort", "uint64_t", /*default=*/"100000000",
           "Work spent on a tighter plan, in units of a few nanoseconds">,
    Option<"inPlace", "in-place", "bool", /*default=*/"true",
           "Write results over arguments that are not needed any more">,
    Option<"donate", "donate", "bool", /*default=*/"true",
           "Keep updates in the memory of donated arguments">
  ];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Bytes of the arenas">,
    Statistic<"lowerBoundBytes", "lower-bound-bytes",
              "Most bytes in use at one time">,
    Statistic<"inPlaceBytes", "in-place-bytes",
              "Bytes written over arguments that are not needed any more">,
    Statistic<"numDonated", "num-donated",
              "Number of updates computed in the memory of the argument">,
    Statistic<"numCopied", "num-copied",
              "Number of updates copied to the memory of the argument">
  ];
}

#endif // REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES
