//===- Random.td - Operators that draw numbers -------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_RANDOM
#define REGATHER_DIALECT_TG_TARGETS_RANDOM

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenBernoulli : Operator<"aten.bernoulli", Random, [
  Default<"self bits">,
  Overload<["Tensor", "p"], "self p bits">
], draw=WordDraw>;
defm AtenBinomial : Operator<"aten.binomial", Random, draw=UndefinedDraw>;
defm AtenCauchy : Operator<"aten.cauchy", Random, draw=UndefinedDraw>;
defm AtenExponential : Operator<"aten.exponential", Random, [
  Default<"self lambd bits">
], draw=SignificandDraw>;
defm AtenFusedDropout
    : Operator<"aten._fused_dropout", Random, draw=UndefinedDraw>;
defm AtenGeometric : Operator<"aten.geometric", Random, draw=UndefinedDraw>;
defm AtenLogNormal : Operator<"aten.log_normal", Random, draw=UndefinedDraw>;
defm AtenMultinomial : Operator<"aten.multinomial", Random, draw=UndefinedDraw>;
defm AtenNativeDropout : Operator<"aten.native_dropout", Random, [
  Default<"input p train bits", results=2>
], pytorch=PyTorchRandom, draw=WordDraw>;
defm AtenNormal : Operator<"aten.normal", Random, [
  Overload<["Tensor_Tensor", "Tensor_float", "float_Tensor"], "mean std bits">,
  Overload<["float_float"], "mean std size bits", size="size">
], draw=LongDraw>;
defm AtenNormalFunctional : Operator<"aten.normal_functional", Random, [
  Default<"self mean std bits">
], draw=LongDraw>;
defm AtenPoisson : Operator<"aten.poisson", Random, draw=UndefinedDraw>;
defm AtenRand : Operator<"aten.rand", Random, [
  Default<"size bits", size="size">
], draw=SignificandDraw>;
defm AtenRandLike : Operator<"aten.rand_like", Random, [
  Default<"self bits">
], pytorch=PyTorchRandom, draw=SignificandDraw>;
defm AtenRandint : Operator<"aten.randint", Random, [
  Default<"high size bits", size="size">,
  Overload<["low"], "low high size bits", size="size">
], draw=LongDraw>;
defm AtenRandintLike : Operator<"aten.randint_like", Random, [
  Default<"self high bits">,
  Overload<["low_dtype"], "self low high bits">
], draw=LongDraw>;
defm AtenRandn : Operator<"aten.randn", Random, [
  Default<"size bits", size="size">
], draw=LongDraw>;
defm AtenRandnLike : Operator<"aten.randn_like", Random, [
  Default<"self bits">
], pytorch=PyTorchRandom, draw=LongDraw>;
defm AtenRandom : Operator<"aten.random", Random, draw=UndefinedDraw>;
defm AtenRandperm : Operator<"aten.randperm", Random, draw=UndefinedDraw>;
defm AtenRreluWithNoise
    : Operator<"aten.rrelu_with_noise", Random, draw=UndefinedDraw>;
defm AtenRreluWithNoiseBackward
    : Operator<"aten.rrelu_with_noise_backward", Random, [
  Default<"grad_output self noise lower upper training self_is_result">
]>;
defm AtenRreluWithNoiseFunctional
    : Operator<"aten.rrelu_with_noise_functional", Random, [
  Default<"self noise lower upper training bits", results=2>
], draw=SignificandDraw>;
defm AtenSampleDirichlet
    : Operator<"aten._sample_dirichlet", Random, draw=UndefinedDraw>;
defm AtenStandardGamma
    : Operator<"aten._standard_gamma", Random, draw=UndefinedDraw>;
defm AtenUniform : Operator<"aten.uniform", Random, [
  Default<"self from to bits">
], draw=SignificandDraw>;

#endif // REGATHER_DIALECT_TG_TARGETS_RANDOM
