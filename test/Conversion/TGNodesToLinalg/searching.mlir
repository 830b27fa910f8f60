// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Seven keys have eight answers: three steps.
// CHECK-LABEL: func.func @bisects
// CHECK-COUNT-3: tensor.extract %{{.*}} : tensor<1x7xf32>
// CHECK-NOT: tensor.extract %
// CHECK: return
func.func @bisects(%k: tensor<7xf32>, %x: tensor<3x4xf32>) -> tensor<3x4xi32> {
  %0 = tg.node "aten.bucketize.Tensor"(%x, %k) kwargs {out_int32 = true} : (tensor<3x4xf32>, tensor<7xf32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}

// CHECK-LABEL: func.func @no_keys
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @no_keys(%k: tensor<0xf32>, %x: tensor<3xf32>) -> tensor<3xi64> {
  %0 = tg.node "aten.searchsorted.Tensor"(%k, %x) : (tensor<0xf32>, tensor<3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// Each row of values has keys of its own, which come in the order of another
// tensor.
// CHECK-LABEL: func.func @sorted_by_another
// CHECK: linalg.index 0
// CHECK: tensor.extract %{{.*}} : tensor<2x3xi64>
// CHECK: tensor.extract %{{.*}} : tensor<2x3xf32>
// CHECK: arith.cmpf ogt
func.func @sorted_by_another(%k: tensor<2x3xf32>, %x: tensor<2x5xf32>, %o: tensor<2x3xi64>) -> tensor<2x5xi64> {
  %0 = tg.node "aten.searchsorted.Tensor"(%k, %x, %o) args [#tg.operand<0>, #tg.operand<1>] kwargs {right = true, sorter = #tg.operand<2>} : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x5xi64>
  return %0 : tensor<2x5xi64>
}

// The ends of the groups are searched; the last decides whether they fit.
// CHECK-LABEL: func.func @repeats
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}}[2] [1] [1]
// CHECK: %[[FITS:.*]] = arith.cmpi eq
// CHECK: arith.select %[[FITS]]
func.func @repeats(%n: tensor<3xi64>) -> tensor<5xi64> {
  %0 = tg.node "aten.repeat_interleave.Tensor"(%n) kwargs {output_size = 5} : (tensor<3xi64>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
}
