// Ranks that do not start the same collectives in the same order are found when
// the second of them starts, whatever the seed.

// RUN: split-file %s %t
// RUN: not regather run %t/kinds.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/kinds.mlir
// RUN: not regather run %t/swapped.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/swapped.mlir
// RUN: not regather run %t/groups.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/groups.mlir
// RUN: regather run %t/same-order.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet

//--- kinds.mlir

// CHECK: error: rank {{[0-3]}} starts 'tg.{{.*}}' as collective 0 of group [dp] {0, 1, 2, 3}, but rank {{[0-3]}} starts 'tg.{{.*}}'
// CHECK: note: rank {{[0-3]}} starts this
tg.mesh @mesh [dp = 4]
func.func @step(%v: tensor<4xf32>, %w: tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %rank = tg.axis_index on @mesh [dp]
  %first = arith.cmpi eq, %rank, %zero : index
  scf.if %first {
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %g = tg.wait %f : !tg.future<tensor<16xf32>>
  } else {
    %f = tg.all_reduce sum %w on @mesh [dp] phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %g = tg.wait %f : !tg.future<tensor<4xf32>>
  }
  return
}

//--- swapped.mlir

// The two gathers have one type: only what they send tells them apart.
// CHECK: error: rank {{[0-3]}} starts 'tg.all_gather' as collective 0 of group [dp] {0, 1, 2, 3}, but rank {{[0-3]}} starts another 'tg.all_gather'
// CHECK: note: rank {{[0-3]}} starts this
// CHECK: note: operand 0 carries '%arg{{[01]}}' here, but '%arg{{[01]}}' on rank {{[0-3]}}
tg.mesh @mesh [dp = 4]
func.func @step(%v: tensor<4xf32>, %w: tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %rank = tg.axis_index on @mesh [dp]
  %first = arith.cmpi eq, %rank, %zero : index
  scf.if %first {
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %h = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
  } else {
    %h = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
  }
  return
}

//--- groups.mlir

// Each group sees its one collective, but the ranks meet in different orders.
// CHECK: error: rank {{[0-3]}} starts 'tg.all_reduce' (collective 0 of group {{.*}}) where rank {{[0-3]}} starts 'tg.all_reduce' (collective 0 of group {{.*}}); ranks must start their common collectives in one order
// CHECK: note: rank {{[0-3]}} starts this
tg.mesh @mesh [dp = 2, tp = 2]
func.func @step(%v: tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %rank = tg.axis_index on @mesh [dp]
  %first = arith.cmpi eq, %rank, %zero : index
  scf.if %first {
    %a = tg.all_reduce sum %v on @mesh [dp] phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %b = tg.all_reduce sum %v on @mesh [dp, tp] phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  } else {
    %b = tg.all_reduce sum %v on @mesh [dp, tp] phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    %a = tg.all_reduce sum %v on @mesh [dp] phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  }
  return
}

//--- same-order.mlir

tg.mesh @mesh [dp = 4]
func.func @step(%v: tensor<4xf32>, %w: tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %rank = tg.axis_index on @mesh [dp]
  %first = arith.cmpi eq, %rank, %zero : index
  scf.if %first {
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %h = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
  } else {
    %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
    %h = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<4xf32>) -> !tg.future<tensor<16xf32>>
  }
  return
}
