//===- Reductions.td - Reductions, scans and sorting -------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_REDUCTIONS
#define REGATHER_DIALECT_TG_TARGETS_REDUCTIONS

include "regather/Dialect/TG/Targets/TargetBase.td"

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

defm AtenAll : Operator<"aten.all", Reduction, [
  Default<"self", lowering=Opaque>,
  Overload<["dim", "dims"], "self dim keepdim", lowering=Opaque>
]>;
defm AtenAmax : Operator<"aten.amax", Reduction, [
  Default<"self dim keepdim">
], pytorch=Recomputable>;
defm AtenAmin : Operator<"aten.amin", Reduction, [Default<"self dim keepdim">]>;
defm AtenAny : Operator<"aten.any", Reduction, [
  Default<"self">,
  Overload<["dim", "dims"], "self dim keepdim">
], pytorch=Recomputable>;
defm AtenArgmax : Operator<"aten.argmax", Reduction, [
  Default<"self dim keepdim">
], pytorch=Recomputable>;
defm AtenArgmin : Operator<"aten.argmin", Reduction, [
  Default<"self dim keepdim">
]>;
defm AtenCummax : Operator<"aten.cummax", Reduction, [
  Default<"self dim", results=2>
]>;
defm AtenCummin : Operator<"aten.cummin", Reduction, [
  Default<"self dim", results=2>
]>;
defm AtenCumprod : Operator<"aten.cumprod", Reduction, [Default<"self dim">]>;
defm AtenCumsum : Operator<"aten.cumsum", Reduction, [Default<"self dim">]>;
defm AtenEqual : Operator<"aten.equal", Reduction, pytorch=Recomputable>;
defm AtenGradSumToSize
    : Operator<"aten._grad_sum_to_size", Reduction, pytorch=Recomputable>;
defm AtenHistc : Operator<"aten.histc", Reduction, [
  Default<"self bins min max">
]>;
defm AtenLinalgVectorNorm : Operator<"aten.linalg_vector_norm", Reduction, [
  Default<"self ord dim keepdim">
]>;
defm AtenLogcumsumexp : Operator<"aten.logcumsumexp", Reduction, [
  Default<"self dim">
]>;
defm AtenLogsumexp : Operator<"aten.logsumexp", Reduction, [
  Default<"self dim keepdim", lowering=Opaque>
]>;
defm AtenMax : Operator<"aten.max", Reduction, [
  Default<"self">,
  Overload<["dim"], "self dim keepdim", results=2>
], pytorch=Recomputable>;
defm AtenMean : Operator<"aten.mean", Reduction, [
  Default<"self">,
  Overload<["dim"], "self dim keepdim">
], pytorch=Recomputable>;
defm AtenMin : Operator<"aten.min", Reduction, [
  Default<"self">,
  Overload<["dim"], "self dim keepdim", results=2>
], pytorch=Recomputable>;
defm AtenProd : Operator<"aten.prod", Reduction, [
  Default<"self">,
  Overload<["dim_int"], "self dim keepdim">
]>;
defm AtenStd : Operator<"aten.std", Reduction, [
  Overload<["correction"], "self dim correction keepdim", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenStdMean : Operator<"aten.std_mean", Reduction, [
  Overload<["correction"], "self dim correction keepdim", results=2,
                           lowering=Opaque>
]>;
defm AtenSum : Operator<"aten.sum", Reduction, [
  Default<"self">,
  Overload<["dim_IntList"], "self dim keepdim">
], pytorch=Recomputable>;
defm AtenSumToSize
    : Operator<"aten.sum_to_size", Reduction, pytorch=Recomputable>;
defm AtenVar : Operator<"aten.var", Reduction, [
  Overload<["correction"], "self dim correction keepdim">
], pytorch=Recomputable>;
defm AtenVarMean : Operator<"aten.var_mean", Reduction, [
  Overload<["correction"], "self dim correction keepdim", results=2>
], pytorch=Recomputable>;
defm PrimsPrepareSoftmaxOnline
    : Operator<"prims.prepare_softmax_online", Reduction, pytorch=Recomputable>;
defm PrimsSum : Operator<"prims.sum", Reduction, pytorch=Recomputable>;
defm PrimsVar : Operator<"prims.var", Reduction, pytorch=Recomputable>;

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

defm AtenArgsort : Operator<"aten.argsort", Sorting, [
  Default<"self dim descending", lowering=Opaque>
]>;
defm AtenSort : Operator<"aten.sort", Sorting, [
  Default<"self dim descending", results=2>,
  Overload<["stable"], "self stable dim descending", results=2>
]>;
defm AtenTopk : Operator<"aten.topk", Sorting, [
  Default<"self k dim largest sorted", results=2>
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_REDUCTIONS
