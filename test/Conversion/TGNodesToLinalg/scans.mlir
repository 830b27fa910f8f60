// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @running_sum
// CHECK: scf.for {{.*}} -> (tensor<3x4xbf16>, tensor<3x1xf32>)
// CHECK: tensor.extract_slice
// CHECK: arith.addf {{.*}} : f32
// CHECK: tensor.insert_slice
func.func @running_sum(%x: tensor<3x4xbf16>) -> tensor<3x4xbf16> {
  %0 = tg.node "aten.cumsum.default"(%x) args [#tg.operand<0>, 1] : (tensor<3x4xbf16>) -> tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}

// The sum of two equal infinities is one, and no NaN.
// CHECK-LABEL: func.func @running_sum_of_exponentials
// CHECK: math.log1p
// CHECK: arith.select
func.func @running_sum_of_exponentials(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tg.node "aten.logcumsumexp.default"(%x) args [#tg.operand<0>, 0] : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Positions are carried, of equal elements the last, and values read by them.
// CHECK-LABEL: func.func @running_maximum
// CHECK: scf.for {{.*}} -> (tensor<3x4xi64>, tensor<1x4xi64>)
// CHECK: arith.cmpf oge
// CHECK: arith.cmpf une
// CHECK: linalg.generic
// CHECK: tensor.extract %{{.*}} : tensor<3x4xf32>
func.func @running_maximum(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>) {
  %0:2 = tg.node "aten.cummax.default"(%x) args [#tg.operand<0>, 0] : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xi64>
}
