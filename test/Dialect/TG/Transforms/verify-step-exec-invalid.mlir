// Programs whose memory is wrong, each in one way.
// RUN: regather-opt %s -split-input-file --tg-verify-step -verify-diagnostics

exec.program @never_written(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<16xf32>
  // expected-error @+1 {{reads '%0', but bytes 0 to 63 of it were not written on every way here}}
  exec.copy %a to %x stream 0 : memref<16xf32>
  exec.return
}

// -----

exec.program @partly_written(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<16xf32>
  %half = exec.view %a[0] : memref<16xf32> to memref<8xf32>
  exec.fill %half with 0.0 : f32 stream 0 : memref<8xf32>
  // expected-error @+1 {{reads '%0', but bytes 32 to 63 of it were not written on every way here}}
  exec.copy %a to %x stream 0 : memref<16xf32>
  exec.return
}

// -----

// Two buffers that are in use at one time share bytes.
exec.program @overlap(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 128} {
  %a = exec.slice 0 : memref<16xf32>
  %b = exec.slice 32 : memref<16xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  // expected-note @+1 {{last written here}}
  exec.copy %x to %b stream 0 : memref<16xf32>
  // expected-error @+1 {{reads '%0', but bytes 32 to 63 of it hold '%1'}}
  exec.copy %a to %x stream 0 : memref<16xf32>
  exec.return
}

// -----

// A result does not survive to the end.
exec.program @lost_result() -> memref<16xf32> attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<16xf32>
  %b = exec.slice 0 : memref<16xf32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<16xf32>
  // expected-note @+1 {{last written here}}
  exec.fill %b with 1.0 : f32 stream 0 : memref<16xf32>
  // expected-error @+1 {{reads '%0', but bytes 0 to 63 of it hold '%1'}}
  exec.return %a : memref<16xf32>
}

// -----

tg.mesh @mesh [dp = 2]
exec.program @read_in_flight(%x: memref<16xf32>, %y: memref<32xf32> {tg.donated}) attributes {streams = 2, arena = 128} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<32xf32>
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{reads '%1' on stream 0 without waiting for what writes it on stream 1}}
  exec.copy %g to %y stream 0 : memref<32xf32>
  exec.return
}

// -----

// The event is from before the collective.
tg.mesh @mesh [dp = 2]
exec.program @early_event(%x: memref<16xf32>, %y: memref<32xf32> {tg.donated}) attributes {streams = 2, arena = 128} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<32xf32>
  %e = exec.record stream 1
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.wait %e stream 0
  // expected-error @+1 {{reads '%1' on stream 0 without waiting for what writes it on stream 1}}
  exec.copy %g to %y stream 0 : memref<32xf32>
  exec.return
}

// -----

// The collective may start before its input is computed.
tg.mesh @mesh [dp = 2]
exec.program @too_early() attributes {streams = 2, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %a = exec.slice 0 : memref<16xf32>
  %g = exec.slice 64 : memref<32xf32>
  // expected-note @+1 {{written here}}
  exec.fill %a with 0.0 : f32 stream 0 : memref<16xf32>
  // expected-error @+1 {{reads '%1' on stream 1 without waiting for what writes it on stream 0}}
  exec.collective all_gather dim 0 (%a) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.return
}

// -----

// The collective still reads what is overwritten, through another buffer.
tg.mesh @mesh [dp = 2]
exec.program @write_under_reader() attributes {streams = 2, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %a = exec.slice 0 : memref<16xf32>
  %b = exec.slice 32 : memref<4xf32>
  %g = exec.slice 64 : memref<32xf32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<16xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  // expected-note @+1 {{in flight since here}}
  exec.collective all_gather dim 0 (%a) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{writes '%2' on stream 0 without waiting for what reads the same bytes on stream 1}}
  exec.fill %b with 0.0 : f32 stream 0 : memref<4xf32>
  exec.return
}

// -----

// The collective still writes to the same place, though nobody reads it.
tg.mesh @mesh [dp = 2]
exec.program @write_under_writer(%x: memref<16xf32>) attributes {streams = 2, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 64 : memref<32xf32>
  %b = exec.slice 128 : memref<4xf32>
  // expected-note @+1 {{in flight since here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{writes '%2' on stream 0 without waiting for what writes the same bytes on stream 1}}
  exec.fill %b with 0.0 : f32 stream 0 : memref<4xf32>
  exec.return
}

