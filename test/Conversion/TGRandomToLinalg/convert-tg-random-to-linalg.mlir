// RUN: regather-opt %s --convert-tg-random-to-linalg | FileCheck %s

// What the numbers are is checked by running them: test/python/test_random.py.

// CHECK-DAG: #[[NONE:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// The attributes of the operation stay, and so does what uses it.
// CHECK-LABEL: func.func @random
// CHECK-SAME: %[[SEED:.*]]: tensor<i64>, %[[OFFSET:.*]]: tensor<i64>
// CHECK: %[[BITS:.*]] = linalg.generic {indexing_maps = [#[[NONE]], #[[NONE]], #[[ALL]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[SEED]], %[[OFFSET]] : tensor<i64>, tensor<i64>)
// CHECK-SAME: attrs = {tg.module = "drop", tg.phase = #tg.phase<forward>}
// CHECK: arith.constant 3 : i32
// CHECK-COUNT-20: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: return %[[BITS]]
// EXAMPLE convert-tg-random-to-linalg
func.func @random(%seed: tensor<i64>, %offset: tensor<i64>) -> tensor<4x8xi32> {
  %bits = tg.random %seed, %offset stream 3
      {tg.module = "drop", tg.phase = #tg.phase<forward>} : tensor<4x8xi32>
  return %bits : tensor<4x8xi32>
}
// END

// A part of a tensor counts from its first element.
// CHECK-LABEL: func.func @part
// CHECK-SAME: %[[FIRST:[a-z0-9]*]]: index
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[FIRST]] : tensor<i64>, tensor<i64>, index)
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %{{.*}}: i64, %[[START:.*]]: index, %{{.*}}: i64):
// CHECK: arith.addi %[[START]], %{{.*}} : index
func.func @part(%seed: tensor<i64>, %offset: tensor<i64>, %first: index) -> tensor<4xi64> {
  %bits = tg.random %seed, %offset first %first stream 0 : tensor<4xi64>
  return %bits : tensor<4xi64>
}

// CHECK-LABEL: func.func @scalar
// CHECK: linalg.generic {{.*}}iterator_types = []
func.func @scalar(%seed: tensor<i64>, %offset: tensor<i64>) -> tensor<i32> {
  %bits = tg.random %seed, %offset stream 0 : tensor<i32>
  return %bits : tensor<i32>
}

// Streams beyond 31 bits are words without a sign.
// CHECK-LABEL: func.func @last_stream
// CHECK: arith.constant -1 : i32
func.func @last_stream(%seed: tensor<i64>, %offset: tensor<i64>) -> tensor<2xi32> {
  %bits = tg.random %seed, %offset stream 4294967295 : tensor<2xi32>
  return %bits : tensor<2xi32>
}

// Inside control flow, and nodes stay as they are.
// CHECK-LABEL: func.func @nested
// CHECK: scf.if
// CHECK: linalg.generic
// CHECK: tg.node "aten.rand.default"
func.func @nested(%seed: tensor<i64>, %offset: tensor<i64>, %condition: i1, %other: tensor<2xi32>) -> tensor<2xf32> {
  %bits = scf.if %condition -> tensor<2xi32> {
    %drawn = tg.random %seed, %offset stream 1 : tensor<2xi32>
    scf.yield %drawn : tensor<2xi32>
  } else {
    scf.yield %other : tensor<2xi32>
  }
  %0 = tg.node "aten.rand.default"(%bits) args [[2]] kwargs {bits = #tg.operand<0>} : (tensor<2xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
