// RUN: regather-opt %s -split-input-file --tg-schedule="cluster=h100-8 memory-limit=2x" | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-schedule="cluster=h100-8 memory-limit=2x" --remark-format=emitRemark --remarks-filter=tg-schedule -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: regather-opt %s -split-input-file --tg-schedule=mode=none | FileCheck %s --check-prefix=NONE

// The second layer is gathered while the first one is computed; for the first
// one there is nothing to do but to wait.
// CHECK-LABEL: @gathers_ahead
// CHECK-SAME:    (%[[W0:.*]]: tensor<512x4096xbf16>{{.*}}, %[[W1:.*]]: tensor<512x4096xbf16>{{.*}}, %[[X:.*]]: tensor
// CHECK-NEXT:    %[[F0:.*]] = tg.all_gather %[[W0]]
// CHECK-NEXT:    %[[F1:.*]] = tg.all_gather %[[W1]]
// CHECK-NEXT:    %[[G0:.*]] = tg.wait %[[F0]]
// CHECK-NEXT:    %[[Y:.*]] = tg.node "aten.mm.default"(%[[X]], %[[G0]])
// CHECK-NEXT:    %[[G1:.*]] = tg.wait %[[F1]]
// CHECK-NEXT:    tg.node "aten.mm.default"(%[[Y]], %[[G1]])
// REMARK: Reason="there is too little to compute before it"
// REMARK-SAME: the device waits for tg.all_gather "first" of "layers.0"
// REMARK-SAME: milliseconds=0.1
// REMARK: order by
// REMARK-SAME: bound=
// REMARK-SAME: compute=
// REMARK-SAME: limit=
// NONE-LABEL: @gathers_ahead
// NONE:         tg.all_gather
// NONE-NEXT:    tg.wait
// NONE-NEXT:    tg.node
// EXAMPLE tg-schedule{cluster=h100-8 memory-limit=2x}
tg.mesh @mesh [dp = 8]

func.func @gathers_ahead(
    %w0: tensor<512x4096xbf16> {tg.role = #tg.role<parameter>},
    %w1: tensor<512x4096xbf16> {tg.role = #tg.role<parameter>},
    %x: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tg.all_gather %w0 on @mesh [dp] dim 0 phase forward {tg.id = "first", tg.module = "layers.0"}
      : (tensor<512x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %g0 = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  %y = tg.node "aten.mm.default"(%x, %g0)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tg.all_gather %w1 on @mesh [dp] dim 0 phase forward {tg.id = "second", tg.module = "layers.1"}
      : (tensor<512x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %g1 = tg.wait %1 : !tg.future<tensor<4096x4096xbf16>>
  %z = tg.node "aten.mm.default"(%y, %g1)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %z : tensor<4096x4096xbf16>
}
// END

// -----

// What does not depend on the reduction is computed before its wait. Kernels
// are scheduled as nodes are.
// CHECK-LABEL: @computes_while_it_reduces
// CHECK-SAME:    (%[[X:.*]]: tensor<4096x4096xbf16>, %[[Y:.*]]: tensor
// CHECK-NEXT:    %[[F:.*]] = tg.all_reduce sum %[[X]]
// CHECK-NEXT:    %[[Z:.*]] = tg.launch @square(%[[Y]])
// CHECK-NEXT:    %[[R:.*]] = tg.wait %[[F]]
// CHECK-NEXT:    tg.node "aten.relu.default"(%[[R]])
tg.mesh @mesh [tp = 8]

tg.kernel @square(%a: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tg.node "aten.mm.default"(%a, %a)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  tg.return %0 : tensor<4096x4096xbf16>
}

func.func @computes_while_it_reduces(%x: tensor<4096x4096xbf16>, %y: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward
      : (tensor<4096x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %r = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  %s = tg.node "aten.relu.default"(%r) : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %z = tg.launch @square(%y) : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %s, %z : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// What needs the reduction stays behind it, and so does what has effects
// behind what has some.
// CHECK-LABEL: @keeps_dependences
// CHECK-NEXT:    %[[F:.*]] = tg.all_reduce
// CHECK-NEXT:    %[[R:.*]] = tg.wait %[[F]]
// CHECK-NEXT:    call @use(%[[R]])
// CHECK-NEXT:    call @note()
tg.mesh @mesh [tp = 8]

func.func private @use(tensor<4096x4096xbf16>)
func.func private @note()

func.func @keeps_dependences(%x: tensor<4096x4096xbf16>) {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward
      : (tensor<4096x4096xbf16>) -> !tg.future<tensor<4096x4096xbf16>>
  %r = tg.wait %0 : !tg.future<tensor<4096x4096xbf16>>
  func.call @use(%r) : (tensor<4096x4096xbf16>) -> ()
  func.call @note() : () -> ()
  return
}

// -----

// A step without collectives is left alone.
// CHECK-LABEL: @without_collectives
// CHECK-NEXT:    tg.node "aten.relu.default"
// CHECK-NEXT:    tg.node "aten.neg.default"
func.func @without_collectives(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = tg.node "aten.relu.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = tg.node "aten.neg.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
