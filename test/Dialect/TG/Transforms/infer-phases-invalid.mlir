// RUN: regather-opt %s -split-input-file --tg-infer-phases -verify-diagnostics=only-expected

// expected-error @+1 {{phases cannot be inferred: the step returns gradients, but no result has role "loss"}}
func.func @no_loss(%w: tensor<4xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<f32>, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.sum.default"(%w) : (tensor<4xf32>) -> tensor<f32>
  %dw = tg.node "aten.full_like.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %dw : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{phases cannot be inferred: the step updates parameter "w", but returns no gradient of it that would tell backward from optimizer}}
func.func @no_gradient(%w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<update of 0>}) {
  %y = tg.node "aten.sum.default"(%w) : (tensor<4xf32>) -> tensor<f32>
  %dw = tg.node "aten.full_like.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %new = tg.node "aten.sub.Tensor"(%w, %dw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %new : tensor<f32>, tensor<4xf32>
}

// -----

// Nothing is to be inferred where everything is marked.
func.func @marked(%w: tensor<4xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %dw = tg.node "aten.full_like.default"(%w) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %dw : tensor<4xf32>
}
