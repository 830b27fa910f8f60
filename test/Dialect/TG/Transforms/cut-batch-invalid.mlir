// RUN: regather-opt %s -split-input-file "--tg-cut-batch=parts=2" -verify-diagnostics

// expected-error@+1 {{batch of 3 (dimension 0 of argument 1) cannot be divided into 2 micro-batches}}
func.func @odd(%w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<3x8xf32> {tg.role = #tg.role<input>}) {
  return
}

// -----

// expected-error@+1 {{expects an input with a batch to cut into 2 micro-batches}}
func.func @none(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
  return
}

// -----

// Rows are compared with the mean of all rows, which parameters decide.
func.func @normalised(%w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>}) -> tensor<4x8xf32> {
  %y = tg.node "aten.mul.Tensor"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-note@+1 {{decided here}}
  %mean = tg.node "aten.mean.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<f32>
  // expected-error@+1 {{the batch cannot be cut into micro-batches: 'aten.sub.Tensor' computes a part of the rows from what all rows decide together}}
  %z = tg.node "aten.sub.Tensor"(%y, %mean) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

// Rows are compared with those of all others.
func.func @compared(%w: tensor<8x8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>}) -> tensor<4x4xf32> {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-note@+1 {{decided here}}
  %t = tg.node "aten.t.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // expected-error@+1 {{the batch cannot be cut into micro-batches: 'aten.mm.default' computes a part of the rows from what all rows decide together}}
  %z = tg.node "aten.mm.default"(%y, %t) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}
