// RUN: regather-opt %s --convert-tg-kernels-to-gpu=elastic=true | FileCheck %s
// RUN: regather-opt %s --convert-tg-kernels-to-gpu | FileCheck %s --check-prefix=FREE

// A thread sums every n-th vector of a row. As a rule that is as wide as the
// accesses of what reads the row again, which the addresses of rows decide; in
// an elastic step it is not.

// CHECK: gpu.func @gradient
// CHECK: :8 = scf.for
// FREE: gpu.func @gradient
// FREE: :4 = scf.for
tg.kernel @gradient(%g: tensor<64x4096xf32>, %y: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %d = tg.node "aten._softmax_backward_data.default"(%g, %y) args [#tg.operand<0>, #tg.operand<1>, -1, 6]
      : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  tg.return %d : tensor<64x4096xf32>
}
