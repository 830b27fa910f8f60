// RUN: regather-opt %s --kernel-place-scratch | FileCheck %s
// RUN: regather-opt %s --kernel-place-scratch=max-separate-bytes=0 | FileCheck %s --check-prefix=SHARED

// Two buffers that are not in use at once: they share memory only if asked.
// EXAMPLE kernel-place-scratch
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[FIRST:[^ ]*]]: memref<400xi8>, %[[SECOND:[^ ]*]]: memref<400xi8>) attributes {tg.tile_scratch_bytes = 896 : i64, tg.tile_scratch_offsets = array<i64: 0, 448>}
// CHECK-DAG: memref.view %[[FIRST]]
// CHECK-DAG: memref.view %[[SECOND]]
// CHECK-NOT: memref.alloc
// SHARED-LABEL: func.func @two(
// SHARED-SAME: %[[BOTH:[^ ]*]]: memref<400xi8>) attributes {tg.tile_scratch_bytes = 448 : i64, tg.tile_scratch_offsets = array<i64: 0>}
// SHARED-COUNT-2: memref.view %[[BOTH]]
func.func @two(%x: memref<100xf32>, %y: memref<100xf32>) {
  %a = memref.alloc() : memref<100xf32>
  memref.copy %x, %a : memref<100xf32> to memref<100xf32>
  memref.copy %a, %y : memref<100xf32> to memref<100xf32>
  %b = memref.alloc() : memref<100xf32>
  memref.copy %y, %b : memref<100xf32> to memref<100xf32>
  memref.copy %b, %x : memref<100xf32> to memref<100xf32>
  return
}
// END

// Both are in use at the copy between them.
// CHECK-LABEL: func.func @together(
// CHECK-SAME: tg.tile_scratch_offsets = array<i64: 0, 448>
// SHARED-LABEL: func.func @together(
// SHARED-SAME: tg.tile_scratch_offsets = array<i64: 0, 448>
func.func @together(%x: memref<100xf32>, %y: memref<100xf32>) {
  %a = memref.alloc() : memref<100xf32>
  %b = memref.alloc() : memref<100xf32>
  memref.copy %x, %a : memref<100xf32> to memref<100xf32>
  memref.copy %a, %b : memref<100xf32> to memref<100xf32>
  memref.copy %b, %y : memref<100xf32> to memref<100xf32>
  return
}

// Nothing is allocated.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: tg.tile_scratch_bytes
// CHECK: return
func.func @none(%x: memref<100xf32>, %y: memref<100xf32>) {
  memref.copy %x, %y : memref<100xf32> to memref<100xf32>
  return
}
