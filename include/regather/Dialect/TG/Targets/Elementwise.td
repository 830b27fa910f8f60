//===- Elementwise.td - Element by element -----------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_ELEMENTWISE
#define REGATHER_DIALECT_TG_TARGETS_ELEMENTWISE

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenAbs : Operator<"aten.abs", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAcos : Operator<"aten.acos", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAcosh : Operator<"aten.acosh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAdd : Operator<"aten.add", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other alpha">
], pytorch=Recomputable>;
defm AtenAddcdiv : Operator<"aten.addcdiv", Elementwise, [
  Overload<["default", "Scalar"], "self tensor1 tensor2 value",
                                  lowering=Opaque>
], pytorch=Recomputable>;
defm AtenAddcmul : Operator<"aten.addcmul", Elementwise, [
  Overload<["default", "Scalar"], "self tensor1 tensor2 value",
                                  lowering=Opaque>
], pytorch=Recomputable>;
defm AtenAsin : Operator<"aten.asin", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAsinh : Operator<"aten.asinh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAtan : Operator<"aten.atan", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenAtan2 : Operator<"aten.atan2", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenAtanh : Operator<"aten.atanh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenBitwiseAnd : Operator<"aten.bitwise_and", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenBitwiseLeftShift : Operator<"aten.bitwise_left_shift", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenBitwiseNot : Operator<"aten.bitwise_not", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenBitwiseOr : Operator<"aten.bitwise_or", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenBitwiseRightShift : Operator<"aten.bitwise_right_shift", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenBitwiseXor : Operator<"aten.bitwise_xor", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenCeil : Operator<"aten.ceil", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenClamp : Operator<"aten.clamp", Elementwise, [
  Overload<["default", "Tensor"], "self min max">
], pytorch=Recomputable>;
defm AtenClampMax : Operator<"aten.clamp_max", Elementwise, [
  Default<"self max">,
  Overload<["Tensor"], "self max", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenClampMin : Operator<"aten.clamp_min", Elementwise, [
  Default<"self min">,
  Overload<["Tensor"], "self min", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenClone : Operator<"aten.clone", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenContiguous : Operator<"aten.contiguous", Elementwise, [
  Default<"self", lowering=Opaque>
]>;
defm AtenCos : Operator<"aten.cos", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenCosh : Operator<"aten.cosh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenDiv : Operator<"aten.div", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">,
  Overload<["Scalar_mode", "Tensor_mode"], "self other rounding_mode">
], pytorch=Recomputable>;
defm AtenElu : Operator<"aten.elu", Elementwise, [
  Default<"self alpha scale input_scale">
], pytorch=Recomputable>;
defm AtenEluBackward : Operator<"aten.elu_backward", Elementwise, [
  Default<"grad_output alpha scale input_scale is_result self_or_result",
          lowering=Opaque>
]>;
defm AtenEq : Operator<"aten.eq", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenErf : Operator<"aten.erf", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenErfc : Operator<"aten.erfc", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenExp : Operator<"aten.exp", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenExp2 : Operator<"aten.exp2", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenExpm1 : Operator<"aten.expm1", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenFloor : Operator<"aten.floor", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenFloorDivide : Operator<"aten.floor_divide", Elementwise, [
  Default<"self other">
]>;
defm AtenFmax : Operator<"aten.fmax", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenFmin : Operator<"aten.fmin", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenFmod : Operator<"aten.fmod", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenFrac : Operator<"aten.frac", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenGe : Operator<"aten.ge", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenGelu : Operator<"aten.gelu", Elementwise, [
  Default<"self approximate">
], pytorch=Recomputable>;
defm AtenGeluBackward : Operator<"aten.gelu_backward", Elementwise, [
  Default<"grad_output self approximate", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenGt : Operator<"aten.gt", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenHardsigmoid : Operator<"aten.hardsigmoid", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenHardsigmoidBackward
    : Operator<"aten.hardsigmoid_backward", Elementwise, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenHardswish : Operator<"aten.hardswish", Elementwise, [
  Default<"self", lowering=Opaque>
]>;
defm AtenHardswishBackward : Operator<"aten.hardswish_backward", Elementwise, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenHardtanh : Operator<"aten.hardtanh", Elementwise, [
  Default<"self min_val max_val">
], pytorch=Recomputable>;
defm AtenHardtanhBackward : Operator<"aten.hardtanh_backward", Elementwise, [
  Default<"grad_output self min_val max_val", lowering=Opaque>
]>;
defm AtenHypot : Operator<"aten.hypot", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenIsfinite : Operator<"aten.isfinite", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenIsinf : Operator<"aten.isinf", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenIsnan : Operator<"aten.isnan", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLe : Operator<"aten.le", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenLeakyRelu : Operator<"aten.leaky_relu", Elementwise, [
  Default<"self negative_slope">
], pytorch=Recomputable>;
defm AtenLeakyReluBackward : Operator<"aten.leaky_relu_backward", Elementwise, [
  Default<"grad_output self negative_slope self_is_result", lowering=Opaque>
]>;
defm AtenLerp : Operator<"aten.lerp", Elementwise, [
  Overload<["Scalar", "Tensor"], "self end weight", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenLiftFreshCopy : Operator<"aten.lift_fresh_copy", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLog : Operator<"aten.log", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLog10 : Operator<"aten.log10", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLog1p : Operator<"aten.log1p", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLog2 : Operator<"aten.log2", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLogSigmoid : Operator<"aten.log_sigmoid", Elementwise, [
  Default<"self", lowering=Opaque>
]>;
defm AtenLogicalAnd : Operator<"aten.logical_and", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenLogicalNot : Operator<"aten.logical_not", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenLogicalOr : Operator<"aten.logical_or", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenLogicalXor : Operator<"aten.logical_xor", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenLogit : Operator<"aten.logit", Elementwise, [
  Default<"self eps", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenLogitBackward : Operator<"aten.logit_backward", Elementwise, [
  Default<"grad_output self eps", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenLshiftMethod : Operator<"aten.__lshift__", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenLt : Operator<"aten.lt", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenMaskedFill : Operator<"aten.masked_fill", Elementwise, [
  Overload<["Scalar", "Tensor"], "self mask value">
], pytorch=Recomputable>;
defm AtenMaximum : Operator<"aten.maximum", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenMinimum : Operator<"aten.minimum", Elementwise, [
  Default<"self other">
], pytorch=Recomputable>;
defm AtenMish : Operator<"aten.mish", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenMishBackward : Operator<"aten.mish_backward", Elementwise, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenMul : Operator<"aten.mul", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenNanToNum : Operator<"aten.nan_to_num", Elementwise, [
  Default<"self nan posinf neginf", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenNativeDropoutBackward
    : Operator<"aten.native_dropout_backward", Elementwise, [
  Default<"grad_output mask scale", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenNe : Operator<"aten.ne", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenNeg : Operator<"aten.neg", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenPow : Operator<"aten.pow", Elementwise, [
  Overload<["Scalar", "Tensor_Scalar", "Tensor_Tensor"], "self exponent">
], pytorch=Recomputable>;
defm AtenReciprocal : Operator<"aten.reciprocal", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenRelu : Operator<"aten.relu", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenRelu6 : Operator<"aten.relu6", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenRemainder : Operator<"aten.remainder", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenRound : Operator<"aten.round", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenRshiftMethod : Operator<"aten.__rshift__", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other">
], pytorch=Recomputable>;
defm AtenRsqrt : Operator<"aten.rsqrt", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenRsub : Operator<"aten.rsub", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other alpha">
], pytorch=Recomputable>;
defm AtenSgn : Operator<"aten.sgn", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSigmoid : Operator<"aten.sigmoid", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSigmoidBackward : Operator<"aten.sigmoid_backward", Elementwise, [
  Default<"grad_output output", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSign : Operator<"aten.sign", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSignbit : Operator<"aten.signbit", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSilu : Operator<"aten.silu", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSiluBackward : Operator<"aten.silu_backward", Elementwise, [
  Default<"grad_output self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSin : Operator<"aten.sin", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSinh : Operator<"aten.sinh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSoftplus : Operator<"aten.softplus", Elementwise, [
  Default<"self beta threshold", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSoftplusBackward : Operator<"aten.softplus_backward", Elementwise, [
  Default<"grad_output self beta threshold", lowering=Opaque>
]>;
defm AtenSqrt : Operator<"aten.sqrt", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenSquare : Operator<"aten.square", Elementwise, [
  Default<"self", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenSub : Operator<"aten.sub", Elementwise, [
  Overload<["Scalar", "Tensor"], "self other alpha">
], pytorch=Recomputable>;
defm AtenTan : Operator<"aten.tan", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenTanh : Operator<"aten.tanh", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenTanhBackward : Operator<"aten.tanh_backward", Elementwise, [
  Default<"grad_output output", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenThreshold : Operator<"aten.threshold", Elementwise, [
  Default<"self threshold value", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenThresholdBackward : Operator<"aten.threshold_backward", Elementwise, [
  Default<"grad_output self threshold", lowering=Opaque>
], pytorch=Recomputable>;
defm AtenTo : Operator<"aten.to", Elementwise, [
  Overload<["dtype"], "self dtype non_blocking copy memory_format">
], pytorch=Recomputable>;
defm AtenToCopy : Operator<"aten._to_copy", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenTrunc : Operator<"aten.trunc", Elementwise, [
  Default<"self">
], pytorch=Recomputable>;
defm AtenWhere : Operator<"aten.where", Elementwise, [
  Overload<["Scalar", "ScalarOther", "ScalarSelf", "self"],
      "condition self other">
], pytorch=Recomputable>;
defm PrimsConvertElementType
    : Operator<"prims.convert_element_type", Elementwise, [
  Default<"self dtype">
], pytorch=Recomputable>;

#endif // REGATHER_DIALECT_TG_TARGETS_ELEMENTWISE