// -----

// Collectives of one stream may overlap.
tg.mesh @mesh [dp = 2]
exec.program @one_stream(%x: memref<16xf32>, %y: memref<16xf32> {tg.donated}) attributes {streams = 2, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<32xf32>
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{reads '%1' on stream 1 without waiting for what writes it on stream 1}}
  exec.collective reduce_scatter dim 0 reduction <sum> (%g) to (%y) over %dp stream 1 : (memref<32xf32>) -> memref<16xf32>
  exec.return
}

// -----

exec.program @not_donated(%x: memref<16xf32>) attributes {streams = 1, arena = 0} {
  // expected-error @+1 {{writes to argument 0, which is not donated}}
  exec.fill %x with 0.0 : f32 stream 0 : memref<16xf32>
  exec.return
}

// -----

exec.program @constant() attributes {streams = 1, arena = 0} {
  %c = exec.constant dense<[1, 2]> : tensor<2xi32>
  // expected-error @+1 {{writes to a constant}}
  exec.fill %c with 0 : i32 stream 0 : memref<2xi32>
  exec.return
}

// -----

// The kernel reads its input in another order.
tg.kernel @flip(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tg.node "aten.flip.default"(%x) args [#tg.operand<0>, [0]] : (tensor<16xf32>) -> tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
exec.program @in_place(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 0} {
  // expected-error @+1 {{writes '%arg0' over its operand '%arg0', which it may not do in place}}
  exec.launch @flip(%x) to (%x) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return
}

// -----

tg.kernel @neg(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.negf %x : tensor<8xf32>
  tg.return %y : tensor<8xf32>
}
exec.program @shifted(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 0} {
  %a = exec.view %x[0] : memref<16xf32> to memref<8xf32>
  %b = exec.view %x[16] : memref<16xf32> to memref<8xf32>
  // expected-error @+1 {{writes '%1' over its operand '%0', of which it shares a part}}
  exec.launch @neg(%a) to (%b) stream 0 : (memref<8xf32>) -> memref<8xf32>
  exec.return
}

// -----

tg.kernel @two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = arith.negf %x : tensor<8xf32>
  tg.return %y, %x : tensor<8xf32>, tensor<8xf32>
}
exec.program @outputs(%x: memref<8xf32>) attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<8xf32>
  %b = exec.slice 16 : memref<8xf32>
  // expected-error @+1 {{has two outputs that share bytes, '%0' and '%1'}}
  exec.launch @two(%x) to (%a, %b) stream 0 : (memref<8xf32>) -> (memref<8xf32>, memref<8xf32>)
  exec.return
}

// -----

tg.mesh @mesh [dp = 2]
exec.program @gather_in_place(%x: memref<32xf32> {tg.donated}) attributes {streams = 2, arena = 64} {
  %dp = exec.communicator on @mesh [dp]
  %shard = exec.view %x[0] : memref<32xf32> to memref<16xf32>
  // expected-error @+1 {{writes '%arg0' over its operand '%1', of which it shares a part}}
  exec.collective all_gather dim 0 (%shard) to (%x) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  exec.return
}

// -----

// Only one of the branches writes.
exec.program @one_branch(%flag: memref<i1>) -> memref<4xf32> attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<4xf32>
  // expected-note @+1 {{last written here}}
  exec.if %flag {
    exec.fill %a with 0.0 : f32 stream 0 : memref<4xf32>
  } else {
  }
  // expected-error @+1 {{reads '%0', but bytes 0 to 15 of it were not written on every way here}}
  exec.return %a : memref<4xf32>
}

// -----

// The second branch overwrites what the first would keep.
exec.program @other_branch(%flag: memref<i1>) -> memref<4xf32> attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<4xf32>
  %b = exec.slice 8 : memref<2xf32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<4xf32>
  // expected-note @+1 {{last written here}}
  exec.if %flag {
    exec.fill %a with 1.0 : f32 stream 0 : memref<4xf32>
  } else {
    exec.fill %b with 0.0 : f32 stream 0 : memref<2xf32>
  }
  // expected-error @+1 {{reads '%0', but bytes 8 to 15 of it were not written on every way here}}
  exec.return %a : memref<4xf32>
}

// -----

