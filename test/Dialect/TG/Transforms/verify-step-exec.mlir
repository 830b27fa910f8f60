// Programs that look wrong, but are not; see verify-step-exec-invalid.mlir.
// RUN: regather-opt %s -split-input-file --tg-verify-step -o /dev/null

// A buffer takes the place of another that is not read any more.
exec.program @reuse(%x: memref<16xf32> {tg.donated}) attributes {streams = 1, arena = 96} {
  %a = exec.slice 0 : memref<16xf32>
  %b = exec.slice 32 : memref<16xf32>
  exec.copy %x to %a stream 0 : memref<16xf32>
  exec.copy %a to %x stream 0 : memref<16xf32>
  exec.copy %x to %b stream 0 : memref<16xf32>
  exec.copy %b to %x stream 0 : memref<16xf32>
  exec.return
}

// -----

// Two parts make up the whole.
exec.program @parts() -> memref<16xf32> attributes {streams = 1, arena = 64} {
  %a = exec.slice 0 : memref<16xf32>
  %low = exec.view %a[0] : memref<16xf32> to memref<8xf32>
  %high = exec.view %a[32] : memref<16xf32> to memref<8xf32>
  exec.fill %high with 0.0 : f32 stream 0 : memref<8xf32>
  exec.fill %low with 0.0 : f32 stream 0 : memref<8xf32>
  exec.return %a : memref<16xf32>
}

// -----

// Stream 2 learns through stream 0 that stream 1 is done.
tg.mesh @mesh [dp = 2]
exec.program @transitive(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 3, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<32xf32>
  %y = exec.slice 128 : memref<16xf32>
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  %e = exec.record stream 1
  exec.wait %e stream 0
  %f = exec.record stream 0
  exec.wait %f stream 2
  exec.collective reduce_scatter dim 0 reduction <sum> (%g) to (%y) over %dp stream 2 : (memref<32xf32>) -> memref<16xf32>
  exec.return %y : memref<16xf32>
}

// -----

// Both read; a donated argument is overwritten when nobody does any more.
tg.mesh @mesh [dp = 2]
exec.program @readers(%x: memref<16xf32> {tg.donated}) attributes {streams = 2, arena = 192} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<32xf32>
  %y = exec.slice 128 : memref<16xf32>
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  %e = exec.record stream 1
  exec.copy %x to %y stream 0 : memref<16xf32>
  exec.wait %e stream 0
  exec.fill %x with 0.0 : f32 stream 0 : memref<16xf32>
  exec.return
}

// -----

// An event may be waited for in a region, and both branches write the result.
tg.mesh @mesh [dp = 2]
exec.program @branches(%flag: memref<i1>, %x: memref<4xf32>) -> memref<8xf32> attributes {streams = 2, arena = 128} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice 0 : memref<8xf32>
  %y = exec.slice 64 : memref<8xf32>
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<4xf32>) -> memref<8xf32>
  %e = exec.record stream 1
  exec.if %flag {
    exec.wait %e stream 0
    exec.copy %g to %y stream 0 : memref<8xf32>
  } else {
    exec.fill %y with 0.0 : f32 stream 0 : memref<8xf32>
  }
  exec.return %y : memref<8xf32>
}

// -----

// A loop that finds what it carries, and one in a branch of one in a loop.
exec.program @loops(%flag: memref<i1>, %n: memref<index>, %x: memref<4xf32>) -> memref<4xf32> attributes {streams = 1, arena = 256} {
  %a = exec.slice 0 : memref<4xf32>
  %b = exec.slice 64 : memref<4xf32>
  %i = exec.slice 128 : memref<index>
  %j = exec.slice 192 : memref<index>
  exec.fill %a with 0.0 : f32 stream 0 : memref<4xf32>
  exec.for %i = %n to %n step %n : memref<index> {
    exec.copy %a to %b stream 0 : memref<4xf32>
    exec.if %flag {
      exec.for %j = %i to %n step %n : memref<index> {
        exec.copy %b to %a stream 0 : memref<4xf32>
      }
    }
  }
  exec.return %a : memref<4xf32>
}

// -----

// Buffers without elements share nothing.
exec.program @empty() -> memref<0xf32> attributes {streams = 1, arena = 0} {
  %a = exec.slice 0 : memref<0xf32>
  %b = exec.slice 0 : memref<0xf32>
  exec.copy %a to %b stream 0 : memref<0xf32>
  exec.return %b : memref<0xf32>
}
