// Errors of collectives.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

//===----------------------------------------------------------------------===//
// What all kinds share
//===----------------------------------------------------------------------===//

func.func @no_mesh(%a: tensor<2xf32>) {
  // expected-error@+1 {{names mesh "mesh", which does not exist}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
tg.mesh @mesh [dp = 2]
func.func @unknown_axis(%a: tensor<2xf32>) {
  // expected-error@+1 {{mesh "mesh" has no axis "tp"}}
  %0 = tg.all_gather %a on @mesh [tp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @axis_twice(%a: tensor<2xf32>) {
  // expected-error@+1 {{axis "dp" is listed twice}}
  %0 = tg.all_gather %a on @mesh [dp, dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @unknown_phase(%a: tensor<2xf32>) {
  // expected-error@+1 {{expects a phase (forward, backward or optimizer), got "foward"}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase foward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @two_phases(%a: tensor<2xf32>) {
  // expected-error@+1 {{'tg.phase' is backward, but the phase of the collective is forward}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward {tg.phase = #tg.phase<backward>}
      : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @negative_generation(%a: tensor<2xf32>) {
  // expected-error@+1 {{attribute 'generation' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward generation -1 : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @member_count(%a: tensor<2xf32>) {
  // expected-error@+1 {{expects a future of 2 tensors, one for each operand, got 1}}
  %0 = tg.all_gather %a, %a on @mesh [dp] dim 0 phase forward
      : (tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @element_type(%a: tensor<2xf32>) {
  // expected-error@+1 {{member 0 must have element type 'f32' of its operand, got 'bf16'}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xbf16>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @element_kind(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+2 {{operand 0 must have integer or floating-point elements, got 'tensor<2xcomplex<f32>>'}}
  // expected-note@+1 {{--expand-tg-complex-nodes makes real tensors of complex ones before a step is sharded}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward
      : (tensor<2xcomplex<f32>>) -> !tg.future<tensor<4xcomplex<f32>>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @member_rank(%a: tensor<2xf32>) {
  // expected-error@+1 {{member 0 must have rank 1 of its operand, got 'tensor<4x1xf32>'}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4x1xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @dynamic(%a: tensor<2x?xf32>) {
  // expected-error@+1 {{operand 0 must have a static shape, but dimension 1 of 'tensor<2x?xf32>' is dynamic}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2x?xf32>) -> !tg.future<tensor<4x2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @waited_for_twice(%a: tensor<2xf32>) {
  // expected-error@+1 {{future is waited for twice}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  // expected-note@+1 {{waited for here}}
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  // expected-note@+1 {{and here}}
  %2 = tg.wait %0 : !tg.future<tensor<4xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 2]
func.func @escapes(%a: tensor<2xf32>) -> !tg.future<tensor<4xf32>> {
  // expected-error@+1 {{future may only be used by 'tg.wait', but it escapes into 'func.return'}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  // expected-note@+1 {{used here}}
  return %0 : !tg.future<tensor<4xf32>>
}

// -----

tg.mesh @mesh [dp = 2]
func.func @other_block(%a: tensor<2xf32>, %condition: i1) {
  // expected-error@+1 {{future must be waited for in the block that starts it}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  scf.if %condition {
    // expected-note@+1 {{waited for here}}
    %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// all_gather
//===----------------------------------------------------------------------===//

tg.mesh @mesh [dp = 4]
func.func @gather_dim(%a: tensor<2xf32>) {
  // expected-error@+1 {{dimension 1 is out of range for operand 0 of type 'tensor<2xf32>'}}
  %0 = tg.all_gather %a on @mesh [dp] dim 1 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @gather_scalar(%a: tensor<f32>) {
  // expected-error@+1 {{dimension 0 is out of range for operand 0 of type 'tensor<f32>'}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @gather_negative_dim(%a: tensor<2xf32>) {
  // expected-error@+1 {{attribute 'dim' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = tg.all_gather %a on @mesh [dp] dim -1 phase forward : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

// Near miss: 10 = 3 + 3 + 3 + 1 is allowed, in shards of 3; 13 needs shards of 4.
tg.mesh @mesh [dp = 4]
func.func @gather_size(%a: tensor<3xf32>) {
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<3xf32>) -> !tg.future<tensor<10xf32>>
  // expected-error@+1 {{expects shards of 4 elements along dimension 0 to gather 13 over 4 ranks, got 3}}
  %1 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<3xf32>) -> !tg.future<tensor<13xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @gather_other_dim(%a: tensor<3x5xf32>) {
  // expected-error@+1 {{expects 5 elements along dimension 1 of member 0 for 4 ranks, got 6}}
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<3x5xf32>) -> !tg.future<tensor<12x6xf32>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// reduce_scatter and all_reduce
//===----------------------------------------------------------------------===//

tg.mesh @mesh [dp = 4]
func.func @scatter_dim(%a: tensor<8xf32>) {
  // expected-error@+1 {{dimension 1 is out of range for operand 0 of type 'tensor<8xf32>'}}
  %0 = tg.reduce_scatter sum %a on @mesh [dp] dim 1 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @scatter_size(%a: tensor<10xf32>) {
  // expected-error@+1 {{expects 3 elements along dimension 0 of member 0 for 4 ranks, got 2}}
  %0 = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward : (tensor<10xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @unknown_reduction(%a: tensor<8xf32>) {
  // expected-error@+1 {{expects a reduction (sum, avg or max), got "min"}}
  %0 = tg.reduce_scatter min %a on @mesh [dp] dim 0 phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @avg_of_integers(%a: tensor<8xi32>) {
  // expected-error@+1 {{avg needs floating-point elements, but operand 0 has type 'tensor<8xi32>'}}
  %0 = tg.reduce_scatter avg %a on @mesh [dp] dim 0 phase backward : (tensor<8xi32>) -> !tg.future<tensor<2xi32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @accumulate_type(%a: tensor<8xbf16>) {
  // expected-error@+1 {{accumulation type must be f32 or f64, got 'bf16'}}
  %0 = tg.all_reduce sum %a on @mesh [dp] accumulate bf16 phase backward : (tensor<8xbf16>) -> !tg.future<tensor<8xbf16>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @accumulate_narrower(%a: tensor<8xf64>) {
  // expected-error@+1 {{accumulation type 'f32' is narrower than the elements of operand 0 of type 'tensor<8xf64>'}}
  %0 = tg.all_reduce sum %a on @mesh [dp] accumulate f32 phase backward : (tensor<8xf64>) -> !tg.future<tensor<8xf64>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @accumulate_integers(%a: tensor<8xi32>) {
  // expected-error@+1 {{integers accumulate in their own type, but operand 0 of type 'tensor<8xi32>' is to accumulate in 'f32'}}
  %0 = tg.all_reduce sum %a on @mesh [dp] accumulate f32 phase backward : (tensor<8xi32>) -> !tg.future<tensor<8xi32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @reduce_shape(%a: tensor<8xf32>) {
  // expected-error@+1 {{expects 8 elements along dimension 0 of member 0 for 4 ranks, got 2}}
  %0 = tg.all_reduce sum %a on @mesh [dp] phase backward : (tensor<8xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

tg.mesh @mesh [dp = 4]
func.func @split_dim(%a: tensor<8xf32>) {
  // expected-error@+1 {{split dimension 1 is out of range for operand 0 of type 'tensor<8xf32>'}}
  %0 = tg.all_to_all %a on @mesh [dp] split 1 concat 0 phase forward : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @concat_dim(%a: tensor<8xf32>) {
  // expected-error@+1 {{concat dimension 2 is out of range for operand 0 of type 'tensor<8xf32>'}}
  %0 = tg.all_to_all %a on @mesh [dp] split 0 concat 2 phase forward : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @split_multiple(%a: tensor<10xf32>) {
  // expected-error@+1 {{expects a multiple of 4 elements along dimension 0 of operand 0, got 10}}
  %0 = tg.all_to_all %a on @mesh [dp] split 0 concat 0 phase forward : (tensor<10xf32>) -> !tg.future<tensor<10xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @split_size(%a: tensor<2x10xf32>) {
  // expected-error@+1 {{expects 3 elements along dimension 1 of member 0 for 4 ranks, got 2}}
  %0 = tg.all_to_all %a on @mesh [dp] split 1 concat 0 phase forward : (tensor<2x10xf32>) -> !tg.future<tensor<8x2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @concat_size(%a: tensor<2x8xf32>) {
  // expected-error@+1 {{expects shards of 3 elements along dimension 0 to gather 9 over 4 ranks, got 2}}
  %0 = tg.all_to_all %a on @mesh [dp] split 1 concat 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<9x2xf32>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// broadcast and permute
//===----------------------------------------------------------------------===//

tg.mesh @mesh [dp = 4]
func.func @root(%a: tensor<2xf32>) {
  // expected-error@+1 {{root must be below 4, the number of ranks in the group, got 4}}
  %0 = tg.broadcast %a on @mesh [dp] root 4 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @broadcast_shape(%a: tensor<2xf32>) {
  // expected-error@+1 {{expects 2 elements along dimension 0 of member 0 for 4 ranks, got 3}}
  %0 = tg.broadcast %a on @mesh [dp] root 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<3xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @pair_range(%a: tensor<2xf32>) {
  // expected-error@+1 {{pairs name rank 4, but the group has 4}}
  %0 = tg.permute %a on @mesh [dp] pairs [0 to 4] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @source_twice(%a: tensor<2xf32>) {
  // expected-error@+1 {{rank 0 is a source twice}}
  %0 = tg.permute %a on @mesh [dp] pairs [0 to 1, 0 to 2] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @target_twice(%a: tensor<2xf32>) {
  // expected-error@+1 {{rank 1 is a target twice}}
  %0 = tg.permute %a on @mesh [dp] pairs [0 to 1, 2 to 1] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @uneven_pairs(%a: tensor<2xf32>) {
  // expected-error@+1 {{expects as many targets as sources, got 1 and 2}}
  %0 = "tg.permute"(%a) <{mesh = @mesh, axes = #tg.axes<[dp]>, phase = #tg.phase<forward>,
                          sources = array<i64: 0, 1>, targets = array<i64: 1>}>
      : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  return
}

// -----

func.func @no_future(%x: tensor<4xf32>) {
  // expected-error@+1 {{'tg.wait' op expects a future, got 'tensor<4xf32>'}}
  %0 = tg.wait %x : tensor<4xf32>
  return
}

// -----

// The largest numbers are no more special than others.
tg.mesh @mesh [dp = 2]
func.func @large_ranks(%x: tensor<4xf32>) {
  // expected-error@+1 {{pairs name rank 9223372036854775807, but the group has 2}}
  %0 = tg.permute %x on @mesh [dp] pairs [0 to 1, 1 to 9223372036854775807] phase forward
    : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  return
}
