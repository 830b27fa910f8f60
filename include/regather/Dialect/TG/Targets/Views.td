//===- Views.td - Operators that move no data --------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_VIEWS
#define REGATHER_DIALECT_TG_TARGETS_VIEWS

include "regather/Dialect/TG/Targets/TargetBase.td"

//===----------------------------------------------------------------------===//
// Elements stay in row-major order
//===----------------------------------------------------------------------===//

defm AtenAlias : Operator<"aten.alias", Reshape, [
  Default<"self">
], pytorch=PyTorchView>;
defm AtenDetach : Operator<"aten.detach", Reshape, [Default<"self">]>;
defm AtenExpand : Operator<"aten.expand", Reshape, [
  Default<"self size implicit", size="size">
], pytorch=PyTorchView>;
defm AtenExpandAs : Operator<"aten.expand_as", Reshape>;
defm AtenReshape : Operator<"aten.reshape", Reshape, [
  Default<"self size", size="size">
], pytorch=Recomputable>;
defm AtenReshapeAlias : Operator<"aten._reshape_alias", Reshape>;
defm AtenSqueeze : Operator<"aten.squeeze", Reshape, [
  Overload<["default", "dim", "dims"], "self dim">
], pytorch=PyTorchView>;
defm AtenUnsafeView : Operator<"aten._unsafe_view", Reshape, [
  Default<"self size", size="size">
], pytorch=Recomputable>;
defm AtenUnsqueeze : Operator<"aten.unsqueeze", Reshape, [
  Default<"self dim">
], pytorch=PyTorchView>;
defm AtenView : Operator<"aten.view", Reshape, [
  Default<"self size", size="size">
], pytorch=PyTorchView>;
defm AtenViewAs : Operator<"aten.view_as", Reshape>;

//===----------------------------------------------------------------------===//
// Permutations and parts
//===----------------------------------------------------------------------===//

defm AtenAsStrided : Operator<"aten.as_strided", View, [
  Default<"self size stride storage_offset", sharding=Whole>
], pytorch=PyTorchView>;
defm AtenChunk : Operator<"aten.chunk", View, [
  Default<"self chunks dim", results=kVarying, lowering=Opaque>
]>;
defm AtenDiagonal : Operator<"aten.diagonal", View, [
  Default<"self offset dim1 dim2", sharding=Whole>
]>;
defm AtenMovedim : Operator<"aten.movedim", View>;
defm AtenNarrow : Operator<"aten.narrow", View>;
defm AtenPermute : Operator<"aten.permute", View, [
  Default<"self dims">
], pytorch=PyTorchView>;
defm AtenSelect : Operator<"aten.select", View, [
  Overload<["int"], "self dim index">
], pytorch=PyTorchView>;
defm AtenSlice : Operator<"aten.slice", View, [
  Overload<["Tensor"], "self dim start end step">
], pytorch=PyTorchView>;
defm AtenSplit : Operator<"aten.split", View, [
  Overload<["Tensor"], "self split_size dim", results=kVarying>,
  Overload<["sizes"], "self split_sizes dim", results=kVarying,
                      lowering=Opaque>
], pytorch=PyTorchView>;
defm AtenSplitWithSizes : Operator<"aten.split_with_sizes", View, [
  Default<"self split_sizes dim", results=kVarying>
]>;
defm AtenSwapaxes : Operator<"aten.swapaxes", View>;
defm AtenT : Operator<"aten.t", View, [Default<"self">], pytorch=PyTorchView>;
defm AtenTranspose : Operator<"aten.transpose", View, [
  Overload<["int"], "self dim0 dim1">
]>;
defm AtenUnbind : Operator<"aten.unbind", View, [
  Overload<["int"], "self dim", results=kVarying, lowering=Opaque>
]>;
defm AtenUnfold : Operator<"aten.unfold", View, [
  Default<"self dimension size step", sharding=Whole>
]>;
defm PrimsBroadcastInDim
    : Operator<"prims.broadcast_in_dim",
               View, cost=ElementsCost, pytorch=PyTorchView>;
defm PythonGetitem : Operator<"_operator.getitem", View>;

#endif // REGATHER_DIALECT_TG_TARGETS_VIEWS
