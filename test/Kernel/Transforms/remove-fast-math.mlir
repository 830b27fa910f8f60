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

// Those of functions go, too. What integers may assume changes no result.
// CHECK-LABEL: func.func @leaves_overflow_flags(
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.addi %{{.*}} overflow<nsw> : i32
func.func @leaves_overflow_flags(%x: f32, %i: i32) -> (f32, i32) {
  %e = math.exp %x fastmath<fast> : f32
  %s = arith.addi %i, %i overflow<nsw> : i32
  return %e, %s : f32, i32
}
