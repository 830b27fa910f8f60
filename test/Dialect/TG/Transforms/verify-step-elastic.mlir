// RUN: regather-opt %s --split-input-file --tg-verify-step | FileCheck %s

tg.mesh @mesh [dp = 1, tp = 2]

// A sum that keeps the dimension of its one row may be that of the batch, or of
// something else of size one: what follows is not taken for a part of it.
// CHECK-LABEL: func.func @keeps_one_row
func.func @keeps_one_row(%x: tensor<2x1x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<f32> attributes {tg.elastic = 2 : i64} {
  %s0 = tensor.extract_slice %x[0, 0, 0] [1, 1, 2] [1, 1, 1] : tensor<2x1x2xf32> to tensor<1x1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0, 0] [1, 1, 2] [1, 1, 1] : tensor<2x1x2xf32> to tensor<1x1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0], true] : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0], true] : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %2 = tg.node "aten.add.Tensor"(%0, %1) : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %3 = tg.node "aten.sum.default"(%2) : (tensor<1x1x2xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

tg.mesh @mesh [dp = 1, tp = 2]

// A rank has one of two segments: of one head with three rows it cannot be told whether the
// three are what the axis cuts.
// CHECK-LABEL: func.func @has_one_segment
func.func @has_one_segment(%w: tensor<3x2xf32> {tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[tp] = shard 0]>}) -> tensor<2xf32> attributes {tg.elastic = 2 : i64, tg.model_segments = {tp = 2 : i64}} {
  %0 = tg.node "aten.view.default"(%w) args [#tg.operand<0>, [1, 3, 2]] : (tensor<3x2xf32>) -> tensor<1x3x2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%0) args [#tg.operand<0>, [0, 1]] : (tensor<1x3x2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

tg.mesh @mesh [dp = 1]

// One operation does what the additions of a whole tree do; a sum of one segment
// may become another number, and so may one of all, and sums are broadcast.
// CHECK-LABEL: func.func @merged
func.func @merged(%x: tensor<4x2xf32> {tg.role = #tg.role<input>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) -> tensor<3x2xf32> attributes {tg.elastic = 4 : i64} {
  %s0 = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s1 = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s2 = tensor.extract_slice %x[2, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %s3 = tensor.extract_slice %x[3, 0] [1, 2] [1, 1] : tensor<4x2xf32> to tensor<1x2xf32>
  %0 = tg.node "aten.sum.dim_IntList"(%s0) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.sum.dim_IntList"(%s1) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.sum.dim_IntList"(%s2) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %3 = tg.node "aten.sum.dim_IntList"(%s3) args [#tg.operand<0>, [0]] : (tensor<1x2xf32>) -> tensor<2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %n = arith.negf %a : f32
    %l = arith.addf %n, %b : f32
    %h = arith.addf %d, %c : f32
    %w = arith.addf %l, %h : f32
    %s = arith.mulf %w, %w : f32
    linalg.yield %s : f32
  } -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}
