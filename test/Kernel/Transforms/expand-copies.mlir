// RUN: regather-opt %s --kernel-expand-copies=drop-self-copies | FileCheck %s
// RUN: regather-opt %s --kernel-expand-copies | FileCheck %s --check-prefix=KEPT

// EXAMPLE kernel-expand-copies{drop-self-copies}
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: memref<8x4xf32, strided<[16, 1]>>, %[[Y:.*]]: memref<8x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%[[Y]] :
// CHECK-NOT: memref.copy
func.func @rows(%x: memref<8x4xf32, strided<[16, 1]>>, %y: memref<8x4xf32>) {
  memref.copy %x, %y : memref<8x4xf32, strided<[16, 1]>> to memref<8x4xf32>
  return
}
// END

// A result that was computed where it belongs.
// CHECK-LABEL: func.func @itself(
// CHECK-NEXT: return
// KEPT-LABEL: func.func @itself(
// KEPT-NEXT: linalg.generic
func.func @itself(%x: memref<8x4xf32>) {
  memref.copy %x, %x : memref<8x4xf32> to memref<8x4xf32>
  return
}
