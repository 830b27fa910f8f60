// RUN: regather-opt %s -split-input-file --exec-plan-memory --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --exec-plan-memory=effort=0 --tg-verify-step -o /dev/null
// RUN: regather-opt %s -split-input-file --exec-plan-memory=in-place=false --tg-verify-step | FileCheck %s --check-prefix=APART
// RUN: regather-opt %s -split-input-file --exec-plan-memory --exec-plan-memory | FileCheck %s

// CHECK-LABEL: exec.program @chain
// CHECK-SAME: arena = 128 : i64, lower_bound = 128 : i64
// EXAMPLE exec-plan-memory
tg.kernel @reverse(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %z = tg.node "aten.flip.default"(%x) args [#tg.operand<0>, [0]] : (tensor<16xf32>) -> tensor<16xf32>
  %sum = tg.node "aten.add.Tensor"(%z, %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tg.return %sum : tensor<16xf32>
}

// Two places do: the sum overwrites the summand that it reads in order.
exec.program @chain(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %c = exec.slice : memref<16xf32>
  %d = exec.slice : memref<16xf32>
  exec.launch @reverse(%x, %x) to (%a) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @reverse(%a, %x) to (%b) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @reverse(%b, %a) to (%c) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @reverse(%c, %x) to (%d) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.return %d : memref<16xf32>
}
// END

// -----

// An elementwise kernel writes over an input that nobody reads any more, in a
// chain of such steps over and over; a scalar is broadcast meanwhile.
// CHECK-LABEL: exec.program @in_place
// CHECK-SAME: arena = 64 : i64, lower_bound = 64 : i64
// CHECK-COUNT-3: exec.slice 0 : memref<16xf32>
// APART-LABEL: exec.program @in_place
// APART-SAME: arena = 128 : i64
tg.kernel @scale(%x: tensor<16xf32>, %f: tensor<f32>) -> tensor<16xf32> {
  %y = tg.node "aten.mul.Tensor"(%x, %f) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %z = tg.node "aten.neg.default"(%y) : (tensor<16xf32>) -> tensor<16xf32>
  tg.return %z : tensor<16xf32>
}
exec.program @in_place(%x: memref<16xf32>, %f: memref<f32>) -> memref<16xf32> attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %c = exec.slice : memref<16xf32>
  exec.launch @scale(%x, %f) to (%a) stream 0 : (memref<16xf32>, memref<f32>) -> memref<16xf32>
  exec.launch @scale(%a, %f) to (%b) stream 0 : (memref<16xf32>, memref<f32>) -> memref<16xf32>
  exec.copy %b to %c stream 0 : memref<16xf32>
  exec.return %c : memref<16xf32>
}

// -----

// Not in place: the input is read later, in another shape, in another order, or
// as a second operand that is read whole.
// CHECK-LABEL: exec.program @not_in_place
// CHECK-SAME: arena = 192 : i64
// CHECK-LABEL: exec.program @transposed
// CHECK-SAME: arena = 128 : i64
// CHECK-LABEL: exec.program @read_twice
// CHECK-SAME: arena = 128 : i64
// CHECK-LABEL: exec.program @read_by_rows
// CHECK-SAME: arena = 128 : i64
tg.kernel @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %z = arith.addf %x, %y : tensor<16xf32>
  tg.return %z : tensor<16xf32>
}
exec.program @not_in_place(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %c = exec.slice : memref<16xf32>
  %d = exec.slice : memref<16xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  exec.launch @add(%a, %x) to (%b) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @add(%a, %x) to (%c) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @add(%b, %c) to (%d) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.launch @add(%d, %a) to (%d) stream 0 : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  exec.return %d : memref<16xf32>
}
tg.kernel @transpose(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = tg.node "aten.t.default"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = tg.node "aten.neg.default"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %z : tensor<4x4xf32>
}
exec.program @transposed(%x: memref<4x4xf32>) -> memref<4x4xf32> attributes {streams = 1} {
  %a = exec.slice : memref<4x4xf32>
  %b = exec.slice : memref<4x4xf32>
  exec.copy %x to %a stream 0 : memref<4x4xf32>
  exec.launch @transpose(%a) to (%b) stream 0 : (memref<4x4xf32>) -> memref<4x4xf32>
  exec.return %b : memref<4x4xf32>
}
tg.kernel @add_transposed(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = tg.node "aten.t.default"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = tg.node "aten.add.Tensor"(%x, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %z : tensor<4x4xf32>
}
exec.program @read_twice(%x: memref<4x4xf32>) -> memref<4x4xf32> attributes {streams = 1} {
  %a = exec.slice : memref<4x4xf32>
  %b = exec.slice : memref<4x4xf32>
  exec.copy %x to %a stream 0 : memref<4x4xf32>
  exec.launch @add_transposed(%a, %a) to (%b) stream 0 : (memref<4x4xf32>, memref<4x4xf32>) -> memref<4x4xf32>
  exec.return %b : memref<4x4xf32>
}
// Blocks of rows of the result would overwrite what other blocks read.
tg.kernel @rows(%x: tensor<4x4xf32>, %y: tensor<4x4xf32> {tg.rows = 0 : i64}) -> (tensor<4x4xf32> {tg.rows = 0 : i64}) {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  tg.return %z : tensor<4x4xf32>
}
exec.program @read_by_rows(%x: memref<4x4xf32>) -> memref<4x4xf32> attributes {streams = 1} {
  %a = exec.slice : memref<4x4xf32>
  %b = exec.slice : memref<4x4xf32>
  exec.copy %x to %a stream 0 : memref<4x4xf32>
  exec.launch @rows(%a, %x) to (%b) stream 0 : (memref<4x4xf32>, memref<4x4xf32>) -> memref<4x4xf32>
  exec.return %b : memref<4x4xf32>
}

// -----

// A buffer that a collective reads or writes is in use until stream 0 has waited
// for it, and collectives of one stream may overlap.
// CHECK-LABEL: exec.program @in_flight
// CHECK-SAME: arena = 384 : i64, lower_bound = 384 : i64
// CHECK-LABEL: exec.program @waited
// CHECK-SAME: arena = 192 : i64, lower_bound = 192 : i64
tg.mesh @mesh [dp = 2]
exec.program @in_flight(%x: memref<16xf32>) attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<32xf32>
  %c = exec.slice : memref<16xf32>
  %d = exec.slice : memref<32xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  exec.copy %x to %c stream 0 : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_gather dim 0 (%a) to (%b) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.collective all_gather dim 0 (%c) to (%d) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.return
}
exec.program @waited(%x: memref<16xf32>) attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<32xf32>
  %c = exec.slice : memref<16xf32>
  %d = exec.slice : memref<32xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_gather dim 0 (%a) to (%b) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  %done = exec.record stream 1
  exec.wait %done stream 0
  exec.copy %x to %c stream 0 : memref<16xf32>
  %again = exec.record stream 0
  exec.wait %again stream 1
  exec.collective all_gather dim 0 (%c) to (%d) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.return
}

