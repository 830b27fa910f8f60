//===- HostPasses.td - What lies on the host ---------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_HOSTPASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_HOSTPASSES

include "mlir/Pass/PassBase.td"

def OffloadPass : Pass<"tg-offload", "::mlir::ModuleOp"> {
  let summary = "Keep values for backward in memory of the host";
  let description = [{
    Copies values that live on from forward to backward to the host
    (`tg.offload`) once they are computed, and back (`tg.fetch`) in front of the
    first operation of backward that reads them. In between, their memory on the
    device is free. Views are made again of what was fetched.

    Candidates are what operations compute, of at least `min-bytes`: not what
    was gathered, which can be gathered again, nor what the step returns, nor
    what is read again at once. Of these,

    - `marked` takes the results of operations whose policy is `offload`
      (`tg.policy`); of several results those in `tg.saved_results`, if that is
      there.
    - `all` takes all.
    - `bytes` takes as many as have `bytes` bytes together, or all if they have
      less; first those that nobody reads for the longest time, as estimated
      for `cluster`.

    Copies are placed as if they took no time, so that memory is free as long as
    can be; `tg-schedule`, which comes next, starts them earlier or ends them
    later, so that they run beside computation.

    Precondition: kernels have been formed. Single operations do as well, but a
    value may have no memory of its own that is then kept. Steps without
    backward are left alone.

    Postcondition: the step passes `tg-verify-step` and has the same bits. A
    remark for each value; one for the step with the number and bytes of those
    that were taken and of the candidates. It is an error if there is something
    to copy and `cluster` says nothing of a host, or has too little memory there:
    at the end of forward all of it is on the host.

    O(n log n).

    ```
    %a = tg.launch @f(%x)                 |  %a = tg.launch @f(%x)
                                          |  %future = tg.offload %a
    %b = tg.launch @g(%a)                 |  %b = tg.launch @g(%a)
                                          |  %host = tg.wait %future
    ...                                   |  ...
                                          |  %back = tg.fetch %host
                                          |  %copy = tg.wait %back
    %c = tg.launch @h(%a)  // backward    |  %c = tg.launch @h(%copy)
    ```
  }];
  let options = [
    Option<"mode", "mode", "OffloadMode", /*default=*/"OffloadMode::Marked",
           "Which values to copy to the host",
           [{::llvm::cl::values(
             clEnumValN(OffloadMode::Marked, "marked",
                        "Those of operations with policy offload (default)"),
             clEnumValN(OffloadMode::All, "all", "All that live on"),
             clEnumValN(OffloadMode::Bytes, "bytes",
                        "As many as have 'bytes' bytes"))}]>,
    Option<"bytes", "bytes", "::regather::ByteCount", /*default=*/"-1",
           "mode=bytes: how much to copy to the host">,
    Option<"minBytes", "min-bytes", "::regather::ByteCount",
           /*default=*/"65536", "Least size of a value">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "Cluster whose times and hosts count, by name or file">
  ];
  let dependentDialects = ["::regather::tg::TGDialect"];
  let statistics = [
    Statistic<"numOffloaded", "num-offloaded",
              "Number of values copied to the host">,
    Statistic<"offloadedBytes", "offloaded-bytes", "Their bytes">
  ];
}

def OffloadStatesPass : Pass<"tg-offload-states", "::mlir::ModuleOp"> {
  let summary = "Keep states of the optimizer in memory of the host";
  let description = [{
    Arguments that hold states of the optimizer, and their updates, lie on the
    host (`#tg.host`). An update fetches the states that it reads (`tg.fetch`)
    and copies the new ones back (`tg.offload`), so that the device holds only
    states that are being updated.

    States of more than `piece` bytes are updated piece by piece: if the update
    computes each element by itself, it becomes several updates of parts of
    equal size, of 256 elements or a multiple, with the same arithmetic. Parameters and gradients stay where
    they are; the parts of a new parameter are put together in its place.

    Candidates are donated arguments with the role of a state and an update that
    the step computes, which the step reads in its one block only. A state stays
    on the device if the step needs it elsewhere; a remark says so. Of several,
    the states of the updates that come first are taken, until they have as many
    bytes as `states` says.

    Copies stand beside the updates, as if they took no time; `tg-schedule`,
    which comes later, starts them earlier or ends them later, as far as the
    memory limit allows, so that they run beside backward and other updates.

    Precondition: the optimizer is there (`tg-append-optimizer`); kernels have
    not been formed, since a kernel is not cut.

    Postcondition: the step passes `tg-verify-step` and has the same bits. The
    names of arguments, their shapes, roles and placements are the same. A remark
    for the step with the number of states and bytes on the host. It is an error
    if there is something to copy and `cluster` says nothing of a host, or has
    too little memory there.

    O(n) for n operations, pieces included.

    ```
    func @step(%p: tensor<8xf32>,       | func @step(%p: tensor<8xf32>,
        %m: tensor<8xf32>)              |     %m: tensor<8xf32, #tg.host>)
                                        |   %future = tg.fetch %m
                                        |   %old = tg.wait %future
      %new:2 = linalg.generic           |   %new:2 = linalg.generic
          ins(%p, %m, %g)               |       ins(%p, %old, %g)
                                        |   %away = tg.offload %new#1
                                        |   %host = tg.wait %away
      return %new#0, %new#1             |   return %new#0, %host
    ```
  }];
  let options = [
    Option<"states", "states", "std::string", /*default=*/"\"none\"",
           "States to keep on the host: none, all, or as many as have so many "
           "bytes, such as 10GB">,
    Option<"piece", "piece", "::regather::ByteCount",
           /*default=*/"67108864",
           "Bytes of a state that are updated at a time at most">,
    Option<"minBytes", "min-states", "::regather::ByteCount",
           /*default=*/"65536", "Least size of a state">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "Cluster whose hosts count, by name or file">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::regather::tg::TGDialect"
  ];
  let statistics = [
    Statistic<"numStates", "num-states", "Number of states on the host">,
    Statistic<"stateBytes", "state-bytes", "Their bytes">,
    Statistic<"numPieces", "num-pieces",
              "Number of pieces that their updates have">
  ];
}

#endif // REGATHER_DIALECT_TG_TRANSFORMS_HOSTPASSES
