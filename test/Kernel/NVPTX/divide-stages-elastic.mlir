// RUN: regather-opt %s --kernel-divide-stages=elastic=true | FileCheck %s
// RUN: regather-opt %s --kernel-divide-stages | FileCheck %s --check-prefix=FREE

// In an elastic step a reduction has as many parts whatever the number of
// results: a rank may have more or fewer of them than another one.

// CHECK: module @columns
// CHECK-SAME: tg.temporaries = [tensor<32x1024xf32>]
// FREE: module @columns
// FREE-SAME: tg.temporaries = [tensor<256x1024xf32>]
tg.kernel @columns(%x: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<4096x1024xf32>) -> tensor<1024xf32>
  tg.return %s : tensor<1024xf32>
}

// CHECK: module @few_columns
// CHECK-SAME: tg.temporaries = [tensor<32x4xf32>]
// FREE: module @few_columns
// FREE-NOT: tg.temporaries
tg.kernel @few_columns(%x: tensor<4096x4xf32>) -> tensor<4xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<4096x4xf32>) -> tensor<4xf32>
  tg.return %s : tensor<4xf32>
}

// CHECK: module @row
// CHECK-SAME: tg.temporaries = [tensor<4x1xf32>]
// FREE: module @row
// FREE-SAME: tg.temporaries = [tensor<128x1xf32>]
tg.kernel @row(%x: tensor<1x524288xf32>) -> tensor<1xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<1x524288xf32>) -> tensor<1xf32>
  tg.return %s : tensor<1xf32>
}

// CHECK: module @rows
// CHECK-SAME: tg.temporaries = [tensor<4x2048xf32>]
// FREE: module @rows
// FREE-NOT: tg.temporaries
tg.kernel @rows(%x: tensor<2048x524288xf32>) -> tensor<2048xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<2048x524288xf32>) -> tensor<2048xf32>
  tg.return %s : tensor<2048xf32>
}

// A row of a model's width is one sum, as it is for a single row.
// CHECK: module @short_row
// CHECK-SAME: tg.temporaries = [tensor<1xf32>]
// FREE: module @short_row
// FREE-SAME: tg.temporaries = [tensor<16x1xf32>]
tg.kernel @short_row(%x: tensor<1x65536xf32>) -> tensor<1xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<1x65536xf32>) -> tensor<1xf32>
  tg.return %s : tensor<1xf32>
}
