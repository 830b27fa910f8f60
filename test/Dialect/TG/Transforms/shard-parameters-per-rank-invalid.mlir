// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 batch=per-rank" -verify-diagnostics

// expected-error@+1 {{result 0 of type 'tensor<i64>' differs from rank to rank with batch=per-rank, but has neither a mean nor the batch as dimension 0}}
func.func @count(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<3x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<i64>) {
  // expected-note@+1 {{computed here}}
  %0 = tg.node "aten.count_nonzero.default"(%x) : (tensor<3x8xf32>) -> tensor<i64>
  return %0 : tensor<i64>
}

// -----

// The optimizer would give every rank another parameter.
func.func @clipped(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<3x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
  %dw = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>) -> tensor<8xf32>
  // expected-note@+1 {{computed here}}
  %norm = tg.node "aten.norm.Scalar"(%dw) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<f32>
  // expected-error@+1 {{the optimizer reads a value that differs from rank to rank with batch=per-rank, but is no gradient}}
  %step = tg.node "aten.div.Tensor"(%dw, %norm) {tg.phase = #tg.phase<optimizer>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %new = tg.node "aten.sub.Tensor"(%w, %step) {tg.phase = #tg.phase<optimizer>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %new : tensor<8xf32>
}
