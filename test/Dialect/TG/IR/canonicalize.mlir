// RUN: regather-opt %s --canonicalize | FileCheck %s

tg.mesh @mesh [dp = 4, one = 1, uno = 1]

// A future that nobody waits for is dead, and its collective with it.
// CHECK-LABEL: @dead_collective
// CHECK-NOT: tg.
// CHECK: return
func.func @dead_collective(%a: tensor<2xf32>) {
  %future = tg.all_gather %a on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// Waiting for tensors that nobody reads waits for nothing.
// CHECK-LABEL: @dead_wait
// CHECK-NOT: tg.
// CHECK: return
func.func @dead_wait(%a: tensor<2xf32>) {
  %future = tg.all_reduce sum %a on @mesh [dp] phase backward
      : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %sum = tg.wait %future : !tg.future<tensor<2xf32>>
  return
}

// CHECK-LABEL: @wait_of_nothing
// CHECK-NOT: tg.
// CHECK: return
func.func @wait_of_nothing() {
  %future = tg.all_gather on @mesh [dp] dim 0 phase forward : () -> !tg.future<>
  tg.wait %future : !tg.future<>
  return
}

// Near miss: the tensor is read.
// CHECK-LABEL: @keeps_live_collective
// CHECK: tg.all_gather
// CHECK: tg.wait
func.func @keeps_live_collective(%a: tensor<2xf32>) -> tensor<8xf32> {
  %future = tg.all_gather %a on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %full = tg.wait %future : !tg.future<tensor<8xf32>>
  return %full : tensor<8xf32>
}

// The members of a bucket that nobody reads leave it; attributes stay.
// CHECK-LABEL: @prunes_bucket
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<3xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK: %[[FUTURE:.*]] = tg.all_gather %[[A]], %[[C]] on @mesh [dp] dim 0 phase backward generation 1
// CHECK-SAME: {tg.module = "layers.0"} : (tensor<2xf32>, tensor<4xf32>)
// CHECK: %[[FULL:.*]]:2 = tg.wait %[[FUTURE]] {tg.id = "wait_1"}
// CHECK: return %[[FULL]]#1, %[[FULL]]#0
func.func @prunes_bucket(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>)
    -> (tensor<16xf32>, tensor<8xf32>) {
  %future = tg.all_gather %a, %b, %c on @mesh [dp] dim 0 phase backward generation 1
      {tg.module = "layers.0"} : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>)
      -> !tg.future<tensor<8xf32>, tensor<12xf32>, tensor<16xf32>>
  %full:3 = tg.wait %future {tg.id = "wait_1"}
      : !tg.future<tensor<8xf32>, tensor<12xf32>, tensor<16xf32>>
  return %full#2, %full#0 : tensor<16xf32>, tensor<8xf32>
}

// Near miss: a recorded decision numbers the results of the wait.
// CHECK-LABEL: @keeps_numbered_results
// CHECK: tg.all_gather %{{.*}}, %{{.*}} on
func.func @keeps_numbered_results(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<12xf32> {
  %future = tg.all_gather %a, %b on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>, tensor<3xf32>) -> !tg.future<tensor<8xf32>, tensor<12xf32>>
  %full:2 = tg.wait %future {tg.saved_results = array<i64: 1>}
      : !tg.future<tensor<8xf32>, tensor<12xf32>>
  return %full#1 : tensor<12xf32>
}

