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
  %s0 = tensor.extract_slice %x[0, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %s1 = tensor.extract_slice %x[2, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %0 = tg.node "aten.sum.default"(%s0) : (tensor<2x2xf32>) -> tensor<f32>
  %1 = tg.node "aten.sum.default"(%s1) : (tensor<2x2xf32>) -> tensor<f32>
  %2 = tg.node "aten.add.Tensor"(%1, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = tensor.expand_shape %2 [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %4 = tg.all_gather %3 on @mesh [dp] dim 0 phase forward : (tensor<1xf32>) -> !tg.future<tensor<2xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<2xf32>>
  %low = tensor.extract_slice %5[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %high = tensor.extract_slice %5[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %6 = tg.node "aten.add.Tensor"(%low, %high) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %7 = tensor.collapse_shape %6 [] : tensor<1xf32> into tensor<f32>
  return %7 : tensor<f32>
}

// -----

tg.mesh @mesh [dp = 1]

// The tree adds 0 and 1, and 2 and 3.
// expected-note @+1 {{the step is elastic}}
func.func @order(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<2xf32> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.sum.dim_IntList"(%s2) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %3 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{adds the sums of segments 0 to 1 and of segment 2, which the tree does not}}
  %4 = tg.node "aten.add.Tensor"(%3, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 1]

// In a kernel, too; siblings may come in any order, and their elements move.
tg.kernel @add(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2x1xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a, %b : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    // expected-error @+1 {{adds the sums of segment 1 and of segment 2, which the tree does not}}
    %s = arith.addf %y, %x : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 1] : tensor<2xf32> into tensor<2x1xf32>
  tg.return %1 : tensor<2x1xf32>
}
tg.kernel @sum(%a: tensor<1x2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.sum.dim_IntList"(%a) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  tg.return %0 : tensor<2xf32>
}
// expected-note @+1 {{the step is elastic}}
func.func @kernels(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<2x1xf32> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %0 = tg.launch @sum(%s0) : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.launch @sum(%s1) : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.launch @sum(%s2) : (tensor<1x2xf32>) -> tensor<2xf32>
  %3 = tg.launch @add(%1, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x1xf32>
  %4 = tg.launch @add(%1, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x1xf32>
  return %4 : tensor<2x1xf32>
}

// -----

tg.mesh @mesh [dp = 2]

// Half of a sum is rounded, where the ranks cut the batch.
// expected-note @+1 {{the step is elastic}}
func.func @rounded(%x: tensor<2x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<2xbf16> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{changes the sum of segments 0 to 1 before it is that of the batch}}
  %3 = tg.node "aten._to_copy.default"(%2) kwargs {dtype = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
  return %3 : tensor<2xbf16>
}

// -----

tg.mesh @mesh [rep = 2, dp = 2]

// Ranks of one replica are neighbours; those of one shard are not.
// expected-note @+1 {{the step is elastic}}
func.func @strangers(%x: tensor<1x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[rep, dp] = shard 0]>}) -> tensor<4xf32> attributes {tg.elastic = 4 : i64} {
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{exchanges sums of 1 segments over axes}}
  %1 = tg.all_gather %0 on @mesh [rep] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<4xf32>>
  return %2 : tensor<4xf32>
}

// -----

tg.mesh @mesh [dp = 2]

// What ranks send is added as the tree says, but only that of one is returned.
// expected-note @+1 {{the step is elastic}}
func.func @unfinished(%x: tensor<2x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> (tensor<2xf32>, tensor<2xf32>) attributes {tg.elastic = 2 : i64} {
  %0 = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<2x2xf32>) -> tensor<2xf32>
  %1 = tg.all_gather %0 on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<4xf32>>
  %low = tensor.extract_slice %2[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %high = tensor.extract_slice %2[2] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %sum = tg.node "aten.add.Tensor"(%high, %low) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{result 1 is a sum over a part of the batch}}
  return %sum, %low : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{'tg.elastic' must be a positive number of i64}}
func.func @zero() attributes {tg.elastic = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{'tg.model_segments' must be a dictionary of numbers of i64, none negative}}
func.func @model() attributes {tg.model_segments = {tp = -1 : i64}} {
  return
}

// -----

tg.mesh @mesh [dp = 2, tp = 2]

// Ranks of tp have rows of their own sums, in their own order; the batch is
// still followed behind it.
// expected-note @+1 {{the step is elastic}}
func.func @beside(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0, [tp] = shard 1]>}) -> tensor<2xf32> attributes {tg.elastic = 4 : i64, tg.model_segments = {tp = 0 : i64}} {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x2xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4x2xf32>>
  // expected-error @+1 {{sums 2 segments of the batch in an order of its own}}
  %2 = tg.node "aten.sum.dim_IntList"(%1) args [#tg.operand<0>, [0]] : (tensor<4x2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 2, tp = 2]

// Where the ranks of dp cut the batch, those of tp add nothing.
// expected-note @+1 {{the step is elastic}}
func.func @between(%x: tensor<2x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[tp, dp] = shard 0]>}) -> tensor<2xf32> attributes {tg.elastic = 4 : i64, tg.model_segments = {tp = 0 : i64}} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{changes the sum of segments 0 to 1 before it is that of the batch}}
  %3 = tg.all_reduce sum %2 on @mesh [tp] phase backward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %4 = tg.wait %3 : !tg.future<tensor<2xf32>>
  return %4 : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 2, tp = 2]

