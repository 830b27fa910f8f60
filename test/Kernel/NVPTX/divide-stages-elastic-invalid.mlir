// RUN: regather-opt %s --kernel-divide-stages=elastic=true --verify-diagnostics

// A long reduction would have another order than beside other results.
// expected-error @below {{has a long reduction, which an elastic step divides whatever is in the kernel beside it}}
tg.kernel @given(%x: tensor<1x524288xf32>) -> (tensor<1xf32>, tensor<1x524288xf32>) {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<1x524288xf32>) -> tensor<1xf32>
  tg.return %s, %x : tensor<1xf32>, tensor<1x524288xf32>
}

// A short one has one order in any case.
tg.kernel @short(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<8x64xf32>) -> tensor<8xf32>
  tg.return %s, %x : tensor<8xf32>, tensor<8x64xf32>
}
