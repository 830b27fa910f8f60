// The peak counts what a rank holds at once, the arguments and the arena: a value
// is free after its last use, what is in flight is held with what it is made of.

// RUN: split-file %s %t
// RUN: regather run %t/chain.mlir --random-inputs=1 --json --quiet | FileCheck %s --check-prefix=CHAIN
// RUN: regather run %t/gather.mlir --random-inputs=1 --json --quiet | FileCheck %s --check-prefix=GATHER
// RUN: regather run %t/loop.mlir --random-inputs=1 --json --quiet | FileCheck %s --check-prefix=LOOP
// RUN: regather run %t/chain.mlir --random-inputs=1 --json --quiet --engine=interpreter | FileCheck %s --check-prefix=INTERPRETER

// Two of the five tensors of 4096 bytes, the argument and the result: one kernel
// computes the others on its way.
// CHAIN: "parameter_bytes_per_rank":4096,"peak_bytes_per_rank":8192
// The interpreter does not count.
// INTERPRETER: "parameter_bytes_per_rank":4096,"collectives"

//--- chain.mlir
func.func @step(%x: tensor<1024xf32> {tg.role = #tg.role<parameter>}) -> tensor<1024xf32> {
  %a = arith.addf %x, %x : tensor<1024xf32>
  %b = arith.addf %a, %a : tensor<1024xf32>
  %c = arith.addf %b, %b : tensor<1024xf32>
  %d = arith.addf %c, %c : tensor<1024xf32>
  return %d : tensor<1024xf32>
}

// The argument (4096 bytes), what is sent (4096), two gathers (8192 each); the
// sum is computed in the place of one of them.
// GATHER: "peak_bytes_per_rank":24576
//--- gather.mlir
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<1024xf32>) -> (tensor<2048xf32>) {
  %a = arith.addf %x, %x : tensor<1024xf32>
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward : (tensor<1024xf32>) -> !tg.future<tensor<2048xf32>>
  %1 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<1024xf32>) -> !tg.future<tensor<2048xf32>>
  %b = tg.wait %0 : !tg.future<tensor<2048xf32>>
  %c = tg.wait %1 : !tg.future<tensor<2048xf32>>
  %d = arith.addf %b, %c : tensor<2048xf32>
  return %d : tensor<2048xf32>
}

// Fifty iterations hold no more than one: the argument (4096 bytes), the value
// that is carried, the addition, which is reduced in place, and the index of the
// loop, which takes the 64 bytes to which the arena is aligned.
// LOOP: "peak_bytes_per_rank":12352
//--- loop.mlir
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %y = scf.for %i = %c0 to %c50 step %c1 iter_args(%z = %x) -> tensor<1024xf32> {
    %a = arith.addf %z, %x : tensor<1024xf32>
    %0 = tg.all_reduce avg %a on @mesh [dp] phase forward : (tensor<1024xf32>) -> !tg.future<tensor<1024xf32>>
    %b = tg.wait %0 : !tg.future<tensor<1024xf32>>
    scf.yield %b : tensor<1024xf32>
  }
  return %y : tensor<1024xf32>
}
