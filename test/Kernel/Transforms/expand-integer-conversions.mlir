// RUN: regather-opt %s --kernel-expand-integer-conversions | FileCheck %s

// By way of f64, and of an f32 that is rounded to odd.
// EXAMPLE kernel-expand-integer-conversions
// CHECK-LABEL: func.func @wide(
// CHECK: %[[WIDE:.*]] = arith.sitofp %{{.*}} : i32 to f64
// CHECK: arith.truncf %[[WIDE]] : f64 to f32
// CHECK: %[[INEXACT:.*]] = arith.cmpf one
// CHECK: %[[ODD:.*]] = arith.ori
// CHECK: arith.select %[[INEXACT]], %[[ODD]]
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @wide(%x: i32) -> bf16 {
  %r = arith.sitofp %x : i32 to bf16
  return %r : bf16
}
// END

// f64 cannot hold all of 64 bits: one stands for the last twelve.
// CHECK-LABEL: func.func @longest(
// CHECK: arith.constant 2048 : i64
// CHECK: arith.uitofp %{{.*}} : i64 to f64
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @longest(%x: i64) -> f16 {
  %r = arith.uitofp %x : i64 to f16
  return %r : f16
}

// These are exact in f32, or round once.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: arith.sitofp %{{.*}} : i16 to bf16
// CHECK-NEXT: arith.sitofp %{{.*}} : i64 to f32
// CHECK-NEXT: return
func.func @others(%x: i16, %y: i64) -> (bf16, f32) {
  %r = arith.sitofp %x : i16 to bf16
  %s = arith.sitofp %y : i64 to f32
  return %r, %s : bf16, f32
}
