// Kernels are compiled from text without locations; errors have them all the
// same, for every kernel that cannot be compiled, whatever the number of
// threads.

// RUN: not regather run %s --random-inputs=1 --quiet --compile-threads=1 --pass-option=tg-form-kernels:max-ops=1 2>&1 | FileCheck %s
// RUN: not regather run %s --random-inputs=1 --quiet --compile-threads=3 --pass-option=tg-form-kernels:max-ops=1 2>&1 | FileCheck %s

func.func @step(%x: tensor<4xf32>, %i: tensor<4x1xi64>) -> tensor<4xf32> {
  %a = math.tanh %x : tensor<4xf32>
  // CHECK: native-kernel-errors.mlir:[[#@LINE+1]]:8: error: op was not bufferized
  %b = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
  %c = math.ctpop %b : tensor<4xi32>
  // CHECK: native-kernel-errors.mlir:[[#@LINE+1]]:8: error: op was not bufferized
  %d = tensor.bitcast %c : tensor<4xi32> to tensor<4xf32>
  // CHECK: native-kernel-errors.mlir:[[#@LINE+1]]:8: error: op was not bufferized
  %e = tensor.gather %d[%i] gather_dims([0]) : (tensor<4xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  // CHECK-NOT: error
  return %e : tensor<4xf32>
}
