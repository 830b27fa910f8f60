// RUN: regather-opt %s -split-input-file --tg-partition | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-partition --remark-format=emitRemark --remarks-filter=tg-partition -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Forward returns its loss and, once, the value that backward reads twice. What
// is marked backward computes itself, from its arguments. A wait that nobody
// reads keeps nothing alive.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    (%{{.*}}: tensor<4xf32> {tg.name = "w", tg.role = #tg.role<parameter>}, %{{.*}}: tensor<4xf32>)
// CHECK-SAME:    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.name = "saved.mul", tg.role = #tg.role<saved>})
// CHECK:         %[[MUL:.*]] = tg.node "aten.mul.Tensor"{{.*}}tg.saved_results = array<i64: 0>
// CHECK:         tg.node "aten.exp.default"
// CHECK:         return %{{.*}}, %[[MUL]]
// CHECK-LABEL: func.func @backward
// CHECK-SAME:    (%[[W:.*]]: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xf32>, %[[SAVED:.*]]: tensor<4xf32> {tg.name = "saved.mul", tg.role = #tg.role<saved>})
// CHECK-SAME:    -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>})
// CHECK-NEXT:    %[[NEG:.*]] = tg.node "aten.neg.default"(%[[W]])
// CHECK-NEXT:    %[[A:.*]] = tg.node "aten.mul.Tensor"(%[[SAVED]], %[[NEG]])
// CHECK-NEXT:    %[[B:.*]] = tg.node "aten.mul.Tensor"(%[[A]], %[[SAVED]])
// CHECK-NEXT:    return %[[B]]
// REMARK: 'mul' is saved for backward
// REMARK-SAME: bytes=16
// REMARK: total {{.*}} recomputed=1, recomputed_flops=4.0{{.*}}, saved=1, saved_bytes=16
// EXAMPLE tg-partition
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<f32> {tg.role = #tg.role<loss>}) {
  %neg = tg.node "aten.neg.default"(%w) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %mul = tg.node "aten.mul.Tensor"(%neg, %x) {tg.phase = #tg.phase<forward>, tg.id = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %exp = tg.node "aten.exp.default"(%mul) {tg.phase = #tg.phase<forward>, tg.id = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  %loss = tg.node "aten.sum.default"(%exp) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
  %a = tg.node "aten.mul.Tensor"(%mul, %neg) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = tg.node "aten.mul.Tensor"(%a, %mul) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = tg.all_reduce sum %exp on @mesh [dp] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %dead = tg.wait %0 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  return %b, %loss : tensor<4xf32>, tensor<f32>
}
// END

// -----

// A parameter that is released is gathered by backward. One that is not is
// saved, gathered. A tensor in flight over the boundary arrives in forward.
// CHECK-LABEL: func.func @forward
// CHECK:         return %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: func.func @backward
// CHECK-SAME:    %[[KEPT:[a-z0-9]*]]: tensor<4xf32> {tg.name = "saved.kept.1", {{.*}}}, %[[ARRIVED:[a-z0-9]*]]: tensor<4xf32> {tg.name = "saved.arrived"
// CHECK-NEXT:    %[[FUTURE:.*]] = tg.all_gather %arg0 on @mesh [dp] dim 0 phase backward generation 1
// CHECK-NEXT:    %[[W:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    tg.node "aten.addcmul.default"(%[[ARRIVED]], %[[W]], %[[KEPT]])
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                %v: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<never>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %w, %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>>
  %a, %b = tg.wait %0 {tg.id = "kept"} : !tg.future<tensor<4xf32>, tensor<4xf32>>
  %y = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %arrived = tg.wait %1 {tg.phase = #tg.phase<backward>, tg.id = "arrived"} : !tg.future<tensor<4xf32>>
  %g = tg.node "aten.addcmul.default"(%arrived, %a, %b) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// -----

// Numbers and constants are computed again; opaque values are saved whatever
// their mark says.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    -> (tensor<4xf32> {tg.name = "result0"}, !tg.opaque<"Generator"> {tg.name = "saved.0"
// CHECK-LABEL: func.func @backward
// CHECK:         arith.constant {{.*}} 2.0
// CHECK:         tensor.splat
// CHECK:         tg.node "aten.use"
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = arith.constant 2.0 : f32
  %splat = tensor.splat %two : tensor<4xf32>
  %state = tg.node "aten.state"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> !tg.opaque<"Generator">
  %y = tg.node "aten.mul.Tensor"(%x, %splat) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.use"(%splat, %state) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, !tg.opaque<"Generator">) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// -----

// A step without a backward part.
// CHECK-LABEL: func.func @forward
// CHECK:         tg.node "aten.exp.default"
// CHECK-LABEL: func.func @backward
// CHECK-NEXT:    return
// REMARK: the step has no backward part: nothing is saved
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A mark on the gather of a weight holds for a view of it, which would keep it.
// CHECK-LABEL: @forward
// CHECK-SAME:    -> (tensor<4x4xf32> {tg.name = "result0"})
// CHECK-LABEL: @backward
// CHECK:         %[[FUTURE:.*]] = tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NEXT:    %[[W:.*]] = tg.wait %[[FUTURE]]
// CHECK-NEXT:    %[[VIEW:.*]] = tg.node "aten.view.default"(%[[W]])
// CHECK-NEXT:    tg.node "aten.mm.default"(%arg1, %[[VIEW]])
tg.mesh @mesh [dp = 2]

func.func @marked_gather(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %view = tg.node "aten.view.default"(%whole) args [#tg.operand<0>, [4, 4]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%view, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%x, %view) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %g : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Of two gathers of one parameter, one is marked: both are one before anything
// is decided, so that the value is not saved for the reader of the other.
// CHECK-LABEL: @forward
// CHECK-COUNT-1: tg.all_gather
// CHECK-NOT:     tg.all_gather
// CHECK-NOT:     tg.saved_results
// CHECK-LABEL: @backward
// CHECK:         tg.all_gather {{.*}} phase backward generation 1
// CHECK-NOT:     tg.all_gather
tg.mesh @mesh [dp = 2]

func.func @one_of_two_marked(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %b = tg.wait %1 {tg.policy = #tg.policy<must_recompute>} : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%x, %a) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.mm.default"(%x, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %g, %h : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Bits are drawn again with the mask that is made of them, which is not saved.
// CHECK-LABEL: @forward
// CHECK-SAME:    -> (tensor<4xf32> {tg.name = "result0"})
// CHECK-LABEL: @backward
// CHECK:         %[[BITS:.*]] = tg.random
// CHECK-NEXT:    "aten.native_dropout.default"(%arg0, %[[BITS]])
func.func @unmarked_bits(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %bits = tg.random %n, %n stream 0 {tg.phase = #tg.phase<forward>} : tensor<4xi32>
  %y, %mask = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>)
  %g = tg.node "aten.mul.Tensor"(%x, %mask) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}
