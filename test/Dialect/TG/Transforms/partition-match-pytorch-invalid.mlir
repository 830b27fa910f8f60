// RUN: regather-opt %s -split-input-file --tg-partition="mode=min-cut match-pytorch=true" -verify-diagnostics
// RUN: not regather-opt %s -split-input-file --tg-partition="match-pytorch=true" 2>&1 | FileCheck %s --check-prefix=MODE

// MODE: error: option 'match-pytorch' is for mode min-cut

// expected-error@+1 {{matching PyTorch takes a step in which backward begins with "aten.full_like" or "aten.ones_like" of a result of forward}}
func.func @no_tangent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @not_captured(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %loss = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<f32>) -> tensor<f32>
  %one = tg.node "aten.ones_like.default"(%loss) {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{matching PyTorch takes the operations of a captured graph, got 'arith.mulf'}}
  %g = arith.mulf %one, %loss {tg.phase = #tg.phase<backward>} : tensor<f32>
  return %loss, %g : tensor<f32>, tensor<f32>
}
