// RUN: regather-opt %s -split-input-file --tg-bucket-collectives='plan="[layers.0, layers.1]"' --tg-verify-step | FileCheck %s

// The flat buffers of two units stay what they are: what is gathered and
// scattered moves in place. On a hybrid mesh, shards of gradients are reduced
// over the other axis, as one too.
// CHECK-LABEL: @hybrid
// CHECK-SAME:  (%[[A:[a-z0-9]+]]: tensor<4xf32> {{.*}}, %[[B:[a-z0-9]+]]: tensor<4xf32>
// CHECK:       %[[GATHER:.*]] = tg.all_gather %[[A]], %[[B]] on @mesh [dp]
// CHECK-NEXT:  %[[WHOLE:.*]]:2 = tg.wait %[[GATHER]]
// CHECK-NEXT:  tg.unflatten %[[WHOLE]]#0 offsets [0, 6]
// CHECK-NEXT:  tg.unflatten %[[WHOLE]]#1 offsets [0]
// CHECK:       %[[DB:.*]] = tg.flatten %{{.*}} offsets [0]
// CHECK:       %[[DA:.*]] = tg.flatten %{{.*}}, %{{.*}} offsets [0, 6]
// CHECK-NEXT:  %[[SCATTER:.*]] = tg.reduce_scatter sum %[[DA]], %[[DB]] on @mesh [dp]
// CHECK-NEXT:  %[[SHARDS:.*]]:2 = tg.wait %[[SCATTER]]
// CHECK-NEXT:  %[[REDUCE:.*]] = tg.all_reduce sum %[[SHARDS]]#0, %[[SHARDS]]#1 on @mesh [rep]
// CHECK-NEXT:  %[[GRADIENTS:.*]]:2 = tg.wait %[[REDUCE]]
// CHECK-NEXT:  return %[[GRADIENTS]]#0, %[[GRADIENTS]]#1
tg.mesh @mesh [rep = 2, dp = 2]

func.func @hybrid(
    %a: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.matrices", tg.registration = 0 : i64, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
                       tg.members = #tg.members<["layers.0.up.weight" at 0 of [3, 2] registration 0, "layers.0.down.weight" at 6 of [2] registration 1]>},
    %b: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.matrices", tg.registration = 2 : i64, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
                       tg.members = #tg.members<["layers.1.up.weight" at 0 of [2, 3] registration 2]>},
    %x: tensor<6xf32> {tg.role = #tg.role<input>})
    -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<4xf32> {tg.role = #tg.role<gradient of 1>}) {
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<8xf32>>
  %2:2 = tg.unflatten %1 offsets [0, 6] : (tensor<8xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
  %3 = tg.all_gather %b on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %4 = tg.wait %3 : !tg.future<tensor<8xf32>>
  %5 = tg.unflatten %4 offsets [0] : (tensor<8xf32>) -> tensor<2x3xf32>
  %6:3 = tg.node "forward_and_backward"(%x, %2#0, %2#1, %5) {tg.phase = #tg.phase<backward>}
      : (tensor<6xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2x3xf32>)
  %7 = tg.flatten %6#2 offsets [0] {tg.phase = #tg.phase<backward>} : (tensor<2x3xf32>) -> tensor<8xf32>
  %8 = tg.reduce_scatter sum %7 on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<4xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<4xf32>>
  %10 = tg.all_reduce sum %9 on @mesh [rep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %11 = tg.wait %10 : !tg.future<tensor<4xf32>>
  %12 = tg.flatten %6#0, %6#1 offsets [0, 6] {tg.phase = #tg.phase<backward>} : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<8xf32>
  %13 = tg.reduce_scatter sum %12 on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<4xf32>>
  %14 = tg.wait %13 : !tg.future<tensor<4xf32>>
  %15 = tg.all_reduce sum %14 on @mesh [rep] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %16 = tg.wait %15 : !tg.future<tensor<4xf32>>
  return %16, %11 : tensor<4xf32>, tensor<4xf32>
}
