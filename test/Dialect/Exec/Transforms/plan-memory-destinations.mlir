// Results in memory of the caller.
// RUN: regather-opt %s -split-input-file --exec-plan-memory=caller-results --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --exec-plan-memory | FileCheck %s --check-prefix=NONE
// Doing it again changes nothing.
// RUN: regather-opt %s -split-input-file --exec-plan-memory=caller-results --exec-plan-memory=caller-results --tg-verify-step | FileCheck %s

// NONE-NOT: exec.destination

tg.kernel @neg(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = arith.negf %x : tensor<16xf32>
  tg.return %y : tensor<16xf32>
}

// What only the result holds is computed where it is to be.
// CHECK-LABEL: exec.program @computed(%arg0
// CHECK-SAME: arena = 64
// CHECK: %[[R:.*]] = exec.destination 0 : memref<16xf32>
// CHECK: %[[T:.*]] = exec.slice 0
// CHECK-NEXT: exec.launch @neg(%arg0) to (%[[T]]) stream 0
// CHECK-NEXT: exec.launch @neg(%[[T]]) to (%[[R]]) stream 0
// CHECK-NEXT: exec.return %[[R]]
exec.program @computed(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1} {
  %t = exec.slice : memref<16xf32>
  exec.launch @neg(%x) to (%t) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %y = exec.slice : memref<16xf32>
  exec.launch @neg(%t) to (%y) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %y : memref<16xf32>
}

// Another shape of the whole is no reason to copy.
// CHECK-LABEL: exec.program @reshaped(%arg0
// CHECK-SAME: arena = 0
// CHECK: %[[R:.*]] = exec.destination 0 : memref<4x4xf32>
// CHECK: %[[FLAT:.*]] = exec.view %[[R]][0] : memref<4x4xf32> to memref<16xf32>
// CHECK-NEXT: exec.launch @neg(%arg0) to (%[[FLAT]]) stream 0
// CHECK-NEXT: exec.return %[[R]]
exec.program @reshaped(%x: memref<16xf32>) -> memref<4x4xf32> attributes {streams = 1} {
  %y = exec.slice : memref<16xf32>
  exec.launch @neg(%x) to (%y) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %r = exec.view %y[0] : memref<16xf32> to memref<4x4xf32>
  exec.return %r : memref<4x4xf32>
}

// An argument, a constant, a part, and what is a result already are copied.
// CHECK-LABEL: exec.program @copied(%arg0
// CHECK-DAG: %[[ARGUMENT:.*]] = exec.destination 0 : memref<16xf32>
// CHECK-DAG: %[[CONSTANT:.*]] = exec.destination 1 : memref<2xf32>
// CHECK-DAG: %[[PART:.*]] = exec.destination 2 : memref<4xf32>
// CHECK-DAG: %[[WHOLE:.*]] = exec.destination 3 : memref<16xf32>
// CHECK-DAG: %[[AGAIN:.*]] = exec.destination 4 : memref<16xf32>
// CHECK: exec.launch @neg(%arg0) to (%[[WHOLE]]) stream 0
// CHECK: exec.copy %arg0 to %[[ARGUMENT]] stream 0
// CHECK-NEXT: exec.copy %{{.*}} to %[[CONSTANT]] stream 0
// CHECK-NEXT: exec.copy %{{.*}} to %[[PART]] stream 0
// CHECK-NEXT: exec.copy %[[WHOLE]] to %[[AGAIN]] stream 0
// CHECK-NEXT: exec.return %[[ARGUMENT]], %[[CONSTANT]], %[[PART]], %[[WHOLE]], %[[AGAIN]]
exec.program @copied(%x: memref<16xf32>) -> (memref<16xf32>, memref<2xf32>, memref<4xf32>, memref<16xf32>, memref<16xf32>)
    attributes {streams = 1} {
  %c = exec.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = exec.slice : memref<16xf32>
  exec.launch @neg(%x) to (%y) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %p = exec.view %y[16] : memref<16xf32> to memref<4xf32>
  exec.return %x, %c, %p, %y, %y : memref<16xf32>, memref<2xf32>, memref<4xf32>, memref<16xf32>, memref<16xf32>
}

// An update stays in the argument that it replaces; without a donation it goes
// to the caller.
// CHECK-LABEL: exec.program @updates(%arg0
// CHECK: %[[R:.*]] = exec.destination 1
// CHECK-NOT: exec.destination
// CHECK: exec.launch @neg(%arg1) to (%[[R]]) stream 0
// CHECK-NEXT: exec.launch @neg(%arg0) to (%arg0) stream 0
// CHECK-NEXT: exec.return %arg0, %[[R]]
exec.program @updates(%v: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>}, %w: memref<16xf32> {tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>}, memref<16xf32> {tg.role = #tg.role<update of 1>})
    attributes {streams = 1} {
  %b = exec.slice : memref<16xf32>
  exec.launch @neg(%w) to (%b) stream 0 : (memref<16xf32>) -> memref<16xf32>
  %a = exec.slice : memref<16xf32>
  exec.launch @neg(%v) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %a, %b : memref<16xf32>, memref<16xf32>
}

// Copies wait for what is in flight, and are part of a graph that is the whole
// program.
// CHECK-LABEL: exec.program @streams(%arg0
// CHECK: %[[R:.*]] = exec.destination 0
// CHECK: %[[E:.*]] = exec.record stream 1
// CHECK-NEXT: exec.wait %[[E]] stream 0
// CHECK-NEXT: exec.copy %arg0 to %[[R]] stream 0
exec.program @streams(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 2} {
  exec.return %x : memref<16xf32>
}
// CHECK-LABEL: exec.program @in_graph(%arg0
// CHECK: %[[R:.*]] = exec.destination 0
// CHECK: exec.graph "all" {
// CHECK: exec.copy %arg0 to %[[R]] stream 0
// CHECK-NEXT: }
exec.program @in_graph(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1} {
  %y = exec.slice : memref<16xf32>
  exec.graph "all" {
    exec.launch @neg(%x) to (%y) stream 0 : (memref<16xf32>) -> memref<16xf32>
  }
  exec.return %x : memref<16xf32>
}
