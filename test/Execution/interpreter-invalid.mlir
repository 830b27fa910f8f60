// What the interpreter cannot evaluate is rejected before anything runs, all of
// it at once.

// RUN: split-file %s %t
// RUN: not regather run %t/unsupported.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/unsupported.mlir
// RUN: not regather run %t/division.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/division.mlir
// RUN: not regather run %t/bounds.mlir --engine=interpreter --ranks 4 --random-inputs=1 --quiet 2>&1 | FileCheck %t/bounds.mlir

//--- unsupported.mlir

// One error for each operation, at its first use.
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: [[#@LINE+1]]:{{.*}}: error: 'math.clampf' is not supported by the interpreter (2 uses, the first here)
  %a = math.clampf %x to [%x, %x] : tensor<4xf32>
  %b = math.clampf %a to [%x, %x] : tensor<4xf32>
  %l = tensor.empty() : tensor<2x2xf32>
  // CHECK: [[#@LINE+1]]:{{.*}}: error: 'linalg.pack' is not supported by the interpreter{{$}}
  %p = linalg.pack %b inner_dims_pos = [0] inner_tiles = [2] into %l : tensor<4xf32> -> tensor<2x2xf32>
  %c = arith.addf %b, %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

//--- division.mlir

// The same error on several ranks is one error.
tg.mesh @mesh [dp = 4]
func.func @step() -> index {
  %two = arith.constant 2 : index
  %rank = tg.axis_index on @mesh [dp]
  %half = arith.divui %rank, %two : index
  // CHECK: [[#@LINE+1]]:{{.*}}: error: division by zero on ranks 0, 1
  %bad = arith.remui %rank, %half : index
  return %bad : index
}

//--- bounds.mlir

tg.mesh @mesh [dp = 4]
func.func @step(%x: tensor<4xf32>) -> tensor<2xf32> {
  %rank = tg.axis_index on @mesh [dp]
  // CHECK: [[#@LINE+1]]:{{.*}}: error: slice reaches index 4, which is out of bounds for dimension 0 of size 4 on rank 3
  %slice = tensor.extract_slice %x[%rank] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %slice : tensor<2xf32>
}
