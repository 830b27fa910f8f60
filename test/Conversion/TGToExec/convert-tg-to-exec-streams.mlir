// Which stream a collective runs on, and what waits for what.
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec | FileCheck %s
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec=comm-streams=2 | FileCheck %s --check-prefix=TWO
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec --exec-plan-memory --tg-verify-step -o /dev/null
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec=comm-streams=2 --exec-plan-memory --tg-verify-step -o /dev/null

// Groups take the streams in turn, each group one.
// CHECK-LABEL: exec.program @groups
// CHECK-SAME: streams = 2
// CHECK-COUNT-3: exec.collective {{.*}} stream 1
// TWO-LABEL: exec.program @groups
// TWO-SAME: streams = 3
// TWO: %[[DP:.*]] = exec.communicator on @mesh [dp]
// TWO-NEXT: %[[TP:.*]] = exec.communicator on @mesh [tp]
// TWO: exec.collective {{.*}} over %[[DP]] stream 1
// TWO: exec.collective {{.*}} over %[[TP]] stream 2
// TWO: exec.collective {{.*}} over %[[DP]] stream 1
tg.mesh @mesh [dp = 2, tp = 2]
func.func @groups(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %1 = tg.all_gather %x on @mesh [tp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %2 = tg.all_gather %x on @mesh [dp] dim 0 phase backward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %a = tg.wait %0 : !tg.future<tensor<8xf32>>
  %b = tg.wait %1 : !tg.future<tensor<8xf32>>
  %c = tg.wait %2 : !tg.future<tensor<8xf32>>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A collective starts after all that was computed before it. One record serves
// two collectives; a wait for the second says that the first is done as well.
// CHECK-LABEL: exec.program @events
// CHECK: exec.launch @negf_0
// CHECK: %[[READY:.*]] = exec.record stream 0
// CHECK-NEXT: exec.wait %[[READY]] stream 1
// CHECK-NEXT: exec.collective
// CHECK-NEXT: exec.record stream 1
// CHECK-NEXT: exec.slice
// CHECK-NEXT: exec.collective
// CHECK-NEXT: %[[BOTH:.*]] = exec.record stream 1
// CHECK-NEXT: exec.wait %[[BOTH]] stream 0
// CHECK-NOT: exec.wait
// CHECK: exec.return
tg.mesh @mesh [dp = 2]
func.func @events(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = arith.negf %x : tensor<4xf32>
  %0 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %1 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %b = tg.wait %1 : !tg.future<tensor<8xf32>>
  %a = tg.wait %0 : !tg.future<tensor<8xf32>>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// One collective reads what another has left: it waits for stream 0, which has
// waited for the first.
// CHECK-LABEL: exec.program @chain
// CHECK: exec.collective all_gather
// CHECK: %[[GATHERED:.*]] = exec.record stream 1
// CHECK: exec.wait %[[GATHERED]] stream 0
// CHECK: %[[KNOWN:.*]] = exec.record stream 0
// CHECK: exec.wait %[[KNOWN]] stream 1
// CHECK: exec.collective reduce_scatter
// TWO-LABEL: exec.program @chain
// TWO: exec.collective {{.*}} stream 1
// TWO: %[[GATHERED:.*]] = exec.record stream 1
// TWO: exec.wait %[[GATHERED]] stream 0
// TWO: %[[KNOWN:.*]] = exec.record stream 0
// TWO: exec.wait %[[KNOWN]] stream 2
// TWO: exec.collective {{.*}} stream 2
tg.mesh @mesh [dp = 2, tp = 2]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<8xf32>>
  %2 = tg.reduce_scatter sum %1 on @mesh [tp] dim 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  return %3 : tensor<4xf32>
}

// -----

// Nobody waits: the end of the program does.
// CHECK-LABEL: exec.program @dead
// CHECK: exec.collective
// CHECK-NOT: exec.wait
// CHECK: exec.return
tg.mesh @mesh [dp = 2]
func.func @dead(%x: tensor<4xf32>) {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<4xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

// A sum that nobody else reads is made in its place; an argument is not, nor is
// what is read again.
// CHECK-LABEL: exec.program @in_place
// CHECK: exec.launch @double(%arg0) to (%[[B:.*]]) stream 0
// CHECK: exec.launch @negf_0(%arg0) to (%[[A:.*]]) stream 0
// CHECK: exec.collective all_reduce reduction <sum> (%[[A]], %[[B]], %arg0) to (%[[A]], %[[SUM:.*]], %[[OWN:.*]]) over
// CHECK: exec.return %[[A]], %[[SUM]], %[[OWN]], %[[B]]
tg.mesh @mesh [dp = 2]
tg.kernel @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  tg.return %y : tensor<4xf32>
}
func.func @in_place(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %b = tg.launch @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = arith.negf %x : tensor<4xf32>
  %0 = tg.all_reduce sum %a, %b, %x on @mesh [dp] phase forward
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %1:3 = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  return %1#0, %1#1, %1#2, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Every kind of collective keeps what it was told.
// CHECK-LABEL: exec.program @kinds
// CHECK: exec.collective all_gather dim 1
// CHECK: exec.collective reduce_scatter dim 0 reduction <avg> accumulate f64
// CHECK: exec.collective all_reduce reduction <max>
// CHECK: exec.collective all_to_all split 0 concat 1
// CHECK: exec.collective broadcast root 1
// CHECK: exec.collective permute sources [0] targets [1]
tg.mesh @mesh [dp = 2]
func.func @kinds(%x: tensor<4x2xf32>) {
  %0 = tg.all_gather %x on @mesh [dp] dim 1 phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x4xf32>>
  %1 = tg.reduce_scatter avg %x on @mesh [dp] dim 0 accumulate f64 phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<2x2xf32>>
  %2 = tg.all_reduce max %x on @mesh [dp] phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x2xf32>>
  %3 = tg.all_to_all %x on @mesh [dp] split 0 concat 1 phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<2x4xf32>>
  %4 = tg.broadcast %x on @mesh [dp] root 1 phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x2xf32>>
  %5 = tg.permute %x on @mesh [dp] pairs [0 to 1] phase forward : (tensor<4x2xf32>) -> !tg.future<tensor<4x2xf32>>
  return
}

// -----

// Branches that send the same values have equal tags, those that send others
// have not.
// CHECK-LABEL: exec.program @tags
// CHECK: exec.if
// CHECK: exec.collective {{.*}} tag [[X:-?[0-9]+]] {
// CHECK: exec.collective {{.*}} tag [[Y:-?[0-9]+]] {
// CHECK: else
// CHECK: exec.collective {{.*}} tag [[Y]] {
// CHECK: exec.collective {{.*}} tag [[X]] {
tg.mesh @mesh [dp = 2]
func.func @tags(%x: tensor<2xf32>, %y: tensor<2xf32>, %flag: i1) {
  scf.if %flag {
    %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  } else {
    %0 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  }
  return
}
