// General passes must not change which collectives a rank starts, or when.
// RUN: regather-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: regather-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: regather-opt %s --control-flow-sink | FileCheck %s --check-prefix=SINK

tg.mesh @mesh [dp = 2]

// A re-gather survives, whatever its phase and generation.
// CSE-LABEL: @regather
// CSE-COUNT-3: tg.all_gather
func.func @regather(%w: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %w on @mesh [dp] dim 0 phase backward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  %4 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<4xf32>>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Equal nodes merge, nodes with another name in the captured graph do not.
// CSE-LABEL: @nodes
// CSE-COUNT-2: tg.node "aten.relu.default"
// CSE-NOT: tg.node "aten.relu.default"
// CSE: return
func.func @nodes(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = tg.node "aten.relu.default"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.relu.default"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = tg.node "aten.relu.default"(%x) {tg.id = "relu_1"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// A loop that may run zero times on some rank keeps its collective.
// LICM-LABEL: @loop
// LICM: scf.for
// LICM: tg.all_gather
// LICM: tg.wait
func.func @loop(%w: tensor<2xf32>, %n: index, %init: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%x = %init) -> tensor<4xf32> {
    %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
    scf.yield %1 : tensor<4xf32>
  }
  return %out : tensor<4xf32>
}

// A collective that only one branch reads is not moved into it: other ranks may
// take the other branch.
// SINK-LABEL: @branch
// SINK: tg.all_gather
// SINK: tg.wait
// SINK: scf.if
func.func @branch(%w: tensor<2xf32>, %condition: i1, %other: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = scf.if %condition -> tensor<4xf32> {
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %other : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// Equal random bits are one value, wherever they are computed; another stream
// is another value.
// CSE-LABEL: @random
// CSE: %[[BITS:.*]] = tg.random %{{.*}}, %{{.*}} stream 0
// CSE-NEXT: %[[OTHER:.*]] = tg.random %{{.*}}, %{{.*}} stream 1
// CSE-NEXT: return %[[BITS]], %[[BITS]], %[[OTHER]]
func.func @random(%seed: tensor<i64>, %offset: tensor<i64>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %0 = tg.random %seed, %offset stream 0 : tensor<4xi32>
  %1 = tg.random %seed, %offset stream 0 : tensor<4xi32>
  %2 = tg.random %seed, %offset stream 1 : tensor<4xi32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
