//===- ExecTypes.td - Types of the exec dialect ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECTYPES
#define REGATHER_DIALECT_EXEC_IR_EXECTYPES

include "mlir/IR/AttrTypeBase.td"
include "regather/Dialect/Exec/IR/ExecBase.td"

class Exec_Type<string name, string typeMnemonic>
    : TypeDef<Exec_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Exec_Event : Exec_Type<"Event", "event"> {
  let summary = "a point in a stream that others can wait for";
  let description = [{
    Happens when everything that was issued on a stream before `exec.record` is
    done. Waiting for it again has no effect.
  }];
}

def Exec_Communicator : Exec_Type<"Communicator", "communicator"> {
  let summary = "the groups of ranks along axes of a mesh";
  let description = [{
    Each rank is a member of one of the groups; a collective runs in all of
    them side by side.
  }];
}

/// See `isBuffer` for what it accepts.
def Exec_Buffer
    : Type<CPred<"::regather::exec::isBuffer($_self)">,
           "dense buffer of static shape", "::mlir::MemRefType">;

def Exec_HostBuffer
    : Type<CPred<"::regather::exec::isHostBuffer($_self)">,
           "dense buffer of static shape on the host", "::mlir::MemRefType">;

def Exec_PlacedBuffer
    : Type<Or<[Exec_Buffer.predicate, Exec_HostBuffer.predicate]>,
           "dense buffer of static shape, on device or host",
           "::mlir::MemRefType">;

/// A scalar that decides how the program goes on.
def Exec_Condition
    : Type<CPred<"::regather::exec::isScalarBuffer($_self) && "
                 "::llvm::cast<::mlir::MemRefType>($_self)"
                 ".getElementType().isSignlessInteger(1)">,
           "memref<i1>", "::mlir::MemRefType">,
      BuildableType<"::mlir::MemRefType::get({}, $_builder.getI1Type())">;

def Exec_LoopBound
    : Type<CPred<"::regather::exec::isScalarBuffer($_self) && "
                 "::llvm::cast<::mlir::MemRefType>($_self)"
                 ".getElementType().isSignlessIntOrIndex()">,
           "memref of one index or integer", "::mlir::MemRefType">;

def Exec_RankIndex
    : Type<CPred<"::regather::exec::isScalarBuffer($_self) && "
                 "::llvm::cast<::mlir::MemRefType>($_self)"
                 ".getElementType().isIndex()">,
           "memref<index>", "::mlir::MemRefType">,
      BuildableType<"::mlir::MemRefType::get({}, $_builder.getIndexType())">;

#endif // REGATHER_DIALECT_EXEC_IR_EXECTYPES
