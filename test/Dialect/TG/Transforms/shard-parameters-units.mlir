// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 units=none layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=NONE
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 units=model.layers.* layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=PATTERN
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 ignore=model.layers.*.b,head layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=IGNORE

// Blocks and what lies beside them; norm and head, which come last, are one.
// Operands come in registration order, not in that of the arguments.
// CHECK:     func.func @step(
// CHECK-SAME:  %[[HEAD:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[NORM:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[B1:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[W1:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[B0:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[W0:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME:  %[[EMBEDDING:[a-z0-9]+]]: tensor<2xf32>
// CHECK:       tg.all_gather %[[EMBEDDING]] {{.*}} {tg.module = "model.embedding"}
// CHECK:       tg.all_gather %[[W0]], %[[B0]] {{.*}} {tg.module = "model.layers.0"}
// CHECK:       tg.all_gather %[[W1]], %[[B1]] {{.*}} {tg.module = "model.layers.1"}
// CHECK:       tg.all_gather %[[NORM]], %[[HEAD]] {{.*}} {tg.module = "model.norm"}
// CHECK-NOT:   tg.all_gather

// NONE-COUNT-7: tg.all_gather %{{[a-z0-9]+}} on
// NONE-NOT:     tg.all_gather

// What no pattern claims belongs to the root, and is gathered first.
// PATTERN:     tg.all_gather %arg6, %arg1, %arg0 on
// PATTERN:     tg.all_gather %arg5, %arg4 {{.*}} {tg.module = "model.layers.0"}
// PATTERN:     tg.all_gather %arg3, %arg2 {{.*}} {tg.module = "model.layers.1"}
// PATTERN-NOT: tg.all_gather

// IGNORE:      func.func @step(
// IGNORE-SAME:   %arg0: tensor<4xf32>
// IGNORE-SAME:   %arg1: tensor<2xf32>
// IGNORE-SAME:   %arg2: tensor<4xf32>
// IGNORE-SAME:   %arg3: tensor<2xf32>
// IGNORE-SAME:   %arg4: tensor<4xf32>
// IGNORE:      tg.all_gather %arg6 on
// IGNORE:      tg.all_gather %arg5 on
// IGNORE:      tg.all_gather %arg3 on
// IGNORE:      tg.all_gather %arg1 on
// IGNORE-NOT:  tg.all_gather
func.func @step(
    %head: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "head.w", tg.module = "head", tg.registration = 6 : i64},
    %norm: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.norm.w", tg.module = "model.norm", tg.registration = 5 : i64},
    %b1: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.layers.1.b", tg.module = "model.layers.1", tg.registration = 4 : i64},
    %w1: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.layers.1.inner.w", tg.module = "model.layers.1.inner", tg.registration = 3 : i64},
    %b0: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.layers.0.b", tg.module = "model.layers.0", tg.registration = 2 : i64},
    %w0: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.layers.0.inner.w", tg.module = "model.layers.0.inner", tg.registration = 1 : i64},
    %embedding: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "model.embedding.w", tg.module = "model.embedding", tg.registration = 0 : i64},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>}) -> tensor<8x4xf32> {
  %0 = tg.node "aten.mul.Tensor"(%x, %embedding) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = tg.node "aten.mul.Tensor"(%0, %w0) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = tg.node "aten.add.Tensor"(%1, %b0) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %3 = tg.node "aten.mul.Tensor"(%2, %w1) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %4 = tg.node "aten.add.Tensor"(%3, %b1) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %5 = tg.node "aten.mul.Tensor"(%4, %norm) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %6 = tg.node "aten.mul.Tensor"(%5, %head) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %6 : tensor<8x4xf32>
}
