// RUN: regather-opt %s -split-input-file --exec-plan-memory -verify-diagnostics

tg.mesh @mesh [dp = 2]
exec.program @unordered(%x: memref<16xf32>, %y: memref<32xf32> {tg.donated}) attributes {streams = 2} {
  %dp = exec.communicator on @mesh [dp]
  %g = exec.slice : memref<32xf32>
  // expected-note @+1 {{written here}}
  exec.collective all_gather dim 0 (%x) to (%g) over %dp stream 1 : (memref<16xf32>) -> memref<32xf32>
  // expected-error @+1 {{reads '%1' on stream 0 without waiting for what writes it on stream 1}}
  exec.copy %g to %y stream 0 : memref<32xf32>
  exec.return
}

// -----

exec.program @never_written() -> memref<16xf32> attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  // expected-error @+1 {{reads '%0', but bytes 0 to 63 of it were not written on every way here}}
  exec.return %a : memref<16xf32>
}

// -----

// More than 64 bits can count.
// expected-error @+1 {{cannot plan memory}}
exec.program @too_large() -> (memref<1152921504606846976xf32>, memref<1152921504606846976xf32>, memref<1152921504606846976xf32>, memref<1152921504606846976xf32>) attributes {streams = 1} {
  %a = exec.slice : memref<1152921504606846976xf32>
  %b = exec.slice : memref<1152921504606846976xf32>
  %c = exec.slice : memref<1152921504606846976xf32>
  %d = exec.slice : memref<1152921504606846976xf32>
  exec.fill %a with 0.0 : f32 stream 0 : memref<1152921504606846976xf32>
  exec.fill %b with 0.0 : f32 stream 0 : memref<1152921504606846976xf32>
  exec.fill %c with 0.0 : f32 stream 0 : memref<1152921504606846976xf32>
  exec.fill %d with 0.0 : f32 stream 0 : memref<1152921504606846976xf32>
  exec.return %a, %b, %c, %d : memref<1152921504606846976xf32>, memref<1152921504606846976xf32>, memref<1152921504606846976xf32>, memref<1152921504606846976xf32>
}
