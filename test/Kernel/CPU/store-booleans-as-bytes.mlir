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

// Elements of a buffer one behind the other.
// CHECK-LABEL: llvm.func @vector(
// CHECK: %[[BYTES:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<8xi8>
// CHECK: %[[ZEROS:.*]] = llvm.mlir.constant(dense<0> : vector<8xi8>)
// CHECK: %[[TRUE:.*]] = llvm.icmp "ne" %[[BYTES]], %[[ZEROS]]
// CHECK: %[[WIDE:.*]] = llvm.zext %[[TRUE]] : vector<8xi1> to vector<8xi8>
// CHECK: llvm.store %[[WIDE]]
llvm.func @vector(%p: !llvm.ptr, %q: !llvm.ptr) {
  %v = llvm.load %p : !llvm.ptr -> vector<8xi1>
  llvm.store %v, %q : vector<8xi1>, !llvm.ptr
  llvm.return
}

// Bytes stay what they are.
// CHECK-LABEL: llvm.func @bytes(
// CHECK-NOT: llvm.icmp
// CHECK-NOT: llvm.zext
// CHECK: llvm.return
llvm.func @bytes(%p: !llvm.ptr) {
  %v = llvm.load %p : !llvm.ptr -> i8
  llvm.store %v, %p : i8, !llvm.ptr
  llvm.return
}
