// RUN: regather-opt %s --kernel-remove-fast-math | FileCheck %s

// EXAMPLE kernel-remove-fast-math
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK: arith.addf %[[X]], %[[Y]] : f32
func.func @sum(%x: f32, %y: f32) -> f32 {
  %r = arith.addf %x, %y fastmath<reassoc,nnan> : f32
  return %r : f32
}
// END