// A collective over both sums in the order of both.
// expected-note @+1 {{the step is elastic}}
func.func @both(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tg.elastic = 4 : i64, tg.model_segments = {tp = 0 : i64}} {
  // expected-error @+1 {{sums in the order of the ranks}}
  %0 = tg.all_reduce sum %x on @mesh [dp, tp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  return %1 : tensor<4xf32>
}

// -----

tg.mesh @mesh [dp = 2, tp = 2]

// What tp cuts has segments, too, but a collective sums over its ranks.
// expected-note @+1 {{so that sums are a tree over 4 segments of what axis "tp" cuts}}
func.func @ordered(%w: tensor<4x2xf32> {tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[tp] = shard 1]>}) -> tensor<4x2xf32> attributes {tg.elastic = 4 : i64, tg.model_segments = {tp = 4 : i64}} {
  // expected-error @+1 {{sums in the order of the ranks}}
  %0 = tg.all_reduce sum %w on @mesh [tp] phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x2xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4x2xf32>>
  return %1 : tensor<4x2xf32>
}

// -----

tg.mesh @mesh [dp = 2, tp = 2]

// expected-note @+1 {{so that sums are a tree over 4 segments of what axis "tp" cuts}}
func.func @columns(%w: tensor<4x2xf32> {tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[tp] = shard 1]>}) -> tensor<4xf32> attributes {tg.elastic = 4 : i64, tg.model_segments = {tp = 4 : i64}} {
  // expected-error @+1 {{sums 2 segments of what axis "tp" cuts in an order of its own}}
  %0 = tg.node "aten.sum.dim_IntList"(%w) args [#tg.operand<0>, [1]] : (tensor<4x2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

tg.mesh @mesh [dp = 1]

// What several additions became adds in the order of the tree, too.
// expected-note @+1 {{the step is elastic}}
func.func @merged(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<2xf32> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s3 = tensor.extract_slice %x[3, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.sum.dim_IntList"(%s2) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %3 = tg.node "aten.sum.dim_IntList"(%s3) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %l = arith.addf %a, %c : f32 // expected-error {{adds the sums of segment 0 and of segment 2, which the tree does not}}
    %h = arith.addf %b, %d : f32
    %s = arith.addf %l, %h : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 1]

// expected-note @+1 {{the step is elastic}}
func.func @doubled(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<2xf32> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s3 = tensor.extract_slice %x[3, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.sum.dim_IntList"(%s2) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %3 = tg.node "aten.sum.dim_IntList"(%s3) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %l = arith.addf %a, %b : f32
    %m = arith.mulf %l, %l : f32 // expected-error {{changes the sum of segments 0 to 1 before it is that of the batch}}
    %h = arith.addf %c, %d : f32
    %s = arith.addf %m, %h : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %4 : tensor<2xf32>
}
