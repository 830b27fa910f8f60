// Examples of the operation reference; docs/generate.py copies them from here.
// RUN: regather-opt %s -split-input-file | FileCheck %s

// CHECK-LABEL: tg.mesh @mesh [dp = 4, tp = 2]
// EXAMPLE tg.mesh
// Eight ranks; rank 3 is at dp = 1, tp = 1.
tg.mesh @mesh [dp = 4, tp = 2]
// END

// -----

// CHECK-LABEL: @axis_index
// CHECK: tg.axis_index on @mesh [dp]
// EXAMPLE tg.axis_index
tg.mesh @mesh [dp = 4]

// The rows of a global batch that this rank reads.
func.func @axis_index(%batch: tensor<32x8xf32>) -> tensor<8x8xf32> {
  %rank = tg.axis_index on @mesh [dp]
  %rows = arith.constant 8 : index
  %first = arith.muli %rank, %rows : index
  %part = tensor.extract_slice %batch[%first, 0] [8, 8] [1, 1]
      : tensor<32x8xf32> to tensor<8x8xf32>
  return %part : tensor<8x8xf32>
}
// END

// -----

// CHECK-LABEL: @wait
// CHECK: tg.wait %{{.*}} : !tg.future<tensor<8x4xf32>, tensor<8xf32>>
// EXAMPLE tg.wait
tg.mesh @mesh [dp = 2]

// The product overlaps with the gather: it runs between start and wait.
func.func @wait(%weight: tensor<4x4xf32>, %bias: tensor<4xf32>,
                %x: tensor<4x4xf32>, %init: tensor<4x4xf32>)
    -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4x4xf32>) {
  %future = tg.all_gather %weight, %bias on @mesh [dp] dim 0 phase forward
      : (tensor<4x4xf32>, tensor<4xf32>) -> !tg.future<tensor<8x4xf32>, tensor<8xf32>>
  %product = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  %full:2 = tg.wait %future : !tg.future<tensor<8x4xf32>, tensor<8xf32>>
  return %full#0, %full#1, %product : tensor<8x4xf32>, tensor<8xf32>, tensor<4x4xf32>
}
// END

// -----

