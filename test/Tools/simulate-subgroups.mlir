// Subgroups are axes of another mesh over the same ranks: what they gather
// stays in the node.

// RUN: split-file %s %t
// RUN: regather simulate %t/step.mlir --json=%t/numbers.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=STREAMS --input-file=%t/numbers.json
// RUN: not regather simulate %t/mixed.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
// CHECK:   on 16 ranks of h100-nodes (dp:16)
// CHECK:   lower bounds {{.*}}nvlink {{.*}}, network
// STREAMS: "dp · network"
// STREAMS: "inner · nvlink"
// MIXED: mixed.mlir:2:1: error: the step communicates over mesh "other", whose axes do not fit those of mesh "mesh"
// MIXED: mixed.mlir:1:1: note: the other mesh

//--- step.mlir
tg.mesh @mesh [dp = 16]
tg.mesh @groups [outer = 2, inner = 8]
func.func @step(%x: tensor<1024xf32>) -> (tensor<16384xf32>, tensor<8192xf32>) {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward : (tensor<1024xf32>) -> !tg.future<tensor<16384xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<16384xf32>>
  %2 = tg.all_gather %x on @groups [inner] dim 0 phase forward : (tensor<1024xf32>) -> !tg.future<tensor<8192xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<8192xf32>>
  return %1, %3 : tensor<16384xf32>, tensor<8192xf32>
}

//--- mixed.mlir
tg.mesh @mesh [a = 2, b = 3]
tg.mesh @other [c = 3, d = 2]
func.func @step(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = tg.all_reduce sum %x on @mesh [a] phase forward : (tensor<6xf32>) -> !tg.future<tensor<6xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<6xf32>>
  %2 = tg.all_reduce sum %x on @other [c] phase forward : (tensor<6xf32>) -> !tg.future<tensor<6xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<6xf32>>
  return %1, %3 : tensor<6xf32>, tensor<6xf32>
}
