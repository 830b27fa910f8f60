//===- Effects.td - Called for what they do ----------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_EFFECTS
#define REGATHER_DIALECT_TG_TARGETS_EFFECTS

include "regather/Dialect/TG/Targets/TargetBase.td"

//===----------------------------------------------------------------------===//
// Collectives, which the import turns into operations of tg
//===----------------------------------------------------------------------===//

defm C10dAllGatherIntoTensor
    : Operator<"_c10d_functional.all_gather_into_tensor", Communication, [
  Default<"input group_size group_name", lowering=Opaque, sharding=Whole>
]>;
defm C10dAllGatherIntoTensorCoalesced
    : Operator<"_c10d_functional.all_gather_into_tensor_coalesced",
               Communication, [
  Default<"inputs group_size group_name", lowering=Opaque, sharding=Whole>
]>;
defm C10dAllGatherIntoTensorOut
    : Operator<"_c10d_functional.all_gather_into_tensor_out", Communication>;
defm C10dAllReduce : Operator<"_c10d_functional.all_reduce", Communication, [
  Default<"input reduce_op group_name", lowering=Opaque, sharding=Whole>
]>;
defm C10dAllReduceCoalesced
    : Operator<"_c10d_functional.all_reduce_coalesced", Communication, [
  Default<"inputs reduce_op group_name", lowering=Opaque, sharding=Whole>
]>;
defm C10dAllReduceCoalescedInPlace
    : Operator<"_c10d_functional.all_reduce_coalesced_", Communication>;
defm C10dAllReduceInPlace
    : Operator<"_c10d_functional.all_reduce_", Communication>;
defm C10dAllToAllSingle
    : Operator<"_c10d_functional.all_to_all_single", Communication, [
  Default<"input output_split_sizes input_split_sizes group_name",
          lowering=Opaque, sharding=Whole>
]>;
defm C10dBatchP2pOps
    : Operator<"_c10d_functional.batch_p2p_ops", Communication>;
defm C10dBroadcast : Operator<"_c10d_functional.broadcast", Communication, [
  Default<"input src group_name", lowering=Opaque, sharding=Whole>
]>;
defm C10dBroadcastInPlace
    : Operator<"_c10d_functional.broadcast_", Communication>;
defm C10dIrecv : Operator<"_c10d_functional.irecv", Communication>;
defm C10dIsend : Operator<"_c10d_functional.isend", Communication>;
defm C10dReduceScatterTensor
    : Operator<"_c10d_functional.reduce_scatter_tensor", Communication, [
  Default<"input reduce_op group_size group_name", lowering=Opaque,
          sharding=Whole>
]>;
defm C10dReduceScatterTensorCoalesced
    : Operator<"_c10d_functional.reduce_scatter_tensor_coalesced",
               Communication, [
  Default<"inputs reduce_op group_size group_name", lowering=Opaque,
          sharding=Whole>
]>;
defm C10dReduceScatterTensorOut
    : Operator<"_c10d_functional.reduce_scatter_tensor_out", Communication>;
defm C10dWaitTensor : Operator<"_c10d_functional.wait_tensor", Communication, [
  Default<"tensor", lowering=Opaque, sharding=Whole>
]>;

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

defm AtenAssertAsync : Operator<"aten._assert_async", Assertion, [
  Default<"self", results=0, sharding=Whole>,
  Overload<["msg"], "self assert_msg", results=0, sharding=Whole>
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_EFFECTS
