// RUN: regather-opt %s -split-input-file --tg-bucket-collectives='plan="[embedding],[layers.*] each,[norm,[head]]"' --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-bucket-collectives='plan="[embedding],[layers.*] each,[norm,[head]]"' --remark-format=emitRemark --remarks-filter=tg-bucket-collectives -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The gathers of a layer start as one where the first of them did, in the order
// in which the model registers the parameters; the cast of a shard moves up.
// Other modules have buckets of their own, and nested lists share one.
// CHECK-LABEL: @gathers
// CHECK-SAME:    (%[[UP:[a-z0-9]+]]: tensor<2x4xf32> {{.*}}, %[[DOWN:[a-z0-9]+]]: tensor<1x8xf32> {{.*}}, %[[NORM:[a-z0-9]+]]: tensor<2xf32> {{.*}}, %[[HEAD:[a-z0-9]+]]: tensor<2x4xf32> {{.*}}, %[[TABLE:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-NEXT:    %[[TABLE_FUTURE:.*]] = tg.all_gather %[[TABLE]] on @mesh [dp]
// CHECK-NEXT:    tg.wait %[[TABLE_FUTURE]]
// CHECK-NEXT:    tg.node "embed"
// CHECK-NEXT:    %[[CAST:.*]] = tg.node "aten._to_copy.default"(%[[UP]])
// CHECK-NEXT:    %[[LAYER:.*]] = tg.all_gather %[[CAST]], %[[DOWN]] on @mesh [dp] dim 0 phase forward {tg.bucket = "layers.0", tg.id = "gather_1,gather_2", tg.module = "layers.0"}
// CHECK-NEXT:    %[[TENSORS:.*]]:2 = tg.wait %[[LAYER]] {tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-NEXT:    tg.node "down"(%{{.*}}, %[[TENSORS]]#1)
// CHECK-NEXT:    tg.node "up"(%{{.*}}, %[[TENSORS]]#0)
// CHECK-NEXT:    %[[LAST:.*]] = tg.all_gather %[[NORM]], %[[HEAD]] on @mesh [dp] dim 0 phase forward {tg.bucket = "norm,head"}
// CHECK-NEXT:    tg.wait %[[LAST]]
// REMARK: {{.*}}merged{{.*}}2 all_gather collectives of phase forward are one in bucket "layers.0"{{.*}}bytes=192, tensors=2
// REMARK: {{.*}}merged{{.*}}2 all_gather collectives of phase forward are one in bucket "norm,head"
// EXAMPLE tg-bucket-collectives{plan="[embedding],[layers.*] each,[norm,[head]]"}
tg.mesh @mesh [dp = 4]

func.func @gathers(
    %up: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.up", tg.registration = 1 : i64},
    %down: tensor<1x8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.down", tg.registration = 2 : i64},
    %norm: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "norm", tg.registration = 3 : i64},
    %head: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.module = "head", tg.registration = 4 : i64},
    %table: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.module = "embedding", tg.registration = 0 : i64},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>}) -> tensor<4x8xf32> {
  %0 = tg.all_gather %table on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %1 = tg.wait %0 {tg.phase = #tg.phase<forward>} : !tg.future<tensor<8x4xf32>>
  %2 = tg.node "embed"(%x, %1) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  %3 = tg.all_gather %down on @mesh [dp] dim 0 phase forward {tg.module = "layers.0.down", tg.id = "gather_2"} : (tensor<1x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %4 = tg.wait %3 {tg.module = "layers.0.down", tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8xf32>>
  %5 = tg.node "down"(%2, %4) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = tg.node "aten._to_copy.default"(%up) kwargs {dtype = bf16} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %7 = tg.all_gather %6 on @mesh [dp] dim 0 phase forward {tg.module = "layers.0.up", tg.id = "gather_1"} : (tensor<2x4xbf16>) -> !tg.future<tensor<8x4xbf16>>
  %8 = tg.wait %7 {tg.module = "layers.0.up", tg.phase = #tg.phase<forward>} : !tg.future<tensor<8x4xbf16>>
  %9 = tg.node "up"(%5, %8) : (tensor<4x8xf32>, tensor<8x4xbf16>) -> tensor<4x8xf32>
  %10 = tg.all_gather %head on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %11 = tg.wait %10 : !tg.future<tensor<8x4xf32>>
  %12 = tg.all_gather %norm on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %13 = tg.wait %12 : !tg.future<tensor<8xf32>>
  %14 = tg.node "head"(%9, %11, %13) : (tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %14 : tensor<4x8xf32>
}
// END

// -----

// Gradients are reduced as one when the last of them is there. What reads the
// first one, its update, waits for it; other operations keep their places.
// CHECK-LABEL: @reductions
// CHECK:         %[[DOWN:.*]] = tg.node "dup"
// CHECK-NEXT:    %[[OTHER:.*]] = tg.node "dx"
// CHECK-NEXT:    %[[UP:.*]] = tg.node "ddown"
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.reduce_scatter sum %[[DOWN]], %[[UP]] on @mesh [dp] dim 0 phase backward {tg.bucket = "layers.0"}
// CHECK-NEXT:    %[[SHARDS:.*]]:2 = tg.wait %[[FUTURE]]
// CHECK-NEXT:    tg.node "update"(%{{.*}}, %[[SHARDS]]#0)
// CHECK-NEXT:    tg.node "embedding"
// CHECK-NEXT:    tg.node "update"(%{{.*}}, %[[SHARDS]]#1)
tg.mesh @mesh [dp = 4]

func.func @reductions(
    %up: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.up", tg.registration = 0 : i64},
    %down: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.down", tg.registration = 1 : i64},
    %table: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "embedding"},
    %norm: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "norm"},
    %head: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.module = "head"},
    %x: tensor<8xf32> {tg.role = #tg.role<input>})
    -> (tensor<2xf32> {tg.role = #tg.role<update of 0>}, tensor<2xf32> {tg.role = #tg.role<update of 1>},
        tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = tg.all_gather %table on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %b = tg.wait %a : !tg.future<tensor<8xf32>>
  %c = tg.all_gather %norm on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %d = tg.wait %c : !tg.future<tensor<8xf32>>
  %e = tg.node "forward"(%x, %b, %d) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = tg.all_gather %head on @mesh [dp] dim 0 phase backward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %g = tg.wait %f : !tg.future<tensor<8xf32>>
  %1 = tg.node "dup"(%e) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = tg.reduce_scatter sum %1 on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<2xf32>>
  %4 = tg.node "update"(%up, %3) {tg.phase = #tg.phase<optimizer>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = tg.node "dx"(%e, %g) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = tg.node "ddown"(%5, %e) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %7 = tg.node "embedding"(%6) {tg.phase = #tg.phase<backward>} : (tensor<8xf32>) -> tensor<2xf32>
  %8 = tg.reduce_scatter sum %6 on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<2xf32>>
  %10 = tg.node "update"(%down, %9) {tg.phase = #tg.phase<optimizer>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4, %10, %7, %norm, %head : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
