// RUN: regather-opt %s --tg-schedule=memory-limit=100 -verify-diagnostics=only-expected
// RUN: not regather-opt %s --tg-schedule=memory-limit=-3 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not regather-opt %s --tg-schedule=memory-limit=0x 2>&1 | FileCheck %s --check-prefix=RATIO
// RUN: not regather-opt %s --tg-schedule=cluster=nowhere 2>&1 | FileCheck %s --check-prefix=CLUSTER

// LIMIT: error: 'memory-limit' must be a number of bytes, or a multiple such as 1.05x, got "-3"
// RATIO: error: 'memory-limit' must be a number of bytes, or a multiple such as 1.05x, got "0x"
// CLUSTER: error: {{.*}}nowhere
tg.mesh @mesh [dp = 4]

// The argument takes 64 bytes, and the gathered one 256.
// expected-error @+1 {{cannot schedule the step: a memory limit of 100 bytes is too low, the step needs at least 320}}
func.func @step(%w: tensor<2x8xf32>) -> tensor<8x8xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<8x8xf32>>
  return %1 : tensor<8x8xf32>
}
