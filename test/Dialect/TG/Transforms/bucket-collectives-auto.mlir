// RUN: regather-opt %s -split-input-file --tg-bucket-collectives=mode=auto --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-bucket-collectives='mode=auto max-bytes=200' | FileCheck %s --check-prefix=SMALL
// RUN: regather-opt %s -split-input-file --tg-bucket-collectives=mode=auto --remark-format=emitRemark --remarks-filter=tg-bucket-collectives -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Nothing hides the gathers of the first layer: as one they have one latency. A
// product hides those of the second one, but is slower beside them; so they are
// one, too, and not with the first ones, which would then be larger. The same
// holds for gradients. Where a bucket may not have the bytes of two, there is
// none.
// CHECK-LABEL: @step
// CHECK-SAME:  (%[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}, %[[D:[a-z0-9]+]]: tensor<8xf32>
// CHECK:       tg.all_gather %[[A]], %[[B]] on @mesh [dp] dim 0 phase forward {tg.bucket = "auto.0"}
// CHECK:       tg.node "aten.mm.default"
// CHECK:       tg.all_gather %[[C]], %[[D]] on @mesh [dp] dim 0 phase forward {tg.bucket = "auto.1"}
// CHECK:       tg.reduce_scatter sum %{{[0-9#]+}}, %{{[0-9#]+}} on @mesh [dp] dim 0 phase backward {tg.bucket = "auto.2"}
// CHECK:       tg.node "aten.mm.default"
// CHECK:       tg.reduce_scatter sum %{{[0-9#]+}}, %{{[0-9#]+}} on @mesh [dp] dim 0 phase backward {tg.bucket = "auto.3"}
// SMALL-LABEL: @step
// SMALL-NOT:   tg.bucket
// REMARK: {{.*}}estimate{{.*}}a schedule takes {{[0-9.]+}} ms, {{[0-9.]+}} ms with buckets
// REMARK: {{.*}}merged{{.*}}2 all_gather collectives of phase forward are one in bucket "auto.0"
tg.mesh @mesh [dp = 8]

func.func @step(
    %a: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.a", tg.registration = 0 : i64},
    %b: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.0.b", tg.registration = 1 : i64},
    %c: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.1.c", tg.registration = 2 : i64},
    %d: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.module = "layers.1.d", tg.registration = 3 : i64},
    %x: tensor<4096x4096xbf16> {tg.role = #tg.role<input>})
    -> (tensor<8xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8xf32> {tg.role = #tg.role<gradient of 1>},
        tensor<8xf32> {tg.role = #tg.role<gradient of 2>}, tensor<8xf32> {tg.role = #tg.role<gradient of 3>}) {
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<64xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<64xf32>>
  %2 = tg.all_gather %b on @mesh [dp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<64xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<64xf32>>
  %4 = tg.node "first"(%x, %1, %3) : (tensor<4096x4096xbf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<4096x4096xbf16>
  %5 = tg.node "aten.mm.default"(%4, %x) : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %6 = tg.all_gather %c on @mesh [dp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<64xf32>>
  %7 = tg.wait %6 : !tg.future<tensor<64xf32>>
  %8 = tg.all_gather %d on @mesh [dp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<64xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<64xf32>>
  %10:2 = tg.node "last"(%5, %7, %9) {tg.phase = #tg.phase<backward>}
      : (tensor<4096x4096xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %11 = tg.reduce_scatter sum %10#0 on @mesh [dp] dim 0 phase backward : (tensor<64xf32>) -> !tg.future<tensor<8xf32>>
  %12 = tg.wait %11 : !tg.future<tensor<8xf32>>
  %13 = tg.reduce_scatter sum %10#1 on @mesh [dp] dim 0 phase backward : (tensor<64xf32>) -> !tg.future<tensor<8xf32>>
  %14 = tg.wait %13 : !tg.future<tensor<8xf32>>
  %15 = tg.node "aten.mm.default"(%5, %x) {tg.phase = #tg.phase<backward>} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %16:2 = tg.node "gradients"(%15) {tg.phase = #tg.phase<backward>} : (tensor<4096x4096xbf16>) -> (tensor<64xf32>, tensor<64xf32>)
  %17 = tg.reduce_scatter sum %16#0 on @mesh [dp] dim 0 phase backward : (tensor<64xf32>) -> !tg.future<tensor<8xf32>>
  %18 = tg.wait %17 : !tg.future<tensor<8xf32>>
  %19 = tg.reduce_scatter sum %16#1 on @mesh [dp] dim 0 phase backward : (tensor<64xf32>) -> !tg.future<tensor<8xf32>>
  %20 = tg.wait %19 : !tg.future<tensor<8xf32>>
  return %18, %20, %12, %14 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Without gathers there is no unit whose size buckets could have; reductions
// that nothing hides are one all the same. One that is read before the other
// one is there cannot be.
// CHECK-LABEL: @exposed_reductions
// CHECK:       tg.all_reduce sum %{{[0-9]+}}, %{{[0-9]+}} on @mesh [dp] phase backward {tg.bucket = "auto.{{[0-9]}}"}
// CHECK-NOT:   tg.all_reduce
// CHECK-LABEL: @dependent
// CHECK-COUNT-2: tg.all_reduce sum %{{[0-9a-z]+}} on @mesh
tg.mesh @mesh [dp = 2]

func.func @exposed_reductions(%a: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.module = "a"},
                              %b: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.module = "b"}, %x: tensor<8x4xf32>)
    -> (tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8x4xf32> {tg.role = #tg.role<gradient of 1>}) {
  %0 = tg.node "aten.add.Tensor"(%x, %a) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = tg.all_reduce sum %0 on @mesh [dp] phase backward : (tensor<8x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<8x4xf32>>
  %3 = tg.node "aten.add.Tensor"(%x, %b) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = tg.all_reduce sum %3 on @mesh [dp] phase backward : (tensor<8x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<8x4xf32>>
  return %2, %5 : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func private @dependent(%a: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.module = "a"},
                             %b: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.module = "b"}, %x: tensor<8x4xf32>)
    -> (tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8x4xf32> {tg.role = #tg.role<gradient of 1>}) {
  %1 = tg.all_reduce sum %x on @mesh [dp] phase backward : (tensor<8x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<8x4xf32>>
  %3 = tg.node "aten.add.Tensor"(%2, %b) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = tg.all_reduce sum %3 on @mesh [dp] phase backward : (tensor<8x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<8x4xf32>>
  return %2, %5 : tensor<8x4xf32>, tensor<8x4xf32>
}
