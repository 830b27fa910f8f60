// RUN: regather-opt %s -split-input-file --tg-merge-gathers -verify-diagnostics

tg.mesh @mesh [dp = 2]

func.func @contradiction(%w: tensor<2x8xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  // expected-note@+1 {{which is 'must_recompute' here}}
  %a = tg.wait %0 {tg.policy = #tg.policy<must_recompute>} : !tg.future<tensor<4x8xf32>>
  %1 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
  // expected-error@+1 {{'must_save' contradicts the policy of an operation that computes the same value}}
  %b = tg.wait %1 {tg.policy = #tg.policy<must_save>} : !tg.future<tensor<4x8xf32>>
  return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}
