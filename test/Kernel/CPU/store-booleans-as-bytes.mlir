// RUN: regather-opt %s --kernel-store-booleans-as-bytes | FileCheck %s

// EXAMPLE kernel-store-booleans-as-bytes
// CHECK-LABEL: llvm.func @copy(
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i8) : i8
// CHECK: %[[TRUE:.*]] = llvm.icmp "ne" %[[BYTE]], %[[ZERO]] : i8
// CHECK: %[[WIDE:.*]] = llvm.zext %[[TRUE]] : i1 to i8
// CHECK: llvm.store %[[WIDE]], %{{.*}} : i8, !llvm.ptr
// CHECK: llvm.return %[[TRUE]] : i1
llvm.func @copy(%p: !llvm.ptr, %q: !llvm.ptr) -> i1 {
  %v = llvm.load %p {alignment = 1 : i64} : !llvm.ptr -> i1
  llvm.store %v, %q : i1, !llvm.ptr
  llvm.return %v : i1
}
// END

// Bytes stay what they are, and so do vectors of booleans, which are packed.
// CHECK-LABEL: llvm.func @others(
// CHECK-NOT: llvm.icmp
// CHECK-NOT: llvm.zext
// CHECK: llvm.return
llvm.func @others(%p: !llvm.ptr) {
  %v = llvm.load %p : !llvm.ptr -> i8
  llvm.store %v, %p : i8, !llvm.ptr
  %w = llvm.load %p : !llvm.ptr -> vector<8xi1>
  llvm.store %w, %p : vector<8xi1>, !llvm.ptr
  llvm.return
}
