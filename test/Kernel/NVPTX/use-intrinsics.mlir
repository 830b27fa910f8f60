// RUN: regather-opt %s --pass-pipeline='builtin.module(gpu.module(kernel-use-intrinsics))' | FileCheck %s

// EXAMPLE kernel-use-intrinsics
gpu.module @kernels {
  // CHECK-LABEL: func.func @root(
  // CHECK: llvm.call_intrinsic "llvm.sqrt"
  func.func @root(%x: f32) -> f32 {
    %r = math.sqrt %x : f32
    return %r : f32
  }

  // Two roundings, as on CPUs.
  // CHECK-LABEL: func.func @reciprocal(
  // CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"
  // CHECK: arith.divf %{{.*}}, %[[ROOT]]
  func.func @reciprocal(%x: f32) -> f32 {
    %r = math.rsqrt %x : f32
    return %r : f32
  }

  // libdevice has it.
  // CHECK-LABEL: func.func @sine(
  // CHECK: math.sin
  func.func @sine(%x: f32) -> f32 {
    %r = math.sin %x : f32
    return %r : f32
  }
}
// END
