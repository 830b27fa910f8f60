// RUN: regather-opt %s --kernel-check-bounds | FileCheck %s
// RUN: regather-opt %s --kernel-check-bounds=report=trap | FileCheck %s --check-prefix=TRAP

// An index that data decides: out of bounds, the element is that at 0 and the
// function returns 1.
// EXAMPLE kernel-check-bounds
// CHECK-LABEL: func.func @pick(
// CHECK-SAME: -> i32
// CHECK: %[[STATUS:.*]] = memref.alloca() : memref<i32>
// CHECK: memref.store %c0_i32, %[[STATUS]]
// CHECK: %[[INDEX:.*]] = arith.index_cast
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[INDEX]], %c8
// CHECK: scf.if %[[OUTSIDE]]
// CHECK: memref.store %c1_i32, %[[STATUS]]
// CHECK: %[[SAFE:.*]] = arith.select %[[OUTSIDE]], %{{.*}}, %[[INDEX]]
// CHECK: memref.load %{{.*}}[%[[SAFE]]] : memref<8xf32>
// CHECK: %[[RESULT:.*]] = memref.load %[[STATUS]]
// CHECK: return %[[RESULT]]
// TRAP-LABEL: func.func @pick(
// TRAP-NOT: -> i32
// TRAP: scf.if
// TRAP-NEXT: llvm.intr.trap
func.func @pick(%x: memref<8xf32>, %places: memref<4xi64>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %place = memref.load %places[%c0] : memref<4xi64>
  %i = arith.index_cast %place : i64 to index
  %v = memref.load %x[%i] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  return
}
// END

// Tiles lie where their number says, and loops end where tensors do.
// CHECK-LABEL: func.func @known(
// CHECK-NOT: scf.if
// CHECK: return
// TRAP-LABEL: func.func @known(
// TRAP-NOT: scf.if
func.func @known(%x: memref<64x8xf32>, %y: memref<64x8xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %tile = %begin to %end step %c1 {
    %row = arith.muli %tile, %c16 : index
    %a = memref.subview %x[%row, 0] [16, 8] [1, 1] : memref<64x8xf32> to memref<16x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %y[%row, 0] [16, 8] [1, 1] : memref<64x8xf32> to memref<16x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<16x8xf32, strided<[8, 1], offset: ?>> to memref<16x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}

// What is asserted is reported.
// CHECK-LABEL: func.func @asserted(
// CHECK-SAME: %[[HOLDS:.*]]: i1)
// CHECK: %[[FAILS:.*]] = arith.xori %[[HOLDS]], %true
// CHECK: scf.if %[[FAILS]]
// CHECK-NOT: cf.assert
// TRAP-LABEL: func.func @asserted(
// TRAP: llvm.intr.trap
func.func @asserted(%holds: i1) {
  cf.assert %holds, "index out of bounds"
  return
}
