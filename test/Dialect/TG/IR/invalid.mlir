// Errors of everything that is no collective.
// RUN: regather-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

//===----------------------------------------------------------------------===//
// Mesh and axis_index
//===----------------------------------------------------------------------===//

// expected-error@+1 {{axis "dp" must have at least one rank, got 0}}
tg.mesh @mesh [dp = 0]

// -----

// expected-error@+1 {{has more ranks than 32 bits can number}}
tg.mesh @mesh [dp = 65536, tp = 65536]

// -----

// expected-error@+1 {{has more ranks than 32 bits can number}}
tg.mesh @mesh [dp = 9223372036854775807, tp = 3]

// -----

// expected-error@+1 {{axis "dp" is listed twice}}
tg.mesh @mesh [dp = 2, dp = 4]

// -----

// expected-error@+1 {{expects one size for each of 2 axes, got 1}}
"tg.mesh"() <{sym_name = "mesh", axes = #tg.axes<[dp, tp]>, sizes = array<i64: 2>}> : () -> ()

// -----

// expected-error@+1 {{axis names must not be empty}}
tg.mesh @mesh ["" = 2]

// -----

func.func @axis_index() {
  // expected-error@+1 {{names mesh "mesh", which does not exist}}
  %0 = tg.axis_index on @mesh [dp]
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
tg.mesh @mesh [dp = 2]
func.func @axis_index() {
  // expected-error@+1 {{mesh "mesh" has no axis "tp"}}
  %0 = tg.axis_index on @mesh [tp]
  return
}

// -----

//===----------------------------------------------------------------------===//
// Futures and wait
//===----------------------------------------------------------------------===//

// expected-error@+1 {{member 1 of a future must be a ranked tensor, got 'f32'}}
func.func private @future(!tg.future<tensor<2xf32>, f32>)

// -----

// expected-error@+1 {{member 0 of a future must have a static shape, got 'tensor<?xf32>'}}
func.func private @future(!tg.future<tensor<?xf32>>)

// -----

func.func @wait(%future: !tg.future<tensor<2xf32>>) {
  // expected-error@+1 {{expects a future made by a collective in this block, got a block argument}}
  %0 = tg.wait %future : !tg.future<tensor<2xf32>>
  return
}

// -----

func.func @wait(%condition: i1) {
  // expected-note@+1 {{future made here}}
  %future = "test.make"() : () -> !tg.future<tensor<2xf32>>
  // expected-error@+1 {{expects a future made by a collective in this block}}
  %0 = tg.wait %future : !tg.future<tensor<2xf32>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

func.func @node() {
  // expected-error@+1 {{target must not be empty}}
  tg.node ""() : () -> ()
  return
}

// -----

func.func @node(%x: tensor<2x?xf32>) {
  // expected-error@+1 {{operand 0 must have a static shape, got 'tensor<2x?xf32>'}}
  tg.node "my.op"(%x) : (tensor<2x?xf32>) -> ()
  return
}

// -----

func.func @node() {
  // expected-error@+1 {{result 0 must have a static shape, got 'tensor<?xf32>'}}
  %0 = tg.node "my.op"() : () -> tensor<?xf32>
  return
}

// -----

func.func @node(%x: tensor<2xf32>) {
  // expected-error@+1 {{arguments name operand 1, but the node has 1 operands}}
  tg.node "my.op"(%x) args [[#tg.operand<0>], #tg.operand<1>] : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @node(%x: tensor<2xf32>) {
  // expected-error@+1 {{arguments name operand -1, but the node has 1 operands}}
  tg.node "my.op"(%x) kwargs {x = #tg.operand<-1>} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @node(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand 1 is not named by any argument}}
  tg.node "my.op"(%x, %x) args [#tg.operand<0>] : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

//===----------------------------------------------------------------------===//
// Attributes on any operation
//===----------------------------------------------------------------------===//

func.func @attribute() {
  // expected-error@+1 {{unknown attribute 'tg.polcy'}}
  %0 = arith.constant {tg.polcy = #tg.policy<must_save>} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.phase' must be a #tg.phase, got "forward"}}
  %0 = arith.constant {tg.phase = "forward"} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.module' must be a string, got 1 : i64}}
  %0 = arith.constant {tg.module = 1 : i64} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.id' must be a string, got unit}}
  %0 = arith.constant {tg.id} 1.0 : f32
  return
}

// -----

func.func @bucket_without_name() {
  // expected-error@+1 {{attribute 'tg.bucket' must be a string, got unit}}
  %0 = arith.constant {tg.bucket} 1.0 : f32
  return
}

// -----

func.func @policy() {
  // expected-error@+1 {{expects must_save, prefer_save, prefer_recompute, must_recompute or offload, got "save"}}
  %0 = arith.constant {tg.policy = #tg.policy<save>} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.policy' must be a #tg.policy, got "must_save"}}
  %0 = arith.constant {tg.policy = "must_save"} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.micro_batch' must be a number of i64 that is not negative, got -1}}
  %0 = arith.constant {tg.micro_batch = -1 : i64} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.row_share' must be a number of f64 above 0 and at most 1, got 1.500000e+00}}
  %0 = arith.constant {tg.row_share = 1.5} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{attribute 'tg.saved_results' must be an array<i64> of result numbers, got [0]}}
  %0 = arith.constant {tg.saved_results = [0]} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{'tg.saved_results' names result 1, but the operation has 1 results}}
  %0 = arith.constant {tg.saved_results = array<i64: 0, 1>} 1.0 : f32
  return
}

// -----

func.func @attribute() {
  // expected-error@+1 {{'tg.saved_results' must be ascending, got 0 after 0}}
  %0 = arith.constant {tg.saved_results = array<i64: 0, 0>} 1.0 : f32
  return
}

// -----

//===----------------------------------------------------------------------===//
// Attributes on arguments and results
//===----------------------------------------------------------------------===//

// expected-error@+1 {{unknown attribute 'tg.rôle' on argument 0}}
func.func @argument(%x: tensor<2xf32> {"tg.rôle" = #tg.role<input>}) { return }

// -----

// expected-error@+1 {{attribute 'tg.role' must be a #tg.role, got "input"}}
func.func @argument(%x: tensor<2xf32> {tg.role = "input"}) { return }

// -----

// expected-error@+1 {{argument 1 cannot have role "loss", which is for results}}
func.func @argument(%x: f32, %y: f32 {tg.role = #tg.role<loss>}) { return }

// -----

// expected-error@+1 {{unknown role "weight"}}
func.func @argument(%x: f32 {tg.role = #tg.role<weight>}) { return }

// -----

// expected-error@+1 {{argument number must not be negative, got -1}}
func.func @argument(%x: f32 {tg.role = #tg.role<update of -1>}) { return }

// -----

// expected-error@+1 {{attribute 'tg.name' must be a string, got 1 : i64}}
func.func @argument(%x: f32 {tg.name = 1 : i64}) { return }

// -----

// expected-error@+1 {{argument 0 has role "learning_rate" and must be 'tensor<f32>', got 'tensor<f64>'}}
func.func @argument(%x: tensor<f64> {tg.role = #tg.role<learning_rate>}) { return }

// -----

// expected-error@+1 {{argument 0 has role "step" and must be 'tensor<i64>', got 'i64'}}
func.func @argument(%x: i64 {tg.role = #tg.role<step>}) { return }

// -----

// expected-error@+1 {{attribute 'tg.aliases' must be an array of strings, got [0]}}
func.func @argument(%x: f32 {tg.aliases = [0]}) { return }

// -----

// expected-error@+1 {{result 0 is the update of argument 0, which has role "step"}}
func.func @result(%x: tensor<i64> {tg.role = #tg.role<step>}) -> (tensor<i64> {tg.role = #tg.role<update of 0>}) {
  return %x : tensor<i64>
}

// -----

// expected-error@+1 {{attribute 'tg.registration' must be a non-negative i64, got -1 : i64}}
func.func @argument(%x: f32 {tg.registration = -1 : i64}) { return }

// -----

// expected-error@+1 {{attribute 'tg.donated' must be a unit attribute, got true}}
func.func @argument(%x: f32 {tg.donated = true}) { return }

// -----

// expected-error@+1 {{attribute 'tg.reshard' must be a #tg.reshard, got unit}}
func.func @argument(%x: f32 {tg.reshard}) { return }

// -----

// expected-error@+1 {{'tg.reshard' of argument 0 is for parameters}}
func.func @argument(%x: tensor<2xf32> {tg.role = #tg.role<input>, tg.reshard = #tg.reshard<always>}) { return }

// -----

// expected-error@+1 {{expects always, never or group, got "sometimes"}}
func.func @argument(%x: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<sometimes>}) { return }

// -----

// expected-error@+1 {{group must have at least two ranks, got 1}}
func.func @argument(%x: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<group of 1>}) { return }

// -----

// expected-error@+1 {{unknown attribute 'tg.donated' on result 0}}
func.func private @result() -> (f32 {tg.donated})

// -----

// expected-error@+1 {{attribute 'tg.role' must be a #tg.role, got 1 : i64}}
func.func private @result() -> (f32 {tg.role = 1 : i64})

// -----

// expected-error@+1 {{attribute 'tg.name' must be a string, got 1 : i64}}
func.func private @result() -> (f32 {tg.name = 1 : i64})

// -----

// expected-error@+1 {{result 0 cannot have role "input", which is for arguments}}
func.func private @result() -> (f32 {tg.role = #tg.role<input>})

// -----

// expected-error@+1 {{result 0 is the gradient of argument 1, but the function has 1 arguments}}
func.func private @result(f32) -> (f32 {tg.role = #tg.role<gradient of 1>})

// -----

// expected-error@+1 {{result 0 is the gradient of argument 0, which has role "buffer"}}
func.func private @result(f32 {tg.role = #tg.role<buffer>}) -> (f32 {tg.role = #tg.role<gradient of 0>})

// -----

// expected-error@+1 {{result 0 is the update of argument 0, which has role "input"}}
func.func private @result(f32 {tg.role = #tg.role<input>}) -> (f32 {tg.role = #tg.role<update of 0>})

// -----

// expected-error@+1 {{result 0 is the update of argument 0, which has no role}}
func.func private @result(f32) -> (f32 {tg.role = #tg.role<update of 0>})

// -----

// expected-error@+1 {{result 0 updates argument 0 and must have its type 'tensor<2xf32>', got 'tensor<3xf32>'}}
func.func private @result(tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<3xf32> {tg.role = #tg.role<update of 0>})

// -----

// expected-error@+1 {{result 0 has role "overflow" and must be 'tensor<i64>', got 'tensor<i32>'}}
func.func private @result() -> (tensor<i32> {tg.role = #tg.role<overflow>})

// -----

// expected-error@+1 {{results 0 and 1 are both the overflow}}
func.func private @result() -> (tensor<i64> {tg.role = #tg.role<overflow>}, tensor<i64> {tg.role = #tg.role<overflow>})

// -----

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

// expected-error@+1 {{placement of argument 0 names mesh "mesh", which does not exist}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh []>})

// -----

tg.mesh @mesh [dp = 2]
// expected-error@+1 {{'tg.placement' of argument 0 must be a #tg.placement, got "shard 0"}}
func.func private @placement(tensor<2xf32> {tg.placement = "shard 0"})

// -----

tg.mesh @mesh [dp = 2]
// expected-error@+1 {{'tg.placement' of result 0 needs a ranked tensor, got 'f32'}}
func.func private @placement() -> (f32 {tg.placement = #tg.placement<@mesh []>})

// -----

// expected-note@+1 {{mesh declared here}}
tg.mesh @mesh [dp = 2]
// expected-error@+1 {{placement of argument 0: mesh "mesh" has no axis "tp"}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[tp] = shard 0]>})

// -----

tg.mesh @mesh [dp = 2]
// expected-error@+1 {{placement of result 0: dimension 1 is sharded, but the tensor is 'tensor<2xf32>'}}
func.func private @placement() -> (tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 1]>})

// -----

tg.mesh @mesh [dp = 4]
// expected-error@+1 {{placement of argument 0: expects 3 elements along dimension 0 of each shard, got 2 in 'tensor<2x8xf32>'}}
func.func private @placement(tensor<2x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [10, 8]>})

// -----

tg.mesh @mesh [dp = 4]
// expected-error@+1 {{placement of argument 0: global shape has 1 dimensions, but the tensor is 'tensor<2x8xf32>'}}
func.func private @placement(tensor<2x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [10]>})

// -----

// expected-error@+1 {{axis "dp" is placed twice}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0, [dp] = partial sum]>})

// -----

// expected-error@+1 {{dimension 0 is sharded twice; list its axes together, as in [dp, tp] = shard 0}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0, [tp] = shard 0]>})

// -----

// expected-error@+1 {{sharded dimension must not be negative, got -1}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard -1]>})

// -----

// expected-error@+1 {{global shape must not be negative, got -10}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [-10]>})

// -----

// expected-error@+1 {{expects "shard" or "partial", got "sharded"}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = sharded 0]>})

// -----

// expected-error@+1 {{expects a reduction (sum, avg or max), got "min"}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = partial min]>})

// -----

func.func @random(%seed: tensor<i64>) {
  // expected-error@+1 {{attribute 'stream' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 4294967295}}
  %0 = tg.random %seed, %seed stream 4294967296 : tensor<4xi32>
  return
}

// -----

func.func @random(%seed: tensor<i64>) {
  // expected-error@+1 {{attribute 'stream' failed to satisfy constraint}}
  %0 = tg.random %seed, %seed stream -1 : tensor<4xi32>
  return
}

// -----

func.func @random(%seed: tensor<i64>) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %0 = tg.random %seed, %seed stream 0 : tensor<4xf32>
  return
}

// -----

func.func @random(%seed: tensor<i64>) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<?xi32>'}}
  %0 = tg.random %seed, %seed stream 0 : tensor<?xi32>
  return
}

// -----

func.func @random(%seed: tensor<i32>, %offset: tensor<i64>) {
  // expected-error@+1 {{operand #0 must be tensor<i64>, but got 'tensor<i32>'}}
  %0 = "tg.random"(%seed, %offset) <{stream = 0 : i64}> : (tensor<i32>, tensor<i64>) -> tensor<4xi32>
  return
}

// -----

func.func @random(%seed: tensor<i64>, %offset: tensor<1xi64>) {
  // expected-error@+1 {{operand #1 must be tensor<i64>, but got 'tensor<1xi64>'}}
  %0 = "tg.random"(%seed, %offset) <{stream = 0 : i64}> : (tensor<i64>, tensor<1xi64>) -> tensor<4xi32>
  return
}

// -----

tg.mesh @mesh [dp = 5]
// expected-error@+1 {{dimension 9223372036854775807 is sharded, but the tensor is 'tensor<2xf32>'}}
func.func private @placement(tensor<2xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 9223372036854775807]>})

// -----

func.func @offload_of_two(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a future of 1 tensors, one for each operand, got 2}}
  %f = tg.offload %x : (tensor<4xf32>) -> !tg.future<tensor<4xf32, #tg.host>, tensor<4xf32, #tg.host>>
  return
}

// -----

func.func @offload_to_the_device(%x: tensor<4xf32>) {
  // expected-error @+1 {{member 0 must have type 'tensor<4xf32, #tg.host>', got 'tensor<4xf32>'}}
  %f = tg.offload %x : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

func.func @fetch_of_another_shape(%x: tensor<4xf32, #tg.host>) {
  // expected-error @+1 {{member 0 must have type 'tensor<4xf32>', got 'tensor<2x2xf32>'}}
  %f = tg.fetch %x : (tensor<4xf32, #tg.host>) -> !tg.future<tensor<2x2xf32>>
  return
}

// -----

func.func @fetch_from_the_device(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be variadic of ranked tensor on the host, but got 'tensor<4xf32>'}}
  %f = tg.fetch %x : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

func.func @offload_twice(%x: tensor<4xf32, #tg.host>) {
  // expected-error @+1 {{operand #0 must be variadic of ranked tensor on the device, but got 'tensor<4xf32, #tg.host>'}}
  %f = tg.offload %x : (tensor<4xf32, #tg.host>) -> !tg.future<tensor<4xf32, #tg.host>>
  return
}

// -----

func.func @compute_on_the_host(%x: tensor<4xf32, #tg.host>) {
  // expected-error @+1 {{operand #0 must be variadic of ranked tensor on the device or a value that is not a tensor}}
  %y = tg.node "aten.exp.default"(%x) : (tensor<4xf32, #tg.host>) -> tensor<4xf32>
  return
}

// -----

func.func @copy_of_unknown_size(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand 0 must have a static shape, got 'tensor<?xf32>'}}
  %f = tg.offload %x : (tensor<?xf32>) -> !tg.future<tensor<4xf32, #tg.host>>
  return
}

// -----

func.func @copy_waited_for_twice(%x: tensor<4xf32>) {
  // expected-error @+1 {{future is waited for twice}}
  %f = tg.offload %x : (tensor<4xf32>) -> !tg.future<tensor<4xf32, #tg.host>>
  // expected-note @+1 {{waited for here}}
  %a = tg.wait %f : !tg.future<tensor<4xf32, #tg.host>>
  // expected-note @+1 {{and here}}
  %b = tg.wait %f : !tg.future<tensor<4xf32, #tg.host>>
  return
}
