// RUN: regather-opt %s --tg-schedule="cluster=h100-8 memory-limit=2x" | FileCheck %s
// RUN: regather-opt %s --tg-schedule="cluster=h100-8 memory-limit=2x overlap-groups" | FileCheck %s --check-prefix=OVERLAP
// RUN: regather-opt %s --tg-schedule="cluster=h100-8 memory-limit=2x in-flight=1" | FileCheck %s --check-prefix=LIMIT

tg.mesh @mesh [dp = 4, tp = 2]

// All eight ranks and four of them have more than one rank in common: their
// collectives are not in flight together, unless that is safe.
// CHECK-LABEL: @share_ranks
// CHECK:         tg.all_gather %{{.*}} on @mesh
// CHECK-NOT:     tg.all_gather
// CHECK:         tg.wait
// CHECK:         tg.all_gather %{{.*}} on @mesh
// OVERLAP-LABEL: @share_ranks
// OVERLAP:         tg.all_gather
// OVERLAP-NOT:     tg.wait
// OVERLAP:         tg.all_gather
// OVERLAP:         tg.wait
func.func @share_ranks(%v: tensor<512x4096xbf16>, %w: tensor<1024x4096xbf16>, %x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tg.all_gather %v on @mesh [dp, tp] dim 0 phase forward
      : (tensor<512x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward
      : (tensor<1024x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %a = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  %b = tg.wait %1 : !tg.future<tensor<4096x4096xbf16>>
  %c = tg.node "aten.mm.default"(%x, %x)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %a, %b, %c : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// One rank in common is none that two calls could wait for in a circle.
// CHECK-LABEL: @share_one_rank
// CHECK:         tg.all_gather
// CHECK-NOT:     tg.wait
// CHECK:         tg.all_gather
// CHECK:         tg.wait
func.func @share_one_rank(%v: tensor<2048x4096xbf16>, %w: tensor<1024x4096xbf16>, %x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tg.all_gather %v on @mesh [tp] dim 0 phase forward
      : (tensor<2048x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward
      : (tensor<1024x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %a = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  %b = tg.wait %1 : !tg.future<tensor<4096x4096xbf16>>
  %c = tg.node "aten.mm.default"(%x, %x)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %a, %b, %c : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// LIMIT-LABEL: @one_in_flight
// LIMIT:         tg.all_gather
// LIMIT-NOT:     tg.all_gather
// LIMIT:         tg.wait
// LIMIT:         tg.all_gather
func.func @one_in_flight(%v: tensor<1024x4096xbf16>, %w: tensor<1024x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tg.all_gather %v on @mesh [dp] dim 0 phase forward
      : (tensor<1024x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward
      : (tensor<1024x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %a = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  %b = tg.wait %1 : !tg.future<tensor<4096x4096xbf16>>
  return %a, %b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}
