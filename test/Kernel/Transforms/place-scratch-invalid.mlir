// RUN: regather-opt %s --kernel-place-scratch --split-input-file --verify-diagnostics

func.func @unknown_size(%n: index, %x: memref<?xf32>) {
  // expected-error @below {{needs memory whose size or lifetime is not known}}
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %a : memref<?xf32> to memref<?xf32>
  return
}

// -----

// A loop that hands a buffer on would need one for each iteration.
func.func @unknown_lifetime(%n: index, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %x) -> (memref<4xf32>) {
    // expected-error @below {{needs memory whose size or lifetime is not known}}
    %a = memref.alloc() : memref<4xf32>
    memref.copy %old, %a : memref<4xf32> to memref<4xf32>
    scf.yield %a : memref<4xf32>
  }
  memref.copy %r, %x : memref<4xf32> to memref<4xf32>
  return
}
