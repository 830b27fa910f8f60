// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Statistics of each channel, over the batch and all places.
// CHECK-LABEL: func.func @trains_with_statistics_of_the_batch
// CHECK: linalg.reduce {{.*}}ins(%{{.*}} : tensor<2x3x4xf32>) outs(%{{.*}} : tensor<3xf32>) dimensions = [0, 2]
// CHECK: linalg.reduce
// CHECK: math.rsqrt
// CHECK: arith.constant 0.89999{{.*}} : f32
func.func @trains_with_statistics_of_the_batch(%x: tensor<2x3x4xf32>, %w: tensor<3xf32>, %m: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>) {
  %0:5 = tg.node "aten._native_batch_norm_legit_functional.default"(%x, %w, %w, %m, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, true, 0.1, 1.0e-5]
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#3 : tensor<2x3x4xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @evaluates_with_running_statistics
// CHECK-NOT: linalg.reduce
// CHECK: math.rsqrt
// CHECK-NOT: linalg.reduce
// CHECK: return
func.func @evaluates_with_running_statistics(%x: tensor<2x3x4xf32>, %w: tensor<3xf32>, %m: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0:3 = tg.node "aten._native_batch_norm_legit_no_training.default"(%x, %w, %w, %m, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, 0.1, 1.0e-5]
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4xf32>, tensor<0xf32>, tensor<0xf32>)
  return %0#0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @normalizes_groups_of_channels
// CHECK: linalg.reduce {{.*}}ins(%{{.*}} : tensor<2x2x3x5xf32>) outs(%{{.*}} : tensor<2x2xf32>) dimensions = [2, 3]
func.func @normalizes_groups_of_channels(%x: tensor<2x6x5xf32>) -> tensor<2x6x5xf32> {
  %0:3 = tg.node "aten.native_group_norm.default"(%x)
      args [#tg.operand<0>, unit, unit, 2, 6, 5, 2, 1.0e-5]
      : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  return %0#0 : tensor<2x6x5xf32>
}

// With fixed statistics, the gradient of the input needs no sums.
// CHECK-LABEL: func.func @gradient_with_fixed_statistics
// CHECK-NOT: linalg.reduce
// CHECK-LABEL: func.func @gradient_with_statistics_of_the_batch
// CHECK: linalg.reduce
func.func @gradient_with_fixed_statistics(%x: tensor<2x3xf32>, %m: tensor<3xf32>) -> tensor<2x3xf32> {
  %0:3 = tg.node "aten.native_batch_norm_backward.default"(%x, %x, %m, %m)
      args [#tg.operand<0>, #tg.operand<1>, unit, #tg.operand<2>, #tg.operand<3>, unit, unit, false, 1.0e-5, [true, false, false]]
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
  return %0#0 : tensor<2x3xf32>
}
func.func @gradient_with_statistics_of_the_batch(%x: tensor<2x3xf32>, %m: tensor<3xf32>) -> tensor<2x3xf32> {
  %0:3 = tg.node "aten.native_batch_norm_backward.default"(%x, %x, %m, %m)
      args [#tg.operand<0>, #tg.operand<1>, unit, unit, unit, #tg.operand<2>, #tg.operand<3>, true, 1.0e-5, [true, false, false]]
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
  return %0#0 : tensor<2x3xf32>
}