// CHECK-LABEL: @node
// CHECK: tg.node "aten.sum.dim_IntList"(%{{.*}}) args [#tg.operand<0>, [1], true]
// CHECK-SAME: kwargs {dtype = f32} {tg.id = "sum_1", tg.phase = #tg.phase<forward>}
// EXAMPLE tg.node
// aten.sum.dim_IntList(x, [1], True, dtype=torch.float32)
func.func @node(%x: tensor<4x8xbf16>) -> tensor<4x1xf32> {
  %sum = tg.node "aten.sum.dim_IntList"(%x)
      args [#tg.operand<0>, [1], true] kwargs {dtype = f32}
      {tg.id = "sum_1", tg.phase = #tg.phase<forward>}
      : (tensor<4x8xbf16>) -> tensor<4x1xf32>
  return %sum : tensor<4x1xf32>
}
// END

// -----

// CHECK-LABEL: @all_gather
// CHECK: tg.all_gather %{{.*}} on @mesh [dp] dim 0 phase backward generation 1
// EXAMPLE tg.all_gather
tg.mesh @mesh [dp = 4]

// A weight of 10 rows in shards of 3, gathered again for backward. The last
// rank holds one row and two rows of padding.
func.func @all_gather(%shard: tensor<3x8xf32>) -> tensor<10x8xf32> {
  %future = tg.all_gather %shard on @mesh [dp] dim 0 phase backward generation 1
      : (tensor<3x8xf32>) -> !tg.future<tensor<10x8xf32>>
  %weight = tg.wait %future : !tg.future<tensor<10x8xf32>>
  return %weight : tensor<10x8xf32>
}
// END

// -----

// CHECK-LABEL: @reduce_scatter
// CHECK: tg.reduce_scatter avg %{{.*}} on @mesh [dp] dim 0 accumulate f32 phase backward
// EXAMPLE tg.reduce_scatter
tg.mesh @mesh [dp = 4]

// The mean of all ranks' gradients, summed in f32; each rank keeps its rows.
func.func @reduce_scatter(%gradient: tensor<12x8xbf16>) -> tensor<3x8xbf16> {
  %future = tg.reduce_scatter avg %gradient on @mesh [dp] dim 0 accumulate f32
      phase backward : (tensor<12x8xbf16>) -> !tg.future<tensor<3x8xbf16>>
  %shard = tg.wait %future : !tg.future<tensor<3x8xbf16>>
  return %shard : tensor<3x8xbf16>
}
// END

// -----

// CHECK-LABEL: @all_reduce
// CHECK: tg.all_reduce sum %{{.*}} on @mesh [dp, tp] phase forward
// EXAMPLE tg.all_reduce
tg.mesh @mesh [dp = 4, tp = 2]

// Over two axes at once: a group of all eight ranks.
func.func @all_reduce(%loss: tensor<f32>) -> tensor<f32> {
  %future = tg.all_reduce sum %loss on @mesh [dp, tp] phase forward
      : (tensor<f32>) -> !tg.future<tensor<f32>>
  %total = tg.wait %future : !tg.future<tensor<f32>>
  return %total : tensor<f32>
}
// END

// -----

// CHECK-LABEL: @all_to_all
// CHECK: tg.all_to_all %{{.*}} on @mesh [sp] split 1 concat 0 phase forward
// EXAMPLE tg.all_to_all
tg.mesh @mesh [sp = 2]

// From sharded by sequence (dimension 0) to sharded by head (dimension 1).
func.func @all_to_all(%x: tensor<8x4x16xf32>) -> tensor<16x2x16xf32> {
  %future = tg.all_to_all %x on @mesh [sp] split 1 concat 0 phase forward
      : (tensor<8x4x16xf32>) -> !tg.future<tensor<16x2x16xf32>>
  %heads = tg.wait %future : !tg.future<tensor<16x2x16xf32>>
  return %heads : tensor<16x2x16xf32>
}
// END

// -----

// CHECK-LABEL: @broadcast
// CHECK: tg.broadcast %{{.*}} on @mesh [dp] root 0 phase forward
// EXAMPLE tg.broadcast
tg.mesh @mesh [dp = 4]

func.func @broadcast(%seed: tensor<2xi64>) -> tensor<2xi64> {
  %future = tg.broadcast %seed on @mesh [dp] root 0 phase forward
      : (tensor<2xi64>) -> !tg.future<tensor<2xi64>>
  %same = tg.wait %future : !tg.future<tensor<2xi64>>
  return %same : tensor<2xi64>
}
// END

// -----

// CHECK-LABEL: @permute
// CHECK: tg.permute %{{.*}} on @mesh [pp] pairs [0 to 1, 1 to 2] phase forward
// EXAMPLE tg.permute
tg.mesh @mesh [pp = 3]

// Each stage of a pipeline hands its output on; the first receives zeros.
func.func @permute(%x: tensor<4xf32>) -> tensor<4xf32> {
  %future = tg.permute %x on @mesh [pp] pairs [0 to 1, 1 to 2] phase forward
      : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %previous = tg.wait %future : !tg.future<tensor<4xf32>>
  return %previous : tensor<4xf32>
}
// END

// -----

// CHECK-LABEL: tg.kernel @scaled_sum
// CHECK: tg.return %{{.*}} : tensor<8xf32>
// EXAMPLE tg.kernel
// Two operations of a layer that run as one.
tg.kernel @scaled_sum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %product = tg.node "aten.mul.Tensor"(%x, %y)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = tg.node "aten.add.Tensor"(%product, %y)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  tg.return %sum : tensor<8xf32>
}
// END

// -----

// CHECK-LABEL: tg.kernel @negated
// CHECK: tg.return %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
// EXAMPLE tg.return
tg.kernel @negated(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = arith.negf %x : tensor<8xf32>
  %z = arith.negf %y : tensor<8xf32>
  tg.return %y, %z : tensor<8xf32>, tensor<8xf32>
}
// END

// -----

// CHECK-LABEL: @launch
// CHECK-COUNT-2: tg.launch @twice(%{{.*}}) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<8xf32>
// EXAMPLE tg.launch
tg.kernel @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  tg.return %y : tensor<8xf32>
}

