//===- TGHostOps.td - Copies between device and host -------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGHOSTOPS
#define REGATHER_DIALECT_TG_IR_TGHOSTOPS

include "regather/Dialect/TG/IR/TGOps.td"

/// As of collectives: starting a copy allocates its future, so that an unused
/// one is dead, and no general pass merges or moves one. Which phase it is part
/// of says `tg.phase`.
class TG_HostCopyOp<string mnemonic, Type tensor, string isToHost>
    : TG_Op<mnemonic, [TG_HostCopyOpInterface]> {
  let arguments = (ins Variadic<tensor>:$inputs);
  let results = (outs Res<TG_Future, "", [MemAlloc]>:$future);
  let assemblyFormat = [{
    $inputs attr-dict `:` functional-type($inputs, $future)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "bool isToHost() { return " # isToHost # "; }";
}

def TG_OffloadOp : TG_HostCopyOp<"offload", TG_Tensor, "true"> {
  let summary = "Copy tensors to the host";
  let description = [{
    Member i of the future is operand i in memory of the host. When it has been
    waited for, the memory of the operands on the device is free for others.

    It lowers to copies on a stream of their own, which run beside computation
    and communication.
  }];
}

def TG_FetchOp : TG_HostCopyOp<"fetch", TG_HostTensor, "false"> {
  let summary = "Copy tensors back from the host";
  let description = [{
    Member i of the future has the bits of operand i, on the device. A tensor of
    the host may be fetched more than once.

    It lowers to copies on a stream of their own, another one than that of
    `tg.offload`: links to hosts carry both directions at once.
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGHOSTOPS
