//===- Constants.td - Operators that fill tensors ----------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_CONSTANTS
#define REGATHER_DIALECT_TG_TARGETS_CONSTANTS

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenArange : Operator<"aten.arange", Constant, [
  Default<"end", sharding=Whole>,
  Overload<["start"], "start end", sharding=Whole>,
  Overload<["start_step"], "start end step", sharding=Whole>
], pytorch=Recomputable>;
defm AtenEmpty : Operator<"aten.empty", Constant, [
  Overload<["memory_format"], "size", size="size">
], pytorch=Recomputable>;
defm AtenEmptyLike : Operator<"aten.empty_like", Constant, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenEmptyPermuted : Operator<"aten.empty_permuted", Constant, [
  Default<"size physical_layout", size="size">
]>;
defm AtenEmptyStrided : Operator<"aten.empty_strided", Constant, [
  Default<"size stride", size="size">
]>;
defm AtenFill : Operator<"aten.fill", Constant, [
  Overload<["Scalar"], "self value">,
  Overload<["Tensor"], "self value", lowering=Opaque>
]>;
defm AtenFull : Operator<"aten.full", Constant, [
  Default<"size fill_value", size="size">
], pytorch=Recomputable>;
defm AtenFullLike : Operator<"aten.full_like", Constant, [
  Default<"self fill_value">
], pytorch=Recomputable>;
defm AtenNewEmpty : Operator<"aten.new_empty", Constant, [
  Default<"self size", size="size">
]>;
defm AtenNewEmptyStrided : Operator<"aten.new_empty_strided", Constant, [
  Default<"self size stride", size="size">
]>;
defm AtenNewFull : Operator<"aten.new_full", Constant, [
  Default<"self size fill_value", size="size">
]>;
defm AtenNewOnes : Operator<"aten.new_ones", Constant, [
  Default<"self size", size="size">
]>;
defm AtenNewZeros : Operator<"aten.new_zeros", Constant, [
  Default<"self size", size="size">
], pytorch=Recomputable>;
defm AtenOnes : Operator<"aten.ones", Constant, [
  Default<"size", size="size">
], pytorch=Recomputable>;
defm AtenOnesLike : Operator<"aten.ones_like", Constant, [Default<"self">]>;
defm AtenScalarTensor : Operator<"aten.scalar_tensor", Constant, [
  Default<"s", sharding=Whole>
], pytorch=Recomputable>;
defm AtenZeros : Operator<"aten.zeros", Constant, [
  Default<"size", size="size">
], pytorch=Recomputable>;
defm AtenZerosLike : Operator<"aten.zeros_like", Constant, [
  Default<"self">
], pytorch=Recomputable>;
defm PrimsIota : Operator<"prims.iota", Constant, pytorch=Recomputable>;

#endif // REGATHER_DIALECT_TG_TARGETS_CONSTANTS
