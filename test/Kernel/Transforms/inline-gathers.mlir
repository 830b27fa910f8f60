// RUN: regather-opt %s --kernel-inline-gathers | FileCheck %s

// Only the elements that are picked are doubled.
// EXAMPLE kernel-inline-gathers
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @doubled(
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>, %[[PLACES:.*]]: tensor<8xindex>)
// CHECK-COUNT-1: linalg.generic {{.*}} ins(%[[PLACES]] :
// CHECK: %[[V:.*]] = tensor.extract %[[X]]
// CHECK: arith.addf %[[V]], %[[V]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @doubled(%x: tensor<64xf32>, %places: tensor<8xindex>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %f = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%places : tensor<8xindex>) outs(%f : tensor<8xf32>) {
  ^bb0(%p: index, %o: f32):
    %v = tensor.extract %d[%p] : tensor<64xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
// END

// Each of the four elements would be computed 16 times.
#wide = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @often(
// CHECK: %[[D:.*]] = linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: tensor.extract %[[D]]
func.func @often(%x: tensor<4xf32>, %places: tensor<64xindex>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel"]} ins(%places : tensor<64xindex>) outs(%f : tensor<64xf32>) {
  ^bb0(%p: index, %o: f32):
    %v = tensor.extract %d[%p] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
