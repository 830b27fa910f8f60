// RUN: regather-opt %s "--tg-shard-step=mesh=ep:2 axes=ep shard={x=[ep] shard 0}" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-step=mesh=dp:2,ep:2 axes=ep shard={x=[ep] shard 0}" "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep" --tg-verify-step | FileCheck %s --check-prefix=BOTH

// An axis that cuts the rows of an input cuts those of its micro-batches.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK:         tg.all_gather %[[X]] on @mesh [ep] dim 0
// CHECK:         %[[X0:.*]] = tensor.extract_slice %{{.*}}[0, 0] [4, 8] {{.*}} {tg.micro_batch = 0
// CHECK:         tensor.extract_slice %[[X0]][%{{.*}}, 0] [2, 8]
// CHECK:         tg.node "aten.mul.Tensor"{{.*}} tensor<2x8xf32>
// CHECK:         tg.node "aten.mul.Tensor"{{.*}} tensor<2x8xf32>

// What shares the batch besides has a part of that part.
// BOTH-LABEL:    func.func @step(
// BOTH-SAME:       tensor<2x8xf32>
// BOTH:            tg.node "aten.mul.Tensor"{{.*}} tensor<1x8xf32>
// BOTH:            tg.node "aten.mul.Tensor"{{.*}} tensor<1x8xf32>
func.func @step(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %x0 = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<forward>} : tensor<8x8xf32> to tensor<4x8xf32>
  %y0 = tg.node "aten.mul.Tensor"(%x0, %w) {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %d0 = tg.node "aten.sum.dim_IntList"(%y0) args [#tg.operand<0>, [0]] {tg.micro_batch = 0 : i64, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %x1 = tensor.extract_slice %x[4, 0] [4, 8] [1, 1] {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>} : tensor<8x8xf32> to tensor<4x8xf32>
  %y1 = tg.node "aten.mul.Tensor"(%x1, %w) {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %d1 = tg.node "aten.sum.dim_IntList"(%y1) args [#tg.operand<0>, [0]] {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %d = tg.node "aten.add.Tensor"(%d0, %d1) {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<backward>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}
