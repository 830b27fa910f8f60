// Where the updates of donated arguments lie.
// RUN: regather-opt %s -split-input-file --exec-plan-memory --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --exec-plan-memory=donate=false --tg-verify-step | FileCheck %s --check-prefix=NONE

// NONE-NOT: exec.copy %{{.*}} to %arg
// NONE-NOT: exec.return %arg0 :
// NONE-NOT: to (%arg

tg.kernel @neg(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = arith.negf %x : tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
tg.kernel @flip(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tg.node "aten.flip.default"(%x) args [#tg.operand<0>, [0]] : (tensor<16xf32>) -> tensor<16xf32>
  tg.return %y : tensor<16xf32>
}

// The kernel works in place.
// CHECK-LABEL: exec.program @in_place(%arg0
// CHECK-SAME: arena = 0
// CHECK-NEXT: exec.launch @neg(%arg0) to (%arg0) stream 0
// CHECK-NEXT: exec.return %arg0
exec.program @in_place(%w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  exec.launch @neg(%w) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a : memref<16xf32>
}

// The old value is not needed any more.
// CHECK-LABEL: exec.program @later(%arg0
// CHECK-NEXT: %[[T:.*]] = exec.slice
// CHECK-NEXT: %[[OLD:.*]] = exec.view %arg0[0]
// CHECK-NEXT: exec.launch @flip(%[[OLD]]) to (%[[T]]) stream 0
// CHECK-NEXT: %[[FLAT:.*]] = exec.view %arg0[0] : memref<4x4xf32> to memref<16xf32>
// CHECK-NEXT: exec.launch @flip(%[[T]]) to (%[[FLAT]]) stream 0
// CHECK-NEXT: exec.return %arg0
exec.program @later(%w: memref<4x4xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<4x4xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 1} {
  %t = exec.slice : memref<16xf32>
  %old = exec.view %w[0] : memref<4x4xf32> to memref<16xf32>
  exec.launch @flip(%old) to (%t) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %a = exec.slice : memref<16xf32>
  exec.launch @flip(%t) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %new = exec.view %a[0] : memref<16xf32> to memref<4x4xf32>
  exec.return %new : memref<4x4xf32>
}

// The old value is read while the new one is written, or later: copied at the
// end.
// CHECK-LABEL: exec.program @copied(%arg0
// CHECK: exec.launch @flip(%arg0) to (%[[A:.*]]) stream 0
// CHECK-NEXT: exec.copy %[[A]] to %arg0 stream 0
// CHECK-NEXT: exec.return %arg0
exec.program @copied(%w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  exec.launch @flip(%w) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a : memref<16xf32>
}

// The program returns the old value too: both stay.
// CHECK-LABEL: exec.program @old_value(%arg0
// CHECK: exec.launch @neg(%arg0) to (%[[A:.*]]) stream 0
// CHECK-NEXT: exec.return %[[A]], %arg0
exec.program @old_value(%w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}, memref<16xf32>) attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  exec.launch @neg(%w) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a, %w : memref<16xf32>, memref<16xf32>
}

// Arguments that change places are handed on as they are.
// CHECK-LABEL: exec.program @exchanged(%arg0: {{.*}}, %arg1:
// CHECK-NEXT: exec.return %arg1, %arg0
exec.program @exchanged(%v: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>},
                        %w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}, memref<16xf32> {tg.role = #tg.role<update of 1>})
    attributes {streams = 1} {
  exec.return %w, %v : memref<16xf32>, memref<16xf32>
}

// One value updates two arguments: computed in the first, copied to the second.
// CHECK-LABEL: exec.program @twice(%arg0: {{.*}}, %arg1:
// CHECK-NEXT: exec.launch @neg(%arg0) to (%arg0) stream 0
// CHECK-NEXT: exec.copy %arg0 to %arg1 stream 0
// CHECK-NEXT: exec.return %arg0, %arg1
exec.program @twice(%v: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>},
                    %w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}, memref<16xf32> {tg.role = #tg.role<update of 1>})
    attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  exec.launch @neg(%v) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a, %a : memref<16xf32>, memref<16xf32>
}

// An argument that is not donated keeps its value.
// CHECK-LABEL: exec.program @not_donated(%arg0
// CHECK: exec.launch @neg(%arg0) to (%[[A:.*]]) stream 0
// CHECK-NEXT: exec.return %[[A]]
exec.program @not_donated(%w: memref<16xf32> {tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  exec.launch @neg(%w) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a : memref<16xf32>
}

// -----

// A collective may still read the old value: nothing is written before all is
// done.
// CHECK-LABEL: exec.program @in_flight(%arg0
// CHECK: exec.collective all_gather dim 0 (%arg0)
// CHECK: exec.fill %[[A:.*]] with
// CHECK: %[[ALL:.*]] = exec.record stream 1
// CHECK-NEXT: exec.wait %[[ALL]] stream 0
// CHECK-NEXT: exec.copy %[[A]] to %arg0 stream 0
// CHECK-NEXT: exec.return %arg0
tg.mesh @mesh [dp = 2]
exec.program @in_flight(%w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}) attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice : memref<32xf32>
  exec.collective all_gather dim 0 (%w) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  %a = exec.slice : memref<16xf32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<16xf32>
  exec.return %a : memref<16xf32>
}
