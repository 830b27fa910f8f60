// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=cp:2 shard={x=[cp] shard 1}" --tg-verify-step | FileCheck %s

// A sequence that is cut stays cut where batch and sequence are one dimension:
// each rank has its rows of every batch. What leaves the step so is gathered.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x6xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8x8xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}cp] = shard 1]>
// CHECK:         %[[ROWS:.*]] = tg.node "aten.view.default"(%[[X]]) args [#tg.operand<0>, [32, 8]]
// CHECK-NOT:     tg.all_gather
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"(%[[ROWS]], %[[W]]) {{.*}} -> tensor<32x6xf32>
// CHECK:         tg.node "aten.view.default"(%[[Y]]) args [#tg.operand<0>, [4, 8, 6]]
// CHECK:         %[[PARTS:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [4, 8, 6]
// CHECK:         tg.all_gather %[[PARTS]] on @mesh [cp] dim 1 phase forward : (tensor<4x8x6xf32>) -> !tg.future<tensor<4x16x6xf32>>
// CHECK:         %[[WHOLE:.*]] = tg.wait
// CHECK:         tensor.collapse_shape %[[WHOLE]] {{\[\[}}0, 1], [2]] {{.*}} into tensor<64x6xf32>
func.func @rows(
    %w: tensor<8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<64x6xf32>, tensor<4x16x6xf32>) {
  %rows = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [64, 8]] {tg.phase = #tg.phase<forward>} : (tensor<4x16x8xf32>) -> tensor<64x8xf32>
  %y = tg.node "aten.mm.default"(%rows, %w) {tg.phase = #tg.phase<forward>} : (tensor<64x8xf32>, tensor<8x6xf32>) -> tensor<64x6xf32>
  %z = tg.node "aten.view.default"(%y) args [#tg.operand<0>, [4, 16, 6]] {tg.phase = #tg.phase<forward>} : (tensor<64x6xf32>) -> tensor<4x16x6xf32>
  return %y, %z : tensor<64x6xf32>, tensor<4x16x6xf32>
}

// -----

// A rank attends from its rows to all keys and values, with its rows of a mask
// that takes the place of the flag. Gradients of keys and values are scattered
// as these were gathered.
// CHECK-LABEL: func.func @attention(
// CHECK:         %[[SEEN:.*]] = tg.node "aten.ge.Tensor"({{.*}}) {{.*}} -> tensor<4x8xi1>
// CHECK:         %[[MASK:.*]] = tg.node "aten.where.self"(%[[SEEN]], {{.*}} -> tensor<4x8xf32>
// CHECK:         tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"({{.*}}, %[[MASK]])
// CHECK-SAME:      0.000000e+00, false] kwargs {attn_mask = #tg.operand<3>}
// CHECK-SAME:      (tensor<2x2x4x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<4x8xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4xf32>)
// CHECK:         %[[D:.*]]:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"
// CHECK:         tg.reduce_scatter sum %[[D]]#1 on @mesh [cp] dim 2 phase backward
// CHECK:         tg.reduce_scatter sum %[[D]]#2 on @mesh [cp] dim 2 phase backward
func.func @attention(
    %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<2x8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %rows = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [16, 8]] {tg.phase = #tg.phase<forward>} : (tensor<2x8x8xf32>) -> tensor<16x8xf32>
  %y = tg.node "aten.mm.default"(%rows, %w) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %h = tg.node "aten.view.default"(%y) args [#tg.operand<0>, [2, 8, 2, 4]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>) -> tensor<2x8x2x4xf32>
  %q = tg.node "aten.permute.default"(%h) args [#tg.operand<0>, [0, 2, 1, 3]] {tg.phase = #tg.phase<forward>} : (tensor<2x8x2x4xf32>) -> tensor<2x2x8x4xf32>
  %o:2 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %q, %q) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true] {tg.phase = #tg.phase<forward>} : (tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) -> (tensor<2x2x8x4xf32>, tensor<2x2x8xf32>)
  %d:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%o#0, %q, %q, %q, %o#0, %o#1) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, true] {tg.phase = #tg.phase<backward>} : (tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8xf32>) -> (tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>)
  return %d#0, %d#1, %d#2 : tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}
