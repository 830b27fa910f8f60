// RUN: regather-opt %s --tg-shard-parameters=mesh=dp:4 --tg-verify-step | FileCheck %s

// A rank draws the bits of its rows: their numbers begin behind those of the
// ranks before it. Bits that are not split by rows are cut out of the whole.
// CHECK:       func.func @step(
// CHECK-SAME:    tensor<2x6xf32>
// CHECK:         %[[RANK:.*]] = tg.axis_index on @mesh [dp]
// CHECK:         %[[FIRST:.*]] = arith.muli %[[RANK]], %{{.*}}
// CHECK:         %[[BITS:.*]] = tg.random %{{.*}}, %{{.*}} first %[[FIRST]] stream 0 {{.*}}: tensor<2x6xi32>
// CHECK:         tg.node "aten.native_dropout.default"(%{{.*}}, %[[BITS]]) {{.*}} -> (tensor<2x6xf32>, tensor<2x6xi1>)
// CHECK:         %[[ALL:.*]] = tg.random %{{.*}}, %{{.*}} stream 1 : tensor<6x8xi32>
// CHECK:         %[[CUT:.*]] = tensor.extract_slice %[[ALL]][0, %{{.*}}] [6, 2]
// CHECK:         tg.node "aten.native_dropout.default"(%{{.*}}, %[[CUT]]) {{.*}} -> (tensor<6x2xf32>, tensor<6x2xi1>)
// CHECK-NOT:     tensor<8x6xi32>
func.func @step(
    %w: tensor<6x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x6xf32> {tg.role = #tg.role<input>},
    %seed: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.seed"},
    %offset: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.offset"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<6x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %bits = tg.random %seed, %offset stream 0 : tensor<8x6xi32>
  %dropped:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      : (tensor<8x6xf32>, tensor<8x6xi32>) -> (tensor<8x6xf32>, tensor<8x6xi1>)
  %turned = tg.node "aten.t.default"(%dropped#0) : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %other_bits = tg.random %seed, %offset stream 1 : tensor<6x8xi32>
  %again:2 = tg.node "aten.native_dropout.default"(%turned, %other_bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      : (tensor<6x8xf32>, tensor<6x8xi32>) -> (tensor<6x8xf32>, tensor<6x8xi1>)
  %back = tg.node "aten.t.default"(%again#0) : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %y = tg.node "aten.mm.default"(%back, %w) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%y) : (tensor<8x4xf32>) -> tensor<f32>
  %dw = tg.node "aten.mm.default"(%again#0, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %loss, %dw : tensor<f32>, tensor<6x4xf32>
}
