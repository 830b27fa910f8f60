// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2 micro-batches=2" -verify-diagnostics

func.func @optimizer(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<8xf32> {tg.role = #tg.role<input>}) {
  // expected-error@+1 {{option 'micro-batches' needs a step without an optimizer, which would run once for each}}
  %0 = tg.node "aten.neg.default"(%w) {tg.phase = #tg.phase<optimizer>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{option 'micro-batches' needs a step without an optimizer, but it updates parameter "w"}}
func.func @update(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8xf32> {tg.role = #tg.role<input>})
    -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
  return %w : tensor<8xf32>
}

// -----

// expected-error@+1 {{option 'micro-batches' cannot combine result 0, which is neither a loss, a gradient nor an update}}
func.func @output(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<8xf32> {tg.role = #tg.role<input>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
