// RUN: regather-opt %s --kernel-decompose --split-input-file --verify-diagnostics

func.func @softmax_of_integers(%x: tensor<2x4xi32>) -> tensor<2x4xi32> {
  %empty = tensor.empty() : tensor<2x4xi32>
  // expected-error @below {{'linalg.softmax' op cannot be decomposed: expects tensors of floats, got 'tensor<2x4xi32>'}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<2x4xi32>)
    outs(%empty : tensor<2x4xi32>) -> tensor<2x4xi32>
  return %y : tensor<2x4xi32>
}

// -----

func.func @softmax_of_buffers(%x: memref<2x4xf32>, %y: memref<2x4xf32>) {
  // expected-error @below {{'linalg.softmax' op cannot be decomposed: expects tensors of floats, got 'memref<2x4xf32>'}}
  linalg.softmax dimension(1) ins(%x : memref<2x4xf32>)
    outs(%y : memref<2x4xf32>)
  return
}
