// RUN: regather-opt %s --kernel-keep-short-loops --split-input-file | FileCheck %s

// A loop over 16 consecutive elements is to become a vector.

// EXAMPLE kernel-keep-short-loops
// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[KEPT:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
// CHECK-LABEL: func @scale
// CHECK: memref.store {{.*}} : memref<128x16xf32>
// CHECK-NEXT: } {loop_annotation = #[[KEPT]]}
// CHECK-NEXT: }{{$}}
func.func @scale(%x: memref<128x16xf32>, %y: memref<128xf32>, %z: memref<128x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c128 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %a = memref.load %x[%i, %j] : memref<128x16xf32>
      %b = memref.load %y[%i] : memref<128xf32>
      %0 = arith.mulf %a, %b : f32
      memref.store %0, %z[%i, %j] : memref<128x16xf32>
    }
  }
  return
}
// END

// -----

// Seven steps fill no vector, and 65 are not unrolled as a whole.

// CHECK-LABEL: func @steps
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @steps(%x: memref<65xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c65 = arith.constant 65 : index
  scf.for %i = %c0 to %c7 step %c1 {
    memref.store %v, %x[%i] : memref<65xf32>
  }
  scf.for %i = %c0 to %c65 step %c1 {
    memref.store %v, %x[%i] : memref<65xf32>
  }
  return
}

// -----

// Neither are the elements of a column consecutive, nor every second one.

// CHECK-LABEL: func @strided
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @strided(%x: memref<16x16xf32>, %y: memref<16xf32, strided<[2]>>, %z: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = memref.load %x[%i, %c0] : memref<16x16xf32>
    memref.store %0, %z[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = memref.load %z[%i] : memref<16xf32>
    memref.store %0, %y[%i] : memref<16xf32, strided<[2]>>
  }
  return
}

// -----

// Steps of a sum need each other, in memory or as a value.

// CHECK-LABEL: func @sums
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @sums(%x: memref<16xf32>, %y: memref<1xf32>, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %b = memref.load %y[%c0] : memref<1xf32>
    %0 = arith.addf %a, %b : f32
    memref.store %0, %y[%c0] : memref<1xf32>
  }
  %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%s = %v) -> f32 {
    %a = memref.load %x[%i] : memref<16xf32>
    %0 = arith.addf %s, %a : f32
    memref.store %0, %x[%i] : memref<16xf32>
    scf.yield %0 : f32
  }
  return %sum : f32
}

// -----

// The outer loop has a loop of its own, and the number of steps of the inner one
// is not known.

// CHECK-LABEL: func @nested
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @nested(%x: memref<16xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    memref.store %v, %x[%i] : memref<16xf32>
    scf.for %j = %c0 to %n step %c1 {
      memref.store %v, %x[%j] : memref<16xf32>
    }
  }
  return
}

// -----

// Without neighbours, a row of 16 goes on to LLVM with its mark.

// CHECK-LABEL: func @row
// CHECK: loop_annotation
func.func @row(%x: memref<16xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    memref.store %v, %x[%i] : memref<16xf32>
  }
  return
}
