// RUN: regather-opt %s -split-input-file --tg-merge-gathers | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-merge-gathers --remark-format=emitRemark --remarks-filter=tg-merge-gathers -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Casts before the gathers and views behind them do not hide that one parameter
// is gathered twice in forward.
// CHECK-LABEL: @step
// CHECK-SAME:    (%[[W:.*]]: tensor<2x8xf32>
// CHECK-NEXT:    %[[CAST:.*]] = tg.node "aten._to_copy.default"(%[[W]])
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.all_gather %[[CAST]]
// CHECK-NEXT:    %[[WHOLE:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[T:.*]] = tg.node "aten.t.default"(%[[WHOLE]]) {tg.id = "first"
// CHECK-NEXT:    return %[[T]], %[[T]]
// REMARK: "w" is gathered before, in the same phase
// REMARK-SAME: bytes=128
// REMARK: total {{.*}} bytes=128, gathers=1, ops=
// EXAMPLE tg-merge-gathers
tg.mesh @mesh [dp = 4]

func.func @step(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %cast = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16}
      {tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %future = tg.all_gather %cast on @mesh [dp] dim 0 phase forward
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %whole = tg.wait %future {tg.phase = #tg.phase<forward>} : !tg.future<tensor<8x8xbf16>>
  %t = tg.node "aten.t.default"(%whole) {tg.phase = #tg.phase<forward>, tg.id = "first"}
      : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %cast_again = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16}
      {tg.phase = #tg.phase<forward>} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %future_again = tg.all_gather %cast_again on @mesh [dp] dim 0 phase forward
      : (tensor<2x8xbf16>) -> !tg.future<tensor<8x8xbf16>>
  %whole_again = tg.wait %future_again {tg.phase = #tg.phase<forward>} : !tg.future<tensor<8x8xbf16>>
  %t_again = tg.node "aten.t.default"(%whole_again) {tg.phase = #tg.phase<forward>, tg.id = "second"}
      : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %t, %t_again : tensor<8x8xbf16>, tensor<8x8xbf16>
}
// END

// -----

// Gathers that differ in their phase, their generation, their cast or their
// axes are not one, nor are those of two parameters that look alike.
// CHECK-LABEL: @near_misses
// CHECK-COUNT-6: tg.all_gather
tg.mesh @mesh [dp = 2, tp = 2]

func.func @near_misses(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>},
                       %v: tensor<2x8xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4x8xf32>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase backward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %b = tg.wait %1 : !tg.future<tensor<4x8xf32>>
  %2 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %c = tg.wait %2 : !tg.future<tensor<4x8xf32>>
  %cast = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %3 = tg.all_gather %cast on @mesh [dp] dim 0 phase forward : (tensor<2x8xbf16>) -> !tg.future<tensor<4x8xbf16>>
  %d = tg.wait %3 : !tg.future<tensor<4x8xbf16>>
  %4 = tg.all_gather %w on @mesh [tp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %e = tg.wait %4 : !tg.future<tensor<4x8xf32>>
  %5 = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %f = tg.wait %5 : !tg.future<tensor<4x8xf32>>
  return %a, %b, %c, %d, %e, %f : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Activations may well be gathered twice: what their gathers are for is not
// known. A dead gather stands for nothing.
// CHECK-LABEL: @activation
// CHECK-COUNT-2: tg.all_gather %arg0
// CHECK-COUNT-2: tg.all_gather %arg1
tg.mesh @mesh [tp = 2]

func.func @activation(%x: tensor<2x8xf32> {tg.role = #tg.role<input>},
                      %w: tensor<2x8xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tg.all_gather %x on @mesh [tp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4x8xf32>>
  %1 = tg.all_gather %x on @mesh [tp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %b = tg.wait %1 : !tg.future<tensor<4x8xf32>>
  %dead = tg.all_gather %w on @mesh [tp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %2 = tg.all_gather %w on @mesh [tp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %c = tg.wait %2 : !tg.future<tensor<4x8xf32>>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A tied weight travels with two units. The second one loses it, and the wait
// for the first one, which comes later, moves up.
// CHECK-LABEL: @tied
// CHECK-SAME:    (%[[E:.*]]: tensor<2xf32> {{.*}}, %[[N:.*]]: tensor<1xf32> {{.*}}, %[[M:.*]]: tensor<1xf32>
// CHECK-NEXT:    %[[FIRST:.*]] = tg.all_gather %[[E]], %[[N]]
// CHECK-NEXT:    %[[SECOND:.*]] = tg.all_gather %[[M]] on
// CHECK-NEXT:    %[[WAIT:.*]]:2 = tg.wait %[[FIRST]]
// CHECK-NEXT:    %[[OTHER:.*]] = tg.wait %[[SECOND]] {tg.saved_results = array<i64: 0>}
// CHECK-NEXT:    return %[[WAIT]]#0, %[[WAIT]]#1, %[[OTHER]], %[[WAIT]]#0
tg.mesh @mesh [dp = 2]

func.func @tied(%e: tensor<2xf32> {tg.role = #tg.role<parameter>}, %n: tensor<1xf32> {tg.role = #tg.role<parameter>},
                %m: tensor<1xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %e, %n on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>, tensor<1xf32>) -> !tg.future<tensor<4xf32>, tensor<2xf32>>
  %1 = tg.all_gather %e, %m on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>, tensor<1xf32>) -> !tg.future<tensor<4xf32>, tensor<2xf32>>
  %tied, %c = tg.wait %1 {tg.saved_results = array<i64: 1>} : !tg.future<tensor<4xf32>, tensor<2xf32>>
  %a, %b = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<2xf32>>
  return %a, %b, %c, %tied : tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>
}

// -----

// No mark is lost: the stronger one of two wins, whichever comes first, and a
// recorded decision names the results that stay.
// CHECK-LABEL: @marks
// CHECK: tg.wait {{.*}} {tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>}
// CHECK: "aten.t.default"{{.*}}tg.policy = #tg.policy<must_recompute>
tg.mesh @mesh [dp = 2]

func.func @marks(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %a = tg.wait %0 {tg.policy = #tg.policy<prefer_recompute>} : !tg.future<tensor<4x8xf32>>
  %t = tg.node "aten.t.default"(%a) {tg.policy = #tg.policy<must_recompute>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %b = tg.wait %1 {tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>} : !tg.future<tensor<4x8xf32>>
  %u = tg.node "aten.t.default"(%b) {tg.policy = #tg.policy<prefer_save>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %t, %u : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A plan gives way to what the model says, whichever comes first.
// CHECK-LABEL: @plan_and_model
// CHECK: tg.wait {{.*}} {tg.policy = #tg.policy<must_recompute>}
// CHECK: "aten.t.default"{{.*}}tg.policy = #tg.policy<must_save>
tg.mesh @mesh [dp = 2]

func.func @plan_and_model(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %a = tg.wait %0 {tg.policy = #tg.policy<must_save, planned>} : !tg.future<tensor<4x8xf32>>
  %t = tg.node "aten.t.default"(%a) {tg.policy = #tg.policy<must_save>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  %b = tg.wait %1 {tg.policy = #tg.policy<must_recompute>} : !tg.future<tensor<4x8xf32>>
  %u = tg.node "aten.t.default"(%b) {tg.policy = #tg.policy<must_save, planned>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %t, %u : tensor<8x4xf32>, tensor<8x4xf32>
}
