// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Two heads of the query share one of the key; columns after the row are -inf.
// CHECK-LABEL: func.func @causal_groups
// CHECK: tensor.expand_shape {{.*}} tensor<1x4x3x8xf32> into tensor<1x2x2x3x8xf32>
// CHECK: arith.mulf
// CHECK: arith.cmpi ugt
// CHECK: arith.select
// CHECK: math.exp
func.func @causal_groups(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %0:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (tensor<1x4x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return %0#0 : tensor<1x4x3x8xf32>
}

// CHECK-LABEL: func.func @without_mask
// CHECK-NOT: arith.cmpi ugt
// CHECK: return
func.func @without_mask(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x3x8xf32>, %v: tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %0:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v)
      : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return %0#0 : tensor<1x4x3x8xf32>
}

// A bound is applied before the mask.
// CHECK-LABEL: func.func @capped
// CHECK: arith.constant 2.500000e-01
// CHECK: math.tanh
// CHECK: arith.constant 2.000000e+00
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: math.exp
func.func @capped(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x3x8xf32>, %v: tensor<1x4x3x8xf32>, %m: tensor<3x3xf32>) -> tensor<1x4x3x8xf32> {
  %0:2 = tg.node "regather.attention.default"(%q, %k, %v, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>]
      kwargs {attn_mask = #tg.operand<3>, scale = 5.000000e-01, softcap = 2.000000e+00}
      : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<3x3xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return %0#0 : tensor<1x4x3x8xf32>
}