// -----

// What a loop touches is in use for the whole loop.
// CHECK-LABEL: exec.program @loop
// CHECK-SAME: arena = 256 : i64, lower_bound = 256 : i64
exec.program @loop(%x: memref<16xf32>, %n: memref<index>) attributes {streams = 1} {
  %i = exec.slice : memref<index>
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  %c = exec.slice : memref<16xf32>
  exec.for %i = %n to %n step %n : memref<index> {
    exec.copy %x to %a stream 0 : memref<16xf32>
    exec.copy %a to %b stream 0 : memref<16xf32>
    exec.copy %b to %c stream 0 : memref<16xf32>
  }
  exec.return
}

// -----

// What nothing uses takes no memory.
// CHECK-LABEL: exec.program @unused
// CHECK-SAME: arena = 0 : i64, lower_bound = 0 : i64
// CHECK-NEXT: exec.return
exec.program @unused() attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  %v = exec.view %a[0] : memref<16xf32> to memref<4xf32>
  exec.return
}

// -----

// Places are multiples of the alignment.
// CHECK-LABEL: exec.program @alignment
// CHECK-SAME: alignment = 256 : i64, arena = 512 : i64
// CHECK-DAG: exec.slice 0
// CHECK-DAG: exec.slice 256
exec.program @alignment() -> (memref<f32>, memref<f32>) attributes {streams = 1, alignment = 256} {
  %a = exec.slice : memref<f32>
  %b = exec.slice : memref<f32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<f32>
  exec.fill %b with 0.0 : f32 stream 0 : memref<f32>
  exec.return %a, %b : memref<f32>, memref<f32>
}
