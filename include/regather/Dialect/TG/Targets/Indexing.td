//===- Indexing.td - Operators that take indices -----------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_INDEXING
#define REGATHER_DIALECT_TG_TARGETS_INDEXING

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenBucketize : Operator<"aten.bucketize", Indexing, [
  Overload<["Tensor"], "self boundaries out_int32 right">
]>;
defm AtenEmbedding : Operator<"aten.embedding", Indexing, [
  Default<"weight indices padding_idx scale_grad_by_freq sparse">
], cost=PickCost>;
defm AtenEmbeddingBag
    : Operator<"aten._embedding_bag", Indexing, expensive=true>;
defm AtenEmbeddingDenseBackward
    : Operator<"aten.embedding_dense_backward", Indexing, [
  Default<"grad_output indices num_weights padding_idx scale_grad_by_freq">
]>;
defm AtenGather : Operator<"aten.gather", Indexing, [
  Default<"self dim index">
], cost=PickCost, pytorch=Recomputable>;
defm AtenIndex : Operator<"aten.index", Indexing, [
  Overload<["Tensor"], "self indices">
], cost=PickCost, pytorch=Recomputable>;
defm AtenIndexAdd : Operator<"aten.index_add", Indexing, [
  Default<"self dim index source alpha">
]>;
defm AtenIndexPut : Operator<"aten.index_put", Indexing, [
  Default<"self indices values accumulate">
]>;
defm AtenIndexSelect : Operator<"aten.index_select", Indexing, [
  Default<"self dim index">
], cost=PickCost>;
defm AtenRepeatInterleave : Operator<"aten.repeat_interleave", Indexing, [
  Overload<["Tensor"], "repeats output_size", sharding=Whole>
]>;
defm AtenScatter : Operator<"aten.scatter", Indexing, [
  Overload<["src"], "self dim index src">,
  Overload<["value"], "self dim index value">
]>;
defm AtenScatterAdd : Operator<"aten.scatter_add", Indexing, [
  Default<"self dim index src">
]>;
defm AtenScatterReduce : Operator<"aten.scatter_reduce", Indexing, [
  Overload<["two"], "self dim index src reduce include_self", sharding=Whole>
]>;
defm AtenSearchsorted : Operator<"aten.searchsorted", Indexing, [
  Overload<["Tensor"], "sorted_sequence self out_int32 right side sorter">
]>;
defm AtenUnsafeIndex : Operator<"aten._unsafe_index", Indexing, [
  Overload<["Tensor"], "self indices", lowering=Opaque>
]>;
defm AtenUnsafeIndexPut : Operator<"aten._unsafe_index_put", Indexing, [
  Default<"self indices values accumulate", lowering=Opaque>
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_INDEXING
