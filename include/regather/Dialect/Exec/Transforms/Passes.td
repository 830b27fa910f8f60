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

def FormGraphsPass : Pass<"exec-form-graphs", "::mlir::ModuleOp"> {
  let summary = "Group operations of a program into graphs";
  let description = [{
    Moves operations into `exec.graph`, which a device is told to do at once:

    - `unit`: computation of one unit and phase together, where a unit is a
      repeated block (`layers.3`) or a module beside such blocks;
    - `modules`: computation of the modules that match `modules`, forward and
      backward apart, and nothing else. A pattern such as `*.attention` matches
      at any depth;
    - `full`: the whole program, with collectives and optimizer.

    In the first two modes a graph is a run of computation, which keeps its
    order. What lies in between is moved out of the way: a wait goes before the
    graph, so that what it waits for is complete when the graph is launched; a
    collective starts before the graph or, if that needs or overwrites what the
    graph works with, behind it. Only where that is not possible either, the
    graph ends and another one begins, with `.2` behind its name. Copies and
    fills that belong to no module join their neighbours. Operations that would
    be fewer than `min-ops` stay as they are.

    Events are made anew for the new order: what another stream starts comes
    after all that stream 0 was told before.

    Conflicts are found byte by byte. Before `exec-plan-memory` buffers lie
    apart, and the plan follows the new order; after it, bytes that buffers
    share hold operations back.

    Control flow in a module that is to be captured is an error, in mode `full`
    anywhere in the program; so is a pattern that matches nothing.

    Postcondition: the program passes `tg-verify-step` if it did before. Results
    have the same bits.
  }];
  let options = [
    Option<"mode", "mode", "GraphMode", /*default=*/"GraphMode::None",
           "What becomes a graph", [{::llvm::cl::values(
             clEnumValN(GraphMode::None, "none", "Nothing"),
             clEnumValN(GraphMode::Unit, "unit", "Each unit and phase"),
             clEnumValN(GraphMode::Modules, "modules",
                        "Modules that match, in each phase"),
             clEnumValN(GraphMode::Full, "full", "The whole program"))}]>,
    ListOption<"modules", "modules", "std::string",
               "Patterns of modules, such as *.attention,*.router">,
    Option<"minOps", "min-ops", "unsigned", /*default=*/"2",
           "Fewest operations that become a graph">
  ];
  let statistics = [
    Statistic<"numGraphs", "num-graphs", "Number of graphs">,
    Statistic<"numOps", "num-ops", "Number of operations in graphs">,
    Statistic<"numMovedBefore", "num-moved-before",
              "Number of starts and waits moved before a graph">,
    Statistic<"numMovedBehind", "num-moved-behind",
              "Number of starts moved behind a graph">
  ];
}

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
    - **Results of the caller** (`caller-results`). Each result gets an
      `exec.destination`: it is computed there, or copied there at the end if it
      is a part of something, an argument, a constant or another result, too.
      The update of a donated argument that lies in the argument stays there.
    - **In place.** The output of a launch takes the place of an input that is
      not needed any more, if the kernel allows it (`tg::getInPlacePairs`); so
      does the target of a copy.

    Slices of the host get places in an arena of their own, `host_arena`.

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
           "Keep updates in the memory of donated arguments">,
    Option<"callerResults", "caller-results", "bool", /*default=*/"false",
           "Write results to memory of the caller">
  ];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Bytes of the arenas">,
    Statistic<"lowerBoundBytes", "lower-bound-bytes",
              "Most bytes in use at one time">,
    Statistic<"hostArenaBytes", "host-arena-bytes",
              "Bytes of the arenas of the host">,
    Statistic<"inPlaceBytes", "in-place-bytes",
              "Bytes written over arguments that are not needed any more">,
    Statistic<"numDonated", "num-donated",
              "Number of updates computed in the memory of the argument">,
    Statistic<"numCopied", "num-copied",
              "Number of updates copied to the memory of the argument">,
    Statistic<"numDestinations", "num-destinations",
              "Number of results computed in memory of the caller">,
    Statistic<"numResultsCopied", "num-results-copied",
              "Number of results copied to memory of the caller">
  ];
}

#endif // REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES
