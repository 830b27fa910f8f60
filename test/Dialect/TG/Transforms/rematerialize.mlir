// RUN: regather-opt %s -split-input-file --tg-rematerialize | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-rematerialize --remark-format=emitRemark --remarks-filter=tg-rematerialize -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// %b is computed again in front of what reads it in backward, from %a, which is
// too; the matmul is saved.
// CHECK-LABEL: @step
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"
// CHECK-NEXT:    %{{.*}} = tg.node "aten.exp.default"(%[[Y]]) {{.*}}must_recompute
// CHECK-NEXT:    tg.node "aten.relu.default"
// CHECK:         %[[G:.*]] = tg.node "aten.neg.default"{{.*}}backward
// CHECK-NEXT:    %[[A:.*]] = tg.node "aten.exp.default"(%[[Y]]) {tg.id = "exp", tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[B:.*]] = tg.node "aten.relu.default"(%[[A]]) {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[H:.*]] = tg.node "aten.mul.Tensor"(%[[G]], %[[B]])
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%[[H]], %[[A]])
// REMARK: 'exp' is computed again in backward
// REMARK-SAME: bytes=64
// REMARK-SAME: flops=1.6
// REMARK: total {{.*}} bytes=128, flops=3.2{{.*}}, recomputed=2
// EXAMPLE tg-rematerialize
func.func @step(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>, tg.id = "exp"}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.relu.default"(%a) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.neg.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.mul.Tensor"(%g, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %i = tg.node "aten.mul.Tensor"(%h, %a) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b, %i : tensor<4x4xf32>, tensor<4x4xf32>
}
// END

// -----

// What is not marked is saved, and so is a preference that backward reads
// itself; where only a copy needs it, it is computed again.
// CHECK-LABEL: @near_misses
// CHECK:         %[[A:.*]] = tg.node "aten.exp.default"(%arg0)
// CHECK:         %[[B:.*]] = tg.node "aten.neg.default"(%arg0)
// CHECK:         %[[D:.*]] = tg.node "aten.neg.default"(%arg0) {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[C:.*]] = tg.node "aten.add.Tensor"(%[[A]], %[[D]]) {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%[[C]], %[[P:.*]])
// CHECK-LABEL: @no_backward
// CHECK-COUNT-1: tg.node
func.func @near_misses(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %b = tg.node "aten.neg.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %p = tg.node "aten.cos.default"(%b) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<prefer_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %c = tg.node "aten.add.Tensor"(%a, %b) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.mul.Tensor"(%c, %p) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

func.func private @no_backward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Random numbers are drawn again from the same place of the stream. All results
// of an operation come with it. A node that draws numbers of its own is saved.
// CHECK-LABEL: @random
// CHECK:         %[[SAVED:.*]] = tg.node "aten.rand_like.default"
// CHECK:         tg.node "aten.neg.default"
// CHECK-NEXT:    %[[BITS:.*]] = tg.random %arg1, %arg1 stream 7 {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[DROPPED:.*]]:2 = tg.node "aten.native_dropout.default"(%arg0, %[[BITS]]) {{.*}}backward
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%[[DROPPED]]#0, %[[DROPPED]]#1)
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%{{.*}}, %[[SAVED]])
// REMARK: 'tg.node' is saved although it is marked to be recomputed
func.func @random(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %bits = tg.random %n, %n stream 7 {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : tensor<4xi32>
  %y, %mask = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>)
  %own = tg.node "aten.rand_like.default"(%y) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %z = tg.node "aten.neg.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.mul.Tensor"(%y, %mask) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  %h = tg.node "aten.mul.Tensor"(%g, %own) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %h : tensor<4xf32>, tensor<4xf32>
}

// -----

