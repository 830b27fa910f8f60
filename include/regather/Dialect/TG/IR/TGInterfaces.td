//===- TGInterfaces.td - Interfaces that passes ask --------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGINTERFACES
#define REGATHER_DIALECT_TG_IR_TGINTERFACES

include "mlir/IR/OpBase.td"

def TG_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    An operation that every rank of a group starts together and that returns
    one future for all its tensors. Members (operand i, tensor i of the
    future) are independent of each other: a collective with several members
    is a bucket.
  }];
  let methods = [
    InterfaceMethod<"The tensors that this rank contributes.",
      "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The same, to be changed.",
      "::mlir::MutableOperandRange", "getInputsMutable">,
    InterfaceMethod<"The future that `tg.wait` turns into tensors.",
      "::mlir::TypedValue<::regather::tg::FutureType>", "getFuture">,
    InterfaceMethod<"The mesh over whose axes the collective runs.",
      "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The axes that make up the group.",
      "::regather::tg::AxesAttr", "getAxesAttr">,
    InterfaceMethod<"The part of the step that the collective belongs to.",
      "::regather::tg::Phase", "getPhase">,
    InterfaceMethod<[{
      Number of the re-gather, absent for the original. Keeps a re-gather apart
      from the collective it repeats.
    }], "std::optional<uint64_t>", "getGeneration">,
    InterfaceMethod<[{
      Checks one member against a group of `groupSize` ranks. Emits an error
      that says what was expected and returns failure when the shapes differ.
    }], "::llvm::LogicalResult", "verifyMember",
      (ins "unsigned":$index, "int64_t":$groupSize)>,
    InterfaceMethod<[{
      Bytes that one rank of a group of `groupSize` receives with an algorithm
      that moves no byte twice. The one definition of a collective's size.
    }], "int64_t", "getReceivedBytes", (ins "int64_t":$groupSize)>,
    InterfaceMethod<[{
      True if a group of one rank returns its inputs unchanged.
    }], "bool", "isIdentityOnOneRank", (ins), [{}], [{ return true; }]>
  ];
}

def TG_HostCopyOpInterface : OpInterface<"HostCopyOpInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    An operation that starts a copy between the device and its host and returns
    one future for all its tensors. No other rank takes part, so that ranks need
    not start copies in one order.
  }];
  let methods = [
    InterfaceMethod<"The tensors that are copied.",
      "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The future that `tg.wait` turns into the copies.",
      "::mlir::TypedValue<::regather::tg::FutureType>", "getFuture">,
    InterfaceMethod<"True if the copies lie on the host.",
      "bool", "isToHost">
  ];
}

def TG_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    What one execution of an operation costs, for decisions on the graph.
    Implemented by `tg.node` and, as external models, by the structured ops of
    `linalg`. An operation without the interface counts as moving its operands
    and results once (see `getOpCost`).
  }];
  let methods = [
    InterfaceMethod<[{
      Arithmetic operations; a multiply-add counts as two. A double because a
      large step overflows 64 bits.
    }], "double", "getFlops">,
    InterfaceMethod<"Bytes read from memory when the operation runs alone.",
      "int64_t", "getReadBytes">,
    InterfaceMethod<"Bytes written to memory when the operation runs alone.",
      "int64_t", "getWrittenBytes">,
    InterfaceMethod<[{
      True if the result is another view of an operand's bytes (reshape,
      transpose, slice): it costs nothing to recompute.
    }], "bool", "isView">,
    InterfaceMethod<[{
      True if a library has a routine for the operation as a whole (a GEMM,
      a convolution, attention): it is neither split nor fused
      into generated code.
    }], "bool", "isLibraryCall", (ins), [{}], [{ return false; }]>
  ];
}

def TG_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    How an operation can be carried out on parts of its tensors. Implemented,
    as external models, by `tg.node` for the targets it knows and by the
    operations of `linalg`, `tensor` and `arith` that steps are written in. An
    operation without the interface needs its tensors whole.
  }];
  let methods = [
    InterfaceMethod<[{
      The rule, or the rule that needs all tensors whole
      (`ShardingRule::getWhole`) if nothing better is known. Emits nothing.
    }], "::regather::tg::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Builds the same operation on parts of its tensors at the insertion point
      of `builder`, with sizes among its arguments (those of a view, an
      expansion or a fill) taken from `resultTypes`. All attributes are kept.
    }], "::mlir::Operation *", "buildPart",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::TypeRange":$resultTypes)>
  ];
}

def TG_VerifiableStepOpInterface : OpInterface<"VerifiableStepOpInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    A function of another dialect that has more to check as a whole than what
    `tg-verify-step` checks of every function. Implemented by `exec.program`, as
    an external model, for the memory that it touches.
  }];
  let methods = [
    InterfaceMethod<[{
      Checks what no verifier of a single operation can. Emits an error.
    }], "::llvm::LogicalResult", "verifyStep">
  ];
}

#endif // REGATHER_DIALECT_TG_IR_TGINTERFACES
