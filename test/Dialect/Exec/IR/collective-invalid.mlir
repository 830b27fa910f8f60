// Collectives and communicators that the verifiers reject.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

exec.program @no_mesh() attributes {streams = 1} {
  // expected-error @+1 {{names mesh "mesh", which does not exist}}
  %c = exec.communicator on @mesh [dp]
  exec.return
}

// -----

// expected-note @+1 {{mesh declared here}}
tg.mesh @mesh [dp = 4]
exec.program @no_axis() attributes {streams = 1} {
  // expected-error @+1 {{mesh "mesh" has no axis "tp"}}
  %c = exec.communicator on @mesh [tp]
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @outputs(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects one output for each of 1 inputs, got 2}}
  exec.collective broadcast root 0 (%x) to (%x, %x) over %c stream 0 : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>)
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @needs_dim(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{all_gather needs attribute 'dim'}}
  exec.collective all_gather (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @has_no_root(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{all_reduce has no attribute 'root'}}
  exec.collective all_reduce root 0 reduction <sum> (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @element_type(%x: memref<4xf32>, %y: memref<4xi32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{output 0 must have element type and rank of its input 'memref<4xf32>', got 'memref<4xi32>'}}
  exec.collective broadcast root 0 (%x) to (%y) over %c stream 0 : (memref<4xf32>) -> memref<4xi32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @dimension(%x: memref<4xf32>, %y: memref<16xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{dimension 1 is out of range for input 0 of type 'memref<4xf32>'}}
  exec.collective all_gather dim 1 (%x) to (%y) over %c stream 0 : (memref<4xf32>) -> memref<16xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @shards(%x: memref<4xf32>, %y: memref<20xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects shards of 5 elements along dimension 0 to gather 20 over 4 ranks, got 4}}
  exec.collective all_gather dim 0 (%x) to (%y) over %c stream 0 : (memref<4xf32>) -> memref<20xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @scatter(%x: memref<16xf32>, %y: memref<5xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects output 0 of type 'memref<4xf32>' for 4 ranks, got 'memref<5xf32>'}}
  exec.collective reduce_scatter dim 0 reduction <sum> (%x) to (%y) over %c stream 0 : (memref<16xf32>) -> memref<5xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @exchange(%x: memref<6xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects a multiple of 4 elements along dimension 0, got 6}}
  exec.collective all_to_all split 0 concat 0 (%x) to (%x) over %c stream 0 : (memref<6xf32>) -> memref<6xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @average(%x: memref<4xi32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{avg needs floating-point elements, got 'memref<4xi32>'}}
  exec.collective all_reduce reduction <avg> (%x) to (%x) over %c stream 0 : (memref<4xi32>) -> memref<4xi32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @narrow(%x: memref<4xf64>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{accumulation type 'f32' is narrower than the elements of 'memref<4xf64>'}}
  exec.collective all_reduce reduction <sum> accumulate f32 (%x) to (%x) over %c stream 0 : (memref<4xf64>) -> memref<4xf64>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @integers(%x: memref<4xi32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{integers accumulate in their own type, but 'memref<4xi32>' is to accumulate in 'f32'}}
  exec.collective all_reduce reduction <sum> accumulate f32 (%x) to (%x) over %c stream 0 : (memref<4xi32>) -> memref<4xi32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @accumulation(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{accumulation type must be f32 or f64, got 'bf16'}}
  exec.collective all_reduce reduction <sum> accumulate bf16 (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @root(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{root must be below 4, the number of ranks in the group, got 4}}
  exec.collective broadcast root 4 (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @pairs(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects as many targets as sources, got 1 and 2}}
  exec.collective permute sources [0, 1] targets [1] (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @twice(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{position 1 is a target twice}}
  exec.collective permute sources [0, 1] targets [1, 1] (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @negative(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{source must be below 4, the number of ranks in the group, got -1}}
  exec.collective permute sources [-1] targets [1] (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

tg.mesh @mesh [dp = 4]
exec.program @keyword(%x: memref<4xf32>) attributes {streams = 1} {
  %c = exec.communicator on @mesh [dp]
  // expected-error @+1 {{expects a collective, such as all_gather, got "gather"}}
  exec.collective gather (%x) to (%x) over %c stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}
