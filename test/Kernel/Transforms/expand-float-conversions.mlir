// RUN: regather-opt %s --kernel-expand-float-conversions | FileCheck %s
// RUN: regather-opt %s --kernel-expand-float-conversions=native-bf16 | FileCheck %s --check-prefix=NATIVE

// EXAMPLE kernel-expand-float-conversions
// CHECK-LABEL: func.func @to_bf16(
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
// NATIVE-LABEL: func.func @to_bf16(
// NATIVE-NEXT: arith.truncf %{{.*}} : f32 to bf16
func.func @to_bf16(%x: f32) -> bf16 {
  %r = arith.truncf %x : f32 to bf16
  return %r : bf16
}
// END

// Rounded to odd first, so that it is rounded once.
// CHECK-LABEL: func.func @from_f64(
// CHECK: %[[INEXACT:.*]] = arith.cmpf one
// CHECK: %[[ODD:.*]] = arith.ori
// CHECK: arith.select %[[INEXACT]], %[[ODD]]
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
// NATIVE-LABEL: func.func @from_f64(
// NATIVE: arith.ori
// NATIVE: arith.truncf %{{.*}} : f32 to bf16
func.func @from_f64(%x: f64) -> bf16 {
  %r = arith.truncf %x : f64 to bf16
  return %r : bf16
}

// No target has conversions of all floats of one byte.
// CHECK-LABEL: func.func @byte(
// CHECK: arith.bitcast %{{.*}} : f8E4M3FN to i8
// CHECK-NOT: arith.extf
// CHECK: return
func.func @byte(%x: f8E4M3FN) -> f32 {
  %r = arith.extf %x : f8E4M3FN to f32
  return %r : f32
}

// f64 to f32 rounds once.
// CHECK-LABEL: func.func @single(
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to f32
// CHECK-NEXT: return
func.func @single(%x: f64) -> f32 {
  %r = arith.truncf %x : f64 to f32
  return %r : f32
}
