// RUN: regather-opt %s --split-input-file --verify-diagnostics --tg-verify-step

tg.mesh @mesh [dp = 2]

// A collective adds in the order of the ranks.
// expected-note @+1 {{the step is elastic, so that sums are a tree over 4 segments}}
func.func @collective(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tg.elastic = 4 : i64} {
  // expected-error @+1 {{sums in the order of the ranks}}
  %0 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  return %1 : tensor<4xf32>
}

// -----

tg.mesh @mesh [dp = 2]

// The rank has two segments, of which a view sees both.
// expected-note @+1 {{the step is elastic, so that sums are a tree over 4 segments}}
func.func @uncut(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<f32> attributes {tg.elastic = 4 : i64} {
  %0 = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [8]] : (tensor<4x2xf32>) -> tensor<8xf32>
  // expected-error @+1 {{sums 2 segments of the batch in an order of its own}}
  %1 = tg.node "aten.sum.default"(%0) : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

tg.mesh @mesh [dp = 2]

// One segment may be summed.
func.func @cut(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<f32> attributes {tg.elastic = 4 : i64} {
  %0 = tensor.extract_slice %x[2, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %1 = tg.node "aten.sum.default"(%0) : (tensor<2x2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{'tg.elastic' must be a positive number of i64}}
func.func @zero() attributes {tg.elastic = 0 : i64} {
  return
}
