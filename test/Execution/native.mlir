// What the native engine translates, beside what the examples and the random
// programs of test/python/test_engines.py cover. Each runs on both engines.
// RUN: split-file %s %t
// RUN: regather run %t/no-compute.mlir --engine=cpu --random-inputs=1 --quiet | FileCheck %s
// RUN: regather run %t/dead-in-loop.mlir --engine=cpu --random-inputs=1,integers --outputs %t/a --quiet
// RUN: regather run %t/dead-in-loop.mlir --engine=interpreter --random-inputs=1,integers --outputs %t/b --quiet
// RUN: cmp %t/a %t/b
// RUN: regather run %t/equal-branches.mlir --engine=cpu --random-inputs=1 --quiet
// RUN: not regather run %t/swapped-branches.mlir --engine=cpu --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=SWAPPED
// RUN: not regather run %t/unsupported.mlir --engine=cpu --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=UNSUPPORTED
// RUN: not regather run %t/bounds.mlir --engine=cpu --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=BOUNDS
// RUN: not regather run %t/slice-bounds.mlir --engine=cpu --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=BOUNDS

// CHECK: step 1/1  {{[0-9.]+}} ms

//--- no-compute.mlir
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  return %1, %x : tensor<4xf32>, tensor<2xf32>
}

//--- dead-in-loop.mlir
// Nobody waits for the gather; its tensors live until it is done all the same.
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<2xf32>, %init: tensor<2xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %out = scf.for %i = %c0 to %c50 step %c1 iter_args(%y = %init) -> tensor<2xf32> {
    %next = arith.addf %y, %x : tensor<2xf32>
    %dead = tg.all_gather %next on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %0 = tg.all_reduce max %next on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
    %1 = tg.wait %0 : !tg.future<tensor<2xf32>>
    scf.yield %1 : tensor<2xf32>
  }
  return %out : tensor<2xf32>
}

//--- equal-branches.mlir
// Both branches gather the same two values in the same order.
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %rank, %c0 : index
  scf.if %first {
    %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %2 = tg.wait %0 : !tg.future<tensor<4xf32>>
    %3 = tg.wait %1 : !tg.future<tensor<4xf32>>
  } else {
    %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %2 = tg.wait %1 : !tg.future<tensor<4xf32>>
    %3 = tg.wait %0 : !tg.future<tensor<4xf32>>
  }
  return
}

//--- swapped-branches.mlir
// Equal shapes, but one branch gathers the values in another order.
// SWAPPED: error: rank {{[01]}} stopped: mismatch: collective 0 of group [0, 1]
// SWAPPED-DAG: rank 0 starts 'tg.all_gather at {{.*}}swapped-branches.mlir:{{[0-9]+}}:{{[0-9]+}}'
// SWAPPED-DAG: rank 1 starts 'tg.all_gather at {{.*}}swapped-branches.mlir:{{[0-9]+}}:{{[0-9]+}}'
tg.mesh @mesh [dp = 2]
func.func @step(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %rank, %c0 : index
  scf.if %first {
    %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %2 = tg.wait %0 : !tg.future<tensor<4xf32>>
    %3 = tg.wait %1 : !tg.future<tensor<4xf32>>
  } else {
    %0 = tg.all_gather %y on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %1 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
    %2 = tg.wait %0 : !tg.future<tensor<4xf32>>
    %3 = tg.wait %1 : !tg.future<tensor<4xf32>>
  }
  return
}

//--- unsupported.mlir
// Everything that is missing is reported at once.
// UNSUPPORTED-DAG: error: a program cannot hold 'func.call' of "first", which has no body (2 uses)
// UNSUPPORTED-DAG: error: a program cannot hold 'func.call' of "second", which has no body (1 use)
func.func private @first(tensor<4xf32>) -> tensor<4xf32>
func.func private @second(tensor<4xf32>) -> tensor<4xf32>
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @first(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @second(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- bounds.mlir
// The data decide the index: an error, not a crash.
// BOUNDS: error: rank 0 stopped: an index is out of bounds
func.func @step(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %c = arith.constant 1000000000000 : i64
  %empty = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%i : tensor<2xi64>) outs(%empty : tensor<2xf32>) {
  ^body(%n: i64, %out: f32):
    %far = arith.addi %n, %c : i64
    %index = arith.index_cast %far : i64 to index
    %y = tensor.extract %x[%index] : tensor<4xf32>
    linalg.yield %y : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

//--- slice-bounds.mlir
func.func @step(%x: tensor<4xf32>, %i: index) -> tensor<2xf32> {
  %c3 = arith.constant 3 : index
  %offset = arith.addi %i, %c3 : index
  %0 = tensor.extract_slice %x[%offset] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}
