// RUN: regather-opt %s --kernel-collapse-loops --split-input-file | FileCheck %s

// Loops over dimensions that lie one behind the other are one.

// EXAMPLE kernel-collapse-loops
// CHECK-LABEL: func @contiguous
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK-SAME: memref<72xf32
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
func.func @contiguous(%x: memref<4x2x3x3xf32>, %y: memref<4x2x3x3xf32>) {
  linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<4x2x3x3xf32>) outs(%y : memref<4x2x3x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}
// END

// -----

// A factor for each channel keeps the loop over channels, and what belongs to no
// operand twice is one with its neighbour.

// CHECK-LABEL: func @channels
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-SAME: memref<4x2x9xf32>, memref<2xf32>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @channels(%x: memref<4x2x3x3xf32>, %c: memref<2xf32>, %y: memref<4x2x3x3xf32>) {
  linalg.generic {indexing_maps = [#id, #channel, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %c : memref<4x2x3x3xf32>, memref<2xf32>) outs(%y : memref<4x2x3x3xf32>) {
  ^bb0(%in: f32, %factor: f32, %out: f32):
    %0 = arith.mulf %in, %factor : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Rows of a larger matrix have a gap.

// CHECK-LABEL: func @gap
// CHECK: iterator_types = ["parallel", "parallel"]
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @gap(%x: memref<4x3xf32, strided<[5, 1]>>, %y: memref<4x3xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x3xf32, strided<[5, 1]>>) outs(%y : memref<4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// -----

// A transposed operand runs in another direction.

// CHECK-LABEL: func @transposed
// CHECK: iterator_types = ["parallel", "parallel"]
#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
func.func @transposed(%x: memref<3x4xf32>, %y: memref<4x3xf32>) {
  linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<3x4xf32>) outs(%y : memref<4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// -----

// A sum keeps its loops, and so its order; the result's are one.

// CHECK-LABEL: func @sum
// CHECK: iterator_types = ["parallel", "reduction", "reduction"]
#in = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
func.func @sum(%x: memref<4x2x3x3xf32>, %y: memref<4x2xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x : memref<4x2x3x3xf32>) outs(%y : memref<4x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// The number of a step is used.

// CHECK-LABEL: func @index
// CHECK: iterator_types = ["parallel", "parallel"]
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @index(%y: memref<4x3xindex>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%y : memref<4x3xindex>) {
  ^bb0(%out: index):
    %0 = linalg.index 1 : index
    linalg.yield %0 : index
  }
  return
}

// -----

// The operand without rows has a lower rank than what is read beside it, and a
// number has none.

// CHECK-LABEL: func @broadcast
// CHECK-SAME: %[[X:.*]]: memref<2x3x4x5xf32>, %[[ROW:.*]]: memref<4x5xf32>, %[[N:.*]]: f32
// CHECK-DAG: %[[XC:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2, 3]]
// CHECK-DAG: %[[RC:.*]] = memref.collapse_shape %[[ROW]] {{\[\[}}0, 1]]
// CHECK: ins(%[[XC]], %[[RC]], %[[N]] : memref<6x20xf32>, memref<20xf32>, f32)
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#row = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#none = affine_map<(d0, d1, d2, d3) -> ()>
func.func @broadcast(%x: memref<2x3x4x5xf32>, %row: memref<4x5xf32>, %n: f32, %y: memref<2x3x4x5xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #none, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %row, %n : memref<2x3x4x5xf32>, memref<4x5xf32>, f32) outs(%y : memref<2x3x4x5xf32>) {
  ^bb0(%in: f32, %r: f32, %number: f32, %out: f32):
    %0 = arith.mulf %in, %r : f32
    %1 = arith.addf %0, %number : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// CHECK-LABEL: func @zeros
// CHECK: iterator_types = ["parallel"]
func.func @zeros(%zero: f32, %y: memref<4x2x3x3xf32>) {
  linalg.fill ins(%zero : f32) outs(%y : memref<4x2x3x3xf32>)
  return
}
