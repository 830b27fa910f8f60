// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward=mode=always --remark-format=emitRemark --remarks-filter=tg-reshard-after-forward -o %t 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=STEP --input-file=%t
// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward="mode=always group=2" --remark-format=emitRemark --remarks-filter=tg-reshard-after-forward -o %t 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: regather-opt %s -split-input-file --tg-reshard-after-forward=mode=never --remark-format=emitRemark --remarks-filter=tg-reshard-after-forward -o %t 2>&1 | FileCheck %s --check-prefix=NEVER

// What arrives is marked, and backward reads a view of it: the weight is kept,
// and no byte is released.
// CHECK: [Missed] kept {{.*}}"wait" is kept after forward: 'arrival' is marked must_save"
// CHECK-SAME: kept_bytes=64, {{.*}}released_bytes=0
// CHECK: total {{.*}} kept=1, kept_bytes=64, released=0, released_bytes=0
// STEP-LABEL: @marked_wait
// STEP:       %[[WHOLE:.*]] = tg.wait
// STEP-NOT:   tg.all_gather
// STEP:       aten.view.default"(%[[WHOLE]]) {{.*}}backward
tg.mesh @mesh [dp = 4]

func.func @marked_wait(%w: tensor<1x4xf32> {tg.role = #tg.role<parameter>, tg.name = "wait"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future {tg.policy = #tg.policy<must_save>, tg.id = "arrival"} : !tg.future<tensor<4x4xf32>>
  %view = tg.node "aten.view.default"(%whole) args [#tg.operand<0>, [4, 4]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %view) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%y, %view) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// A wider copy of the weight is replaced by the narrow one that is marked; half
// of the bytes stay.
// CHECK: [Missed] kept {{.*}}"narrow" is kept after forward: 'arrival' is marked must_save"
// CHECK-SAME: kept_bytes=32, {{.*}}released_bytes=32
// GROUP: "narrow" is kept
tg.mesh @mesh [dp = 4]

func.func @narrow(%w: tensor<1x4xbf16> {tg.role = #tg.role<parameter>, tg.name = "narrow"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<1x4xbf16>) -> !tg.future<tensor<4x4xbf16>>
  %whole = tg.wait %future {tg.policy = #tg.policy<must_save>, tg.id = "arrival"} : !tg.future<tensor<4x4xbf16>>
  %wide = tg.node "aten._to_copy.default"(%whole) kwargs {dtype = f32} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %wide) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%y, %wide) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// Near misses: the mark is on what forward alone reads; backward does not read
// the weight; backward gathers it by itself. With groups, a part lives on. What
// dies in forward is released whatever the mode is.
// CHECK: [Passed] released {{.*}}"early" is released after forward: backward gathers it again"
// CHECK-SAME: kept_bytes=0, {{.*}}released_bytes=64
// CHECK: [Passed] released {{.*}}"unread" is released after forward: backward does not read it"
// CHECK-SAME: kept_bytes=0, {{.*}}released_bytes=0
// CHECK: [Passed] released {{.*}}"twice" is released after forward: backward gathers it by itself"
// CHECK: total {{.*}} kept=0, kept_bytes=0, released=3, released_bytes=64
// GROUP: "early" is released
// GROUP-SAME: kept_bytes=32, {{.*}}released_bytes=64
// GROUP: total {{.*}} kept=0, kept_bytes=32, released=3, released_bytes=64
// NEVER: "early" is kept after forward: the mode is never
// NEVER: "unread" is released after forward: backward does not read it
// NEVER: "twice" is released after forward: backward gathers it by itself
// NEVER: total {{.*}} kept=1, kept_bytes=64, released=2, released_bytes=0
tg.mesh @mesh [dp = 4]

func.func @near_misses(%e: tensor<1x4xf32> {tg.role = #tg.role<parameter>, tg.name = "early"},
                       %u: tensor<1x4xf32> {tg.role = #tg.role<parameter>, tg.name = "unread"},
                       %t: tensor<1x4xf32> {tg.role = #tg.role<parameter>, tg.name = "twice"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.all_gather %e on @mesh [dp] dim 0 phase forward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %early = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %view = tg.node "aten.t.default"(%early) {tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tg.all_gather %u on @mesh [dp] dim 0 phase forward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %unread = tg.wait %1 : !tg.future<tensor<4x4xf32>>
  %2 = tg.all_gather %t on @mesh [dp] dim 0 phase forward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %twice = tg.wait %2 : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%x, %view) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = tg.node "aten.mm.default"(%y, %unread) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = tg.node "aten.mm.default"(%z, %twice) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = tg.all_gather %t on @mesh [dp] dim 0 phase backward : (tensor<1x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %again = tg.wait %3 : !tg.future<tensor<4x4xf32>>
  %g0 = tg.node "aten.mm.default"(%v, %early) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%g0, %again) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
