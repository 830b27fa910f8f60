// Attention whose logarithms nobody reads, as in a forward pass that backward
// repeats, gives the same as with them.
//
// RUN: split-file %s %t
// RUN: regather run %t/alone.mlir --random-inputs=3 --outputs %t/alone --quiet
// RUN: regather run %t/both.mlir --random-inputs=3 --outputs %t/both --quiet
// RUN: cmp %t/alone %t/both
// RUN: regather-opt %t/alone.mlir --tg-form-kernels | FileCheck %s

// CHECK: tg.kernel @{{.*}} -> tensor<1x2x64x16xf32> attributes {library_call = #tg.attention<{{.*}}>}

//--- alone.mlir
func.func @step(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>)
    -> (tensor<1x2x64x16xf32> {tg.name = "o"}) {
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x2x64x16xf32>
}

//--- both.mlir
func.func @step(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>)
    -> (tensor<1x2x64x16xf32> {tg.name = "o"}) {
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
      : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  %n = tg.node "aten.neg.default"(%l) : (tensor<1x2x64xf32>) -> tensor<1x2x64xf32>
  %z = tg.node "aten.sub.Tensor"(%n, %n) : (tensor<1x2x64xf32>, tensor<1x2x64xf32>) -> tensor<1x2x64xf32>
  %e = tg.node "aten.unsqueeze.default"(%z) args [#tg.operand<0>, 3] : (tensor<1x2x64xf32>) -> tensor<1x2x64x1xf32>
  %s = tg.node "aten.add.Tensor"(%o, %e) : (tensor<1x2x64x16xf32>, tensor<1x2x64x1xf32>) -> tensor<1x2x64x16xf32>
  return %s : tensor<1x2x64x16xf32>
}
