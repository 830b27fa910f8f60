//===- ExecEnums.td - Enumerations of the exec dialect -----*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECENUMS
#define REGATHER_DIALECT_EXEC_IR_EXECENUMS

include "mlir/IR/EnumAttr.td"
include "regather/Dialect/Exec/IR/ExecBase.td"

def Exec_CollectiveKind : I32Enum<"CollectiveKind", "Kind of a collective", [
  I32EnumCase<"AllGather", 0, "all_gather">,
  I32EnumCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumCase<"AllReduce", 2, "all_reduce">,
  I32EnumCase<"AllToAll", 3, "all_to_all">,
  I32EnumCase<"Broadcast", 4, "broadcast">,
  I32EnumCase<"Permute", 5, "permute">
]> {
  let cppNamespace = "::regather::exec";
}

def Exec_CollectiveKindAttr
    : EnumAttr<Exec_Dialect, Exec_CollectiveKind, "collective_kind"> {
  let summary = "what a collective does";
  let assemblyFormat = "`<` $value `>`";
}

#endif // REGATHER_DIALECT_EXEC_IR_EXECENUMS
