// Collectives through print and parse, custom, generic and bytecode.
// RUN: regather-opt %s | FileCheck %s
// RUN: regather-opt %s --mlir-print-op-generic | regather-opt | FileCheck %s
// RUN: regather-opt %s --emit-bytecode | regather-opt | FileCheck %s

tg.mesh @mesh [dp = 4, tp = 2]

// CHECK-LABEL: @all_gather
func.func @all_gather(%a: tensor<2x8xf32>, %b: tensor<3xbf16>) {
  // CHECK: tg.all_gather %{{.*}}, %{{.*}} on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"} :
  // CHECK-SAME: (tensor<2x8xf32>, tensor<3xbf16>) -> !tg.future<tensor<8x8xf32>, tensor<10xbf16>>
  %bucket = tg.all_gather %a, %b on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"}
      : (tensor<2x8xf32>, tensor<3xbf16>) -> !tg.future<tensor<8x8xf32>, tensor<10xbf16>>
  // CHECK: tg.all_gather %{{.*}} on @mesh [tp, dp] dim 1 phase backward generation 2
  %flattened = tg.all_gather %a on @mesh [tp, dp] dim 1 phase backward generation 2
      : (tensor<2x8xf32>) -> !tg.future<tensor<2x64xf32>>
  // One element over four ranks: three of them hold padding only.
  // CHECK: -> !tg.future<tensor<1xbf16>>
  %one = tensor.extract_slice %b[0] [1] [1] : tensor<3xbf16> to tensor<1xbf16>
  %padded = tg.all_gather %one on @mesh [dp] dim 0 phase forward
      : (tensor<1xbf16>) -> !tg.future<tensor<1xbf16>>
  return
}

// CHECK-LABEL: @reduce_scatter
func.func @reduce_scatter(%a: tensor<10x8xbf16>, %b: tensor<10xi32>) {
  // CHECK: tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 0 phase backward :
  // CHECK-SAME: (tensor<10x8xbf16>) -> !tg.future<tensor<3x8xbf16>>
  %sum = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward
      : (tensor<10x8xbf16>) -> !tg.future<tensor<3x8xbf16>>
  // CHECK: tg.reduce_scatter avg %{{.*}} on @mesh [tp] dim 1 accumulate f64 phase backward
  %avg = tg.reduce_scatter avg %a on @mesh [tp] dim 1 accumulate f64 phase backward
      : (tensor<10x8xbf16>) -> !tg.future<tensor<10x4xbf16>>
  // CHECK: tg.reduce_scatter max %{{.*}} on @mesh [dp] dim 0 phase optimizer generation 0
  %max = tg.reduce_scatter max %b on @mesh [dp] dim 0 phase optimizer generation 0
      : (tensor<10xi32>) -> !tg.future<tensor<3xi32>>
  return
}

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%a: tensor<f32>, %b: tensor<0x4xf32>) {
  // CHECK: tg.all_reduce sum %{{.*}}, %{{.*}} on @mesh [dp] phase forward
  %sum = tg.all_reduce sum %a, %b on @mesh [dp] phase forward
      : (tensor<f32>, tensor<0x4xf32>) -> !tg.future<tensor<f32>, tensor<0x4xf32>>
  return
}

// CHECK-LABEL: @all_to_all
func.func @all_to_all(%a: tensor<3x10xf32>, %b: tensor<8xf32>) {
  // Uneven along both dimensions: 10 columns in shards of 3, 9 rows from shards of 3.
  // CHECK: tg.all_to_all %{{.*}} on @mesh [dp] split 1 concat 0 phase forward
  // CHECK-SAME: -> !tg.future<tensor<9x3xf32>>
  %uneven = tg.all_to_all %a on @mesh [dp] split 1 concat 0 phase forward
      : (tensor<3x10xf32>) -> !tg.future<tensor<9x3xf32>>
  // CHECK: split 0 concat 0
  %same = tg.all_to_all %b on @mesh [dp] split 0 concat 0 phase forward
      : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  return
}

// CHECK-LABEL: @broadcast_and_permute
func.func @broadcast_and_permute(%a: tensor<3xi1>) {
  // CHECK: tg.broadcast %{{.*}} on @mesh [dp, tp] root 7 phase forward
  %broadcast = tg.broadcast %a on @mesh [dp, tp] root 7 phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  // CHECK: tg.permute %{{.*}} on @mesh [dp] pairs [3 to 1, 0 to 0] phase forward
  // CHECK: tg.permute %{{.*}} on @mesh [dp] pairs [] phase forward
  %permute = tg.permute %a on @mesh [dp] pairs [3 to 1, 0 to 0] phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  %nothing = tg.permute %a on @mesh [dp] pairs [] phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  return
}

// CHECK-LABEL: @empty_bucket
func.func @empty_bucket() {
  // CHECK: on @mesh [dp] dim 0 phase forward : () -> !tg.future<>
  %future = tg.all_gather on @mesh [dp] dim 0 phase forward : () -> !tg.future<>
  // CHECK: tg.wait %{{.*}} : !tg.future<>
  tg.wait %future : !tg.future<>
  return
}
