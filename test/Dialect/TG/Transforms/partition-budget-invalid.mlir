// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=39" -verify-diagnostics
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=budget" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not regather-opt %s -split-input-file --tg-partition="budget=1" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=budget budget=-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=budget budget=1 cluster=none.json" 2>&1 | FileCheck %s --check-prefix=CLUSTER

// OPTION: error: mode budget and option 'budget', a number of bytes, need each other
// NEGATIVE: '-2' value invalid for a number of bytes, such as 40GB or 512MiB
// CLUSTER: error: cannot read cluster file 'none.json'

tg.mesh @mesh [dp = 2]

// expected-error@+1 {{budget of 39 bytes is below the minimum of 40 bytes: 16 of gathered parameters, 8 received from other ranks, 8 marked to be saved, 8 that cannot be computed again}}
func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}, %x: tensor<2xf32>) -> tensor<4xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  // expected-note@+1 {{the largest of the values, of 16 bytes, is computed here}}
  %a = tg.wait %0 : !tg.future<tensor<4xf32>>
  %1 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %b = tg.wait %1 : !tg.future<tensor<2xf32>>
  %c = tg.node "aten.exp.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<2xf32>) -> tensor<2xf32>
  %d = tg.node "aten.cos.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<2xf32>) -> tensor<2xf32>
  %e = tg.node "aten.rand_like.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<2xf32>) -> tensor<2xf32>
  %g = tg.node "aten.some.default"(%a, %b, %c, %d, %e) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// Less than what has been received is what is made of it.
// expected-error@+1 {{budget of 39 bytes is below the minimum of 64 bytes: 64 from which the rest can be computed}}
func.func @step(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = tg.node "aten.rand_like.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<16xf64>
  // expected-note@+1 {{the largest of the values, of 64 bytes, is computed here}}
  %b = tg.node "aten._to_copy.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<16xf64>) -> tensor<16xf32>
  %c = tg.node "aten.exp.default"(%b) {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<16xf32>
  %g = tg.node "aten.mul.Tensor"(%b, %c) {tg.phase = #tg.phase<backward>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c, %g : tensor<16xf32>, tensor<16xf32>
}
