// RUN: regather-opt %s --kernel-expand-classes | FileCheck %s

// EXAMPLE kernel-expand-classes
// CHECK-LABEL: func.func @infinite(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: %[[SIZE:.*]] = math.absf %[[X]]
// CHECK: %[[INFINITY:.*]] = arith.constant 0x7F800000 : f32
// CHECK: arith.cmpf oeq, %[[SIZE]], %[[INFINITY]]
func.func @infinite(%x: f32) -> i1 {
  %r = math.isinf %x : f32
  return %r : i1
}
// END

// Neither zero, subnormal, infinite nor a NaN.
// CHECK-LABEL: func.func @normal(
// CHECK: arith.constant dense<0x7F80> : tensor<4xbf16>
// CHECK: %[[FINITE:.*]] = arith.cmpf olt
// CHECK: arith.constant dense<1.175490e-38> : tensor<4xbf16>
// CHECK: %[[LARGE:.*]] = arith.cmpf oge
// CHECK: arith.andi %[[FINITE]], %[[LARGE]]
func.func @normal(%x: tensor<4xbf16>) -> tensor<4xi1> {
  %r = math.isnormal %x : tensor<4xbf16>
  return %r : tensor<4xi1>
}

// LLVM has these.
// CHECK-LABEL: func.func @others(
// CHECK: math.isnan
// CHECK: math.isfinite
func.func @others(%x: f32) -> (i1, i1) {
  %r = math.isnan %x : f32
  %s = math.isfinite %x : f32
  return %r, %s : i1, i1
}
