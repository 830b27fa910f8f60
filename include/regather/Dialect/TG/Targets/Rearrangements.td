//===- Rearrangements.td - Copies to other places ----------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_REARRANGEMENTS
#define REGATHER_DIALECT_TG_TARGETS_REARRANGEMENTS

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenAsStridedScatter : Operator<"aten.as_strided_scatter", Rearrangement, [
  Default<"self src size stride storage_offset", sharding=Whole>
]>;
defm AtenBroadcastTensors
    : Operator<"aten.broadcast_tensors", Rearrangement, pytorch=Recomputable>;
defm AtenCat : Operator<"aten.cat", Rearrangement, [Default<"tensors dim">]>;
defm AtenConstantPadNd : Operator<"aten.constant_pad_nd", Rearrangement, [
  Default<"self pad value">
]>;
defm AtenCopy : Operator<"aten.copy", Rearrangement, [
  Default<"self src non_blocking">
]>;
defm AtenDiagonalScatter : Operator<"aten.diagonal_scatter", Rearrangement, [
  Default<"self src offset dim1 dim2", sharding=Whole>
]>;
defm AtenFlip : Operator<"aten.flip", Rearrangement, [Default<"self dims">]>;
defm AtenPixelShuffle : Operator<"aten.pixel_shuffle", Rearrangement, [
  Default<"self upscale_factor", lowering=Opaque>
]>;
defm AtenPixelUnshuffle : Operator<"aten.pixel_unshuffle", Rearrangement, [
  Default<"self downscale_factor", lowering=Opaque>
]>;
defm AtenRepeat : Operator<"aten.repeat", Rearrangement, [
  Default<"self repeats">
]>;
defm AtenRoll : Operator<"aten.roll", Rearrangement, [
  Default<"self shifts dims", lowering=Opaque>
]>;
defm AtenSelectBackward : Operator<"aten.select_backward", Rearrangement, [
  Default<"grad_output input_sizes dim index", size="input_sizes">
]>;
defm AtenSelectScatter : Operator<"aten.select_scatter", Rearrangement, [
  Default<"self src dim index">
]>;
defm AtenSliceBackward : Operator<"aten.slice_backward", Rearrangement, [
  Default<"grad_output input_sizes dim start end step", size="input_sizes">
]>;
defm AtenSliceScatter : Operator<"aten.slice_scatter", Rearrangement, [
  Default<"self src dim start end step">
]>;
defm AtenStack : Operator<"aten.stack", Rearrangement, [
  Default<"tensors dim", lowering=Opaque>
]>;
defm AtenTril : Operator<"aten.tril", Rearrangement, [
  Default<"self diagonal">
]>;
defm AtenTriu : Operator<"aten.triu", Rearrangement, [
  Default<"self diagonal">
], pytorch=Recomputable>;
defm AtenViewCopy : Operator<"aten.view_copy", Rearrangement, [
  Default<"self size", size="size">
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_REARRANGEMENTS
