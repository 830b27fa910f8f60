// RUN: regather-opt %s --kernel-store-bf16-as-bits | FileCheck %s

// EXAMPLE kernel-store-bf16-as-bits
// CHECK-LABEL: llvm.func @one(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: llvm.mlir.constant(16256 : i16) : i16
// CHECK-NOT: bf16
// CHECK: llvm.return
llvm.func @one(%p: !llvm.ptr) {
  %v = llvm.load %p : !llvm.ptr -> bf16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  llvm.store %one, %p : bf16, !llvm.ptr
  llvm.store %v, %p : bf16, !llvm.ptr
  llvm.return
}
// END

// Other floats stay what they are.
// CHECK-LABEL: llvm.func @half(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f16
llvm.func @half(%p: !llvm.ptr) {
  %v = llvm.load %p : !llvm.ptr -> f16
  llvm.store %v, %p : f16, !llvm.ptr
  llvm.return
}
