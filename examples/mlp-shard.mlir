// A two-layer perceptron, annotated with MLIR's own `shard` dialect: batches are
// cut over axis 0 of a 2x2 grid and hidden units over axis 1, which also holds
// parts of the weights that are gathered when they are used. Upstream's passes
// insert the communication, `convert-shard-to-tg` makes it run:
//
//     regather-opt mlp-shard.mlir -o mlp-step.mlir --pass-pipeline='builtin.module(
//         func.func(sharding-propagation), shard-record-placements,
//         func.func(shard-partition), convert-shard-to-tg, lower-affine)'
//     regather run mlp-step.mlir --ranks 4 --random-inputs=1

shard.grid @grid(shape = 2x2)

func.func @mlp(%x: tensor<8x16xf32> {tg.name = "x"},
               %w1: tensor<16x32xf32> {tg.name = "w1"},
               %w2: tensor<32x16xf32> {tg.name = "w2"})
    -> (tensor<8x16xf32> {tg.name = "y"}) {
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %tiles = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %units = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %unitRows = shard.sharding @grid split_axes = [[1]] : !shard.sharding

  // Each lies as the first annotation says, and is used as the second does.
  %x0 = shard.shard %x to %tiles : tensor<8x16xf32>
  %x1 = shard.shard %x0 to %rows annotate_for_users : tensor<8x16xf32>
  %w10 = shard.shard %w1 to %tiles : tensor<16x32xf32>
  %w11 = shard.shard %w10 to %units annotate_for_users : tensor<16x32xf32>
  %w20 = shard.shard %w2 to %unitRows : tensor<32x16xf32>

  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x32xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x1, %w11 : tensor<8x16xf32>, tensor<16x32xf32>)
      outs(%f1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%h, %w20 : tensor<8x32xf32>, tensor<32x16xf32>)
      outs(%f2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  // The sum over hidden units is scattered.
  %y0 = shard.shard %y to %rows : tensor<8x16xf32>
  %y1 = shard.shard %y0 to %tiles annotate_for_users : tensor<8x16xf32>
  return %y1 : tensor<8x16xf32>
}
