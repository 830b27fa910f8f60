// RUN: regather-opt %s --tg-partition=split=false --remark-format=emitRemark --remarks-filter=tg-partition -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK

// What remarks call the saved values is what the option takes: a replay by these
// names is the same partition.
// RUN: regather-opt %s --tg-partition="mode=replay split=false saved=product,parts:1" -o %t.replayed
// RUN: diff %t.mlir %t.replayed

// REMARK: 'product' is saved for backward
// REMARK: 'parts:1' is saved for backward

func.func @step(%x: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) {
  %product = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.id = "product"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %first, %second = tg.node "aten.split.Tensor"(%product) {tg.phase = #tg.phase<forward>, tg.id = "parts"} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %g = tg.node "aten.neg.default"(%product) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.neg.default"(%second) {tg.phase = #tg.phase<backward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %first, %g, %h : tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>
}
