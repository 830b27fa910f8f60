// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @sums_bf16_in_f32
// CHECK: linalg.reduce ins(%{{.*}} : tensor<2x3xbf16>) outs(%{{.*}} : tensor<2xf32>) dimensions = [1]
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf
func.func @sums_bf16_in_f32(%x: tensor<2x3xbf16>) -> tensor<2xbf16> {
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [-1]] : (tensor<2x3xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: func.func @counts_booleans_in_i64
// CHECK: linalg.reduce ins(%{{.*}} : tensor<3xi1>) outs(%{{.*}} : tensor<i64>)
// CHECK: arith.extui
func.func @counts_booleans_in_i64(%x: tensor<3xi1>) -> tensor<i64> {
  %0 = tg.node "aten.sum.default"(%x) : (tensor<3xi1>) -> tensor<i64>
  return %0 : tensor<i64>
}

// No dimension means all of them for a sum, in any overload.
// CHECK-LABEL: func.func @reduces_all
// CHECK: dimensions = [0, 1]
// CHECK-LABEL: func.func @reduces_one
// CHECK: dimensions = [0]
// CHECK: tensor.expand_shape {{.*}} tensor<3xf32> into tensor<1x3xf32>
func.func @reduces_all(%x: tensor<2x3xf32>) -> tensor<f32> {
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, []] : (tensor<2x3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @reduces_one(%x: tensor<2x3xf32>) -> tensor<1x3xf32> {
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0], true] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// CHECK-LABEL: func.func @subtracts_the_maximum
// CHECK: arith.maximumf
// CHECK: arith.subf
// CHECK: math.exp
// CHECK: arith.divf
func.func @subtracts_the_maximum(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = tg.node "aten._softmax.default"(%x) args [#tg.operand<0>, 1, false] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Results that are none are not computed.
// CHECK-LABEL: func.func @gradient_of_input_only
// CHECK-NOT: dimensions = [0]
// CHECK-LABEL: func.func @gradient_of_weight_only
// CHECK-NOT: dimensions = [1]
// CHECK: dimensions = [0]
func.func @gradient_of_input_only(%g: tensor<2x3xf32>, %x: tensor<2x3xf32>, %r: tensor<2x1xf32>, %w: tensor<3xf32>) -> tensor<2x3xf32> {
  %0:2 = tg.node "aten._fused_rms_norm_backward.default"(%g, %x, %r, %w)
      args [#tg.operand<0>, #tg.operand<1>, [3], #tg.operand<2>, #tg.operand<3>, [true, false]]
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x1xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, !tg.opaque<"none">)
  return %0#0 : tensor<2x3xf32>
}
func.func @gradient_of_weight_only(%g: tensor<2x3xf32>, %x: tensor<2x3xf32>, %r: tensor<2x1xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = tg.node "aten._fused_rms_norm_backward.default"(%g, %x, %r, %w)
      args [#tg.operand<0>, #tg.operand<1>, [3], #tg.operand<2>, #tg.operand<3>, [false, true]]
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x1xf32>, tensor<3xf32>) -> (!tg.opaque<"none">, tensor<3xf32>)
  return %0#1 : tensor<3xf32>
}

// Of many elements, rows are summed up first, and then these sums. The order
// depends on the shape alone.

// CHECK-LABEL: func.func @sum_of_rows
// CHECK: linalg.reduce {{.*}} outs(%{{.*}} : tensor<2x64xf32>) dimensions = [2]
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape
// CHECK: linalg.reduce {{.*}} ins(%[[ROWS]] : tensor<2x64xf32>) {{.*}} dimensions = [0, 1]
func.func @sum_of_rows(%x: tensor<2x64x512xf32>) -> tensor<f32> {
  %0 = tg.node "aten.sum.default"(%x) : (tensor<2x64x512xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @short_sum
// CHECK-COUNT-1: linalg.reduce
// CHECK-NOT: linalg.reduce
func.func @short_sum(%x: tensor<2x64x511xf32>) -> tensor<f32> {
  %0 = tg.node "aten.sum.default"(%x) : (tensor<2x64x511xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
