// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// The bits are left to convert-tg-random-to-linalg; the mask is one comparison
// of integers: ceil(0.1 * 2^24) = 1677722.
// CHECK-LABEL: func.func @dropout
// CHECK: %[[BITS:.*]] = tg.random
// CHECK: %[[MASK:.*]] = linalg.generic {{.*}} ins(%[[BITS]] : tensor<4x8xi32>)
// CHECK: %[[LEADING:.*]] = arith.shrui
// CHECK: %[[THRESHOLD:.*]] = arith.constant 1677722 : i32
// CHECK: arith.cmpi uge, %[[LEADING]], %[[THRESHOLD]] : i32
// CHECK: %[[OUTPUT:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[MASK]] : tensor<4x8xbf16>, tensor<4x8xi1>)
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: return %[[OUTPUT]], %[[MASK]]
func.func @dropout(%seed: tensor<i64>, %offset: tensor<i64>, %x: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xi1>) {
  %bits = tg.random %seed, %offset stream 0 : tensor<4x8xi32>
  %0:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.1, true] kwargs {bits = #tg.operand<1>}
      : (tensor<4x8xbf16>, tensor<4x8xi32>) -> (tensor<4x8xbf16>, tensor<4x8xi1>)
  return %0#0, %0#1 : tensor<4x8xbf16>, tensor<4x8xi1>
}

// Outside of training nothing is drawn.
// CHECK-LABEL: func.func @dropout_in_evaluation
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32>
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[MASK:.*]] = linalg.fill ins(%[[TRUE]]
// CHECK: return %[[X]], %[[MASK]]
func.func @dropout_in_evaluation(%x: tensor<4xf32>, %bits: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %0:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.1, false] kwargs {bits = #tg.operand<1>}
      : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi1>
}

// A bf16 below one has at most 8 leading bits.
// CHECK-LABEL: func.func @uniform_in_bf16
// CHECK: arith.constant 24 : i32
// CHECK: arith.shrui
// CHECK: arith.uitofp %{{.*}} : i32 to f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @uniform_in_bf16(%bits: tensor<4xi32>) -> tensor<4xbf16> {
  %0 = tg.node "aten.rand.default"(%bits) args [[4]] kwargs {bits = #tg.operand<0>} : (tensor<4xi32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @integers
// CHECK: %[[COUNT:.*]] = arith.constant 7 : i64
// CHECK: %{{.*}}, %[[HIGH:.*]] = arith.mului_extended %{{.*}}, %[[COUNT]] : i64
// CHECK: %[[LOW:.*]] = arith.constant -3 : i64
// CHECK: arith.addi %[[HIGH]], %[[LOW]]
func.func @integers(%bits: tensor<4xi64>) -> tensor<4xi64> {
  %0 = tg.node "aten.randint.low"(%bits) args [-3, 4, [4]] kwargs {bits = #tg.operand<0>} : (tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
