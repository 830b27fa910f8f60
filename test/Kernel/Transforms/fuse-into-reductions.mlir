// RUN: regather-opt %s --kernel-fuse-into-reductions | FileCheck %s

// Nothing that the sum depends on has an element for each of its steps: an
// argument that has is added, for the sizes of the loops, and is not read.
// EXAMPLE kernel-fuse-into-reductions
#all = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>
#outer = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @spread(
// CHECK-SAME: %{{.*}}: memref<4x8xf32>, %[[ROW:.*]]: tensor<8xf32>, %[[INIT:.*]]: tensor<4xf32>)
// CHECK: %[[X:.*]] = bufferization.to_tensor
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[ROW]] :
// CHECK: ^bb0(%[[UNUSED:.*]]: f32, %[[V:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-NOT: %[[UNUSED]]
// CHECK: %[[TWICE:.*]] = arith.addf %[[V]], %[[V]]
// CHECK: arith.addf %[[SUM]], %[[TWICE]]
func.func @spread(%buffer: memref<4x8xf32>, %row: tensor<8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %x = bufferization.to_tensor %buffer restrict : memref<4x8xf32> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#inner, #all], iterator_types = ["parallel", "parallel"]} ins(%row : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#all, #outer], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// END

// What is read has all elements: elementwise fusion does the rest.
// CHECK-LABEL: func.func @covered(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
func.func @covered(%buffer: memref<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %x = bufferization.to_tensor %buffer restrict : memref<4x8xf32> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#all, #outer], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