// One kernel, launched by two layers.
func.func @launch(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tg.launch @twice(%x) {tg.phase = #tg.phase<forward>}
      : (tensor<8xf32>) -> tensor<8xf32>
  %z = tg.launch @twice(%y) {tg.phase = #tg.phase<forward>}
      : (tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
// END

// -----

// CHECK-LABEL: @random
// CHECK: tg.random %{{.*}}, %{{.*}} stream 0 : tensor<32x8xi32>
// CHECK: tg.random %{{.*}}, %{{.*}} first %{{.*}} stream 1 : tensor<8x8xi64>
// EXAMPLE tg.random
tg.mesh @mesh [dp = 4]

// Bits of a whole tensor, and this rank's rows of another.
func.func @random(%seed: tensor<i64> {tg.role = #tg.role<rng>},
                  %offset: tensor<i64> {tg.role = #tg.role<rng>})
    -> (tensor<32x8xi32>, tensor<8x8xi64>) {
  %whole = tg.random %seed, %offset stream 0 : tensor<32x8xi32>
  %rank = tg.axis_index on @mesh [dp]
  %elements = arith.constant 64 : index
  %first = arith.muli %rank, %elements : index
  %rows = tg.random %seed, %offset first %first stream 1 : tensor<8x8xi64>
  return %whole, %rows : tensor<32x8xi32>, tensor<8x8xi64>
}
// END

// -----

// CHECK-LABEL: @unflatten
// CHECK: tg.unflatten %{{.*}} offsets [0, 16] : (tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>)
// EXAMPLE tg.unflatten
// The weight and the bias of a layer, which are stored behind each other. The
// bias begins at a multiple of 64 bytes.
func.func @unflatten(%layer: tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>) {
  %weight, %bias = tg.unflatten %layer offsets [0, 16]
      : (tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>)
  return %weight, %bias : tensor<4x3xf32>, tensor<5xf32>
}
// END

// -----

// CHECK-LABEL: @flatten
// CHECK: tg.flatten %{{.*}}, %{{.*}} offsets [0, 16] : (tensor<4x3xf32>, tensor<5xf32>) -> tensor<32xf32>
// EXAMPLE tg.flatten
tg.mesh @mesh [dp = 2]

// The gradients of a layer are reduced as one tensor; what lies between them is
// zero.
func.func @flatten(%weight: tensor<4x3xf32>, %bias: tensor<5xf32>) -> tensor<16xf32> {
  %layer = tg.flatten %weight, %bias offsets [0, 16]
      : (tensor<4x3xf32>, tensor<5xf32>) -> tensor<32xf32>
  %future = tg.reduce_scatter sum %layer on @mesh [dp] dim 0 phase backward
      : (tensor<32xf32>) -> !tg.future<tensor<16xf32>>
  %shard = tg.wait %future : !tg.future<tensor<16xf32>>
  return %shard : tensor<16xf32>
}
// END

// -----

// CHECK-LABEL: @offload
// CHECK: tg.offload %{{.*}} {tg.phase = #tg.phase<forward>} : (tensor<64x64xf32>) -> !tg.future<tensor<64x64xf32, #tg.host>>
// EXAMPLE tg.offload
// The copy runs beside the second product; behind the wait, nothing keeps the
// memory of %h any more.
func.func @offload(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %h = tg.node "aten.mm.default"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %future = tg.offload %h {tg.phase = #tg.phase<forward>}
      : (tensor<64x64xf32>) -> !tg.future<tensor<64x64xf32, #tg.host>>
  %y = tg.node "aten.mm.default"(%h, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %host = tg.wait %future : !tg.future<tensor<64x64xf32, #tg.host>>
  return %y : tensor<64x64xf32>
}
// END

// -----

// CHECK-LABEL: @fetch
// CHECK: tg.fetch %{{.*}} : (tensor<8xf32, #tg.host>, tensor<4xbf16, #tg.host>) -> !tg.future<tensor<8xf32>, tensor<4xbf16>>
// EXAMPLE tg.fetch
func.func @fetch(%a: tensor<8xf32>, %b: tensor<4xbf16>) -> (tensor<8xf32>, tensor<4xbf16>) {
  %away = tg.offload %a, %b : (tensor<8xf32>, tensor<4xbf16>)
      -> !tg.future<tensor<8xf32, #tg.host>, tensor<4xbf16, #tg.host>>
  %host:2 = tg.wait %away : !tg.future<tensor<8xf32, #tg.host>, tensor<4xbf16, #tg.host>>
  %back = tg.fetch %host#0, %host#1 : (tensor<8xf32, #tg.host>, tensor<4xbf16, #tg.host>)
      -> !tg.future<tensor<8xf32>, tensor<4xbf16>>
  %copies:2 = tg.wait %back : !tg.future<tensor<8xf32>, tensor<4xbf16>>
  return %copies#0, %copies#1 : tensor<8xf32>, tensor<4xbf16>
}
// END
