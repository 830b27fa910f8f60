//===- ExecInterfaces.td - Interfaces of the exec dialect --*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECINTERFACES
#define REGATHER_DIALECT_EXEC_IR_EXECINTERFACES

include "mlir/IR/OpBase.td"

def Exec_StreamOpInterface : OpInterface<"StreamOpInterface"> {
  let cppNamespace = "::regather::exec";
  let description = [{
    An operation that runs on a stream and touches nothing but its buffers.
  }];
  let methods = [
    InterfaceMethod<"The stream, from 0.", "uint64_t", "getStream">,
    InterfaceMethod<"The buffers that it reads, as a whole.",
      "::mlir::ValueRange", "getReads">,
    InterfaceMethod<"The buffers that it writes, as a whole.",
      "::mlir::ValueRange", "getWrites">
  ];
}

#endif // REGATHER_DIALECT_EXEC_IR_EXECINTERFACES
