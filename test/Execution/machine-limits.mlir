// What cannot fit is refused before anything is allocated.
// RUN: split-file --leading-lines %s %t
// RUN: not regather run %t/value.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not regather run %t/arguments.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: not regather run %t/overflow.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not regather run %t/ranks.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=RANKS

//--- value.mlir
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 1.0 : f32
  // VALUE: value.mlir:[[@LINE+1]]:{{.*}}error: value '%splat' of type 'tensor<1000000x1000000xf32>' needs 4000000000000 bytes, but this machine has
  %huge = tensor.splat %c : tensor<1000000x1000000xf32>
  return %x : tensor<4xf32>
}

//--- arguments.mlir
tg.mesh @mesh [dp = 4096]
// ARGUMENTS: error: arguments need 4000000000 bytes on each of 4096 ranks, but this machine has
func.func @step(%x: tensor<1000000000xf32> {tg.placement = #tg.placement<@mesh []>}) {
  return
}

//--- overflow.mlir
// OVERFLOW: error: argument "arg0" has type 'tensor<10000000000x10000000000xf32>', which no memory can hold
func.func @step(%x: tensor<10000000000x10000000000xf32>) {
  return
}

//--- ranks.mlir
// RANKS: ranks.mlir:[[@LINE+1]]:{{.*}}error: cannot run 5000 ranks on one machine, at most 4096
tg.mesh @mesh [dp = 5000]
func.func @step(%x: tensor<4xf32>) {
  return
}
