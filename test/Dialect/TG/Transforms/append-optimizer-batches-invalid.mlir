// RUN: regather-opt %s -split-input-file --tg-append-optimizer='skip-nonfinite gradient-sums' -verify-diagnostics

// expected-error@+1 {{option 'skip-nonfinite' needs a result with the role loss}}
func.func @no_loss(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error@+1 {{option 'skip-nonfinite' needs a loss of one floating-point number, got 'tensor<2xf32>'}}
func.func @two_losses(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<loss>}, tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w, %w : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error@+1 {{the optimizer needs an argument "batches", but argument 1 has this name}}
func.func @taken(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}, %x: tensor<f32> {tg.role = #tg.role<input>, tg.name = "batches"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %x, %w : tensor<f32>, tensor<2xf32>
}