// Bits without a mark are drawn again with what is computed from them: four bytes
// an element are not saved for a mask that is computed again. Those of what is
// saved, which backward reads by itself, are saved.
// CHECK-LABEL: @unmarked_bits
// CHECK:         tg.random %arg1, %arg1 stream 0
// CHECK:         %[[SAVED:.*]] = tg.random %arg1, %arg1 stream 1 {{.*}}forward
// CHECK:         %[[BITS:.*]] = tg.random %arg1, %arg1 stream 0 {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    tg.node "aten.native_dropout.default"(%arg0, %[[BITS]]) {{.*}}backward
// CHECK-NOT:     tg.random
// CHECK:         "test.from_bits"(%{{.*}}, %[[SAVED]])
func.func @unmarked_bits(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %bits = tg.random %n, %n stream 0 {tg.phase = #tg.phase<forward>} : tensor<4xi32>
  %y, %mask = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>)
  %more = tg.random %n, %n stream 1 {tg.phase = #tg.phase<forward>} : tensor<4xi32>
  %z = tg.node "test.from_bits"(%y, %more) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  %g = tg.node "aten.mul.Tensor"(%z, %mask) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  %h = tg.node "test.from_bits"(%g, %more) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %z, %g, %h : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A collective that is not marked is not repeated: its tensor is saved. One
// that is marked takes its wait along.
// CHECK-LABEL: @collectives
// CHECK:         %[[SAVED:.*]] = tg.wait
// CHECK-NEXT:    %[[E:.*]] = tg.node "aten.exp.default"(%[[SAVED]]) {{.*}}backward
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.all_reduce sum %[[E]] on @mesh [dp] phase backward generation 1
// CHECK-NEXT:    %[[AGAIN:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%[[E]], %[[AGAIN]])
tg.mesh @mesh [dp = 2]

func.func @collectives(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4xf32>>
  %e = tg.node "aten.exp.default"(%a) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %e on @mesh [dp] phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %b = tg.wait %1 : !tg.future<tensor<4xf32>>
  %g = tg.node "aten.mul.Tensor"(%e, %b) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// A recomputed product reads the parameter that backward gathers. There is one
// gather, in front of the first of both readers.
// CHECK-LABEL: @regathered
// CHECK:         phase forward
// CHECK:         %[[FUTURE:.*]] = tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[W:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[Y:.*]] = tg.node "aten.mm.default"(%arg1, %[[W]]) {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    %[[G:.*]] = tg.node "aten.neg.default"(%[[Y]])
// CHECK-NEXT:    tg.node "aten.mm.default"(%[[G]], %[[W]])
// CHECK-NOT:     tg.all_gather
tg.mesh @mesh [dp = 2]

func.func @regathered(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                      %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%x, %whole) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.neg.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %again = tg.wait %1 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4x4xf32>>
  %h = tg.node "aten.mm.default"(%g, %again) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %h : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A user may mark a gather instead of its parameter. Without a mark on it, the
// cast before the gather is saved: a shard.
// CHECK-LABEL: @marked_gather
// CHECK:         %[[CAST:.*]] = tg.node "aten._to_copy.default"
// CHECK:         tg.all_gather %[[CAST]] on @mesh [dp] dim 0 phase backward generation 1
// CHECK-NEXT:    %[[WHOLE:.*]] = tg.wait
// CHECK-NEXT:    tg.node "aten.neg.default"(%[[WHOLE]])
tg.mesh @mesh [dp = 2]

func.func @marked_gather(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %cast = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16} {tg.phase = #tg.phase<forward>} : (tensor<2xf32>) -> tensor<2xbf16>
  %0 = tg.all_gather %cast on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<2xbf16>) -> !tg.future<tensor<4xbf16>>
  %a = tg.wait %0 : !tg.future<tensor<4xbf16>>
  %y = tg.node "aten.exp.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4xbf16>) -> tensor<4xbf16>
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %y, %g : tensor<4xbf16>, tensor<4xbf16>
}

// -----

// Backward gathers the weight that it reads already: a gather that is to be
// recomputed adds no second one. Two operations have come to backward, the
// product and its view of the weight.
// CHECK-LABEL: @gathered_once
// CHECK:         phase forward
// CHECK:         %[[FUTURE:.*]] = tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[W:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[T:.*]] = tg.node "aten.t.default"(%[[W]])
// CHECK-NEXT:    %[[Y:.*]] = tg.node "aten.mm.default"(%arg1, %[[T]])
// CHECK-NOT:     tg.all_gather
// CHECK:         tg.node "aten.mm.default"(%{{.*}}, %[[W]])
// REMARK:        'transposed' is computed again
// REMARK:        'product' is computed again
// REMARK:        total {{.*}} bytes=128, {{.*}}recomputed=2
tg.mesh @mesh [dp = 2]

func.func @gathered_once(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                         %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<must_recompute>, tg.id = "start"} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 {tg.id = "arrival"} : !tg.future<tensor<4x4xf32>>
  %t = tg.node "aten.t.default"(%whole) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>, tg.id = "transposed"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %t) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>, tg.id = "product"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.neg.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 {tg.id = "start"} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %again = tg.wait %1 {tg.phase = #tg.phase<backward>, tg.id = "arrival"} : !tg.future<tensor<4x4xf32>>
  %h = tg.node "aten.mm.default"(%g, %again) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %h : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The mark on the gather reaches what backward reads through a view without a
// mark, but neither a view that is to be saved nor what is no view: the sum.
// CHECK-LABEL: @chain_of_marked_gather
// CHECK:         %[[KEPT:.*]] = tg.node "aten.t.default"{{.*}}must_save
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"
// CHECK:         %[[FUTURE:.*]] = tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[W:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[VIEW:.*]] = tg.node "aten.view.default"(%[[W]])
// CHECK-NEXT:    %[[G:.*]] = tg.node "aten.mul.Tensor"(%[[VIEW]], %[[SUM]])
// CHECK-NEXT:    tg.node "aten.mul.Tensor"(%[[G]], %[[KEPT]])
tg.mesh @mesh [dp = 2]

func.func @chain_of_marked_gather(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}) -> tensor<4x4xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %view = tg.node "aten.view.default"(%whole) args [#tg.operand<0>, [4, 4]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = tg.node "aten.t.default"(%view) {tg.policy = #tg.policy<must_save>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = tg.node "aten.sum.default"(%view) : (tensor<4x4xf32>) -> tensor<f32>
  %g = tg.node "aten.mul.Tensor"(%view, %sum) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %h = tg.node "aten.mul.Tensor"(%g, %t) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %h : tensor<4x4xf32>
}
