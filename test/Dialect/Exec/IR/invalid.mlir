// What the verifiers of single operations reject.
// RUN: regather-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @+1 {{argument 0 must be a dense buffer of static shape, got 'tensor<4xf32>'}}
exec.program @tensors(%x: tensor<4xf32>) attributes {streams = 1} {
  exec.return
}

// -----

// expected-error @+1 {{result 0 must be a dense buffer of static shape, got 'memref<?xf32>'}}
exec.program @dynamic() -> memref<?xf32> attributes {streams = 1} {
  exec.return
}

// -----

// expected-error @+1 {{argument 0 must be a dense buffer of static shape}}
exec.program @strided(%x: memref<4x4xf32, strided<[8, 1]>>) attributes {streams = 1} {
  exec.return
}

// -----

// expected-error @+1 {{argument 0 must be a dense buffer of static shape}}
exec.program @too_large(%x: memref<4294967296x4294967296xf32>) attributes {streams = 1} {
  exec.return
}

// -----

// expected-error @+1 {{requires attribute 'streams'}}
exec.program @no_streams() {
  exec.return
}

// -----

// expected-error @+1 {{alignment must be a power of two, got 48}}
exec.program @alignment() attributes {streams = 1, alignment = 48} {
  exec.return
}

// -----

// expected-error @+1 {{expects 'exec.return' at the end}}
exec.program @no_return() attributes {streams = 1} {
  "another.return"() : () -> ()
}

// -----

exec.program @results(%x: memref<4xf32>) -> memref<8xf32> attributes {streams = 1} {
  // expected-error @+1 {{returns 'memref<4xf32>', but the program has the results 'memref<8xf32>'}}
  exec.return %x : memref<4xf32>
}

// -----

// expected-note @+1 {{the program}}
exec.program @stream(%x: memref<4xf32>) attributes {streams = 2} {
  // expected-error @+1 {{uses stream 2, but the program has 2}}
  exec.copy %x to %x stream 2 : memref<4xf32>
  exec.return
}

// -----

exec.program @no_place() attributes {streams = 1, arena = 64} {
  // expected-error @+1 {{has no offset, but the program has an arena}}
  %x = exec.slice : memref<4xf32>
  exec.return
}

// -----

exec.program @beyond_the_arena() attributes {streams = 1, arena = 64} {
  // expected-error @+1 {{takes 16 bytes from 52 on, but the arena has 64}}
  %x = exec.slice 52 : memref<4xf32>
  exec.return
}

// -----

exec.program @slice_between_elements() attributes {streams = 1, arena = 64} {
  // expected-error @+1 {{offset must be a multiple of 4, the size of an element, got 2}}
  %x = exec.slice 2 : memref<4xf32>
  exec.return
}

// -----

exec.program @view_between_elements(%x: memref<4xf32>) attributes {streams = 1} {
  // expected-error @+1 {{offset must be a multiple of 4, the size of an element, got 2}}
  %y = exec.view %x[2] : memref<4xf32> to memref<2xf32>
  exec.return
}

// -----

exec.program @view_too_long(%x: memref<4xf32>) attributes {streams = 1} {
  // expected-error @+1 {{takes 16 bytes from 4 on, but the source has 16}}
  %y = exec.view %x[4] : memref<4xf32> to memref<4xf32>
  exec.return
}

// -----

exec.program @strings() attributes {streams = 1} {
  // expected-error @+1 {{expects integers or floats, got}}
  %x = exec.constant dense<"a"> : tensor<1x!tg.opaque<"string">>
  exec.return
}

// -----

exec.program @launch(%x: memref<4xf32>) attributes {streams = 1} {
  // expected-error @+1 {{names 'missing', which is no kernel}}
  exec.launch @missing(%x) to (%x) stream 0 : (memref<4xf32>) -> memref<4xf32>
  exec.return
}

// -----

// expected-note @+1 {{the kernel}}
tg.kernel @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}
exec.program @launch(%x: memref<8xf32>) attributes {streams = 1} {
  // expected-error @+1 {{has buffers of type '(tensor<8xf32>) -> tensor<8xf32>', but kernel 'kernel' has type '(tensor<4xf32>) -> tensor<4xf32>'}}
  exec.launch @kernel(%x) to (%x) stream 0 : (memref<8xf32>) -> memref<8xf32>
  exec.return
}

// -----

exec.program @fill(%x: memref<4xf32>) attributes {streams = 1} {
  // expected-error @+1 {{value has the element type of the buffer}}
  exec.fill %x with 0 : i32 stream 0 : memref<4xf32>
  exec.return
}

// -----

exec.program @condition(%x: memref<4xi1>) attributes {streams = 1} {
  // expected-error @+1 {{operand #0 must be memref<i1>}}
  "exec.if"(%x) ({
  }, {
  }) : (memref<4xi1>) -> ()
  exec.return
}

// -----

