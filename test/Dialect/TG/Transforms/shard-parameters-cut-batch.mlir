// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 batch=per-rank" --tg-verify-step | FileCheck %s --check-prefix=OWN
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4" 2>&1 | FileCheck %s --check-prefix=ROWS

// Of a batch that tg-cut-batch has cut, ranks share the rows of each micro-batch,
// and draw the bits of theirs.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK:         tg.all_gather %[[X]] on @mesh [dp] dim 0
// CHECK:         %[[X0:.*]] = tensor.extract_slice %{{.*}}[0, 0] [2, 8] {{.*}} {tg.micro_batch = 0
// CHECK:         tensor.extract_slice %[[X0]][%{{.*}}, 0] [1, 8]
// CHECK:         arith.addi
// CHECK:         tg.random {{.*}} tensor<1x8xi32>
// CHECK:         tg.node "aten.mul.Tensor"{{.*}} tensor<1x8xf32>
// CHECK:         %[[X1:.*]] = tensor.extract_slice %{{.*}}[2, 0] [2, 8] {{.*}} {tg.micro_batch = 1
// CHECK:         tensor.extract_slice %[[X1]][%{{.*}}, 0] [1, 8]
// CHECK:         tg.random {{.*}} tensor<1x8xi32>
// CHECK:         tg.node "aten.mul.Tensor"{{.*}} tensor<1x8xf32>
// CHECK:         tg.reduce_scatter
// CHECK-NOT:     tg.reduce_scatter

// With a batch for each rank, its bits begin behind those of all micro-batches
// of the ranks before it.
// OWN:           %[[RANK:.*]] = tg.axis_index on @mesh [dp]
// OWN:           %[[SIZE:.*]] = arith.constant {{.*}}32 : index
// OWN:           %[[START:.*]] = arith.muli %[[RANK]], %[[SIZE]]
// OWN:           %[[FIRST0:.*]] = arith.addi %[[START]], %c0
// OWN:           tg.random %{{.*}}, %{{.*}} first %[[FIRST0]] stream 0 {{.*}}: tensor<2x8xi32>
// OWN:           %[[FIRST1:.*]] = arith.addi %[[START]], %c16
// OWN:           tg.random %{{.*}}, %{{.*}} first %[[FIRST1]] stream 0 {{.*}}: tensor<2x8xi32>

// ROWS: error: each of 2 micro-batches has 2 rows, which cannot be divided by 4 ranks
func.func @step(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>},
    %seed: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.seed"},
    %offset: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.offset"})
    -> (tensor<8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %c0 = arith.constant {tg.phase = #tg.phase<forward>} 0 : index
  %c16 = arith.constant {tg.phase = #tg.phase<forward>} 16 : index
  %x0 = tensor.extract_slice %x[0, 0] [2, 8] [1, 1] {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<forward>} : tensor<4x8xf32> to tensor<2x8xf32>
  %bits0 = tg.random %seed, %offset first %c0 stream 0 {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<forward>} : tensor<2x8xi32>
  %kept0:2 = tg.node "aten.native_dropout.default"(%x0, %bits0) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>} {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<forward>}
      : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xi1>)
  %y0 = tg.node "aten.mul.Tensor"(%kept0#0, %w) {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<backward>} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %d0 = tg.node "aten.sum.dim_IntList"(%y0) args [#tg.operand<0>, [0]] {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<backward>} : (tensor<2x8xf32>) -> tensor<8xf32>
  %x1 = tensor.extract_slice %x[2, 0] [2, 8] [1, 1] {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>} : tensor<4x8xf32> to tensor<2x8xf32>
  %bits1 = tg.random %seed, %offset first %c16 stream 0 {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>} : tensor<2x8xi32>
  %kept1:2 = tg.node "aten.native_dropout.default"(%x1, %bits1) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>} {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>}
      : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xi1>)
  %y1 = tg.node "aten.mul.Tensor"(%kept1#0, %w) {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %d1 = tg.node "aten.sum.dim_IntList"(%y1) args [#tg.operand<0>, [0]] {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<2x8xf32>) -> tensor<8xf32>
  %d = tg.node "aten.add.Tensor"(%d0, %d1) {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}
