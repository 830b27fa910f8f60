// RUN: regather-opt %s --tg-shard-parameters=mesh=dp:2 --tg-verify-step | FileCheck %s

// A tensor that is made with strides is made as a part, whose dimensions lie in
// the same order.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x6xf32>
// CHECK:         %[[MADE:.*]] = tg.node "aten.empty_strided.default"() args {{\[\[4, 6\], \[1, 4\]\]}} {{.*}} : () -> tensor<4x6xf32>
// CHECK:         %[[COPY:.*]] = tg.node "aten.copy.default"(%[[MADE]], %[[X]])
// CHECK:         %[[LIKE:.*]] = tg.node "aten.new_empty_strided.default"(%{{.*}}) args [#tg.operand<0>, [4, 6], [6, 1]] {{.*}} -> tensor<4x6xf32>
// CHECK:         tg.node "aten.copy.default"(%[[LIKE]], %[[COPY]])
func.func @step(
    %w: tensor<6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x6xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> tensor<8x6xf32> {
  %made = tg.node "aten.empty_strided.default"() args [[8, 6], [1, 8]] {tg.phase = #tg.phase<forward>} : () -> tensor<8x6xf32>
  %copy = tg.node "aten.copy.default"(%made, %x) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %like = tg.node "aten.new_empty_strided.default"(%w) args [#tg.operand<0>, [8, 6], [6, 1]] {tg.phase = #tg.phase<forward>} : (tensor<6xf32>) -> tensor<8x6xf32>
  %z = tg.node "aten.copy.default"(%like, %copy) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = tg.node "aten.mul.Tensor"(%z, %w) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