exec.program @bounds(%x: memref<f32>) attributes {streams = 1} {
  // expected-error @+1 {{operand #0 must be memref of one index or integer}}
  exec.for %x = %x to %x step %x : memref<f32> {
  }
  exec.return
}

// -----

exec.program @outside(%x: memref<4xf32> {tg.donated}) attributes {streams = 2} {
  // expected-note @+1 {{the event}}
  %event = exec.record stream 1
  exec.graph "g" {
    // expected-error @+1 {{waits in graph "g" for an event from outside of it}}
    exec.wait %event stream 0
  }
  exec.return
}

// -----

exec.program @not_forked(%x: memref<4xf32> {tg.donated}) attributes {streams = 2} {
  exec.graph "g" {
    // expected-error @+1 {{uses stream 1 in graph "g" before the stream waits for an event of the graph}}
    exec.fill %x with 0.0 : f32 stream 1 : memref<4xf32>
  }
  exec.return
}

// -----

exec.program @host(%x: memref<i1>) attributes {streams = 1} {
  // expected-note @+1 {{the graph}}
  exec.graph "g" {
    // expected-error @+1 {{cannot be part of graph "g", which runs without the host}}
    exec.if %x {
    }
  }
  exec.return
}

// -----

// expected-error @+1 {{'exec.program' op attribute 'arena' failed to satisfy constraint}}
exec.program @wrong_attribute() attributes {streams = 1, arena = "large"} {
  exec.return
}

// -----

exec.program @no_such_result() attributes {streams = 1} {
  // expected-error @+1 {{is for result 0, but the program has 0}}
  %d = exec.destination 0 : memref<4xf32>
  exec.return
}

// -----

exec.program @other_result(%x: memref<4xf32>) -> memref<4xf32> attributes {streams = 1} {
  // expected-error @+1 {{is for result 0, which lies elsewhere}}
  %d = exec.destination 0 : memref<4xf32>
  // expected-note @+1 {{returned here}}
  exec.return %x : memref<4xf32>
}

// -----

exec.program @two_destinations() -> memref<4xf32> attributes {streams = 1} {
  %a = exec.destination 0 : memref<4xf32>
  // expected-error @+1 {{is for result 0, which lies elsewhere}}
  %b = exec.destination 0 : memref<4xf32>
  // expected-note @+1 {{returned here}}
  exec.return %a : memref<4xf32>
}

// -----

exec.program @host_slice_beyond_the_arena() attributes {streams = 1, arena = 64, host_arena = 32} {
  // expected-error @+1 {{takes 64 bytes from 0 on, but the arena has 32}}
  %x = exec.host_slice 0 : memref<16xf32, #tg.host>
  exec.return
}

// -----

exec.program @host_slice_without_place() attributes {streams = 1, arena = 64} {
  // expected-error @+1 {{has no offset, but the program has an arena}}
  %x = exec.host_slice : memref<16xf32, #tg.host>
  exec.return
}

// -----

exec.program @slice_on_the_host() attributes {streams = 1} {
  // expected-error @+1 {{result #0 must be dense buffer of static shape, but got 'memref<4xf32, #tg.host>'}}
  %x = exec.slice : memref<4xf32, #tg.host>
  exec.return
}

// -----

exec.program @transfer_on_the_device(%x: memref<4xf32>) attributes {streams = 2} {
  %y = exec.slice : memref<4xf32>
  // expected-error @+1 {{expects one buffer on the host and one on the device, got 'memref<4xf32>' and 'memref<4xf32>'}}
  exec.transfer %x to %y stream 1 : memref<4xf32> to memref<4xf32>
  exec.return
}

// -----

exec.program @transfer_of_another_type(%x: memref<4xf32>) attributes {streams = 2} {
  %y = exec.host_slice : memref<2x2xf32, #tg.host>
  // expected-error @+1 {{expects buffers of equal shape and element type, got 'memref<4xf32>' and 'memref<2x2xf32, #tg.host>'}}
  exec.transfer %x to %y stream 1 : memref<4xf32> to memref<2x2xf32, #tg.host>
  exec.return
}

// -----

exec.program @transfer_where_it_computes(%x: memref<4xf32>) attributes {streams = 1} {
  %y = exec.host_slice : memref<4xf32, #tg.host>
  // expected-error @+1 {{expects a stream that does not compute, got 0}}
  exec.transfer %x to %y stream 0 : memref<4xf32> to memref<4xf32, #tg.host>
  exec.return
}

// -----

exec.program @copy_to_the_host(%x: memref<4xf32>) attributes {streams = 1} {
  %y = exec.host_slice : memref<4xf32, #tg.host>
  // expected-error @+1 {{must be dense buffer of static shape, but got 'memref<4xf32, #tg.host>'}}
  "exec.copy"(%x, %y) <{stream = 0 : i64}> : (memref<4xf32>, memref<4xf32, #tg.host>) -> ()
  exec.return
}
