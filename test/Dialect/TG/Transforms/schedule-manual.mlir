// RUN: regather-opt %s --tg-schedule=mode=manual | FileCheck %s
// RUN: regather-opt %s --tg-schedule="mode=manual prefetch=2" | FileCheck %s --check-prefix=TWO
// RUN: regather-opt %s --tg-schedule="mode=manual prefetch=0" | FileCheck %s --check-prefix=ZERO

tg.mesh @mesh [dp = 4]

// Each gather, with the cast of its shard, starts before the wait of the one
// before; gradients are waited for before the next reduction starts, and their
// updates with them.
// CHECK-LABEL: @step
// CHECK:         tg.all_gather {{.*}}tg.id = "gather0"
// CHECK-NEXT:    tg.node "aten._to_copy.default"
// CHECK-NEXT:    tg.all_gather {{.*}}tg.id = "gather1"
// CHECK-NEXT:    tg.wait {{.*}}tg.id = "wait0"
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.node "aten._to_copy.default"
// CHECK-NEXT:    tg.all_gather {{.*}}tg.id = "gather2"
// CHECK-NEXT:    tg.wait {{.*}}tg.id = "wait1"
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.wait {{.*}}tg.id = "wait2"
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.reduce_scatter {{.*}}tg.id = "scatter0"
// CHECK-NEXT:    tg.node "aten.mm.default"
// CHECK-NEXT:    tg.wait {{.*}}tg.id = "gradient0"
// CHECK-NEXT:    tg.node "aten.neg.default"
// CHECK-NEXT:    tg.reduce_scatter {{.*}}tg.id = "scatter1"
// CHECK-NEXT:    tg.wait {{.*}}tg.id = "gradient1"
// TWO-LABEL: @step
// TWO:         tg.id = "gather0"
// TWO:         tg.id = "gather1"
// TWO:         tg.id = "gather2"
// TWO:         tg.id = "wait0"
// ZERO-LABEL: @step
// ZERO:         tg.id = "gather0"
// ZERO-NEXT:    tg.wait
// ZERO:         tg.id = "gather1"
// ZERO-NEXT:    tg.wait
func.func @step(%w0: tensor<2x8xf32> {tg.role = #tg.role<parameter>},
                %w1: tensor<2x8xf32> {tg.role = #tg.role<parameter>},
                %w2: tensor<2x8xf32> {tg.role = #tg.role<parameter>}, %x: tensor<8x8xbf16>)
    -> (tensor<8x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>) {
  %c0 = tg.node "aten._to_copy.default"(%w0) kwargs {dtype = bf16} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %f0 = tg.all_gather %c0 on @mesh [dp] dim 0 phase forward {tg.id = "gather0"}
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %g0 = tg.wait %f0 {tg.id = "wait0"} : !tg.future<tensor<8x8xbf16>>
  %y0 = tg.node "aten.mm.default"(%x, %g0) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c1 = tg.node "aten._to_copy.default"(%w1) kwargs {dtype = bf16} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %f1 = tg.all_gather %c1 on @mesh [dp] dim 0 phase forward {tg.id = "gather1"}
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %g1 = tg.wait %f1 {tg.id = "wait1"} : !tg.future<tensor<8x8xbf16>>
  %y1 = tg.node "aten.mm.default"(%y0, %g1) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c2 = tg.node "aten._to_copy.default"(%w2) kwargs {dtype = bf16} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %f2 = tg.all_gather %c2 on @mesh [dp] dim 0 phase forward {tg.id = "gather2"}
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %g2 = tg.wait %f2 {tg.id = "wait2"} : !tg.future<tensor<8x8xbf16>>
  %y2 = tg.node "aten.mm.default"(%y1, %g2) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %d0 = tg.node "aten.mm.default"(%y2, %y1) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %f3 = tg.reduce_scatter sum %d0 on @mesh [dp] dim 0 phase backward {tg.id = "scatter0"}
      : (tensor<8x8xbf16>) -> !tg.future<tensor<2x8xbf16>>
  %r0 = tg.wait %f3 {tg.id = "gradient0"} : !tg.future<tensor<2x8xbf16>>
  %u0 = tg.node "aten.neg.default"(%r0) {tg.phase = #tg.phase<optimizer>} : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %d1 = tg.node "aten.mm.default"(%y2, %y0) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %f4 = tg.reduce_scatter sum %d1 on @mesh [dp] dim 0 phase backward {tg.id = "scatter1"}
      : (tensor<8x8xbf16>) -> !tg.future<tensor<2x8xbf16>>
  %r1 = tg.wait %f4 {tg.id = "gradient1"} : !tg.future<tensor<2x8xbf16>>
  return %y2, %u0, %r1 : tensor<8x8xbf16>, tensor<2x8xbf16>, tensor<2x8xbf16>
}
