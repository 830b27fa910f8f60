// RUN: regather-opt %s -split-input-file --tg-schedule="cluster=h100-8 memory-limit=100" | FileCheck %s
// RUN: not regather-opt %s -split-input-file --tg-schedule="cluster=h100-8 memory-limit=95" --mlir-print-op-on-diagnostic=0 2>&1 | FileCheck %s --check-prefix=LESS

// Two texts of one step keep to the same limits: what makes a large value
// smaller comes as soon as it is the last to read it. Behind the gather of the
// second text, it would take 116 bytes.

// LESS-COUNT-2: error: cannot schedule the step: no order found keeps to a memory limit of 95 bytes: the best one takes 96, and the step needs at least 88

tg.mesh @mesh [dp = 2]

// CHECK-LABEL: func @shrinks_before_the_gather
func.func @shrinks_before_the_gather(%seed: tensor<1xf32>, %w: tensor<5xf32>) -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) {
  %large = tg.node "test.grow"(%seed) : (tensor<1xf32>) -> tensor<10xf32>
  %kept = tg.node "test.part"(%large) : (tensor<10xf32>) -> tensor<2xf32>
  // CHECK: test.shrink
  %small = tg.node "test.shrink"(%large) : (tensor<10xf32>) -> tensor<6xf32>
  // CHECK: tg.all_gather
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<5xf32>) -> !tg.future<tensor<10xf32>>
  %whole = tg.wait %future : !tg.future<tensor<10xf32>>
  %other = tg.node "test.sum"(%whole) : (tensor<10xf32>) -> tensor<1xf32>
  %last = tg.node "test.sum"(%small) : (tensor<6xf32>) -> tensor<1xf32>
  return %kept, %other, %last : tensor<2xf32>, tensor<1xf32>, tensor<1xf32>
}

// -----

tg.mesh @mesh [dp = 2]

// CHECK-LABEL: func @shrinks_behind_the_gather
func.func @shrinks_behind_the_gather(%seed: tensor<1xf32>, %w: tensor<5xf32>) -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) {
  %large = tg.node "test.grow"(%seed) : (tensor<1xf32>) -> tensor<10xf32>
  %kept = tg.node "test.part"(%large) : (tensor<10xf32>) -> tensor<2xf32>
  // CHECK: test.shrink
  // CHECK: tg.all_gather
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<5xf32>) -> !tg.future<tensor<10xf32>>
  %whole = tg.wait %future : !tg.future<tensor<10xf32>>
  %other = tg.node "test.sum"(%whole) : (tensor<10xf32>) -> tensor<1xf32>
  %small = tg.node "test.shrink"(%large) : (tensor<10xf32>) -> tensor<6xf32>
  %last = tg.node "test.sum"(%small) : (tensor<6xf32>) -> tensor<1xf32>
  return %kept, %other, %last : tensor<2xf32>, tensor<1xf32>, tensor<1xf32>
}
