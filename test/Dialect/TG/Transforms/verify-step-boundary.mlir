// RUN: regather-opt %s -split-input-file --tg-verify-step=policies=true -verify-diagnostics

// What a policy keeps, what backward gathers itself, and what is only made of a
// parameter by computing may cross; so may everything that is undecided.
tg.mesh @mesh [dp = 2]

func.func @allowed(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.reshard = #tg.reshard<always>},
                   %v: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<never>},
                   %u: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> tensor<4xf32> {
  %0 = tg.all_gather %w, %v, %u on @mesh [dp] dim 0 phase forward : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %a, %b, %c = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %kept = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<4xf32>) -> tensor<4xf32>
  %sum = tg.node "aten.sum.default"(%a) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %again = tg.wait %1 : !tg.future<tensor<4xf32>>
  %g = tg.node "aten.use"(%kept, %b, %c, %sum, %again) {tg.phase = #tg.phase<backward>}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// A view of a gathered parameter is the parameter.
tg.mesh @mesh [dp = 2]

func.func @released(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.reshard = #tg.reshard<group of 2>}) -> tensor<2x2xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %a = tg.wait %0 : !tg.future<tensor<4xf32>>
  // expected-error@+1 {{gathered parameter "w" lives on from forward to backward, although its 'tg.reshard' is #tg.reshard<group of 2>}}
  %view = tg.node "aten.view.default"(%a) args [#tg.operand<0>, [2, 2]] {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-note@+1 {{backward reads it here}}
  %g = tg.node "aten.neg.default"(%view) {tg.phase = #tg.phase<backward>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %g : tensor<2x2xf32>
}

// -----

tg.mesh @mesh [dp = 2]

func.func @contradiction(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{which is 'must_recompute' here}}
  %0 = tg.all_reduce sum %x on @mesh [dp] phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  // expected-error@+1 {{'must_save' contradicts the policy of the collective that is waited for}}
  %a = tg.wait %0 {tg.policy = #tg.policy<must_save>} : !tg.future<tensor<4xf32>>
  return %a : tensor<4xf32>
}

// -----

func.func @policy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{value lives on from forward to backward, although its policy is 'must_recompute'}}
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{backward reads it here}}
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// The forward part of a partitioned step saves what it returns.
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {tg.role = #tg.role<saved>, tg.name = "saved"}) {
  // expected-error@+1 {{value lives on from forward to backward, although its policy is 'must_recompute'}}
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{it is saved here}}
  return %a, %a : tensor<4xf32>, tensor<4xf32>
}
