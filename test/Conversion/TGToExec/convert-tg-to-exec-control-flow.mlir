// Control flow around collectives.
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec | FileCheck %s
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec --exec-plan-memory --tg-verify-step -o /dev/null

// Control flow without collectives is part of a kernel.
// CHECK-LABEL: tg.kernel @if_0
// CHECK: scf.if
// CHECK-LABEL: exec.program @compute_only
// CHECK-NOT: exec.if
// CHECK: exec.launch @if_0
func.func @compute_only(%flag: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = scf.if %flag -> tensor<4xf32> {
    %z = arith.negf %x : tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// What a branch yields is copied to where the result lies. What it has started
// is done when it ends.
// CHECK-LABEL: exec.program @branch
// CHECK-SAME: (%[[FLAG:.*]]: memref<i1>, %[[X:.*]]: memref<4xf32>)
// CHECK: %[[RESULT:.*]] = exec.slice : memref<4xf32>
// CHECK-NEXT: exec.if %[[FLAG]] {
// CHECK: exec.collective all_reduce reduction <sum> (%[[X]]) to (%[[SUM:.*]]) over
// CHECK: exec.collective all_gather
// CHECK: %[[LAST:.*]] = exec.record stream 1
// CHECK: exec.wait %{{.*}} stream 0
// CHECK-NEXT: exec.wait %[[LAST]] stream 0
// CHECK-NEXT: exec.copy %[[SUM]] to %[[RESULT]] stream 0
// CHECK-NEXT: } else {
// CHECK-NEXT: exec.copy %[[X]] to %[[RESULT]] stream 0
// CHECK: exec.return %[[RESULT]]
tg.mesh @mesh [dp = 2]
func.func @branch(%flag: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = scf.if %flag -> tensor<4xf32> {
    %0 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %dead = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
    %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Carried values have buffers of their own. Those that change places are copied
// aside first.
// CHECK-LABEL: exec.program @loop
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>, %[[N:.*]]: memref<index>)
// CHECK: %[[ZERO:.*]] = exec.constant dense<0> : tensor<index>
// CHECK: %[[ONE:.*]] = exec.constant dense<1> : tensor<index>
// CHECK: %[[I:.*]] = exec.slice : memref<index>
// CHECK: exec.copy %[[X]] to %[[A:.*]] stream 0
// CHECK: exec.copy %[[Y]] to %[[B:.*]] stream 0
// CHECK: exec.for %[[I]] = %[[ZERO]] to %[[N]] step %[[ONE]] : memref<index> {
// CHECK: exec.collective all_reduce reduction <sum> (%[[A]]) to (%[[SUM:.*]]) over
// CHECK: exec.copy %[[B]] to %[[OLD:.*]] stream 0
// CHECK-NEXT: exec.copy %[[OLD]] to %[[A]] stream 0
// CHECK-NEXT: exec.copy %[[SUM]] to %[[B]] stream 0
// CHECK-NEXT: }
// CHECK: exec.return %[[A]], %[[B]]
tg.mesh @mesh [dp = 2]
func.func @loop(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = tg.all_reduce sum %a on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
    scf.yield %b, %1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A collective that is under way when a branch begins is waited for behind it.
// CHECK-LABEL: exec.program @around
// CHECK: %[[OUTER:.*]] = exec.record stream 1
// CHECK: exec.if
// CHECK: %[[READY:.*]] = exec.record stream 0
// CHECK-NEXT: exec.wait %[[READY]] stream 1
// CHECK: exec.collective all_reduce
// CHECK: %[[INNER:.*]] = exec.record stream 1
// CHECK: exec.wait %[[INNER]] stream 0
// CHECK: }
// CHECK: exec.wait %[[OUTER]] stream 0
tg.mesh @mesh [dp = 2]
func.func @around(%flag: i1, %x: tensor<4xf32>) -> tensor<8xf32> {
  %f = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  scf.if %flag {
    %0 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  }
  %g = tg.wait %f : !tg.future<tensor<8xf32>>
  return %g : tensor<8xf32>
}
