// RUN: regather-opt %s --tg-chunk-rows=chunks=3 -verify-diagnostics
// RUN: not regather-opt %s --tg-chunk-rows=chunks=-2 2>&1 | FileCheck %s
// CHECK: option 'chunks' must not be negative, got -2

func.func @step(
    %w: tensor<4x64xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x4xf32>) {
  // expected-error @below {{option 'chunks' asks for 3 blocks of rows, but they must divide the 8 of this chain}}
  %scores = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %e = tg.node "aten.exp.default"(%scores) {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %rows = tg.node "aten.sum.dim_IntList"(%e) args [#tg.operand<0>, [1]] {tg.phase = #tg.phase<forward>}
      : (tensor<8x64xf32>) -> tensor<8xf32>
  %loss = tg.node "aten.sum.default"(%rows) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<f32>
  %wt = tg.node "aten.permute.default"(%w) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>}
      : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %dx = tg.node "aten.mm.default"(%e, %wt) {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  return %loss, %dx : tensor<f32>, tensor<8x4xf32>
}
