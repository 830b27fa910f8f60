// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @accumulates_bf16_in_f32
// CHECK: %[[SUM:.*]] = linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<2x3xbf16>, tensor<3x4xbf16>) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[SUM]]
// CHECK: arith.truncf
func.func @accumulates_bf16_in_f32(%x: tensor<2x3xbf16>, %y: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
  %0 = tg.node "aten.mm.default"(%x, %y) : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @f32_needs_no_conversion
// CHECK: %[[PRODUCT:.*]] = linalg.batch_matmul
// CHECK-NEXT: return %[[PRODUCT]]
func.func @f32_needs_no_conversion(%x: tensor<5x2x3xf32>, %y: tensor<5x3x4xf32>) -> tensor<5x2x4xf32> {
  %0 = tg.node "aten.bmm.default"(%x, %y) : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// With beta = 0 the addend is not read: it may hold NaN.
// CHECK-LABEL: func.func @does_not_read_addend
// CHECK-SAME: %[[ADDEND:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<2x3xf32>
// CHECK-NOT: %[[ADDEND]]
// CHECK-LABEL: func.func @reads_addend
// CHECK-SAME: %[[ADDEND:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<2x3xf32>
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: ins(%[[PRODUCT]], %[[ADDEND]]
func.func @does_not_read_addend(%b: tensor<4xf32>, %x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = tg.node "aten.addmm.default"(%b, %x, %y) kwargs {beta = 0 : i64} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
func.func @reads_addend(%b: tensor<4xf32>, %x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = tg.node "aten.addmm.default"(%b, %x, %y) : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
