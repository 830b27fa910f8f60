// RUN: regather-opt %s "--tg-shard-step=mesh=cp:2" --tg-verify-step | FileCheck %s

// An axis cp cuts inputs along their sequence, and nothing else: a module may
// be called like an input.
// CHECK-LABEL: func.func @called_alike(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x6xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<6xf32> {tg.name = "x.bias",
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8x8xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}cp] = shard 1]>
// CHECK:         tg.node "aten.add.Tensor"({{.*}}, %[[B]]) {{.*}} -> tensor<32x6xf32>
func.func @called_alike(
    %w: tensor<8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "x.weight"},
    %b: tensor<6xf32> {tg.role = #tg.role<parameter>, tg.name = "x.bias"},
    %x: tensor<4x16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> tensor<4x16x6xf32> {
  %rows = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [64, 8]] {tg.phase = #tg.phase<forward>} : (tensor<4x16x8xf32>) -> tensor<64x8xf32>
  %y = tg.node "aten.mm.default"(%rows, %w) {tg.phase = #tg.phase<forward>} : (tensor<64x8xf32>, tensor<8x6xf32>) -> tensor<64x6xf32>
  %s = tg.node "aten.add.Tensor"(%y, %b) {tg.phase = #tg.phase<forward>} : (tensor<64x6xf32>, tensor<6xf32>) -> tensor<64x6xf32>
  %z = tg.node "aten.view.default"(%s) args [#tg.operand<0>, [4, 16, 6]] {tg.phase = #tg.phase<forward>} : (tensor<64x6xf32>) -> tensor<4x16x6xf32>
  return %z : tensor<4x16x6xf32>
}
