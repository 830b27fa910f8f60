// RUN: regather-opt %s --kernel-compute-in-results | FileCheck %s

// The sum starts from the result instead of an empty tensor.
// EXAMPLE kernel-compute-in-results
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %{{.*}}: memref<4xf32>, %[[RESULT:.*]]: memref<4xf32>)
// CHECK: %[[START:.*]] = bufferization.to_tensor %[[RESULT]] restrict writable
// CHECK: linalg.add {{.*}} outs(%[[START]] :
func.func @sum(%x: memref<4xf32>, %result: memref<4xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.add ins(%t, %t : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %s in restrict writable %result : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
// END

// What another operation reads on the way stays apart.
// CHECK-LABEL: func.func @read_on_the_way(
// CHECK-SAME: %{{.*}}: memref<4xf32>, %[[RESULT:.*]]: memref<4xf32>, %[[OTHER:.*]]: memref<4xf32>)
// CHECK-NOT: bufferization.to_tensor %[[RESULT]]
// CHECK: return
func.func @read_on_the_way(%x: memref<4xf32>, %result: memref<4xf32>, %other: memref<4xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.add ins(%t, %t : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %u = linalg.mul ins(%t, %t : tensor<4xf32>, tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %u in restrict writable %result : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %s in restrict writable %other : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
