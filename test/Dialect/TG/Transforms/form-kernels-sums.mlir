// RUN: regather-opt %s --tg-form-kernels --split-input-file | FileCheck %s

// A mean of many elements is computed row by row, with what makes them; one
// small kernel adds the rows.

// CHECK-LABEL: tg.kernel @mul_sum
// CHECK-SAME: tensor<128x512xf32> {tg.rows = 0 : i64}
// CHECK: %[[SQUARES:.*]] = tg.node "aten.mul.Tensor"
// CHECK: tg.node "aten.sum.dim_IntList"(%[[SQUARES]]) args [#tg.operand<0>, [1], false]
// CHECK-SAME: -> tensor<128xf32>
// CHECK: tg.kernel @sum_div
// CHECK: %[[SUM:.*]] = tg.node "aten.sum.default"({{.*}}) {{.*}}: (tensor<128xf32>) -> tensor<f32>
// CHECK: tg.node "aten.div.Scalar"(%[[SUM]]) args [#tg.operand<0>, 6.553600e+04
// CHECK-LABEL: func.func @mean
// CHECK-COUNT-2: tg.launch
func.func @mean(%x: tensor<128x512xf32>) -> tensor<f32> {
  %0 = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<128x512xf32>, tensor<128x512xf32>) -> tensor<128x512xf32>
  %1 = tg.node "aten.mean.default"(%0) : (tensor<128x512xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The fewest dimensions that make rows enough; rows of rows, where these are
// many.

// CHECK-LABEL: tg.kernel @{{.*}}tensor<2x64x512xbf16>
// CHECK: tg.node "aten.sum.dim_IntList"({{.*}}) args [#tg.operand<0>, [2], false]
// CHECK-SAME: (tensor<2x64x512xbf16>) -> tensor<2x64xf32>
// CHECK: tg.kernel
// CHECK: tg.node "aten.sum.default"{{.*}} : (tensor<2x64xf32>) -> tensor<f32>
func.func @leading_dims(%x: tensor<2x64x512xbf16>) -> tensor<f32> {
  %0 = tg.node "aten.sum.default"(%x) : (tensor<2x64x512xbf16>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: tg.kernel @{{.*}}tensor<60x4096x64xf32>
// CHECK: args [#tg.operand<0>, [2], false] {{.*}}-> tensor<60x4096xf32>
// CHECK-NOT: "aten.sum.dim_IntList"
// CHECK: "aten.sum.default"{{.*}} : (tensor<60x4096xf32>) -> tensor<f32>
func.func @no_more_rows(%x: tensor<60x4096x64xf32>) -> tensor<f32> {
  %0 = tg.node "aten.sum.default"(%x) : (tensor<60x4096x64xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Too few elements, too short rows, no rows; another result than the sum.

// CHECK-NOT: "aten.sum.dim_IntList"
func.func @whole(%a: tensor<128x511xf32>, %b: tensor<4096x63xf32>, %c: tensor<65536xf32>, %d: tensor<128x512xi64>,
                 %e: tensor<128x512xbf16>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<bf16>) {
  %0 = tg.node "aten.sum.default"(%a) : (tensor<128x511xf32>) -> tensor<f32>
  %1 = tg.node "aten.sum.default"(%b) : (tensor<4096x63xf32>) -> tensor<f32>
  %2 = tg.node "aten.sum.default"(%c) : (tensor<65536xf32>) -> tensor<f32>
  %3 = tg.node "aten.sum.default"(%d) : (tensor<128x512xi64>) -> tensor<i64>
  %4 = tg.node "aten.sum.default"(%e) : (tensor<128x512xbf16>) -> tensor<bf16>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<bf16>
}