// In a group of one rank all kinds are the identity.
// CHECK-LABEL: @group_of_one
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>)
// CHECK-NOT: tg.
// CHECK: return %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]]
func.func @group_of_one(%a: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = tg.all_gather %a on @mesh [one] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<2xf32>>
  %2 = tg.reduce_scatter avg %1 on @mesh [one, uno] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<2xf32>>
  %4 = tg.all_reduce max %a on @mesh [] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<2xf32>>
  %6 = tg.all_to_all %a on @mesh [one] split 0 concat 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %7 = tg.wait %6 : !tg.future<tensor<2xf32>>
  %8 = tg.broadcast %a on @mesh [one] root 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<2xf32>>
  %10 = tg.permute %a on @mesh [one] pairs [0 to 0] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %11 = tg.wait %10 : !tg.future<tensor<2xf32>>
  return %1, %3, %5, %7, %9, %11
      : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// Near miss: without a pair, even one rank receives zeros.
// CHECK-LABEL: @keeps_permute_to_nobody
// CHECK: tg.permute
func.func @keeps_permute_to_nobody(%a: tensor<2xf32>) -> tensor<2xf32> {
  %future = tg.permute %a on @mesh [one] pairs [] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %zeros = tg.wait %future : !tg.future<tensor<2xf32>>
  return %zeros : tensor<2xf32>
}

// A gather of what was just scattered is an all-reduce.
// CHECK-LABEL: @gather_of_scatter
// CHECK-SAME: (%[[A:.*]]: tensor<10xbf16>, %[[B:.*]]: tensor<8xbf16>)
// CHECK: %[[FUTURE:.*]] = tg.all_reduce avg %[[A]], %[[B]] on @mesh [dp] accumulate f64 phase backward
// CHECK: %[[FULL:.*]]:2 = tg.wait %[[FUTURE]]
// CHECK: return %[[FULL]]#0, %[[FULL]]#1
func.func @gather_of_scatter(%a: tensor<10xbf16>, %b: tensor<8xbf16>) -> (tensor<10xbf16>, tensor<8xbf16>) {
  %scatter = tg.reduce_scatter avg %a, %b on @mesh [dp] dim 0 accumulate f64 phase backward
      : (tensor<10xbf16>, tensor<8xbf16>) -> !tg.future<tensor<3xbf16>, tensor<2xbf16>>
  %shard:2 = tg.wait %scatter : !tg.future<tensor<3xbf16>, tensor<2xbf16>>
  %gather = tg.all_gather %shard#0, %shard#1 on @mesh [dp] dim 0 phase backward
      : (tensor<3xbf16>, tensor<2xbf16>) -> !tg.future<tensor<10xbf16>, tensor<8xbf16>>
  %full:2 = tg.wait %gather : !tg.future<tensor<10xbf16>, tensor<8xbf16>>
  return %full#0, %full#1 : tensor<10xbf16>, tensor<8xbf16>
}

// Near misses: the shard has another reader; the phases differ; the dimension
// differs; the gathered size differs though the padded shards agree; the gather
// is a re-gather.
// CHECK-LABEL: @keeps_scatter_with_other_reader
// CHECK: tg.reduce_scatter
// CHECK: tg.all_gather
func.func @keeps_scatter_with_other_reader(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  %scatter = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %shard = tg.wait %scatter : !tg.future<tensor<2xf32>>
  %gather = tg.all_gather %shard on @mesh [dp] dim 0 phase backward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %full = tg.wait %gather : !tg.future<tensor<8xf32>>
  return %full, %shard : tensor<8xf32>, tensor<2xf32>
}

// CHECK-LABEL: @keeps_scatter_of_other_phase
// CHECK: tg.reduce_scatter
// CHECK: tg.all_gather
func.func @keeps_scatter_of_other_phase(%a: tensor<8xf32>) -> tensor<8xf32> {
  %scatter = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %shard = tg.wait %scatter : !tg.future<tensor<2xf32>>
  %gather = tg.all_gather %shard on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %full = tg.wait %gather : !tg.future<tensor<8xf32>>
  return %full : tensor<8xf32>
}

// CHECK-LABEL: @keeps_scatter_along_other_dim
// CHECK: tg.reduce_scatter
// CHECK: tg.all_gather
func.func @keeps_scatter_along_other_dim(%a: tensor<8x2xf32>) -> tensor<2x8xf32> {
  %scatter = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<8x2xf32>) -> !tg.future<tensor<2x2xf32>>
  %shard = tg.wait %scatter : !tg.future<tensor<2x2xf32>>
  %gather = tg.all_gather %shard on @mesh [dp] dim 1 phase backward : (tensor<2x2xf32>) -> !tg.future<tensor<2x8xf32>>
  %full = tg.wait %gather : !tg.future<tensor<2x8xf32>>
  return %full : tensor<2x8xf32>
}

// CHECK-LABEL: @keeps_scatter_of_other_size
// CHECK: tg.reduce_scatter
// CHECK: tg.all_gather
func.func @keeps_scatter_of_other_size(%a: tensor<8xf32>) -> tensor<7xf32> {
  %scatter = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %shard = tg.wait %scatter : !tg.future<tensor<2xf32>>
  %gather = tg.all_gather %shard on @mesh [dp] dim 0 phase backward : (tensor<2xf32>) -> !tg.future<tensor<7xf32>>
  %full = tg.wait %gather : !tg.future<tensor<7xf32>>
  return %full : tensor<7xf32>
}

// CHECK-LABEL: @keeps_regather
// CHECK: tg.reduce_scatter
// CHECK: tg.all_gather
func.func @keeps_regather(%a: tensor<8xf32>) -> tensor<8xf32> {
  %scatter = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %shard = tg.wait %scatter : !tg.future<tensor<2xf32>>
  %gather = tg.all_gather %shard on @mesh [dp] dim 0 phase backward generation 1 : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %full = tg.wait %gather : !tg.future<tensor<8xf32>>
  return %full : tensor<8xf32>
}

// Nodes are pure unless they say otherwise.
// CHECK-LABEL: @dead_node
// CHECK-NOT: aten.relu
// CHECK: tg.node "aten._assert_async.default"
func.func @dead_node(%a: tensor<2xf32>) {
  %relu = tg.node "aten.relu.default"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  tg.node "aten._assert_async.default"(%a) effects : (tensor<2xf32>) -> ()
  return
}
