// RUN: regather-opt %s --kernel-decompose | FileCheck %s

// EXAMPLE kernel-decompose
// CHECK-LABEL: func.func @row_sums(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: arith.addf
func.func @row_sums(%x: tensor<8x16xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %s = linalg.reduce {arith.addf} ins(%x : tensor<8x16xf32>) outs(%init : tensor<8xf32>) dimensions = [1]
  return %s : tensor<8xf32>
}
// END

// A softmax is a maximum, exponentials, their sum and a division.
// CHECK-LABEL: func.func @softmax(
// CHECK: arith.maxnumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-NOT: linalg.softmax
func.func @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @joined(
// CHECK: %[[BOTH:.*]] = tensor.empty() : tensor<5x4xf32>
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %{{.*}} into %[[BOTH]][0, 0] [2, 4]
// CHECK: tensor.insert_slice %{{.*}} into %[[FIRST]][2, 0] [3, 4]
func.func @joined(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %z : tensor<5x4xf32>
}

// Of one element there is no next one.
// CHECK-LABEL: func.func @stride(
// CHECK: tensor.extract_slice %{{.*}}[3, 0] [1, 16] [1, 1]
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [2, 16] [4, 1]
func.func @stride(%x: tensor<8x16xf32>) -> (tensor<1x16xf32>, tensor<2x16xf32>) {
  %s = tensor.extract_slice %x[3, 0] [1, 16] [4, 1] : tensor<8x16xf32> to tensor<1x16xf32>
  %t = tensor.extract_slice %x[0, 0] [2, 16] [4, 1] : tensor<8x16xf32> to tensor<2x16xf32>
  return %s, %t : tensor<1x16xf32>, tensor<2x16xf32>
}

// Others keep their names.
// CHECK-LABEL: func.func @product(
// CHECK: linalg.matmul
func.func @product(%x: tensor<4x4xf32>, %init: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}