// The loop may not run at all.
exec.program @no_iteration(%n: memref<index>) -> memref<4xf32> attributes {streams = 1, arena = 128} {
  %a = exec.slice 0 : memref<4xf32>
  %i = exec.slice 64 : memref<index>
  // expected-note @+1 {{last written here}}
  exec.for %i = %n to %n step %n : memref<index> {
    exec.fill %a with 0.0 : f32 stream 0 : memref<4xf32>
  }
  // expected-error @+1 {{reads '%0', but bytes 0 to 15 of it were not written on every way here}}
  exec.return %a : memref<4xf32>
}

// -----

// The second buffer is not needed when the first one is written again, but the
// next iteration begins with the first.
exec.program @carried(%x: memref<4xf32>, %n: memref<index>) attributes {streams = 1, arena = 128} {
  // expected-note @+1 {{one buffer}}
  %a = exec.slice 0 : memref<4xf32>
  // expected-note @+1 {{the other}}
  %b = exec.slice 0 : memref<4xf32>
  %i = exec.slice 64 : memref<index>
  // expected-error @+1 {{touches '%0' and '%1', which share bytes}}
  exec.for %i = %n to %n step %n : memref<index> {
    exec.copy %x to %a stream 0 : memref<4xf32>
    exec.copy %x to %b stream 0 : memref<4xf32>
  }
  exec.return
}

// -----

tg.mesh @mesh [dp = 2]
exec.program @leaves_in_flight(%flag: memref<i1>, %x: memref<4xf32>) attributes {streams = 2, arena = 64} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<8xf32>
  // expected-error @+1 {{ends a region while something that it has started on stream 1 is in flight; stream 0 must wait for it}}
  exec.if %flag {
    exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<4xf32>) -> memref<8xf32>
  }
  exec.return
}

// -----

tg.mesh @mesh [dp = 2]
exec.program @graph_not_joined(%x: memref<4xf32>) attributes {streams = 2, arena = 64} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<8xf32>
  // expected-error @+1 {{ends a region while something that it has started on stream 1 is in flight; stream 0 must wait for it}}
  exec.graph "graph" {
    %e = exec.record stream 0
    exec.wait %e stream 1
    exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<4xf32>) -> memref<8xf32>
  }
  exec.return
}

// -----

// What stream 1 was told before the graph is in flight for its part of the
// graph, which knows what stream 0 knows.
tg.mesh @mesh [dp = 2]
exec.program @graph_behind_stream(%x: memref<4xf32>, %y: memref<16xf32> {tg.donated}) attributes {streams = 2, arena = 64} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<8xf32>
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<4xf32>) -> memref<8xf32>
  %gathered = exec.record stream 1
  exec.wait %gathered stream 1
  exec.graph "graph" {
    %e = exec.record stream 0
    exec.wait %e stream 1
    // expected-error @+1 {{reads '%1' on stream 1 without waiting for what writes it on stream 1}}
    exec.collective all_gather dim 0 (%g) to (%y) over %dp stream 1 : (memref<8xf32>) -> memref<16xf32>
    %f = exec.record stream 1
    exec.wait %f stream 0
  }
  exec.return
}

// -----

// The collective of the second iteration does not wait for the copy of the
// first.
tg.mesh @mesh [dp = 2]
exec.program @next_iteration(%n: memref<index>, %x: memref<4xf32>, %y: memref<8xf32> {tg.donated}) attributes {streams = 2, arena = 128} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<8xf32>
  %i = exec.slice 64 : memref<index>
  exec.for %i = %n to %n step %n : memref<index> {
    // expected-error @+1 {{writes '%1' on stream 1 without waiting for what reads the same bytes on stream 0}}
    exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<4xf32>) -> memref<8xf32>
    %e = exec.record stream 1
    exec.wait %e stream 0
    exec.wait %e stream 1
    // expected-note @+1 {{in flight since here}}
    exec.copy %g to %y stream 0 : memref<8xf32>
  }
  exec.return
}

// -----

// Slices without places are checked too: events first, places later.
tg.mesh @mesh [dp = 2]
exec.program @unplanned(%x: memref<16xf32>, %y: memref<32xf32> {tg.donated}) attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice : memref<32xf32>
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{reads '%1' on stream 0 without waiting for what writes it on stream 1}}
  exec.copy %g to %y stream 0 : memref<32xf32>
  exec.return
}
