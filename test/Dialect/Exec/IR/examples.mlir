// Examples of the operation reference; docs/generate.py copies them from here.
// RUN: regather-opt %s -split-input-file | FileCheck %s

// CHECK-LABEL: exec.program @program
// CHECK-SAME: attributes {alignment = 64 : i64, arena = 64 : i64, lower_bound = 64 : i64, streams = 1 : i64}
// EXAMPLE exec.program
tg.kernel @double(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = arith.addf %x, %x : tensor<16xf32>
  tg.return %y : tensor<16xf32>
}

// Four times the weight: the weight is updated in its own memory.
exec.program @program(%w: memref<16xf32> {tg.donated, tg.role = #tg.role<parameter>})
    -> (memref<16xf32> {tg.role = #tg.role<update of 0>})
    attributes {streams = 1, arena = 64, lower_bound = 64} {
  %t = exec.slice 0 : memref<16xf32>
  exec.launch @double(%w) to (%t) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.launch @double(%t) to (%w) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %w : memref<16xf32>
}
// END

// -----

// CHECK-LABEL: @results
// CHECK: exec.return %{{.*}}, %{{.*}} : memref<4xf32>, memref<4xf32>
// EXAMPLE exec.return
// An argument may be a result as it is; nothing is copied.
exec.program @results(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>)
    attributes {streams = 1, arena = 64} {
  %y = exec.slice 0 : memref<4xf32>
  exec.copy %x to %y stream 0 : memref<4xf32>
  exec.return %x, %y : memref<4xf32>, memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @slices
// CHECK: exec.slice 0 : memref<16xf32>
// CHECK: exec.slice 64 : memref<4x4xf32>
// CHECK: exec.slice 0 : memref<16xf32>
// EXAMPLE exec.slice
// The first buffer is not needed any more when the third is written.
exec.program @slices(%x: memref<16xf32>) -> memref<16xf32>
    attributes {streams = 1, arena = 128} {
  %a = exec.slice 0 : memref<16xf32>
  %b = exec.slice 64 : memref<4x4xf32>
  %c = exec.slice 0 : memref<16xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  %flat = exec.view %b[0] : memref<4x4xf32> to memref<16xf32>
  exec.copy %a to %flat stream 0 : memref<16xf32>
  exec.copy %flat to %c stream 0 : memref<16xf32>
  exec.return %c : memref<16xf32>
}
// END

// -----

// CHECK-LABEL: @destination
// CHECK: exec.destination 0 : memref<4xf32>
// EXAMPLE exec.destination
exec.program @destination() -> memref<4xf32> attributes {streams = 1, arena = 0} {
  %r = exec.destination 0 : memref<4xf32>
  exec.fill %r with 1.0 : f32 stream 0 : memref<4xf32>
  exec.return %r : memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @constant
// CHECK: exec.constant dense<[1, 2]> : tensor<2xi64>
// EXAMPLE exec.constant
exec.program @constant() -> memref<2xi64> attributes {streams = 1, arena = 0} {
  %table = exec.constant dense<[1, 2]> : tensor<2xi64>
  exec.return %table : memref<2xi64>
}
// END

// -----

// CHECK-LABEL: @view
// CHECK: exec.view %{{.*}}[64] : memref<32xf32> to memref<4x4xf32>
// EXAMPLE exec.view
// The second of two matrices that lie in one flat buffer.
exec.program @view(%flat: memref<32xf32>) -> memref<4x4xf32>
    attributes {streams = 1, arena = 0} {
  %second = exec.view %flat[64] : memref<32xf32> to memref<4x4xf32>
  exec.return %second : memref<4x4xf32>
}
// END

// -----

// CHECK-LABEL: @launch
// CHECK: exec.launch @sum(%{{.*}}, %{{.*}}) to (%{{.*}}) stream 0
// EXAMPLE exec.launch
tg.kernel @sum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %sum = arith.addf %x, %y : tensor<8xf32>
  tg.return %sum : tensor<8xf32>
}

exec.program @launch(%x: memref<8xf32>, %y: memref<8xf32>) -> memref<8xf32>
    attributes {streams = 1, arena = 64} {
  %sum = exec.slice 0 : memref<8xf32>
  exec.launch @sum(%x, %y) to (%sum) stream 0
      : (memref<8xf32>, memref<8xf32>) -> memref<8xf32>
  exec.return %sum : memref<8xf32>
}
// END

// -----

// CHECK-LABEL: @copy
// CHECK: exec.copy %{{.*}} to %{{.*}} stream 0 : memref<8xf32>
// EXAMPLE exec.copy
exec.program @copy(%x: memref<8xf32>, %state: memref<8xf32> {tg.donated})
    attributes {streams = 1, arena = 0} {
  exec.copy %x to %state stream 0 : memref<8xf32>
  exec.return
}
// END

// -----

// CHECK-LABEL: @fill
// CHECK: exec.fill %{{.*}} with 0.000000e+00 : f32 stream 0 : memref<8xf32>
// EXAMPLE exec.fill
exec.program @fill() -> memref<8xf32> attributes {streams = 1, arena = 64} {
  %zeros = exec.slice 0 : memref<8xf32>
  exec.fill %zeros with 0.0 : f32 stream 0 : memref<8xf32>
  exec.return %zeros : memref<8xf32>
}
// END

// -----

// CHECK-LABEL: @axis_index
// CHECK: exec.axis_index over %{{.*}} to %{{.*}} stream 0
// EXAMPLE exec.axis_index
tg.mesh @mesh [dp = 4]

exec.program @axis_index() -> memref<index> attributes {streams = 1, arena = 64} {
  %ranks = exec.communicator on @mesh [dp]
  %index = exec.slice 0 : memref<index>
  exec.axis_index over %ranks to %index stream 0
  exec.return %index : memref<index>
}
// END

// -----

// CHECK-LABEL: @events
// CHECK: exec.record stream 1
// EXAMPLE exec.record
tg.mesh @mesh [dp = 4]

// The copy runs while the gather is under way.
exec.program @events(%x: memref<4xf32>) -> (memref<16xf32>, memref<4xf32>)
    attributes {streams = 2, arena = 128} {
  %ranks = exec.communicator on @mesh [dp]
  %gathered = exec.slice 0 : memref<16xf32>
  %copy = exec.slice 64 : memref<4xf32>
  exec.collective all_gather dim 0 (%x) to (%gathered) over %ranks stream 1
      : (memref<4xf32>) -> memref<16xf32>
  %done = exec.record stream 1
  exec.copy %x to %copy stream 0 : memref<4xf32>
  exec.wait %done stream 0
  exec.return %gathered, %copy : memref<16xf32>, memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @wait
// CHECK: exec.wait %{{.*}} stream 1
// EXAMPLE exec.wait
tg.mesh @mesh [dp = 4]

// The gather starts when its input has been computed.
exec.program @wait() -> memref<16xf32> attributes {streams = 2, arena = 128} {
  %ranks = exec.communicator on @mesh [dp]
  %input = exec.slice 0 : memref<4xf32>
  %gathered = exec.slice 64 : memref<16xf32>
  exec.fill %input with 1.0 : f32 stream 0 : memref<4xf32>
  %ready = exec.record stream 0
  exec.wait %ready stream 1
  exec.collective all_gather dim 0 (%input) to (%gathered) over %ranks stream 1
      : (memref<4xf32>) -> memref<16xf32>
  exec.return %gathered : memref<16xf32>
}
// END

// -----

// CHECK-LABEL: @if
// CHECK: exec.if %{{.*}} {
// CHECK: } else {
// EXAMPLE exec.if
exec.program @if(%flag: memref<i1>, %x: memref<4xf32>) -> memref<4xf32>
    attributes {streams = 1, arena = 64} {
  %y = exec.slice 0 : memref<4xf32>
  exec.if %flag {
    exec.copy %x to %y stream 0 : memref<4xf32>
  } else {
    exec.fill %y with 0.0 : f32 stream 0 : memref<4xf32>
  }
  exec.return %y : memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @yield
// EXAMPLE exec.yield
// The end of a region, in the generic form; otherwise it is not printed.
exec.program @yield(%flag: memref<i1>) attributes {streams = 1, arena = 0} {
  "exec.if"(%flag) ({
    exec.yield
  }, {
  }) : (memref<i1>) -> ()
  exec.return
}
// END

// -----

// CHECK-LABEL: @for
// CHECK: exec.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : memref<index> {
// EXAMPLE exec.for
tg.kernel @accumulate(%sum: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %next = arith.addf %sum, %x : tensor<4xf32>
  tg.return %next : tensor<4xf32>
}

// Three times x, added up in a buffer that keeps its place.
exec.program @for(%x: memref<4xf32>) -> memref<4xf32>
    attributes {streams = 1, arena = 192} {
  %zero = exec.constant dense<0> : tensor<index>
  %one = exec.constant dense<1> : tensor<index>
  %three = exec.constant dense<3> : tensor<index>
  %sum = exec.slice 0 : memref<4xf32>
  %next = exec.slice 64 : memref<4xf32>
  %i = exec.slice 128 : memref<index>
  exec.fill %sum with 0.0 : f32 stream 0 : memref<4xf32>
  exec.for %i = %zero to %three step %one : memref<index> {
    exec.launch @accumulate(%sum, %x) to (%next) stream 0
        : (memref<4xf32>, memref<4xf32>) -> memref<4xf32>
    exec.copy %next to %sum stream 0 : memref<4xf32>
  }
  exec.return %sum : memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @communicator
// CHECK: exec.communicator on @mesh [dp, tp]
// EXAMPLE exec.communicator
tg.mesh @mesh [dp = 4, tp = 2]

// Over two axes at once: a group of all eight ranks.
exec.program @communicator() -> memref<index> attributes {streams = 1, arena = 64} {
  %all = exec.communicator on @mesh [dp, tp]
  %index = exec.slice 0 : memref<index>
  exec.axis_index over %all to %index stream 0
  exec.return %index : memref<index>
}
// END

// -----

// CHECK-LABEL: @collective
// CHECK: exec.collective reduce_scatter dim 0 reduction <avg> accumulate f32
// CHECK-SAME: over %{{.*}} stream 1 tag 7 {tg.phase = #tg.phase<backward>}
// EXAMPLE exec.collective
tg.mesh @mesh [dp = 4]

// The mean of all ranks' gradients; each rank keeps its rows.
exec.program @collective(%gradient: memref<12x8xbf16>) -> memref<3x8xbf16>
    attributes {streams = 2, arena = 64} {
  %ranks = exec.communicator on @mesh [dp]
  %shard = exec.slice 0 : memref<3x8xbf16>
  exec.collective reduce_scatter dim 0 reduction <avg> accumulate f32
      (%gradient) to (%shard) over %ranks stream 1 tag 7
      {tg.phase = #tg.phase<backward>} : (memref<12x8xbf16>) -> memref<3x8xbf16>
  exec.return %shard : memref<3x8xbf16>
}
// END

// -----

// CHECK-LABEL: @graph
// CHECK: exec.graph "layers.0.forward" {
// CHECK: exec.collective all_reduce
// CHECK: exec.wait %{{.*}} stream 0
// CHECK-NEXT: {{^ *}$}}
// EXAMPLE exec.graph
tg.mesh @mesh [dp = 4]

// Stream 1 takes part as soon as it waits for an event of the graph.
exec.program @graph(%x: memref<4xf32>) -> memref<4xf32>
    attributes {streams = 2, arena = 64} {
  %ranks = exec.communicator on @mesh [dp]
  %sum = exec.slice 0 : memref<4xf32>
  exec.graph "layers.0.forward" {
    exec.copy %x to %sum stream 0 : memref<4xf32>
    %copied = exec.record stream 0
    exec.wait %copied stream 1
    exec.collective all_reduce reduction <sum> (%sum) to (%sum) over %ranks
        stream 1 : (memref<4xf32>) -> memref<4xf32>
    %reduced = exec.record stream 1
    exec.wait %reduced stream 0
  }
  exec.return %sum : memref<4xf32>
}
// END

// -----

// CHECK-LABEL: @host_slice
// CHECK-SAME: host_arena = 64 : i64
// CHECK: exec.host_slice 0 : memref<16xf32, #tg.host>
// EXAMPLE exec.host_slice
exec.program @host_slice(%x: memref<16xf32>)
    attributes {streams = 2, arena = 0, host_arena = 64, host_lower_bound = 64} {
  %host = exec.host_slice 0 : memref<16xf32, #tg.host>
  exec.transfer %x to %host stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  exec.return
}
// END

// -----

// CHECK-LABEL: @transfer
// CHECK: exec.transfer %{{.*}} to %{{.*}} stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
// EXAMPLE exec.transfer
// What was copied to the host comes back on another stream, behind an event.
exec.program @transfer(%x: memref<16xf32>) -> memref<16xf32>
    attributes {streams = 3, arena = 64, host_arena = 64} {
  %host = exec.host_slice 0 : memref<16xf32, #tg.host>
  %back = exec.slice 0 : memref<16xf32>
  exec.transfer %x to %host stream 1 : memref<16xf32> to memref<16xf32, #tg.host>
  %event = exec.record stream 1
  exec.wait %event stream 2
  exec.transfer %host to %back stream 2 : memref<16xf32, #tg.host> to memref<16xf32>
  exec.return %back : memref<16xf32>
}
// END
