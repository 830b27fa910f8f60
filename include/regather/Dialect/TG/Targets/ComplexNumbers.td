//===- ComplexNumbers.td - Functions of complex numbers ----*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_COMPLEXNUMBERS
#define REGATHER_DIALECT_TG_TARGETS_COMPLEXNUMBERS

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenAngle : Operator<"aten.angle", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
], pytorch=Recomputable>;
defm AtenComplex : Operator<"aten.complex", ComplexNumbers, [
  Default<"real imag", lowering=Expanded, sharding=Whole>
]>;
defm AtenConj : Operator<"aten._conj", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
]>;
defm AtenConjPhysical : Operator<"aten.conj_physical", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
], pytorch=Recomputable>;
defm AtenInnerConjPhysical : Operator<"aten._conj_physical", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
], pytorch=Recomputable>;
defm AtenPolar : Operator<"aten.polar", ComplexNumbers, [
  Default<"abs angle", lowering=Expanded, sharding=Whole>
]>;
defm AtenViewAsComplex : Operator<"aten.view_as_complex", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
], cost=ViewCost>;
defm AtenViewAsReal : Operator<"aten.view_as_real", ComplexNumbers, [
  Default<"self", lowering=Expanded, sharding=Whole>
], cost=ViewCost>;

#endif // REGATHER_DIALECT_TG_TARGETS_COMPLEXNUMBERS
