// RUN: regather-opt %s --kernel-check-bounds --verify-diagnostics

// expected-error @below {{expects a function of one block without results}}
func.func @result(%x: memref<8xf32>, %i: index) -> f32 {
  %v = memref.load %x[%i] : memref<8xf32>
  return %v : f32
}
