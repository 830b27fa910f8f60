// RUN: regather-opt %s --kernel-lower-lane-reductions | FileCheck %s

// Sixteen steps of a vector of 32 lanes, and a tree.
// EXAMPLE kernel-lower-lane-reductions
#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @row_sums(
// CHECK: scf.for {{.*}} step %c32 {{.*}} -> (vector<32xf32>)
// CHECK: vector.load %{{.*}} : memref<8x512xf32>, vector<32xf32>
// CHECK: arith.addf %{{.*}} : vector<32xf32>
// CHECK: arith.addf %{{.*}} : vector<16xf32>
// CHECK: arith.addf %{{.*}} : vector<1xf32>
// CHECK-NOT: linalg.generic
func.func @row_sums(%x: memref<8x512xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x512xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  }
  return
}
// END

// A mask is read as a vector of booleans (`kernel-store-booleans-as-bytes` loads
// their bytes), but for the two elements that are left.
#same = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @masked_sums(
// CHECK: scf.for {{.*}} step %c32 {{.*}} -> (vector<32xf32>)
// CHECK: vector.load %{{.*}} : memref<66xi1>, vector<32xi1>
// CHECK: arith.select %{{.*}} : vector<32xi1>, vector<32xf32>
// CHECK-COUNT-2: memref.load %{{.*}} : memref<66xi1>
// CHECK-NOT: memref.load %{{.*}} : memref<66xi1>
// CHECK: vector.from_elements %{{.*}} : vector<32xi1>
func.func @masked_sums(%x: memref<8x66xf32>, %mask: memref<66xi1>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#in, #same, #out], iterator_types = ["parallel", "reduction"]} ins(%x, %mask : memref<8x66xf32>, memref<66xi1>) outs(%y : memref<8xf32>) {
  ^bb0(%v: f32, %m: i1, %o: f32):
    %term = arith.select %m, %v, %zero : f32
    %s = arith.addf %o, %term : f32
    linalg.yield %s : f32
  }
  return
}

// Elements of a column lie apart: the lanes are an array.
#turned = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @column_sums(
// CHECK: %[[LANES:.*]] = memref.alloca() : memref<32xf32>
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK: memref.store %{{.*}}, %[[LANES]][%[[LANE]]]
func.func @column_sums(%x: memref<512x8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#turned, #out], iterator_types = ["parallel", "reduction"]} ins(%x : memref<512x8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  }
  return
}

// No sum, and none over one dimension.
#all = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: linalg.generic
func.func @others(%x: memref<8x512xf32>, %y: memref<8x512xf32>) {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x512xf32>) outs(%y : memref<8x512xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %v, %v : f32
    linalg.yield %s : f32
  }
  return
}
